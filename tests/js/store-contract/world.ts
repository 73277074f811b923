// Two stores on one clock, driven by the same steps: what they answer must be the same, and must hold by itself.
import { expect } from 'vitest'
import type {
  Claim,
  Enqueued,
  LaneHold,
  Lease,
  NewTask,
  Pause,
  Settlement,
  StoredTask,
  TaskStore,
  Turn,
} from '../../../js/api/store.ts'
import { timeOfStep } from '../../../js/stores/engine/rules.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { type FakeClock, fakeClock } from '../../../js/testing/clock.ts'
import type { Open } from './kit.ts'

/** Which dead letters were deleted counts, and not which of them first. */
function inOneOrder<T>(answer: T): T {
  const { trimmed } = (answer ?? {}) as Partial<Turn>
  const byId = (a: { readonly taskId: string }, b: { readonly taskId: string }) => (a.taskId < b.taskId ? -1 : 1)
  return trimmed ? { ...answer, trimmed: trimmed.toSorted(byId) } : answer
}

/** What limits keep back need not all be looked at where more is due at once, nor tokens where `total` is reached. */
export function asFarAsAsked(turn: Turn, { nextInMs, blockedByLimit }: Turn, total: number): Turn {
  const isFull = turn.blockedByLimit && (turn.counts?.inFlight ?? 0) >= total
  const isLater = (turn.nextInMs ?? Number.POSITIVE_INFINITY) >= (nextInMs ?? Number.POSITIVE_INFINITY)
  return {
    ...turn,
    ...(nextInMs === 0 && turn.nextInMs === 0 && blockedByLimit && { blockedByLimit }),
    ...(isFull && isLater && { nextInMs }),
  }
}

export class World {
  readonly clock: FakeClock
  readonly store: TaskStore
  readonly reference: TaskStore
  /** Every lease that was given, oldest first: later commands settle and renew some of them. */
  readonly leases: Lease[] = []
  /** Those that were put and not lifted, by id. */
  readonly pauses = new Map<string, Pause>()
  maxLaneHoldMs = 60_000
  #now = Number.NEGATIVE_INFINITY
  #shiftMs = 0
  #accepted = 0
  #lastToken = 0
  readonly #held = new Map<string, { until: number }>()
  /** Holds of which is known for certain that they are kept to, by lane. One that is over stays until the lane is served. */
  readonly #holds = new Map<string, { until: number; endsBy: number }>()
  readonly #keys = new Map<string, string | null>()
  #before: readonly StoredTask[] = []

  static async open(open: Open, everyone: boolean): Promise<World> {
    const clock = fakeClock()
    const reference = memoryStore({ clock, ...(everyone ? { everyone: true } : {}) })
    return new World(clock, await open({ clock }), reference)
  }

  constructor(clock: FakeClock, store: TaskStore, reference: TaskStore) {
    this.clock = clock
    this.store = store
    this.reference = reference
  }

  /** Does the same to both, and gives what both answered. */
  async both<T>(act: (store: TaskStore) => Promise<T>): Promise<T> {
    const wanted = await act(this.reference)
    expect(inOneOrder(await act(this.store))).toEqual(inOneOrder(wanted))
    return wanted
  }

  /** As `step`, for a turn: what limits keep back need not all be looked at, where the contract says so. */
  async turn(act: (store: TaskStore) => Promise<Turn>, claim: Claim | null): Promise<Turn> {
    const isLimited = this.reference.everyone && (claim?.limits ?? claim?.perPrincipal ?? claim?.perFree) !== undefined
    let wanted: Turn | undefined
    return this.step(async (store) => {
      const turn = await act(store)
      if (store === this.reference || !isLimited || !wanted) wanted = turn
      return asFarAsAsked(turn, wanted, claim?.total ?? 0)
    })
  }

  /** As `both`; a store may keep none. */
  async history(taskId: string): Promise<void> {
    if (this.store.history) await this.both(async (store) => (await store.history?.(taskId)) ?? [])
  }

  /** As `both`, where the clock is looked at. */
  async step<T>(act: (store: TaskStore) => Promise<T>): Promise<T> {
    const { now, shiftMs } = timeOfStep(this.clock.now(), this.#now)
    this.#now = now
    this.#shiftMs = shiftMs
    for (const lease of this.#held.values()) lease.until += shiftMs
    for (const hold of this.#holds.values()) {
      hold.until += shiftMs
      hold.endsBy += shiftMs
    }
    return this.both(act)
  }

  /** What holds after every command, whatever it was. */
  async check(): Promise<void> {
    const counts = await this.both((store) => store.counts())
    const { tasks } = await this.both((store) => store.list({ limit: 1_000 }))
    const { pending, inFlight, succeeded, exhausted, cancelled, purged } = counts
    const sum = pending + inFlight + succeeded + exhausted + cancelled + purged
    expect(sum, 'S2 what was accepted is somewhere').toBe(this.#accepted)
    const ofStatus = (status: string) => tasks.filter((task) => task.status === status).length
    expect(ofStatus('EXHAUSTED'), 'S13 exhausted exactly when a dead letter').toBe(exhausted)
    expect([ofStatus('IN_FLIGHT'), ofStatus('SUCCEEDED'), ofStatus('CANCELLED')]).toEqual([
      inFlight,
      succeeded,
      cancelled,
    ])
    expect(ofStatus('PENDING')).toBeLessThanOrEqual(pending)
    if (this.reference.everyone) {
      // quotas go by what is kept of each; the reference counts its rows
      for (const principal of [null, 'ann']) await this.both(async (store) => store.countsOf?.(principal))
    }
    const running = tasks.filter(({ status, orderKey }) => status === 'IN_FLIGHT' && orderKey !== undefined)
    const orders = running.map(({ principal, orderKey }) => JSON.stringify([principal, orderKey]))
    expect(new Set(orders).size, 'S19 one of an order at a time').toBe(orders.length)
    for (const { taskId, idempotencyKey } of tasks) {
      if (!this.#keys.has(taskId)) this.#keys.set(taskId, idempotencyKey)
      expect(idempotencyKey, 'S5 one key per task').toBe(this.#keys.get(taskId))
    }
    for (const taskId of this.#keys.keys()) if (!tasks.some((task) => task.taskId === taskId)) this.#keys.delete(taskId)
    const inFlightIds = new Set(tasks.filter(({ status }) => status === 'IN_FLIGHT').map(({ taskId }) => taskId))
    for (const taskId of this.#held.keys()) if (!inFlightIds.has(taskId)) this.#held.delete(taskId)
    this.#before = tasks
  }

  enqueued(tasks: readonly NewTask[], outcomes: readonly Enqueued[], leaseMs = 0): void {
    outcomes.forEach(({ outcome, lease }, i) => {
      const task = tasks[i]
      if (outcome !== 'stored' || !task) return
      this.#accepted++
      this.#hold(task.lane, task.holdLaneForMs ?? 0)
      if (lease) this.#give(lease, leaseMs, task.lane)
    })
  }

  settled(settlements: readonly Settlement[], { settled, renewed }: Turn, renewals: readonly Lease[]): void {
    settlements.forEach(({ lease, holdLaneForMs = 0 }, i) => {
      const lane = this.#before.find(({ taskId }) => taskId === lease.taskId)?.lane
      if (lane === undefined) return
      if (settled[i] === 'applied') this.#hold(lane, holdLaneForMs)
      // the store does not say whether its lease was still held when it was cancelled: the next hold may be none
      else if (settled[i] === 'cancelled' && !this.#holds.has(lane))
        this.#holds.set(lane, { until: this.#now, endsBy: this.#now })
    })
    settlements.forEach(({ lease }, i) => {
      if (settled[i] === 'applied' || settled[i] === 'cancelled') this.#held.delete(lease.taskId)
    })
    renewals.forEach((lease, i) => {
      const held = this.#held.get(lease.taskId)
      if (held && renewed[i] !== 'lost') held.until = this.#now + lease.forMs
    })
  }

  laneHeld(holds: readonly LaneHold[]): void {
    for (const { lane, forMs } of holds) this.#hold(lane, forMs)
  }

  async claimed(turn: Turn, claim: Claim): Promise<void> {
    const { claimed, lanes, now } = turn
    expect(now).toBe(this.#now)
    expect(claimed.length).toBeLessThanOrEqual(claim.limit)
    for (const { task, lease } of claimed) {
      const { until = now } = this.#holds.get(task.lane) ?? {}
      expect(until, 'S9 not while its lane is held').toBeLessThanOrEqual(now)
      this.#give(lease, claim.leaseMs, task.lane)
      if (!this.reference.everyone) expect(task.principal, 'S16 its own principal').toBe(claim.principal)
      expect(this.#isPaused(task), 'nothing of what is paused').toBe(false)
      expect(task.attemptNumber, 'S8 no attempt too many').toBeLessThanOrEqual(task.policy.maxAttempts ?? 5)
      expect(now, 'S8 not past its deadline').toBeLessThanOrEqual(task.deadlineAt)
      const before = this.#before.find(({ taskId }) => taskId === task.taskId)
      if (before?.status === 'PENDING' && before.dueAt !== null) {
        expect(before.dueAt + this.#shiftMs, 'S9 not before it is due').toBeLessThanOrEqual(now)
      }
      const lane = lanes.find((each) => each.lane === task.lane)
      expect(lane?.inFlight, 'S7 no more than perLane').toBeLessThanOrEqual(claim.perLane)
    }
    if (this.reference.everyone) this.#boundByOrigin(claimed, claim)
    if (claimed.length === 0) return
    if (this.reference.everyone) await this.#limited(claimed, claim)
    expect((await this.store.counts()).inFlight, 'S7 no more than total').toBeLessThanOrEqual(claim.total)
  }

  #isPaused({ principal, targetUrl }: StoredTask): boolean {
    const at = new URL(targetUrl).origin
    const holds = ({ origin = at, principal: whose = principal }: Pause) => origin === at && whose === principal
    return [...this.pauses.values()].some(holds)
  }

  #boundByOrigin(claimed: Turn['claimed'], { lanes, bounds = [] }: Claim): void {
    if (lanes !== 'any') return
    for (const { lane, max } of bounds) {
      const taken = claimed.filter(({ task }) => new URL(task.targetUrl).origin === lane)
      expect(taken.length, `S7 no more than ${max} of ${lane}`).toBeLessThanOrEqual(max)
    }
  }

  /** Whoever was given a lease has no more in flight than limits allow. */
  async #limited(
    claimed: Turn['claimed'],
    { perPrincipal = Number.POSITIVE_INFINITY, limits = [] }: Claim,
  ): Promise<void> {
    const running = (await this.store.list({ status: 'IN_FLIGHT', limit: 1_000 })).tasks
    for (const { task } of claimed) {
      const own = running.filter(({ principal }) => principal === task.principal)
      expect(own.length, 'S7 no more than perPrincipal').toBeLessThanOrEqual(perPrincipal)
      const { origin } = new URL(task.targetUrl)
      const limit =
        limits.find(({ origins }) => origins === origin) ?? limits.find(({ origins }) => origins.includes('*'))
      const fits = ({ lane, targetUrl }: StoredTask) =>
        limit?.sharedBy === 'origin' ? new URL(targetUrl).origin === origin : lane === task.lane
      const most = limit?.concurrency ?? Number.POSITIVE_INFINITY
      expect(running.filter(fits).length, 'S7 no more than the limit of its origin').toBeLessThanOrEqual(most)
    }
  }

  /** One that begins before the lane was served since the last is the store's to refuse, or not. */
  #hold(lane: string, askedMs: number): void {
    const now = this.#now
    const forMs = Math.min(askedMs, this.maxLaneHoldMs)
    if (forMs <= 0) return
    const held = this.#holds.get(lane)
    if (!held) this.#holds.set(lane, { until: now + forMs, endsBy: now + this.maxLaneHoldMs })
    else if (held.until > now) held.until = Math.max(held.until, Math.min(now + forMs, held.endsBy))
  }

  #give(lease: Lease, leaseMs: number, lane: string): void {
    this.#holds.delete(lane)
    expect(lease.token, 'S4 tokens rise').toBe(this.#lastToken + 1)
    this.#lastToken = lease.token
    const held = this.#held.get(lease.taskId)
    expect(held?.until ?? this.#now, 'S3 one unexpired lease').toBeLessThanOrEqual(this.#now)
    expect(lease.forMs).toBe(leaseMs)
    this.#held.set(lease.taskId, { until: this.#now + leaseMs })
    this.leases.push(lease)
  }
}
