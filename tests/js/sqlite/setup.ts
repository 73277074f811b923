// Files for stores.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import { type SqliteStoreOptions, sqliteStore } from '../../../js/stores/sqlite.ts'

/** A path in a folder of its own, where nothing is yet. `where`: the folder around it. */
export function freshPath(where: string = tmpdir()): string {
  const folder = mkdtempSync(join(where, 'redrive-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'tasks.db')
}

/** Closed when the test is over. */
export function openStore(path: string, options: Omit<SqliteStoreOptions, 'path'> = {}): TaskStore {
  const store = sqliteStore({ path, ...options })
  onTestFinished(() => store.close())
  return store
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
