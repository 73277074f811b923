/** A SQLite file as the doctor sees it: its rights, its disk, its log, what it holds. */

import { existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { bytes } from 'redrive/internal'
import { countFindings, type Finding, type Held, type Limits } from './findings.ts'
import { reasonOf } from './io.ts'

/** 'rdrv', which every file of a store has as its `application_id`. */
const APPLICATION_ID = 0x72647276
const MIB = 2 ** 20
/** Twice what the log grows to in quiet operation. */
const LARGE_LOG = 64 * MIB
const LITTLE_ROOM = 256 * MIB
const NO_ROOM = 16 * MIB
/** A larger file would be read for too long. */
const MOST_TO_READ = 1_024 * MIB
/** File systems whose locks do not hold over machines: NFS, SMB, CIFS, SMB2, 9P. Numbers of statfs(2). */
const REMOTE: ReadonlySet<number> = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997])

export function checkSqlite(path: string, limits: Limits): readonly Finding[] {
  const folder = dirname(path)
  if (!existsSync(folder)) {
    return [
      {
        level: 'unsafe',
        about: 'file',
        text: `the folder ${folder} is not there; make it, or name another in --store`,
      },
    ]
  }
  if (!existsSync(path)) {
    const text = `${path} is not there yet; the service makes it`
    return [{ level: 'note', about: 'file', text }, ...diskFindings(folder)]
  }
  const contents = contentFindings(path, limits)
  // the rights of what is not ours are not ours to change
  const isOurs = contents.every(({ level, about }) => about !== 'file' || level !== 'unsafe')
  return [...contents, ...(isOurs ? [rightsFinding(path), logFinding(path)] : []), ...diskFindings(folder)]
}

function rightsFinding(path: string): Finding {
  const { mode, uid } = statSync(path)
  const rights = (mode & 0o777).toString(8).padStart(3, '0')
  const own = process.getuid?.()
  if (mode & 0o007) {
    const text = `any user of the machine may open the file (mode ${rights}), with all bodies; chmod o= ${path}`
    return { level: 'warning', about: 'rights', text }
  }
  if (own !== undefined && own !== 0 && own !== uid) {
    const text = `the file belongs to user ${uid}, and this is user ${own}; run the service as its owner`
    return { level: 'warning', about: 'rights', text }
  }
  return { level: 'ok', about: 'rights', text: `mode ${rights}, of user ${uid}` }
}

function diskFindings(folder: string): Finding[] {
  const { bavail, bsize, type } = statfsSync(folder)
  const free = bavail * bsize
  const level = free < NO_ROOM ? 'unsafe' : free < LITTLE_ROOM ? 'warning' : 'ok'
  const advice = level === 'ok' ? '' : '; new tasks are refused when the disk is full: make room'
  const disk: Finding = { level, about: 'disk', text: `${bytes(free)} free${advice}` }
  if (!REMOTE.has(type)) return [disk]
  const text = 'the file lies on a network file system, whose locks do not hold: it will be damaged; use a local disk'
  return [disk, { level: 'unsafe', about: 'file system', text }]
}

function logFinding(path: string): Finding {
  const wal = `${path}-wal`
  const size = existsSync(wal) ? statSync(wal).size : 0
  if (size <= LARGE_LOG) return { level: 'ok', about: 'log', text: `${bytes(size)} in the write-ahead log` }
  const text = `${bytes(size)} in the write-ahead log, which grows while a reader stays in the middle of its question; end the process that reads the file`
  return { level: 'warning', about: 'log', text }
}

function contentFindings(path: string, limits: Limits): Finding[] {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { readOnly: true })
    return contentOf(database, path, limits)
  } catch (error) {
    return [{ level: 'unsafe', about: 'file', text: `${path} cannot be read: ${reasonOf(error)}` }]
  } finally {
    database?.close()
  }
}

function contentOf(database: DatabaseSync, path: string, limits: Limits): Finding[] {
  database.exec('PRAGMA busy_timeout = 2000')
  const numberIn = (pragma: string) => Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0] ?? 0)
  const size = statSync(path).size
  if (numberIn('application_id') !== APPLICATION_ID) {
    const tables = Number(database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n ?? 0)
    if (tables === 0) return [{ level: 'note', about: 'file', text: `${path} is empty; the service fills it` }]
    const text = `${path} is another program's database; name another in --store`
    return [{ level: 'unsafe', about: 'file', text }]
  }
  const file: Finding = {
    level: 'ok',
    about: 'file',
    text: `${path}, ${bytes(size)}, layout ${numberIn('user_version')}`,
  }
  // one row, which every layout has
  const counts = database
    .prepare('SELECT pending, inFlight, succeeded, exhausted, cancelled, bytes FROM state')
    .get() as unknown as Held
  const aside = Number(database.prepare('SELECT count(*) AS n FROM tasks WHERE aside = 1').get()?.n ?? 0)
  return [file, ...damageFindings(database, size), ...countFindings({ ...counts, unreadable: aside }, limits)]
}

function damageFindings(database: DatabaseSync, size: number): Finding[] {
  if (size > MOST_TO_READ) {
    return [
      { level: 'note', about: 'contents', text: `not looked through, since they are more than ${bytes(MOST_TO_READ)}` },
    ]
  }
  const said = String(Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {})[0])
  if (said === 'ok') return [{ level: 'ok', about: 'contents', text: 'no damage' }]
  const text = `damaged (${said.split('\n', 1)[0]}); the service mends what it can when it opens the file: keep a copy first`
  return [{ level: 'unsafe', about: 'contents', text }]
}
