/**
 * The line of lanes that may start a task, in the order in which they are served.
 *
 * A claim wants the first few, and there may be ten thousand: so each place in line is a row, in an index of that very order. A
 * lane that is held, or of which nothing is due, has none. Time alone changes that: `lookAt` of a lane is when, and a
 * claim looks first at those whose moment has come.
 *
 * A lane has a place for each home of its due tasks, since a claim may leave those of other homes alone.
 */

import { type Claim, LOOKED_AT } from '../../api/store.ts'
import { takesHome } from '../engine/homes.ts'
import { boundsOf, type Lineup } from '../engine/lineup.ts'
import { inTurn, type Lane, type LanePlace, type Row } from '../engine/row.ts'
import { type Database, LIMIT, type Value } from './database.ts'
import { WAITING } from './tables.ts'

/** The first due task of one home in a lane, as the index has it. */
export interface Head {
  readonly row: number
  readonly home: string | null
  readonly rank: number
  readonly dueAt: number
  readonly seq: number
}

const WAITS = `tasks INDEXED BY tasks_due WHERE lane = ? AND ${WAITING}`
const HEAD = 'row, home, 0 - priority AS rank, dueAt, CAST(seq AS REAL) AS seq'

/** Priorities that have nothing due and are stepped over: each task may have one of its own. */
const STEPS = 8
/** Due tasks that are looked at one by one instead. */
const FEW = 256

/** The first due task of each home in a lane: a step down an index for each priority that has nothing due, and one for the task. */
export function headsOf(database: Database, now: number, lane: string): Head[] {
  const heads: Head[] = []
  // mostly there is one home, and one statement says so
  const first = (
    where: string,
    ...values: readonly Value[]
  ): (Head & { readonly lastHome: string | null }) | undefined =>
    database.one(
      `SELECT ${HEAD}, (SELECT home FROM ${WAITS} ORDER BY home DESC LIMIT 1) AS lastHome
        FROM ${WAITS} ${where} ORDER BY home, priority DESC, dueAt, tasks.seq LIMIT 1`,
      lane,
      lane,
      ...values,
    )
  let steps = 0
  for (let head = first(''); head; ) {
    const { home, lastHome } = head
    let due: Head | undefined = head
    while (due && due.dueAt > now) {
      const few = ++steps === STEPS ? headsOfFew(database, now, lane) : undefined
      if (few) return few
      due = first('AND home IS ? AND priority < ?', home, 0 - due.rank)
    }
    if (due) heads.push(due)
    head = home === lastHome ? undefined : first('AND home > ?', home ?? '')
  }
  return heads
}

/** Heads from a look at each due task, where these are few; undefined: there are more. */
function headsOfFew(database: Database, now: number, lane: string): Head[] | undefined {
  const due = database.all<Head>(
    `SELECT ${HEAD} FROM tasks INDEXED BY tasks_soonest WHERE lane = ? AND ${WAITING} AND dueAt <= ? ${LIMIT}`,
    lane,
    now,
    FEW + 1,
  )
  if (due.length > FEW) return undefined
  const heads = new Map<string | null, Head>()
  for (const head of due) {
    const known = heads.get(head.home)
    if (!known || sooner(head, known) < 0) heads.set(head.home, head)
  }
  return [...heads.values()]
}

/** The first of those whose home `takes` lets through. */
export function firstHead(heads: readonly Head[], takes: (home: string | null) => boolean): Head | undefined {
  let first: Head | undefined
  for (const head of heads) {
    if (takes(head.home) && (!first || sooner(head, first) <= 0)) first = head
  }
  return first
}

/** The task with the fewest attempts, if no more than `most`, of the first due ones that `takes` lets through. `heads`: the first of each home. */
export function leastTried(
  database: Database,
  { now, lane, most }: { readonly now: number; readonly lane: string; readonly most: number },
  heads: readonly Head[],
  takes: (home: string | null) => boolean,
): Head | undefined {
  const first = firstHead(heads, takes)
  if (!first) return undefined
  const { rank } = first
  const found = heads.flatMap((head) =>
    head.rank !== rank || !takes(head.home)
      ? []
      : database.all<Head & { readonly attemptNumber: number }>(
          `SELECT row, home, 0 - priority AS rank, dueAt, CAST(seq AS REAL) AS seq, attemptNumber
            FROM ${WAITS} AND home IS ? AND priority = ? AND dueAt <= ? ORDER BY dueAt, tasks.seq ${LIMIT}`,
          lane,
          head.home,
          0 - rank,
          now,
          LOOKED_AT,
        ),
  )
  const inOrder = found.sort(sooner).slice(0, LOOKED_AT)
  const [least] = inOrder.sort((a, b) => a.attemptNumber - b.attemptNumber)
  return least && least.attemptNumber <= most ? least : undefined
}

const sooner = (a: Head, b: Head): number => a.rank - b.rank || a.dueAt - b.dueAt || a.seq - b.seq

/** Gives a lane that has no place in line one for each head. */
export function enterLine(
  database: Database,
  {
    name,
    principal,
    inFlight,
    served,
  }: Pick<Lane, 'name' | 'inFlight' | 'served'> & { readonly principal: string | null },
  heads: readonly Head[],
): void {
  for (const { home, rank, dueAt } of heads) {
    database.run(
      'INSERT INTO line (lane, home, principal, inFlight, rank, served, dueAt) VALUES (?, ?, ?, ?, ?, ?, ?)',
      name,
      home ?? '',
      principal,
      inFlight,
      rank,
      served,
      dueAt,
    )
  }
}

/** Whether a new task changes no place of its lane, which is in line: it is not due, or stands behind another of its home. */
export function isBehind(
  database: Database,
  now: number,
  { lane, home, rank, dueAt }: Pick<Row, 'lane' | 'rank' | 'dueAt'> & { readonly home: string | null },
): boolean {
  if (dueAt === null || dueAt > now) return true
  const place = 'SELECT rank, dueAt FROM line WHERE lane = ? AND home = ?'
  const first = database.one<Pick<Head, 'rank' | 'dueAt'>>(place, lane, home ?? '')
  return first !== undefined && (first.rank < rank || (first.rank === rank && first.dueAt <= dueAt))
}

export function leaveLine(database: Database, name: string): void {
  database.run('DELETE FROM line WHERE lane = ?', name)
}

/** The first `count` places of lanes that the claim may take from and that have room beneath `perLane`; `isFull`: any that have none. */
export function firstPlaces(
  database: Database,
  owner: string,
  claim: Claim,
  lineup: Lineup,
  isFull: boolean,
  count: number,
): readonly LanePlace[] {
  const perLane = Math.min(claim.perLane, Number.MAX_SAFE_INTEGER)
  // lanes with attempts in flight are no more than there are attempts, and are sorted; the others lie in the index in order
  const ranges: readonly (readonly [condition: string, order: string, ...values: number[]])[] = isFull
    ? [['inFlight >= ?', 'inFlight', perLane]]
    : [
        ['inFlight = 0', IN_TURN],
        ['inFlight > 0 AND inFlight < ?', IN_TURN, perLane],
      ]
  const first = new Map<string, LanePlace>()
  const placesIn = (line: string | null): LanePlace[] =>
    homesInLine(database, owner, claim, line).flatMap((home) =>
      ranges.flatMap(([condition, order, ...values]) => {
        const among = (index: string, whose: string): string =>
          `SELECT lane AS name, served, rank, dueAt FROM line INDEXED BY ${index}
          WHERE ${whose} AND home = ? AND principal IS ? AND ${condition} AND lane $open ORDER BY ${order} ${LIMIT}`
        const given = [home, line, ...values] as const
        const open = openAmongFirst<LanePlace>([database, claim, lineup], count, among('line_first', 'TRUE'), given)
        if (open.isAll) return open.rows
        const isOpen = boundsOf(claim, lineup)
        const origins = lineup.openOrigins?.((origin) => isOpen(origin) > 0)
        if (!origins) return notShut<LanePlace>(database, [claim, lineup], count, among('line_first', 'TRUE'), ...given)
        const ofOne = among('line_origin', `${ORIGIN} = ?`).replace('$open', 'IS NOT NULL')
        return origins.flatMap((origin) => database.all<LanePlace>(ofOne, origin, ...given, count))
      }),
    )
  const places = [claim.principal, ...(lineup.lines ?? [])].flatMap(placesIn)
  for (const place of places.sort(inTurn)) if (!first.has(place.name)) first.set(place.name, place)
  return [...first.values()].slice(0, count)
}

/** The origin that a lane of the line is named by. */
export const ORIGIN = "substr(lane, 1, instr(lane || ' ', ' ') - 1)"

const IN_TURN = 'rank, served, dueAt, lane'

/** Homes in line that the claim may take from; '': none. */
function homesInLine(database: Database, owner: string, claim: Claim, principal: string | null): string[] {
  if (claim.ownHomeOnly) return [owner]
  const takes = takesHome(owner, claim)
  const homes: string[] = []
  const ends = database.one<{ first: string | null; last: string | null }>(
    `SELECT (SELECT home FROM ${OF_PRINCIPAL} ORDER BY home LIMIT 1) AS first,
      (SELECT home FROM ${OF_PRINCIPAL} ORDER BY home DESC LIMIT 1) AS last`,
    principal,
    principal,
  )
  const after = `SELECT home FROM ${OF_PRINCIPAL} AND home > ? ORDER BY home LIMIT 1`
  for (let home = ends?.first ?? undefined; home !== undefined; ) {
    if (takes(home === '' ? null : home)) homes.push(home)
    home = home === ends?.last ? undefined : database.one<{ home: string }>(after, principal, home)?.home
  }
  return homes
}

const OF_PRINCIPAL = 'line INDEXED BY line_first WHERE principal IS ?'

/** Rows more than wanted, in case some are of lanes that may start nothing. */
const SPARE = 64

/**
 * The first `count` rows of lanes that the claim does not bound to 0, and that are not paused. `sql`: names the lane of a row `name`, has `$open` where a
 * condition on that column goes, and ends with `LIMIT`.
 *
 * Ten thousand lanes may be barred, by their breakers or by what their servers asked. Most often none of them is among the first;
 * where some are, the names of all rows are read as one text, and the rows of those alone that are wanted: a condition over as many names
 * costs the database many times that.
 */
export function notShut<T extends { readonly name: string }>(
  database: Database,
  [claim, lineup]: readonly [Claim, Lineup],
  count: number,
  sql: string,
  ...values: readonly Value[]
): readonly T[] {
  const first = openAmongFirst<T>([database, claim, lineup], count, sql, values)
  const isOpen = opennessOf(claim, lineup)
  if (first.isAll || !isOpen) return first.rows
  const all = sql.replace('$open', 'IS NOT NULL')
  const named = database.one<{ readonly names: string }>(
    `SELECT json_group_array(name) AS names FROM (${all})`,
    ...values,
    -1,
  )
  const names = JSON.parse(named?.names ?? '[]') as readonly string[]
  const wanted = names.filter(isOpen).slice(0, count)
  const listed = sql.replace('$open', 'IN (SELECT value FROM json_each(?))')
  return wanted.length === 0 ? [] : database.all<T>(listed, ...values, JSON.stringify(wanted), count)
}

/** The part of `notShut` that costs little: its answer as far as the first rows have it. `isAll`: that is the answer. `last`: the last row that was looked at. */
export function openAmongFirst<T extends { readonly name: string }>(
  [database, claim, lineup]: readonly [Database, Claim, Lineup],
  count: number,
  sql: string,
  values: readonly Value[],
): { readonly rows: readonly T[]; readonly isAll: boolean; readonly last: T | undefined } {
  const isOpen = opennessOf(claim, lineup)
  const most = isOpen ? count + SPARE : count
  const rows = database.all<T>(sql.replace('$open', 'IS NOT NULL'), ...values, most)
  const open = isOpen ? rows.filter(({ name }) => isOpen(name)) : rows
  const isAll = !isOpen || open.length >= count || rows.length < most
  return { rows: open.slice(0, count), isAll, last: rows.at(-1) }
}

type Openness = ((lane: string) => boolean) | undefined

const known = new WeakMap<Claim, readonly [Lineup, Openness]>()

/** Whether the claim may take anything of a lane; `undefined`: of each. A lineup is of one transaction, a claim may be made again. */
function opennessOf(claim: Claim, lineup: Lineup): Openness {
  const [ofWhat, kept] = known.get(claim) ?? []
  if (ofWhat === lineup) return kept
  const { bounds = [], otherMax = 1 } = claim
  const isAllOpen = !lineup.isPaused && otherMax > 0 && bounds.every(({ max }) => max > 0)
  const mostOf = boundsOf(claim, lineup)
  const isOpen: Openness = isAllOpen ? undefined : (lane) => mostOf(lane) > 0
  known.set(claim, [lineup, isOpen])
  return isOpen
}
