/**
 * Brings the tasks of a file that its path does not lead to any more into the one that it leads to now. Nothing that was
 * accepted is lost while a process still has the old file open (S1).
 *
 * The file of now may hold some of them: another process has brought them, or it is a backup. Of two rows for one task the one
 * that knows more counts: one that has ended, else the one with the later token. Twice is once, as everywhere.
 */

import type { Database, Value } from '../sql/database.ts'
import { mend } from '../sql/mend.ts'
import type { State } from '../sql/state.ts'
import type { Connection } from './connection.ts'
import { isCorrupt, isNoDatabase } from './errors.ts'
import { isForEveryone, type SharedState } from './lineup.ts'
import { countShares } from './shares.ts'
import { keepToken, restoreTokens, tokensIn } from './tokens.ts'

type Columns = Readonly<Record<string, Value>>

interface KeptTask {
  readonly columns: Columns
  readonly body: Uint8Array | undefined
  readonly attempts: readonly { readonly n: number; readonly log: string }[]
}

/** All that a file holds. */
export interface Contents {
  readonly state: (State & SharedState) | undefined
  readonly tasks: readonly KeptTask[]
  readonly lanes: readonly Columns[]
  /** Origins whose tokens were taken. */
  readonly shares: readonly Columns[]
  readonly homes: readonly Columns[]
  readonly pauses: readonly Columns[]
  readonly registry: readonly Columns[]
  /** Rows that could not be read, at most; `undefined`: the row that counts them is among those. */
  readonly unread: number | undefined
}

/** A file that is damaged gives what can be read of it: a task without its body is reported as one that has lost it. */
export function contentsOf(database: Connection): Contents {
  const state = tried(() => database.one<State & SharedState>('SELECT * FROM state WHERE id = 1'))
  const { rows, unread } = rowsOf(database, state)
  const attempts = 'SELECT n, log FROM attempts WHERE task = ? ORDER BY n'
  return {
    state,
    tasks: rows.map((columns) => ({
      columns,
      body: tried(() => database.bodyOf(Number(columns.row))),
      attempts: tried(() => database.all(attempts, columns.row ?? null)) ?? [],
    })),
    lanes: tried(() => database.all('SELECT * FROM lanes WHERE heldUntil > 0 OR tat > 0')) ?? [],
    shares: tried(() => database.all('SELECT name, tat, tokenAt FROM shares WHERE tat > 0')) ?? [],
    homes: tried(() => database.all('SELECT * FROM homes')) ?? [],
    pauses: tried(() => database.all(`SELECT * FROM pauses WHERE ${SOUND_PAUSE}`)) ?? [],
    registry: tried(() => database.all(`SELECT * FROM registry WHERE ${SOUND_ENTRY}`)) ?? [],
    unread,
  }
}

const SOUND_PAUSE = "typeof(id) = 'text' AND typeof(pause) = 'text'"
const SOUND_ENTRY = "typeof(name) = 'text' AND typeof(version) = 'integer' AND typeof(value) = 'text'"

function rowsOf(
  database: Connection,
  state: State | undefined,
): Pick<Contents, 'unread'> & { readonly rows: Columns[] } {
  if (!tried(() => database.all('SELECT 1 FROM tasks WHERE FALSE'))) return { rows: [], unread: state?.lastRow }
  const whole = tried(() => database.all<Columns>('SELECT * FROM tasks NOT INDEXED'))
  const rows = whole ?? []
  let unread = 0
  for (let row = 1; !whole && row <= (state?.lastRow ?? MOST_ROWS); row++) {
    const found = tried(() => database.all<Columns>('SELECT * FROM tasks WHERE row = ?', row))
    if (found) rows.push(...found)
    else unread++
  }
  const isCounted = whole !== undefined || state !== undefined
  return { rows: rows.sort((a, b) => Number(a.seq) - Number(b.seq)), unread: isCounted ? unread : undefined }
}

/** Looked for one by one, where the row that counts them cannot be read either. */
const MOST_ROWS = 100_000

/** `undefined`: what is asked for lies where the file is damaged. */
function tried<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!isCorrupt(error) && !isNoDatabase(error)) throw error
    return undefined
  }
}

/** Within a transaction. `now`: the wall clock's; `everyone`: how the file was opened. Says how many tasks could not be brought, and how many cannot be read and were put aside. */
export function bringIn(
  database: Connection,
  contents: Contents,
  now: number,
  everyone: boolean,
): { readonly refused: number; readonly aside: number } {
  const { state, tasks, lanes, homes, shares } = contents
  bringSettings(database, contents)
  const base = database.one<State>('SELECT * FROM state WHERE id = 1')
  let lastRow = base?.lastRow ?? 0
  const lastSeq = base?.lastSeq ?? 0
  // before any is here: those that come are behind those of their orders that are here
  const news = tasks.filter((task) => isNews(database, task)).map((task) => placed(database, task))
  let refused = 0
  for (const { columns, body, attempts } of news) {
    try {
      database.apart(() => {
        remove(database, columns.id ?? null)
        const row = ++lastRow
        insert(database, 'tasks', { ...columns, row, seq: lastSeq + Number(columns.seq) })
        if (body) database.keepBody(row, body)
        for (const { n, log } of attempts) insert(database, 'attempts', { task: row, n, log })
      })
    } catch {
      refused++ // a row of other code, that these tables do not take
    }
  }
  if (news.length === 0) return { refused, aside: 0 }
  for (const { heldUntil = 0, ...lane } of lanes) {
    if (!database.one('SELECT 1 FROM lanes WHERE name = ?', lane.name ?? null))
      insert(database, 'lanes', { ...lane, heldUntil })
    else database.run('UPDATE lanes SET heldUntil = max(heldUntil, ?) WHERE name = ?', heldUntil, lane.name ?? null)
  }
  for (const { owner = null, until = null } of homes) {
    database.run('INSERT OR IGNORE INTO homes (owner, until) VALUES (?, ?)', owner, until)
  }
  database.run(
    `UPDATE state SET highWater = max(highWater, ?), lastRow = ?, lastSeq = ?, lastToken = max(lastToken, ?),
      lastServed = max(lastServed, ?), purged = purged + ? WHERE id = 1`,
    ...[state?.highWater ?? 0, lastRow, lastSeq + (state?.lastSeq ?? 0), state?.lastToken ?? 0],
    ...[state?.lastServed ?? 0, state?.purged ?? 0],
  )
  const forEveryone = isForEveryone(database, everyone)
  for (const { name, tat, tokenAt } of shares)
    keepToken(database, String(name), { tat: Number(tat), tokenAt: Number(tokenAt) })
  const tokens = tokensIn(database, now)
  const aside = mend(database, now, forEveryone)
  countShares(database, forEveryone)
  if (forEveryone) restoreTokens(database, tokens)
  return { refused, aside }
}

/** Pauses hold wherever one was put. Of two entries of a name the later one counts; what a process has read is out of date, whatever came. */
function bringSettings(database: Database, { state, pauses, registry }: Contents): void {
  for (const { id = null, pause = null } of pauses) {
    database.run('INSERT OR IGNORE INTO pauses (id, pause) VALUES (?, ?)', id, pause)
  }
  database.run('UPDATE state SET pauses = (SELECT count(*) FROM pauses) WHERE id = 1')
  if (registry.length === 0) return
  for (const { name = null, version = null, value = null } of registry) {
    database.run(
      `INSERT INTO registry (name, version, value) VALUES (?, ?, ?)
        ON CONFLICT (name) DO UPDATE SET version = excluded.version, value = excluded.value WHERE version < excluded.version`,
      name,
      version,
      value,
    )
  }
  database.run('UPDATE state SET registry = max(registry, ?) + 1 WHERE id = 1', state?.registry ?? 0)
}

/** Empties a file whose tasks are elsewhere: another process that has it open brings none of them a second time. */
export function emptyOut(database: Connection): void {
  for (const table of ['tasks', 'bodies', 'attempts', 'lanes', 'line', 'homes', 'pauses', 'registry', 'shares'])
    database.run(`DELETE FROM ${table}`)
  database.run(
    `UPDATE state SET pauses = 0, pending = 0, inFlight = 0, succeeded = 0, exhausted = 0, cancelled = 0, purged = 0, bytes = 0 WHERE id = 1`,
  )
}

const hasEnded = ({ status }: Columns): boolean => status !== 'PENDING' && status !== 'IN_FLIGHT'

function isNews(database: Connection, { columns }: KeptTask): boolean {
  const known = database.one<Columns>('SELECT status, token FROM tasks WHERE id = ?', columns.id ?? null)
  if (!known) return true
  if (hasEnded(known)) return false
  return hasEnded(columns) || Number(columns.token) > Number(known.token)
}

/** A task that waits gets its place behind those of its order that are here (S19); what is in flight goes on, and they wait. */
function placed(database: Connection, task: KeptTask): KeptTask {
  const { columns } = task
  const { principal = null, orderKey = null, id = null } = columns
  if (orderKey === null || hasEnded(columns)) return task
  const order = "principal IS ? AND orderKey = ? AND id <> ? AND status IN ('PENDING', 'IN_FLIGHT')"
  if (!database.one(`SELECT 1 FROM tasks WHERE ${order}`, principal, orderKey, id)) return task
  if (columns.status === 'PENDING') return { ...task, columns: { ...columns, behind: 1, dueAt: null } }
  const wait = `UPDATE tasks SET behind = 1, dueAt = NULL WHERE ${order} AND status = 'PENDING' AND aside = 0`
  database.run(wait, principal, orderKey, id)
  return task
}

function remove(database: Connection, id: Value): void {
  const known = database.one<{ readonly row: number }>('SELECT row FROM tasks WHERE id = ?', id)
  if (!known) return
  database.run('DELETE FROM bodies WHERE task = ?', known.row)
  database.run('DELETE FROM attempts WHERE task = ?', known.row)
  database.run('DELETE FROM tasks WHERE row = ?', known.row)
}

function insert(database: Connection, table: string, columns: Columns): void {
  const names = Object.keys(columns)
  const places = names.map(() => '?').join(', ')
  database.run(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${places})`, ...Object.values(columns))
}
