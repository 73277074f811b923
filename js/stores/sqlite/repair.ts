/** Damage that SQLite finds in a file: indexes are built anew from the tables; of tables what can be read is read. */

import { mend } from '../sql/mend.ts'
import type { Connection } from './connection.ts'
import { rollBack } from './connection.ts'
import { isBusy, isCorrupt } from './errors.ts'

/**
 * Builds every index anew, and looks at each task: a row that has changed was found as it had been by the indexes of before, and by the
 * new ones it is found nowhere. `now`: the wall clock's. Says how many tasks were put aside; undefined: the file is not sound even
 * then, and nothing was changed.
 */
export function rebuildIndexes(database: Connection, now: number): number | undefined {
  database.run('BEGIN IMMEDIATE')
  try {
    database.exec('REINDEX')
    const aside = mend(database, now)
    if (!isSound(database)) {
      rollBack(database)
      return undefined
    }
    database.run('COMMIT')
    return aside
  } catch (error) {
    rollBack(database)
    if (isBusy(error)) throw error
    return undefined
  }
}

/** Whether the indexes say what the tables say, and both are whole: 4 ms for 1,000 tasks, 40 ms for 5,000. */
export function isSound(database: Connection): boolean {
  try {
    return database.one<{ readonly integrity_check: string }>('PRAGMA integrity_check(1)')?.integrity_check === 'ok'
  } catch (error) {
    if (!isCorrupt(error)) throw error
    return false
  }
}
