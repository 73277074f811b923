/**
 * One transaction, as the commands see it. Rows are written as they are saved. Counters and lanes are held and written
 * once each, lanes when a turn shows them or at the end (`written`); nothing is remembered beyond the transaction, since other processes write the same file.
 *
 * SQLite answers at once: nothing has to be loaded ahead, and each question is asked when its answer is needed.
 */

import { laneName, type NewTask, principalIn, type StoredTask } from '../../api/records.ts'
import {
  CHANCE_MS,
  type Claim,
  type Hint,
  LOG_LENGTH,
  NOTES_LENGTH,
  RECORD_SCHEMA,
  type StoreTerms,
  SWEEP,
} from '../../api/store.ts'
import type { AttemptLog } from '../../api/task.ts'
import { advance, isDamaged, setAside } from '../engine/change.ts'
import { takesHome } from '../engine/homes.ts'
import type { Ledger } from '../engine/ledger.ts'
import { type Lineup, mostTriedIn } from '../engine/lineup.ts'
import { recordOf } from '../engine/parts.ts'
import type { Moments, Outlived, Ready, Tx } from '../engine/port.ts'
import { newRow, type Place } from '../engine/row.ts'
import { wasSent } from '../engine/rules.ts'
import { storedTask } from '../engine/shown.ts'
import { foundBody } from '../engine/sound.ts'
import { sumOfRequest } from '../engine/sums.ts'
import { allot, type Owned } from '../engine/sweep.ts'
import { type Database, LIMIT, type Value, where } from './database.ts'
import { DueHeads, momentsOf } from './due.ts'
import { HeldLanes } from './held-lanes.ts'
import type { LaneRow } from './lane-rows.ts'
import { firstHead, leastTried } from './line.ts'
import { allFound, insertRow, rowById, rowFound, rowsFound, type TaskRow, updateRow } from './rows.ts'
import { readState, type State, type StoreClock, shiftInstants, writeState } from './state.ts'
import { ENDED, EXPIRING, KEEPING, LIVE, NUMBERED } from './tables.ts'

const IN_ORDER = `FROM tasks WHERE principal IS ? AND orderKey = ? AND ${LIVE} AND ${KEEPING}`

/** Bodies up to this many bytes are read with the claim of their task: a claim's together are a few megabytes at most. */
const MOST_AT_HAND = 65_536

type Work = (rows: readonly TaskRow[]) => void

export interface Owner {
  readonly principal: string | null
  readonly count: number
}

export const byName = (owners: readonly Owner[]): Owned<string | null> =>
  owners
    .map(({ principal, count }) => [principal, count] as const)
    .sort(([a], [b]) => (laneName(a, '') < laneName(b, '') ? -1 : 1))

/** How lanes stand in a database, as of the transaction that asks. */
export type LineupOf = (database: Database, state: State) => Lineup

const OWN_LINES: LineupOf = () => ({ everyone: false })

export class Transaction implements Tx {
  readonly database: Database
  readonly terms: StoreTerms
  readonly now: number
  readonly lineup: Lineup
  declare readonly ledger?: Ledger | undefined
  readonly hints: Hint[] = []
  unreadable = 0
  /** Something was deleted of what a task has said. */
  hasErased = false
  /** Owners whose leases a turn takes back before they are over: their process is gone. */
  orphaned: readonly string[] = []
  #state: State
  #wrote = false
  readonly #lanes: HeldLanes

  constructor(database: Database, clock: StoreClock, terms: StoreTerms, lineupOf: LineupOf = OWN_LINES) {
    this.database = database
    this.terms = terms
    this.#state = readState(database)
    this.lineup = lineupOf(database, this.#state)
    const { now, shiftMs } = clock.read(this.#state)
    this.now = now
    this.#lanes = new HeldLanes(database, now, this.lineup)
    if (shiftMs === 0) return
    shiftInstants(database, shiftMs)
    this.#state.clockSteps++
    this.#wrote = true
  }

  get state(): State {
    return this.#state
  }

  get wrote(): boolean {
    return this.#wrote
  }

  shown(at: number): number {
    return at
  }

  show(row: TaskRow): StoredTask | undefined {
    return storedTask(row)
  }

  isCurrent(): boolean {
    return true
  }

  isHere(): boolean {
    return true
  }

  load(): undefined {}
  loadOrders(): undefined {}
  loadNew(): undefined {}
  loadTurn(): undefined {}

  row(taskId: string): TaskRow | undefined {
    return rowById(this.database, taskId)
  }

  keeperOf({ idempotencyKey, principal }: NewTask): TaskRow | undefined {
    if (idempotencyKey === null) return undefined
    return allFound(
      this.database,
      `SELECT * FROM tasks WHERE idempotencyKey = ? AND (status = 'CANCELLED') = 0 AND principal IS ? AND ${KEEPING}`,
      idempotencyKey,
      principal,
    ).find((row) => !isDamaged(this, row))
  }

  joinOrder(row: TaskRow): boolean {
    const head = this.#headOf(row)
    if (head) advance(this, head)
    return head !== undefined
  }

  passOn(row: TaskRow): void {
    if (row.orderKey === null) return
    const head = this.#headOf(row)
    if (head) advance(this, head)
  }

  /** The first of an order. Those before it that are damaged are put aside. */
  #headOf({ principal, orderKey }: TaskRow): TaskRow | undefined {
    for (let aside: TaskRow | undefined; ; ) {
      const first = rowFound(this.database, `SELECT * ${IN_ORDER} ORDER BY behind, seq LIMIT 1`, principal, orderKey)
      // one that stays where it is has a number that no statement can name
      if (!first || first.row === aside?.row || !isDamaged(this, first)) return first
      aside = first
      setAside(this, first)
    }
  }

  rowOf(task: NewTask, place: Place): TaskRow {
    const { principal, home } = task
    const texts = { headers: JSON.stringify(task.headers), record: recordOf(task) }
    return { ...newRow(task, place), row: ++this.#state.lastRow, principal, home, ...texts }
  }

  insert(row: TaskRow, body: Uint8Array | undefined): void {
    insertRow(this.database, row)
    if (body) this.database.keepBody(row.row, body)
    this.#wrote = true
    this.#lanes.entered(row)
  }

  bodyAtHand(row: TaskRow): Uint8Array | undefined {
    const isSmall = row.bodyBytes > 0 && row.bodyBytes <= MOST_AT_HAND
    return isSmall ? foundBody(this.database.bodyOf(row.row), row) : undefined
  }

  save(row: TaskRow): void {
    updateRow(this.database, row)
    this.#wrote = true
    this.#lanes.moved(row)
  }

  erase(row: TaskRow): void {
    this.hasErased = true
    this.run('DELETE FROM bodies WHERE task = ?', row.row)
    this.run('DELETE FROM attempts WHERE task = ?', row.row)
    this.run('DELETE FROM tasks WHERE row = ?', row.row)
    this.#lanes.lost(row.lane)
  }

  strip(row: TaskRow): void {
    this.hasErased = true
    row.headers = '{}'
    row.bodyBytes = 0
    row.bodySum = null
    row.requestSum = null
    this.run('DELETE FROM bodies WHERE task = ?', row.row)
  }

  setPolicy(row: TaskRow, policy: NewTask['policy']): void {
    const task = storedTask(row)
    if (!task) return
    row.record = recordOf({ ...task, policy })
    row.requestSum = sumOfRequest(row, [row.headers, row.record])
  }

  keepLog({ row }: TaskRow, log: AttemptLog): void {
    const numberOf = (which: string): number =>
      this.database.one<{ n: number | null }>(`SELECT ${which} AS n FROM attempts WHERE task = ? AND ${NUMBERED}`, row)
        ?.n ?? 0
    const keep = (n: number, line: object): void => {
      this.run('INSERT INTO attempts (task, n, log) VALUES (?, ?, ?)', row, n, JSON.stringify(line))
    }
    const last = Math.max(0, numberOf('max(n)'))
    if (wasSent(log)) {
      keep(last + 1, log)
      this.run('DELETE FROM attempts WHERE task = ? AND n > 0 AND n <= ?', row, last + 1 - LOG_LENGTH)
      return
    }
    const n = Math.min(0, numberOf('min(n)')) - 1
    keep(n, { ...log, after: last })
    this.run('DELETE FROM attempts WHERE task = ? AND n < 0 AND n >= ?', row, n + NOTES_LENGTH)
  }

  leaseChanged(): void {}

  lane({ lane: name, principal }: Pick<TaskRow, 'lane' | 'principal'>): LaneRow {
    return this.#lanes.of(name, principal)
  }

  laneNamed(name: string): LaneRow {
    return this.#lanes.of(name, principalIn(name))
  }

  saveLane(lane: LaneRow): void {
    this.#wrote = true
    this.#lanes.changed(lane)
  }

  /** `ended`: which may be deleted. */
  oldest({ statuses, before, surplus }: Outlived, most: number, ended: string = ENDED): TaskRow[] {
    const { database } = this
    const isLetter = statuses[0] === 'EXHAUSTED' ? 1 : 0
    const aged = `FROM tasks INDEXED BY tasks_ended ${ended} AND endedAt < ? ORDER BY endedAt, seq ${LIMIT}`
    const doomed = rowsFound(database, aged, isLetter, before, most)
    const total = Math.min(surplus, most)
    if (total <= doomed.length) return doomed
    const own = `FROM tasks INDEXED BY tasks_ended_own ${ended} AND principal IS ? ORDER BY endedAt, seq ${LIMIT} OFFSET CAST(? AS INTEGER)`
    // those that are doomed by now are the oldest of each
    const gone = new Map<string | null, number>()
    for (const { principal } of doomed) gone.set(principal, (gone.get(principal) ?? 0) + 1)
    // each that loses one is among so many, or of those before it none may be deleted
    let owned = this.owned(isLetter, total + 64)
    while (doomed.length < total && owned.length > 0) {
      const left = owned.map(([owner, count]) => [owner, count - (gone.get(owner) ?? 0)] as const)
      const lost = allot(left, total - doomed.length)
      // of an owner of whom fewer are found no others may be deleted
      owned = owned.filter(([owner], i) => {
        const count = lost.get(owner) ?? 0
        const before = gone.get(owner) ?? 0
        const found = count > 0 ? rowsFound(database, own, isLetter, owner, count, before) : []
        doomed.push(...found)
        gone.set(owner, before + found.length)
        return found.length === count && count < (left[i]?.[1] ?? 0)
      })
    }
    return doomed
  }

  /** The principals that have most of the dead letters (1), or of what has succeeded or was cancelled (0), by name. */
  protected owned(isLetter: 0 | 1, most: number): Owned<string | null> {
    const ended = `FROM tasks INDEXED BY tasks_ended_own ${ENDED}`
    const at = (order: string) =>
      this.database.one<Owner>(`SELECT principal ${ended} ORDER BY principal ${order} LIMIT 1`, isLetter)?.principal
    const [first, last] = [at(''), at('DESC')]
    // most stores have one principal's tasks, which need not be counted
    if (first === last) return first === undefined ? [] : [[first, Number.MAX_SAFE_INTEGER]]
    const counted = `SELECT principal, count(*) AS count ${ended} GROUP BY principal ORDER BY count DESC, principal ${LIMIT}`
    return byName(this.database.all<Owner>(counted, isLetter, most))
  }

  endHolds(): void {
    const over = `FROM lanes INDEXED BY lanes_held WHERE heldUntil > 0 AND heldUntil <= ? ${LIMIT}`
    for (const { name } of this.database.all<{ name: string }>(`SELECT name ${over}`, this.now - CHANCE_MS, SWEEP)) {
      this.run('DELETE FROM lanes WHERE name = ? AND tasks = 0', name)
      // a lane that is not in line is looked at when its first task is due
      this.run(
        'UPDATE lanes SET heldUntil = 0, holdEndsBy = 0, readyAt = nextDue, lookAt = iif(isReady = 1, lookAt, nextDue) WHERE name = ?',
        name,
      )
    }
  }

  lapsed(alive: string): TaskRow[] {
    const orphaned = this.orphaned.filter((owner) => owner !== alive)
    const leases = "FROM tasks INDEXED BY tasks_leases WHERE status = 'IN_FLIGHT'"
    if (orphaned.length === 0) return rowsFound(this.database, `${leases} AND leaseUntil <= ? ORDER BY token`, this.now)
    const over = '(leaseUntil <= ? OR owner IN (SELECT value FROM json_each(?)))'
    return rowsFound(this.database, `${leases} AND ${over} ORDER BY token`, this.now, JSON.stringify(orphaned))
  }

  isGone({ owner }: TaskRow, alive: string): boolean {
    return owner !== null && owner !== alive && this.orphaned.includes(owner)
  }

  late(): TaskRow[] {
    return rowsFound(
      this.database,
      `FROM tasks INDEXED BY tasks_deadlines WHERE ${EXPIRING} AND deadlineAt < ? ORDER BY deadlineAt, seq ${LIMIT}`,
      this.now,
      SWEEP,
    )
  }

  /** Tasks are written as they are saved, and a claim hears of lanes as they are held. */
  flush(): undefined {}

  /** Writes what is held: the end of the transaction. */
  written(): void {
    this.#lanes.write()
    if (!this.#wrote) return
    this.#state.highWater = this.now
    writeState(this.database, this.#state)
  }

  lookAtLanes(claim: Claim): undefined {
    // places in line are as of now: no process may see an earlier time
    if (this.#lanes.lookAt(claim)) this.#wrote = true
  }

  readyLanes(owner: string, claim: Claim, isFull: boolean, count: number): readonly Ready[] {
    return this.#lanes.first(owner, claim, isFull, count).map(({ name, rank, dueAt }) => ({
      lane: this.#lanes.of(name, claim.principal),
      rank,
      dueAt,
    }))
  }

  heads({ name, principal }: LaneRow, owner: string, claim: Claim): DueHeads {
    const { database, now } = this
    const takes = takesHome(owner, claim)
    const heads = () => this.#lanes.headsOf(name, principal)
    const most = mostTriedIn(claim, name, this.lineup)
    return new DueHeads(
      database,
      most === undefined
        ? () => firstHead(heads(), takes)
        : () => leastTried(database, { now, lane: name, most }, heads(), takes),
    )
  }

  loadMoments(): undefined {
    this.#lanes.write()
  }

  moments(claim: Claim | null): Moments {
    return momentsOf(this.database, this.now, claim, this.lineup)
  }

  eachWaiting(lane: string | undefined, work: Work): undefined {
    const { sql, values } = where(
      { 'dueAt > max(?, serverAt)': this.now, 'lane = ?': lane },
      `status = 'PENDING' AND aside = 0 AND recordSchema <= ${RECORD_SCHEMA}`,
    )
    work(allFound(this.database, `SELECT * FROM tasks ${sql}`, ...values))
  }

  eachParked({ principal, lane }: Parameters<Tx['eachParked']>[0], work: Work): undefined {
    const { sql, values } = where({ 'principal IS ?': principal, 'lane = ?': lane }, 'parked = 1 AND aside = 0')
    work(allFound(this.database, `SELECT * FROM tasks ${sql} ORDER BY seq`, ...values))
  }

  eachOf({ taskId, principal, status }: Parameters<Tx['eachOf']>[0], work: Work, always?: string): undefined {
    const { sql, values } = where({ 'id = ?': taskId, 'principal IS ?': principal, 'status = ?': status }, always)
    work(allFound(this.database, `SELECT * FROM tasks ${sql} ORDER BY seq`, ...values))
  }

  /** Runs one statement. */
  run(sql: string, ...values: readonly Value[]): number {
    const changed = this.database.run(sql, ...values)
    if (changed > 0) this.#wrote = true
    return changed
  }
}
