// The three storages, with a way to write there that none of their stores knows of.
import type { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import type { Clock } from '../../../js/platform/clock.ts'
import { durableObjectStore } from '../../../js/stores/durable-object.ts'
import { done } from '../../../js/stores/indexeddb/transact.ts'
import { indexedDbStore } from '../../../js/stores/indexeddb.ts'
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { edit as editIdb, freshName } from '../indexeddb/setup.ts'
import { edit, freshPath } from '../sqlite/setup.ts'
import { objectStorage } from './object-storage.ts'

type Fields = Readonly<Record<string, unknown>>

export interface StoragePlace {
  /** As a new process has it. */
  open(clock: Clock): TaskStore
  /** Changes fields of a task, by the names that `Row` has. */
  change(taskId: string, fields: Fields): void | Promise<void>
  /** Makes a task one that cannot be read, and leaves all else as it was. */
  damage(taskId: string): void | Promise<void>
  changeState(fields: Fields): void | Promise<void>
  changeLanes(fields: Fields): void | Promise<void>
}

const COLUMNS: Readonly<Record<string, string>> = { schema: 'recordSchema', taskId: 'id' }

function sqlPlace(open: (clock: Clock) => TaskStore, write: (work: (database: DatabaseSync) => void) => void) {
  const set = (table: string, given: Fields, where: string, ...values: readonly string[]) =>
    write((database) => {
      const fields = inColumns(database, given, values)
      const names = Object.keys(fields).map((name) => `${COLUMNS[name] ?? name} = ?`)
      const sql = `UPDATE ${table} SET ${names.join(', ')} WHERE ${where}`
      database.prepare(sql).run(...(Object.values(fields) as number[]), ...values)
    })
  return {
    open,
    change: (taskId, fields) => set('tasks', fields, 'id = ?', taskId),
    damage: (taskId) => set('tasks', { record: '{}' }, 'id = ?', taskId),
    changeState: (fields) => set('state', fields, 'id = 1'),
    changeLanes: (fields) => set('lanes', fields, 'TRUE'),
  } satisfies StoragePlace
}

const PARTS: ReadonlySet<string> = new Set(['withheldHeaders', 'requestInit', 'policy', 'idempotent', 'meta', 'tags'])

/** Some fields of a task are one text there, and none is absent. */
function inColumns(database: DatabaseSync, fields: Fields, [taskId = '']: readonly string[]): Fields {
  const all = Object.entries(fields)
  const parts = all.filter(([name]) => PARTS.has(name))
  const others = all.filter(([name]) => !PARTS.has(name)).map(([name, value]) => [name, value ?? null])
  if (parts.length === 0) return Object.fromEntries(others)
  const { record } = database.prepare('SELECT record FROM tasks WHERE id = ?').get(taskId) as { record: string }
  return {
    ...Object.fromEntries(others),
    record: JSON.stringify({ ...JSON.parse(record), ...Object.fromEntries(parts) }),
  }
}

export const PLACES: Readonly<Record<string, () => StoragePlace>> = {
  SQLite: () => {
    const path = freshPath()
    return sqlPlace(
      (clock) => kept(sqliteStore({ path, clock })),
      (work) => edit(path, work),
    )
  },
  'a Durable Object': () => {
    const { storage, database } = objectStorage()
    return sqlPlace(
      (clock) => kept(durableObjectStore({ storage, clock })),
      (work) => work(database),
    )
  },
  IndexedDB: () => {
    const name = freshName()
    const change = (taskId: string, fields: Fields) =>
      editIdb(name, async (tx) => {
        const tasks = tx.objectStore('tasks')
        const { taskId: another, ...rest } = fields
        const row = (await done(tasks.get(taskId))) as object
        if (another !== undefined) tasks.delete(taskId)
        tasks.put({ ...row, ...rest, ...(another !== undefined && { taskId: another }) })
      })
    const changeState = (make: (state: { readonly lanes: readonly object[] }) => object) =>
      editIdb(name, async (tx) => {
        const meta = tx.objectStore('meta')
        const range = IDBKeyRange.bound(['state'], ['state', []])
        const [[key], [state]] = await Promise.all([done(meta.getAllKeys(range)), done(meta.getAll(range))])
        meta.put({ ...state, ...make(state) }, key)
      })
    return {
      open: (clock) => kept(indexedDbStore({ name, clock })),
      change,
      damage: (taskId) => change(taskId, { policy: 5 }),
      changeState: (fields) => changeState(() => fields),
      changeLanes: (fields) => changeState(({ lanes }) => ({ lanes: lanes.map((lane) => ({ ...lane, ...fields })) })),
    }
  },
}

function kept(store: TaskStore): TaskStore {
  onTestFinished(() => store.close())
  return store
}
