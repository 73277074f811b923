/** Damage that SQLite finds in a file: indexes are built anew from the tables; of tables what can be read is read. */

import type { Connection } from './connection.ts'
import { rollBack } from './connection.ts'
import { isBusy } from './errors.ts'

/** Builds every index anew. Says whether the whole file is sound then; if not, nothing was changed. */
export function rebuildIndexes(database: Connection): boolean {
  database.run('BEGIN IMMEDIATE')
  try {
    database.exec('REINDEX')
    const found = database.one<{ readonly integrity_check: string }>('PRAGMA integrity_check(1)')?.integrity_check
    if (found !== 'ok') throw new Error(found)
    database.run('COMMIT')
    return true
  } catch (error) {
    rollBack(database)
    if (isBusy(error)) throw error
    return false
  }
}
