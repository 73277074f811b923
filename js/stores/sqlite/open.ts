/**
 * Opening the file, and its layout. A file is looked at without writing first, so that what is not ours, or is a later
 * version's, stays as it is. `user_version` numbers the layout: a higher one than ours is never opened (S20), a lower one is
 * brought up step by step, each in the transaction that raises the number.
 */

import { chmodSync, closeSync, existsSync, openSync, statfsSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { StoreRoom } from '../../api/store.ts'
import { addSums } from '../sql/add-sums.ts'
import { LINE, LISTS, ROOM, SUMS, TABLES, WITH_SUMS } from '../sql/tables.ts'
import { BUSY_TIMEOUT_MS, Connection, rollBack } from './connection.ts'
import { isReadOnly, newer, unavailable } from './errors.ts'
import { numberOf, type OpenedFile, openedFile } from './file-state.ts'
import { LEDGER } from './ledger.ts'
import { SHARED } from './lineup.ts'

/** 'rdrv': says whose file it is. */
const APPLICATION_ID = 0x72647276

const FIRST = `${TABLES}
-- Apart from the tasks: claims never read them.
CREATE TABLE bodies (task INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
PRAGMA application_id = ${APPLICATION_ID};
`

/** The i-th brings layout i to layout i + 1. Never changed once published: files in the field were made by them. */
export const MIGRATIONS: readonly string[] = [FIRST, LINE, ROOM, SUMS, SHARED, LEDGER, LISTS]

export const LAYOUT: number = MIGRATIONS.length

/**
 * Pages of the log when it is written into the file, for which the disk is waited for twice. At 16 MiB, and not at SQLite's 4, that comes with
 * every three-hundredth turn or enqueue, and pages that were written again and again are written once. A small disk gets a small log, and so
 * does a file for everyone: all attempts of a service wait while the log is written into the file.
 */
const LOG_PAGES = 4_000
const SMALL_LOG_PAGES = 1_000
const SMALL_DISK_BYTES = 2 ** 30

/** Has the log as large as the room on the disk allows. */
export function keepLog(database: Connection, path: string, everyone: boolean): void {
  const isSmall = freeOn(dirname(path)) < SMALL_DISK_BYTES
  database.keepLog(isSmall || everyone ? SMALL_LOG_PAGES : LOG_PAGES, isSmall)
}

function freeOn(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return 0
  }
}

/** Bytes in use on the disk, as `df` counts: without what only root may write. */
export async function roomOn(path: string): Promise<StoreRoom> {
  const { blocks, bfree, bavail, bsize } = await statfs(dirname(path))
  const used = blocks - bfree
  return { of: 'disk', usedBytes: used * bsize, limitBytes: (used + bavail) * bsize }
}

export interface Opened {
  readonly database: Connection
  readonly file: OpenedFile
}

/** Throws SQLite's own errors as they are: one that says that the file is locked passes. */
export function openDatabase(path: string, everyone: boolean): Opened {
  for (;;) {
    const opened = openOnce(path, everyone)
    if (opened) return opened
  }
}

/** `undefined`: the path came to lead to another file meanwhile, so it is not known which of them was opened. */
function openOnce(path: string, everyone: boolean): Opened | undefined {
  let database: Connection | undefined
  try {
    if (existsSync(path)) look(path)
    else makeOwn(path)
    keepOthersOut(path)
    const main = numberOf(path)
    database = new Connection(path, { readOnly: false })
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    turnToWal(database, path)
    // what is deleted is overwritten
    database.exec('PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY')
    keepLog(database, path, everyone)
    database.waitForDisk(false)
    migrate(database, path)
    const file = openedFile(path)
    if (file.main === main) return { database, file }
    database.close()
    return
  } catch (error) {
    database?.close()
    throw error
  }
}

/**
 * A file of the store whose table of tables is damaged, to read what is left of it: SQLite has to pass by each entry that it cannot
 * read. One of another program, or of another layout, is left alone.
 */
export function openDamaged(path: string): Opened {
  const database = new Connection(path, { readOnly: false, defensive: false })
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA writable_schema = ON`)
    if (database.pragma('application_id') !== APPLICATION_ID || database.pragma('user_version') !== LAYOUT) {
      throw unavailable(path, 'its contents are damaged; restore it from a backup or give another path')
    }
    return { database, file: openedFile(path) }
  } catch (error) {
    database.close()
    throw error
  }
}

/** Other users of a machine read no task: a file is its owner's alone from its first moment. SQLite gives -wal and -shm the same rights. */
const OWN = 0o600
const GROUP_WRITES = 0o020
const OWN_AND_GROUP = 0o660

/** Root gives what it makes beside a file to the file's owner, as SQLite does. */
export const isRoot = (): boolean => process.getuid?.() === 0

function makeOwn(path: string): void {
  try {
    // through a link, too, to where the file will be
    closeSync(openSync(path, 'a', OWN))
  } catch {
    // another process was first, or SQLite will say what is wrong with the folder
  }
}

/**
 * Takes the rights of others from a file that is there already. Those of a group that may write are a choice, and stay. What lies
 * beside it gets its rights: SQLite made that with those which the file had then, and it may have been for reading alone.
 */
function keepOthersOut(path: string): void {
  let wanted: number | undefined
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    try {
      const { mode } = statSync(file)
      wanted ??= mode & (mode & GROUP_WRITES ? OWN_AND_GROUP : OWN)
      if ((mode & 0o777) !== wanted) chmodSync(file, wanted)
    } catch {
      // it is not there, or another user's, who decides
    }
  }
}

function look(path: string): void {
  const file = statSync(path)
  if (file.isDirectory()) throw unavailable(path, 'it is a folder; give the path of a file')
  if (file.size === 0) return
  try {
    lookAt(path, true)
  } catch (error) {
    if (!isReadOnly(error)) throw error
    // a process that was killed while it made the file has left a journal: a reader cannot undo what that undoes
    lookAt(path, false)
  }
}

function lookAt(path: string, readOnly: boolean): void {
  const database = new Connection(path, { readOnly })
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; BEGIN`) // one sight of a file that another process may be making
    const layout = database.pragma('user_version')
    const owner = database.pragma('application_id')
    const tables = database.one<{ n: number }>('SELECT count(*) AS n FROM sqlite_schema')?.n ?? 0
    if (owner !== APPLICATION_ID && (tables > 0 || owner !== 0 || layout !== 0)) {
      throw unavailable(path, "it is another program's database; give another path")
    }
    refuseNewer(layout, path)
  } finally {
    database.close()
  }
}

export function refuseNewer(layout: number, path: string): void {
  if (layout > LAYOUT) throw newer(path, layout, LAYOUT)
}

function turnToWal(database: Connection, path: string): void {
  const mode = database.one<{ journal_mode: string }>('PRAGMA journal_mode = WAL')?.journal_mode
  if (mode === 'wal') return
  throw unavailable(path, 'its file system cannot hold a write-ahead log; give a path on a local disk')
}

function migrate(database: Connection, path: string): void {
  if (database.pragma('user_version') === LAYOUT) return
  database.exec('BEGIN IMMEDIATE')
  try {
    const layout = database.pragma('user_version') // another process may have been first
    refuseNewer(layout, path)
    for (const step of MIGRATIONS.slice(layout)) database.exec(step)
    if (layout > 0 && layout < WITH_SUMS) addSums(database)
    database.exec(`PRAGMA user_version = ${LAYOUT}; COMMIT`)
  } catch (error) {
    rollBack(database)
    throw error
  }
}
