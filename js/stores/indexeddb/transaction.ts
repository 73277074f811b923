/**
 * One transaction, as the commands see it. What they will ask for is loaded in few requests that go out together; from then
 * on it answers at once.
 */

import { laneName, type NewTask, type StoredTask } from '../../api/records.ts'
import {
  type Claim,
  type Hint,
  LANES_SHOWN,
  LOG_LENGTH,
  NOTES_LENGTH,
  type StoreTerms,
  SWEEP,
} from '../../api/store.ts'
import type { AttemptLog } from '../../api/task.ts'
import { FOREVER } from '../../platform/clock.ts'
import { advance, isDamaged, setAside } from '../engine/change.ts'
import { boundsOf } from '../engine/claim.ts'
import { First } from '../engine/first.ts'
import type { Moments, Outlived, Ready, Tx } from '../engine/port.ts'
import { COUNTER, inTurn, isHoldOver, type LanePlace, type Place, readyAt } from '../engine/row.ts'
import { wasSent } from '../engine/rules.ts'
import type { Wait } from '../engine/step.ts'
import { sumOfRequest } from '../engine/sums.ts'
import { allot } from '../engine/sweep.ts'
import { DueHeads, takes } from './due-heads.ts'
import { HeldRows } from './held-rows.ts'
import { everyTime, nameOf, ownName, shownName, within } from './keys.ts'
import { comesAt, isPast, isShown, type Lane, placeOf } from './lane-rows.ts'
import type { OrphanedLeases } from './presence.ts'
import { hasBodyApart, isSmall, lateAtOf, rowOf, storedTask, type TaskRow, textsOf } from './rows.ts'
import { loginsAt, type Snapshot, type StoreClock } from './state.ts'
import { done } from './transact.ts'

/** Parts of the store object that its transactions use. */
export interface Surroundings {
  readonly clock: StoreClock
  readonly terms: StoreTerms
  /** Whether the leases of this owner are looked after here. */
  readonly isGuarding: (owner: string) => boolean
}

export class Transaction extends HeldRows implements Tx {
  readonly terms: StoreTerms
  readonly hints: Hint[] = []
  asksToPersist = false
  /** New tasks were looked up; where not, they were stored as if neither they nor their keys were here. */
  hasLooked = true
  /** Leases that a turn takes back before they are over. */
  orphaned: OrphanedLeases | undefined
  isHere: () => boolean = () => true
  readonly #isGuarding: Surroundings['isGuarding']
  /** Tasks by the key that they keep. */
  readonly #keepers = new Map<string, TaskRow>()
  /** Orders that have a task which is pending or in flight. */
  readonly #live = new Set<string>()
  /** The first to have ended of each kind and principal, and how many there are. */
  readonly #ended = new Set<
    readonly [kind: Outlived, principal: TaskRow['principal'], rows: TaskRow[], count: number]
  >()
  #leased: readonly TaskRow[] = []
  #expired: readonly TaskRow[] = []
  #moments: Moments | undefined

  constructor(
    idb: IDBTransaction,
    { clock, terms, isGuarding }: Surroundings,
    snapshot: Snapshot,
    isOptimistic: boolean,
  ) {
    super(idb, clock, snapshot, isOptimistic)
    this.terms = terms
    this.#isGuarding = isGuarding
  }

  protected advance(next: TaskRow): void {
    if (isDamaged(this, next)) {
      this.#putOut(next)
      this.passOn(next)
    } else advance(this, next)
  }

  shown(at: number): number {
    return at - this.state.skewMs
  }

  show(row: TaskRow): StoredTask | undefined {
    return storedTask(row, this.state.skewMs)
  }

  isCurrent(principal: string | null): boolean {
    const { principal: current } = this.state
    return loginsAt(this.state, this.now).length === 0 && (current === undefined || current === principal)
  }

  async loadOrders(taskIds: readonly string[]): Promise<void> {
    await this.load(taskIds)
    await Promise.all(taskIds.map((id) => this.#loadOrder(this.row(id))))
  }

  async #loadOrder(row: Pick<TaskRow, 'principal' | 'orderKey'> | undefined): Promise<void> {
    if (!row || row.orderKey === null) return
    const { principal, orderKey } = row
    for (;;) {
      const [head] = this.found([await this.headOf({ principal, orderKey })])
      if (!head) return
      if (!isDamaged(this, head)) {
        this.#live.add(ownName(principal, orderKey))
        // it may have come behind those that were put aside
        if (head.behind === 1) this.passOn(head)
        return
      }
      this.#putOut(head)
      this.flushRows()
    }
  }

  /** An optimistic transaction stores new tasks unseen: the database refuses those that are here, or whose keys are. */
  loadNew(tasks: readonly NewTask[]): Wait {
    this.hasLooked = !this.isOptimistic || tasks.some(({ orderKey }) => orderKey !== undefined)
    if (!this.hasLooked) return undefined
    return Promise.all([
      this.load(tasks.map(({ taskId }) => taskId)),
      ...tasks.map((task) => this.#loadKeeper(task)),
      ...tasks.map(({ principal, orderKey = null }) => this.#loadOrder({ principal: nameOf(principal), orderKey })),
    ])
  }

  async #loadKeeper({ idempotencyKey: key, principal }: NewTask): Promise<void> {
    const keepers = this.store('tasks').index('key')
    if (key === null) return
    const [row] = this.found([await done(keepers.get([key, nameOf(principal)]))])
    if (!row) return
    // it lets go of the key, which is in a unique index
    if (isDamaged(this, row)) {
      this.#putOut(row)
      this.passOn(row)
    } else this.#addKeeper(row)
  }

  /** Puts a damaged task aside, and takes it out of its order and off its key. */
  #putOut(row: TaskRow): void {
    setAside(this, row)
    // an older version has put it aside, and left it there
    this.save(row)
  }

  #addKeeper(row: TaskRow): void {
    this.#keepers.set(ownName(row.principal, row.keptKey), row)
  }

  keeperOf({ idempotencyKey, principal }: NewTask): TaskRow | undefined {
    return idempotencyKey === null ? undefined : this.#keepers.get(ownName(nameOf(principal), idempotencyKey))
  }

  joinOrder({ principal, orderKey }: TaskRow): boolean {
    const order = ownName(principal, orderKey)
    const isLive = this.#live.has(order)
    this.#live.add(order)
    return isLive
  }

  rowOf(task: NewTask, place: Place): TaskRow {
    return rowOf(task, place)
  }

  insert(row: TaskRow, body: Uint8Array | undefined): void {
    // the browser is asked to keep the database once the first task is in it
    this.asksToPersist ||= !this.state.persistAsked
    this.state.persistAsked = true
    this.#addKeeper(row)
    this.add(row)
    if (body && !isSmall(body)) this.set('bodies', row.taskId, body)
  }

  strip(row: TaskRow): void {
    if (row.status === 'CANCELLED') row.keptKey = null
    row.headers = {}
    if (hasBodyApart(row)) this.set('bodies', row.taskId, undefined)
    row.body = null
    row.bodyBytes = 0
    row.bodySum = null
    row.requestSum = null
  }

  setPolicy(row: TaskRow, policy: NewTask['policy']): void {
    row.policy = policy
    row.requestSum = sumOfRequest(row, textsOf(row))
  }

  keepLog(row: TaskRow, log: AttemptLog): void {
    const { taskId } = row
    if (wasSent(log)) {
      this.set('attempts', [taskId, ++row.logged], log)
      if (row.logged > LOG_LENGTH) this.set('attempts', [taskId, row.logged - LOG_LENGTH], undefined)
      return
    }
    row.noted = (row.noted ?? 0) + 1
    this.set('attempts', [taskId, -row.noted], { ...log, after: row.logged })
    if (row.noted > NOTES_LENGTH) this.set('attempts', [taskId, NOTES_LENGTH - row.noted], undefined)
  }

  /** Counts guarded leases by owner. */
  leaseChanged(row: TaskRow, by: 1 | -1): void {
    const { owner } = row
    if (owner === null) return
    if (by > 0) row.guarded = this.#isGuarding(owner)
    if (row.guarded) {
      const { [owner]: known = 0, ...others } = this.state.guards
      this.state.guards = known + by > 0 ? { ...others, [owner]: known + by } : others
    }
    if (by < 0) row.guarded = false
  }

  /** Asks the indexes before the turn has changed anything, all in one go; what they gave is looked at again as it is by then. */
  async loadTurn(taskIds: readonly string[], outlived: readonly Outlived[]): Promise<void> {
    const { state, now } = this
    const tasks = this.store('tasks')
    const leases = everyTime(this.orphaned ? undefined : now)
    const [leased, expired]: [TaskRow[], TaskRow[], ...unknown[]] = await Promise.all([
      state.inFlight === 0 ? [] : done(tasks.index('lease').getAll(leases)),
      state.pending === 0 ? [] : done(tasks.index('late').getAll(IDBKeyRange.upperBound([now]), SWEEP)),
      ...outlived.map((kind) => this.#loadEnded(kind)),
      this.verify(),
      this.load(taskIds),
    ])
    this.#leased = leased
    this.#expired = expired
  }

  async #loadEnded(kind: Outlived): Promise<void> {
    const { statuses, before, surplus } = kind
    const index = this.store('tasks').index('ended')
    const principals = new Set<TaskRow['principal']>()
    this.lanes.each((lane) => principals.add(lane.principal))
    const isMany = surplus > 0 && principals.size > 1
    await Promise.all(
      [...principals].map(async (principal): Promise<void> => {
        const found = await Promise.all(
          statuses.map(async (status): Promise<[TaskRow[], number]> => {
            if (this.state[COUNTER[status]] === 0) return [[], 0]
            const own = within([status, principal])
            const asked = surplus > 0 ? own : within([status, principal], before)
            // those of one principal need not be counted
            return Promise.all([done(index.getAll(asked, SWEEP)), isMany ? done(index.count(own)) : surplus])
          }),
        )
        const rows = found.flatMap(([rows]) => rows)
        if (rows.length > 0) this.#ended.add([kind, principal, rows, found.reduce((sum, [, count]) => sum + count, 0)])
      }),
    )
  }

  oldest(kind: Outlived, most: number): TaskRow[] {
    const owners = [...this.#ended].filter(([own]) => own === kind)
    const isAged = ({ endedAt }: TaskRow): boolean => endedAt !== null && endedAt < kind.before
    const doomed = owners
      .flatMap(([, , rows]) => rows.filter(isAged))
      .sort(byEnd)
      .slice(0, most)
    const left = owners.map(([, principal, rows, count]) => {
      const others = rows.filter((row) => !doomed.includes(row))
      return [principal, count - rows.length + others.length, others.sort(byEnd)] as const
    })
    left.sort(([a], [b]) => (laneName(shownName(a), '') < laneName(shownName(b), '') ? -1 : 1))
    const surplus = Math.min(kind.surplus, most) - doomed.length
    const lost = allot(
      left.map(([principal, count]) => [principal, count]),
      surplus,
    )
    return this.found([...doomed, ...left.flatMap(([principal, , rows]) => rows.slice(0, lost.get(principal)))])
  }

  endHolds(): void {
    const over: Lane[] = []
    this.lanes.each((lane) => {
      if (lane.heldUntil !== null && isHoldOver(lane, this.now)) over.push(lane)
    })
    for (const lane of over) this.saveLane(lane)
  }

  lapsed(alive: string): TaskRow[] {
    return this.#orChanged(this.#leased)
      .filter((row) => row.leaseUntil !== null && (row.leaseUntil <= this.now || this.isGone(row, alive)))
      .sort((a, b) => a.token - b.token)
  }

  isGone({ owner, guarded, token }: TaskRow, alive: string): boolean {
    const { orphaned } = this
    return (
      orphaned !== undefined &&
      guarded &&
      owner !== alive &&
      token <= orphaned.upTo &&
      orphaned.owners.includes(owner ?? '')
    )
  }

  late(): TaskRow[] {
    const { now } = this
    return this.#orChanged(this.#expired)
      .filter((row) => (lateAtOf(row) ?? now) < now)
      .sort((a, b) => a.deadlineAt - b.deadlineAt || a.seq - b.seq)
      .slice(0, SWEEP)
  }

  /** Rows that were found, and those that have been changed since, each as it is now. */
  #orChanged(rows: readonly TaskRow[]): TaskRow[] {
    return [...new Set([...this.found(rows), ...this.changed()])]
  }

  lookAtLanes(): undefined {}

  /** Looks at every lane, which are all in memory, and keeps the first. */
  readyLanes(owner: string, claim: Claim, isFull: boolean, count: number): Ready[] {
    const principal = nameOf(claim.principal)
    const mostOf = boundsOf(claim)
    const fits = takes(owner, claim)
    const first = new First<LanePlace>(count, inTurn)
    this.lanes.each((lane) => {
      if (lane.principal !== principal || lane.inFlight >= claim.perLane !== isFull || !(mostOf(lane.name) > 0)) return
      const place = placeOf(lane, this.now, fits)
      if (place) first.add(place)
    })
    return first.all().map(({ name, rank, dueAt }) => ({ lane: this.lanes.of({ lane: name, principal }), rank, dueAt }))
  }

  heads(lane: Lane, owner: string, claim: Claim): DueHeads {
    return new DueHeads(this, lane, owner, claim)
  }

  /** Asks in one go with the writing of what is not written yet. */
  async loadMoments(claim: Claim | null): Promise<void> {
    const { now, state } = this
    const tasks = this.store('tasks')
    await this.flushOrders()
    this.flushRows()
    const [, lease, deadline] = await Promise.all([
      this.flush(),
      state.inFlight === 0 ? undefined : firstOf(tasks.index('lease')),
      state.pending === 0 ? undefined : firstOf(tasks.index('late')),
    ])
    const shown = new First<Lane>(LANES_SHOWN, (a, b) => soonerReady(a, b, now))
    const past: Lane[] = []
    let next = FOREVER
    const mostOf = claim && boundsOf(claim)
    this.lanes.each((lane) => {
      if (mostOf && (lane.principal !== nameOf(claim.principal) || !(mostOf(lane.name) > 0))) return
      if (isShown(lane, now)) shown.add(lane)
      if (claim && isPast(lane, now)) past.push(lane)
      else next = Math.min(next, claim ? comesAt(lane, now) : readyAt(lane))
    })
    // of those not looked at the next turn sees to more
    const found = await Promise.all(past.slice(0, SWEEP).map((lane) => this.lanes.lookAgain(lane, now)))
    this.#moments = {
      lanes: shown.all(),
      leaseAt: (lease as number | undefined) ?? FOREVER,
      deadlineAt: (deadline as readonly number[] | undefined)?.[0] ?? FOREVER,
      readyAt: past.length > SWEEP ? now : Math.min(next, ...found.map((at) => at ?? FOREVER)),
    }
  }

  moments(): Moments {
    return this.#moments as Moments // it has been loaded
  }
}

/** The order in which lanes are shown. */
function soonerReady(a: Lane, b: Lane, now: number): number {
  const [first, second] = [Math.max(now, readyAt(a)), Math.max(now, readyAt(b))]
  return first === second ? (a.name < b.name ? -1 : 1) : first - second
}

const byEnd = (a: TaskRow, b: TaskRow): number => (a.endedAt ?? 0) - (b.endedAt ?? 0) || a.seq - b.seq

async function firstOf(index: IDBIndex): Promise<IDBValidKey | undefined> {
  return (await done(index.openKeyCursor()))?.key
}
