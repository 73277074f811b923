// Files for stores.

import type { ChildProcess } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import { type SqliteStoreOptions, sqliteStore } from '../../../js/stores/sqlite.ts'
import { freshFolder } from '../../folder.ts'
import { linesOf, start } from '../processes/run.ts'

/** A path in a folder of its own, where nothing is yet. `where`: the folder around it. */
export function freshPath(where: string = tmpdir()): string {
  return join(freshFolder(where), 'tasks.db')
}

export function openStore(path: string, options: Omit<SqliteStoreOptions, 'path'> = {}): TaskStore {
  const store = sqliteStore({ path, ...options })
  onTestFinished(() => store.close())
  return store
}

/** Another process, once it holds leases of `claims` tasks. */
export async function holder(path: string, claims: number, owner = 'there', role = 'runner'): Promise<ChildProcess> {
  const child = start('sqlite/holder.ts', path, owner, role)
  const { value } = await linesOf(child).next()
  if (value !== String(claims)) throw new Error(`${owner} claims ${value} of ${claims} tasks`)
  return child
}

/** What a program without redrive sees of the file. */
export function edit<T>(path: string, work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(path)
  try {
    return work(database)
  } finally {
    database.close()
  }
}

/** A file of the first layout, with a task in each state. */
export function firstLayout(): string {
  const path = freshPath()
  copyFileSync(fileURLToPath(new URL('../../fixtures/sqlite-v1.db', import.meta.url)), path)
  return path
}

/** What SQLite says of the file: 'ok', or what is wrong with it. */
export const soundnessOf = (path: string): unknown =>
  edit(path, (database) => database.prepare('PRAGMA integrity_check').get()?.integrity_check)
