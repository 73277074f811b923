// Two stores on one clock, driven by the same steps: what they answer must be the same, and must hold by itself.
import { expect } from 'vitest'
import type {
  Claim,
  Enqueued,
  LaneHold,
  Lease,
  Settlement,
  StoredTask,
  TaskStore,
  Turn,
} from '../../../js/api/store.ts'
import { timeOfStep } from '../../../js/stores/engine/rules.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { type FakeClock, fakeClock } from '../../../js/testing/clock.ts'
import type { Open } from './kit.ts'

export class World {
  readonly clock: FakeClock
  readonly store: TaskStore
  readonly reference: TaskStore
  /** Every lease that was given, oldest first: later commands settle and renew some of them. */
  readonly leases: Lease[] = []
  #now = Number.NEGATIVE_INFINITY
  #shiftMs = 0
  #accepted = 0
  #lastToken = 0
  readonly #held = new Map<string, { until: number }>()
  readonly #holds = new Map<string, number>()
  readonly #keys = new Map<string, string | null>()
  #before: readonly StoredTask[] = []

  static async open(open: Open): Promise<World> {
    const clock = fakeClock()
    return new World(clock, await open({ clock }), memoryStore({ clock }))
  }

  constructor(clock: FakeClock, store: TaskStore, reference: TaskStore) {
    this.clock = clock
    this.store = store
    this.reference = reference
  }

  /** Does the same to both, and gives what both answered. */
  async both<T>(act: (store: TaskStore) => Promise<T>): Promise<T> {
    const wanted = await act(this.reference)
    expect(await act(this.store)).toEqual(wanted)
    return wanted
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
    for (const [lane, until] of this.#holds) this.#holds.set(lane, until + shiftMs)
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

  enqueued(outcomes: readonly Enqueued[], leaseMs = 0): void {
    for (const { outcome, lease } of outcomes) {
      if (outcome === 'stored') this.#accepted++
      if (outcome === 'stored' && lease) this.#give(lease, leaseMs)
    }
  }

  settled(settlements: readonly Settlement[], { settled, renewed }: Turn, renewals: readonly Lease[]): void {
    settlements.forEach(({ lease, holdLaneForMs = 0 }, i) => {
      const lane = this.#before.find(({ taskId }) => taskId === lease.taskId)?.lane
      // whether its lease was still held when it was cancelled, nobody says
      if (settled[i] !== 'applied' || lane === undefined || holdLaneForMs <= 0) return
      this.#holds.set(lane, Math.max(this.#holds.get(lane) ?? 0, this.#now + holdLaneForMs))
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
    for (const { lane, forMs } of holds)
      if (forMs > 0) this.#holds.set(lane, Math.max(this.#holds.get(lane) ?? 0, this.#now + forMs))
  }

  async claimed(turn: Turn, claim: Claim): Promise<void> {
    const { claimed, lanes, now } = turn
    expect(now).toBe(this.#now)
    expect(claimed.length).toBeLessThanOrEqual(claim.limit)
    for (const { task, lease } of claimed) {
      this.#give(lease, claim.leaseMs)
      expect(task.principal, 'S16 its own principal').toBe(claim.principal)
      expect(task.attemptNumber, 'S8 no attempt too many').toBeLessThanOrEqual(task.policy.maxAttempts ?? 5)
      expect(now, 'S8 not past its deadline').toBeLessThanOrEqual(task.deadlineAt)
      expect(this.#holds.get(task.lane) ?? now, 'S9 not while its lane is held').toBeLessThanOrEqual(now)
      const before = this.#before.find(({ taskId }) => taskId === task.taskId)
      if (before?.status === 'PENDING' && before.dueAt !== null) {
        expect(before.dueAt + this.#shiftMs, 'S9 not before it is due').toBeLessThanOrEqual(now)
      }
      const lane = lanes.find((each) => each.lane === task.lane)
      expect(lane?.inFlight, 'S7 no more than perLane').toBeLessThanOrEqual(claim.perLane)
    }
    if (claimed.length === 0) return
    expect((await this.store.counts()).inFlight, 'S7 no more than total').toBeLessThanOrEqual(claim.total)
  }

  #give(lease: Lease, leaseMs: number): void {
    expect(lease.token, 'S4 tokens rise').toBe(this.#lastToken + 1)
    this.#lastToken = lease.token
    const held = this.#held.get(lease.taskId)
    expect(held?.until ?? this.#now, 'S3 one unexpired lease').toBeLessThanOrEqual(this.#now)
    expect(lease.forMs).toBe(leaseMs)
    this.#held.set(lease.taskId, { until: this.#now + leaseMs })
    this.leases.push(lease)
  }
}
