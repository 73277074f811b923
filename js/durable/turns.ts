/**
 * The store's side of the loop: one `turn` after another, never two at once. Each settles what ended, renews what runs and
 * claims what there is room for. It decides nothing: the core says how many may start and in which lanes none may, the
 * store what is due.
 */

import type { Runner } from '../runner.ts'
import {
  type Claim,
  type Lease,
  laneName,
  type Settlement,
  type StoredTask,
  type TaskStore,
  type Turn,
} from '../stores/store.ts'
import type { Task } from '../task.ts'
import { afterIdle } from '../wake.ts'

/** What is asked of a store. */
export const LEASE_MS = 30_000
export const RENEW_MS: number = renewAfterMs(LEASE_MS)
/** Most claims of one turn. */
const BATCH = 64
/** Due work that only limits keep back is looked at again after a second, then less often. */
const BLOCKED_MS = 1_000
/** Clocks are read in whole milliseconds, and not at once. */
const STILL_MS = 20
const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 5_000
/** A store that fails so often in a row: callers are not kept waiting for it any longer. */
const PATIENCE = 4
const FOREVER = Number.POSITIVE_INFINITY

/** An ended attempt on its way to the store. */
export interface Ending {
  /** undefined: none could be made of the record. */
  readonly task: Task | undefined
  readonly settlement: Settlement
  /** What to do with the store's answer. */
  readonly answered: (answer: Turn['settled'][number]) => void
}

/** Who hears what a turn has brought. */
export interface Listener {
  claimed(task: StoredTask, lease: Lease, endsAt: number, turn: Turn): void
  ended(task: StoredTask): void
  renewed(task: Task, answer: Turn['renewed'][number]): void
  /** A turn is over; `failed`: how many in a row could not be made. */
  turned(failed: number, error: unknown, turn: Turn | undefined): void
}

/** When a lease is renewed: a store may give less than it was asked for. */
export function renewAfterMs(forMs: number): number {
  return forMs / 3
}

export class Turns {
  readonly owner: string
  /** Tasks that this process holds a lease of. */
  readonly leased: Map<string, Task> = new Map()
  /** As of the last turn: tasks of this principal that wait or run; at least 1 while there is any. */
  waiting = 0
  readonly #store: TaskStore
  readonly #runner: Runner
  readonly #listener: Listener
  #endings: Ending[] = []
  /** Tasks stored since the turn under way was asked for. */
  #stored = 0
  #busy: Promise<void> | undefined
  #claiming = false
  #again = false
  #stopped = false
  #failed = 0
  #nextAt = 0
  #blockedMs = BLOCKED_MS
  /** The store's clock as last seen, and when it was seen to move. */
  #storeNow = Number.NaN
  #movedAt = 0
  /** Something was due that there was no room for. */
  #hungry = false
  /** Told that there is room while a claim was on its way. */
  #roomSince = false
  /** The next turn is to learn what nobody has told. */
  #unheard = false
  #homeAt = FOREVER
  #homeWanted: () => boolean = () => false
  #disarmIdle: () => void = () => {}

  constructor(store: TaskStore, owner: string, runner: Runner, listener: Listener) {
    this.#store = store
    this.owner = owner
    this.#runner = runner
    this.#listener = listener
  }

  /** `wanted`: whether callers of this process wait. Says so to the other processes from now on. */
  async keepHome(wanted: () => boolean): Promise<void> {
    this.#homeWanted = wanted
    const isHeld = this.#homeAt !== FOREVER && this.#homeAt > this.#runner.host.now()
    if (this.#store.homes && !isHeld) await this.#holdHome()
  }

  /** The next moment at which a turn has something to do. */
  get wakeAt(): number {
    if (this.#stopped || this.#busy) return FOREVER
    // whatever is late by now, a store that fails is left alone until then
    if (this.#failed > 0) return this.#nextAt
    // a home that nobody waits in any more lapses by itself: no timer, and no process, is kept for it
    let at = Math.min(this.#nextAt, this.#homeWanted() ? this.#homeAt : FOREVER)
    for (const { lease } of this.leased.values()) if (lease && !lease.lost) at = Math.min(at, lease.renewAt)
    return at
  }

  /** Settlements that the store has not answered yet. */
  get settling(): number {
    return this.#endings.length
  }

  /** Tasks whose attempt has ended and whose store does not answer. */
  get unanswered(): readonly Task[] {
    return this.#failed >= PATIENCE ? this.#endings.flatMap(({ task }) => task ?? []) : []
  }

  /** An attempt has ended that the store knows nothing of: there may be room for what it could not claim. */
  roomMade(): void {
    // told of a turn's own settlements before what it claimed in their place has come: asked again once it has
    if (this.#claiming) this.#roomSince = true
    if (this.#claiming || !this.#hungry || !this.#runner.guard(() => this.#runner.core.vacancies())) return
    this.#blockedMs = BLOCKED_MS
    this.poke()
  }

  /** A claim is on its way: what it brings has to fit. */
  get claiming(): boolean {
    return this.#claiming
  }

  add(ending: Ending): void {
    this.#endings.push(ending)
    this.poke()
  }

  /** One more task is in the store. */
  stored(): void {
    this.waiting++
    this.#stored++
    this.poke()
  }

  /** Something may be due, or may have become free. */
  poke(): void {
    if (this.#failed === 0) this.#nextAt = 0
    this.#again = true
  }

  pump(now: number): void {
    if (!this.#stopped && !this.#busy && this.wakeAt <= now) void this.run()
  }

  /** Turns until there is nothing more to do now. Never rejects. */
  run(): Promise<void> {
    if (this.#stopped) return Promise.resolve()
    this.#busy ??= this.#run().finally(() => {
      this.#busy = undefined
      if (this.#stopped) return
      this.#armIdle()
      this.#runner.pump()
    })
    return this.#busy
  }

  stop(): void {
    this.#stopped = true
    // what waits in the store is nothing that this queue waits for any more
    this.waiting = 0
    this.#disarmIdle()
  }

  async #run(): Promise<void> {
    do {
      this.#again = false
      await this.#turn()
    } while (this.#again && this.#failed === 0 && !this.#stopped)
  }

  async #turn(): Promise<void> {
    const { host } = this.#runner
    const startedAt = host.now()
    const endings = [...this.#endings]
    const renewing = this.#renewing(startedAt, endings)
    this.#stored = 0
    try {
      if (this.#store.homes && startedAt >= this.#homeAt) await this.#holdHome()
      const skipHomes = ((await this.#store.homes?.live()) ?? []).filter((home) => home !== this.owner)
      const claim = this.#claim(skipHomes)
      this.#claiming = claim !== null
      const renew = renewing.map(({ lease }) => lease)
      const settle = endings.map(({ settlement }) => settlement)
      const turn = await this.#store.turn({ owner: this.owner, settle, renew, claim })
      this.#claiming = false
      this.#failed = 0
      this.#endings = this.#endings.filter((ending) => !endings.includes(ending))
      this.waiting = turn.lanes.reduce((sum, { pending, inFlight }) => sum + pending + inFlight, this.#stored)
      this.#learnHolds(turn)
      endings.forEach(({ answered }, i) => {
        answered(turn.settled[i] ?? 'gone')
      })
      renewing.forEach(({ task }, i) => {
        const { lease } = task
        const answer = turn.renewed[i] ?? 'lost'
        if (!lease) return
        if (answer !== 'lost') {
          lease.endsAt = startedAt + lease.forMs
          lease.renewAt = startedAt + renewAfterMs(lease.forMs)
        }
        this.#listener.renewed(task, answer)
      })
      for (const task of turn.ended) this.#listener.ended(task)
      for (const { task, lease } of turn.claimed) this.#listener.claimed(task, lease, startedAt + lease.forMs, turn)
      this.#plan(turn, claim, skipHomes.length > 0)
      if (this.waiting === 0) this.waiting = await this.#unshown(claim)
      if (this.#roomSince) {
        this.#roomSince = false
        this.roomMade()
      }
      this.#listener.turned(0, undefined, turn)
    } catch (error) {
      this.#claiming = false
      this.#failed++
      this.#nextAt = host.now() + Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failed - 1))
      this.#listener.turned(this.#failed, error, undefined)
    }
  }

  #renewing(now: number, endings: readonly Ending[]): { readonly task: Task; readonly lease: Lease }[] {
    const settling = new Set<Task | undefined>(endings.map(({ task }) => task))
    const due: { readonly task: Task; readonly lease: Lease }[] = []
    for (const task of this.leased.values()) {
      const { lease, taskId } = task
      if (!lease || lease.lost || settling.has(task)) continue
      // a cancel by a process that cannot be heard is told with a renewal
      if (lease.renewAt > now && !this.#unheard) continue
      due.push({ task, lease: { taskId, token: lease.token, forMs: lease.forMs } })
    }
    this.#unheard = false
    return due
  }

  /** null: nothing may start here now. */
  #claim(skipHomes: readonly string[]): Claim | null {
    const { core, lanes, limits, host } = this.#runner
    if (this.#runner.stopped || this.#stopped) return null
    const now = host.now()
    const { concurrency: total, concurrencyPerOrigin: perLane } = limits
    return (
      this.#runner.guard(() => {
        const limit = Math.min(core.vacancies(), BATCH)
        if (limit === 0) return null
        const bounds: { readonly lane: string; readonly max: number }[] = []
        for (const [lane, { handle }] of lanes.entries()) {
          const max = core.room(now, handle)
          if (max < perLane) bounds.push({ lane, max })
        }
        const { principal } = host
        return { limit, leaseMs: LEASE_MS, total, perLane, lanes: 'any', bounds, principal, skipHomes } as const
      }) ?? null
    )
  }

  /** A turn does not show the lanes that the claim had shut: whether anything is in them. */
  async #unshown(claim: Claim | null): Promise<number> {
    if (!claim?.bounds?.some(({ max }) => max === 0)) return this.#stored
    const { principal } = claim
    for (const status of ['PENDING', 'IN_FLIGHT'] as const) {
      const { tasks } = await this.#store.list({ status, principal, limit: 1 })
      if (tasks.length > 0) return tasks.length + this.#stored
    }
    return this.#stored
  }

  /** When to look again. */
  #plan(turn: Turn, claim: Claim | null, othersWait: boolean): void {
    const { core, host, lanes } = this.#runner
    const now = host.now()
    // no room, for own attempts or a pause: their end brings the next turn, and the clock none
    const room = claim !== null && (this.#runner.guard(() => core.vacancies()) ?? 0) > 0
    // a lane with less room than its limit may have kept something back, which `nextInMs` says nothing of
    this.#hungry = !room || turn.blockedByLimit || (claim.bounds ?? []).length > 0
    let nextAt = room && turn.nextInMs !== null ? now + turn.nextInMs : FOREVER
    if (room && turn.blockedByLimit) {
      // others' attempts may end unheard
      nextAt = Math.min(nextAt, now + this.#blockedMs)
      this.#blockedMs = Math.min(LEASE_MS, this.#blockedMs * 2)
    } else this.#blockedMs = BLOCKED_MS
    nextAt = Math.max(nextAt, this.#unlessStill(turn, now))
    // a home that dies is not heard of
    if (othersWait) nextAt = Math.min(nextAt, now + RENEW_MS)
    for (const { lane, max } of claim?.bounds ?? []) {
      const handle = max === 0 ? lanes.named(lane) : undefined
      const heldUntil = handle === undefined ? 0 : (this.#runner.guard(() => core.heldUntil(handle, now)) ?? 0)
      if (heldUntil > now) nextAt = Math.min(nextAt, heldUntil)
    }
    this.#nextAt = nextAt
  }

  /** A store whose clock was set back stands still until it has caught up: what is due in 1 ms by it is not due in 1 ms. */
  #unlessStill({ now: storeNow, claimed }: Turn, now: number): number {
    if (storeNow !== this.#storeNow || claimed.length > 0) {
      this.#storeNow = storeNow
      this.#movedAt = now
    }
    const stillMs = now - this.#movedAt
    return stillMs < STILL_MS ? 0 : now + Math.min(stillMs, BLOCKED_MS)
  }

  /** What a server asked of one process, all obey. */
  #learnHolds({ lanes }: Turn): void {
    const { host } = this.#runner
    this.#runner.guard(() => {
      for (const { lane, heldForMs } of lanes) {
        const handle = heldForMs > 0 ? this.#laneOf(lane) : undefined
        if (handle !== undefined) this.#runner.core.hold(host.now(), handle, heldForMs)
      }
    })
  }

  /** Also one of which nothing has run here yet: its next call has to wait like all others. */
  #laneOf(name: string): number | undefined {
    const { host, lanes } = this.#runner
    const [origin = ''] = name.split(' ', 1)
    return (
      lanes.named(name) ?? (name === laneName(host.principal, origin) ? lanes.of(host.principal, origin) : undefined)
    )
  }

  async #holdHome(): Promise<void> {
    const wanted = this.#homeWanted()
    this.#homeAt = wanted ? this.#runner.host.now() + RENEW_MS : FOREVER
    await this.#store.homes?.hold(this.owner, wanted ? LEASE_MS : 0)
  }

  /** For what others have done unheard. A process is not kept alive for it. */
  #armIdle(): void {
    const { idleCheckMs } = this.#store
    this.#disarmIdle()
    if (idleCheckMs === null) return
    this.#disarmIdle = afterIdle(this.#runner.host.settings.clock, idleCheckMs, () => {
      this.#unheard = true
      this.poke()
      void this.run()
    })
  }
}
