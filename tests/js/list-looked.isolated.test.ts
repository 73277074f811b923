// How many tasks a page of a list looks at, whatever it is asked for: of one that has no tasks of its own, none.
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test, vi } from 'vitest'
import { LIST_LOOKED_AT, type TaskFilter, type TaskStore } from '../../js/api/store.ts'
import { indexedDbStore } from '../../js/stores/indexeddb.ts'
import { Ids } from '../../js/stores/memory/by-id.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { redisStore } from '../../js/stores/redis.ts'
import { SyncPort, syncConnection } from '../redis/sync-port.ts'
import { freshName } from './indexeddb/setup.ts'
import { edit, freshPath, openStore } from './sqlite/setup.ts'
import { newTask } from './store-contract/kit.ts'

type Filter = Omit<TaskFilter, 'limit'>

const FILTERS: readonly Filter[] = [
  ...[{}, { status: 'PENDING' }, { status: 'EXHAUSTED' }, { status: 'SUCCEEDED' }, { active: true }],
  ...[{ origin: 'https://none.test' }, { policyId: 'none' }, { reason: 'vetoed' }, { tags: ['none'] }],
  ...[{ idempotencyKey: 'none' }, { from: 'a' }, { active: true, tags: ['none'], policyId: 'none' }],
] as const

/** Another's tasks, more than a page looks at. */
const OTHERS = LIST_LOOKED_AT + 500

async function filled(store: TaskStore): Promise<TaskStore> {
  onTestFinished(() => store.close())
  await store.enqueue(Array.from({ length: OTHERS }, (_, n) => newTask(n, { principal: 'flood' })))
  return store
}

interface Counted {
  readonly store: TaskStore
  /** Tasks looked at so far. */
  looked(): number
}

/** Searching its place among the ids is no look. */
async function inMemory(): Promise<Counted> {
  const store = await filled(memoryStore({ everyone: true }))
  const byId = Object.getPrototypeOf(new Ids().of(null))
  const at = vi.spyOn(byId, 'at')
  const search = vi.spyOn(byId, 'indexOf')
  onTestFinished(() => void vi.restoreAllMocks())
  return { store, looked: () => at.mock.calls.length - search.mock.calls.length * Math.ceil(Math.log2(OTHERS)) }
}

/** By the answers of its script. */
async function inRedis(): Promise<Counted> {
  let looked = 0
  const port = new SyncPort(await syncConnection())
  const call = port.call.bind(port)
  port.call = async (...given) => {
    const answer = await call(...given)
    const count = ((answer as unknown[])[1] as unknown[] | undefined)?.[2]
    if (typeof count === 'number') looked += count
    return answer
  }
  const store = await filled(redisStore({ client: port, name: 'looked', everyone: true }))
  return { store, looked: () => looked }
}

/** By the rows that its indexes give. */
async function inIndexedDb(): Promise<Counted> {
  const store = await filled(indexedDbStore({ name: freshName() }))
  let looked = 0
  for (const kind of [IDBIndex, IDBObjectStore]) {
    const getAll = kind.prototype.getAll
    vi.spyOn(kind.prototype, 'getAll').mockImplementation(function (this: IDBIndex, ...given) {
      const request = getAll.apply(this, given)
      if ('name' in this && ['own', 'tasks'].includes(this.name)) {
        request.addEventListener('success', () => {
          looked += request.result.length
        })
      }
      return request
    })
  }
  onTestFinished(() => void vi.restoreAllMocks())
  return { store, looked: () => looked }
}

test.for([
  ['memory', inMemory],
  ['Redis', inRedis],
  ['IndexedDB', inIndexedDb],
] as const)('%s: a list looks at no task of another tenant, and at a bounded number of its own', async ([, open]) => {
  const { store, looked } = await open()
  for (const filter of FILTERS) {
    const before = looked()
    expect((await store.list({ ...filter, principal: 'calm', limit: 100 })).tasks).toEqual([])
    expect([filter, looked() - before]).toEqual([filter, Math.min(0, looked() - before)])
    for (const whose of [{ principal: 'flood' }, {}]) {
      const from = looked()
      await store.list({ ...filter, ...whose, limit: 100 })
      expect(looked() - from).toBeLessThan(1.2 * LIST_LOOKED_AT)
    }
  }
})

test.for([
  ['of a principal', { principal: 'calm' }, /USING (COVERING )?INDEX tasks_(own|keys) /],
  ['of all', {}, /USING (COVERING )?INDEX (tasks_(dead|keys)|sqlite_autoindex_tasks_1)/],
] as const)('SQLite: each question of a list %s goes by an index that has its order', async ([, whose, index]) => {
  const path = freshPath()
  const store = await filled(openStore(path, { everyone: true }))
  for (const filter of FILTERS) {
    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
    for (const order of ['rising', 'falling'] as const) await store.list({ ...filter, ...whose, order, limit: 100 })
    const asked = new Set(prepare.mock.calls.map(([sql]) => sql).filter((sql) => /^SELECT (id|1) FROM tasks/.test(sql)))
    prepare.mockRestore()
    const plans = edit(path, (database) =>
      [...asked].map((sql) =>
        database
          .prepare(`EXPLAIN QUERY PLAN ${sql}`)
          .all()
          .map(({ detail }) => String(detail)),
      ),
    )
    for (const [step, ...more] of plans) {
      expect(step).toMatch(index)
      // tasks of one key are few, and lie in another order
      if (!step?.includes('tasks_keys')) expect(more.filter((each) => each.includes('B-TREE'))).toEqual([])
    }
  }
})

test('SQLite: a page of one whose tasks do not fit goes on after a bounded number of them', async () => {
  const store = await filled(openStore(freshPath(), { everyone: true }))
  const ids = Array.from({ length: OTHERS }, (_, n) => newTask(n).taskId)
  for (const filter of [{ tags: ['none'] }, { policyId: 'none' }, { origin: 'https://none.test' }]) {
    expect(await store.list({ ...filter, principal: 'flood', limit: 100 })).toEqual({
      tasks: [],
      cursor: ids[Math.ceil(LIST_LOOKED_AT / 5) - 1],
    })
    expect(await store.list({ ...filter, limit: 100 })).toEqual({ tasks: [], cursor: ids[LIST_LOOKED_AT - 1] })
  }
})
