/**
 * The store's side of the loop: one `turn` after another, never two at once. Each settles what ended, renews what runs and
 * claims what there is room for.
 *
 * It decides nothing. The core says how many tasks may start and in which lanes none may, the store says what is due, and what a
 * turn has brought is left to a `TurnListener`.
 */

import {
  type Claim,
  type ClaimedTask,
  type Lease,
  originIn,
  type Settlement,
  type StoredTask,
  type Turn,
} from '../api/store.ts'
import { OP_SHARE_HOLD, OP_VACANCIES } from '../core/codes.ts'
import { FOREVER } from '../platform/clock.ts'
import type { Task } from '../tasks/task.ts'
import { hiddenTasks } from './hidden-tasks.ts'
import { LaneHolds } from './lane-holds.ts'
import type { Leadership } from './leadership.ts'
import { LeaseTerms, pauseAfter } from './lease-terms.ts'
import type { PrincipalGuard } from './principal-guard.ts'
import { SilenceWatch } from './silence.ts'
import type { StoredState } from './state.ts'
import { TurnSchedule } from './turn-schedule.ts'

/** Most claims of one turn. */
const BATCH = 64
/** A turn is made this often in a store that says that it has not changed: what is past its retention is deleted by turns. */
const QUIET_MS = 60_000
/** After this many failed turns in a row, callers are not kept waiting for the store any longer. */
const PATIENCE = 4

/** An ended attempt on its way to the store. */
export interface Ending {
  /** undefined: none could be made of the record. */
  readonly task: Task | undefined
  readonly settlement: Settlement
  /** Carries out the store's answer. */
  readonly answered: (answer: Turn['settled'][number]) => void
}

/** Carries out what a turn has brought. */
export interface TurnListener {
  /** `isOurs`: the page was not put away since the claim; if it was, another process may have the task by now. */
  claimed(claimed: ClaimedTask, endsAt: number, turn: Turn, isOurs: () => boolean): void
  ended(task: StoredTask): void
  renewed(task: Task, answer: Turn['renewed'][number]): void
  /** A turn is about to be asked for. */
  turning(): void
  /** Called when a turn is over. `failed`: how many in a row could not be made. `shut`: lanes that its claim had it leave out. */
  turned(failed: number, error: unknown, turn: Turn | undefined, shut?: readonly string[]): void
}

export class StoreLoop {
  /** Tasks of this principal that wait or run, as of the last turn; at least 1 while there is any. What was put aside does neither. */
  depth = 0
  readonly terms: LeaseTerms
  readonly #schedule: TurnSchedule
  readonly #state: StoredState
  readonly #leadership: Leadership
  readonly #guard: PrincipalGuard
  readonly #listener: TurnListener
  #endings: Ending[] = []
  readonly #holds = new LaneHolds()
  /** Tasks stored since the turn under way was asked for. */
  #storedSince = 0
  #busy: Promise<void> | undefined
  /** A claim is on its way: what it brings has to fit. */
  isClaiming = false
  /** A turn is under way whose claim was made, or left out, with the room that there was. */
  #claimIsMade = false
  #again = false
  #stopped = false
  /** Turns in a row that could not be made. */
  #failed = 0
  /** When the first of them was asked for. */
  failingSinceAt: number | undefined
  readonly #silence: SilenceWatch
  isSuspended = false
  #suspensions = 0
  /** Room was made while a turn was under way. */
  #roomSince = false
  /** The next turn renews every lease, since a renewal is answered with cancels that no hint has reported. */
  #renewsAll = false
  #disarmIdle: () => void = () => {}
  /** When the last turn was asked for. */
  #turnAt = 0

  constructor(state: StoredState, leadership: Leadership, guard: PrincipalGuard, listener: TurnListener) {
    const { store, runner } = state
    this.#state = state
    this.#leadership = leadership
    this.#guard = guard
    this.#listener = listener
    this.#schedule = new TurnSchedule(runner)
    this.terms = new LeaseTerms(store.graceMs, runner.host.settings.policies.values(), runner.host.settings.leaseMs)
    this.#silence = new SilenceWatch(state, this.terms)
  }

  /** The next moment at which a turn has something to do. */
  get wakeAt(): number {
    if (this.#stopped || this.#busy) return FOREVER
    // whatever is late by now, a store that fails is left alone until then
    if (this.#failed > 0) return this.#schedule.nextAt
    let at = this.#mayClaim ? Math.min(this.#schedule.claimAt, this.#leadership.wakeAt) : FOREVER
    if (this.#hasNews) at = this.#schedule.nextAt
    for (const { lease } of this.#state.leased.values()) if (lease && !lease.lost) at = Math.min(at, lease.renewAt)
    return at
  }

  /** Whether something has to be written to the store, even where nothing may be claimed. */
  get #hasNews(): boolean {
    return this.settling > 0 || !this.#holds.isEmpty
  }

  /** Settlements that the store has not answered yet. */
  get settling(): number {
    return this.#endings.length
  }

  /** Tasks whose attempt has ended, of a store that has not answered for long. */
  get unanswered(): readonly Task[] {
    return this.#failed >= PATIENCE ? this.#endings.flatMap(({ task }) => task ?? []) : []
  }

  /** Takes note that an attempt has ended that the store knows nothing of: there may be room for what it could not claim. */
  roomMade(): void {
    // told of a turn's own settlements before what it claimed in their place has come, or of room that a turn under way
    // knew nothing of: asked again once it is planned what comes next
    if (this.#claimIsMade) this.#roomSince = true
    else if (this.#schedule.roomMade()) this.requestTurn()
  }

  addEnding(ending: Ending): void {
    this.#endings.push(ending)
    this.requestTurn()
  }

  /** Has the store hold a lane until then: its tasks wait with those that have heard of it here. */
  holdLane(lane: string, until: number): void {
    if (this.#holds.add(lane, until)) this.requestTurn()
  }

  /** Takes note that one more task is in the store. */
  taskStored(): void {
    this.depth++
    this.#storedSince++
    this.#leadership.seek()
    this.workOffered()
  }

  /** Takes note that something in the store may be due. With no room for it here no turn could claim it: the room brings the turn. */
  workOffered(): void {
    // the store may have taken back what was lost here, which makes room
    const mayHaveRoom = [...this.#state.leased.values()].some(({ lease }) => lease?.lost)
    if (this.#schedule.workOffered() || mayHaveRoom) this.requestTurn()
  }

  /** Takes note that another process has ended a task, which may have been the last that waits here: a turn soon finds that out. */
  endedElsewhere(): void {
    if (this.depth > 0) this.#schedule.lookSoon(this.#state.runner.host.now())
  }

  /** Asks for a turn as soon as possible: something may be due, or may have become free. */
  requestTurn(): void {
    this.#schedule.afterGap(this.#state.runner.host.now())
    if (this.#failed === 0) this.#schedule.nextAt = 0
    this.#again = true
  }

  tick(now: number): void {
    this.#schedule.afterGap(now)
    if (!this.#stopped && !this.#busy && this.wakeAt <= now) void this.run()
  }

  /** Claims nothing from now on: the page is put away. */
  suspend(): void {
    this.isSuspended = true
    this.#suspensions++
    this.#leadership.suspend()
  }

  resumeFromSuspend(): void {
    this.isSuspended = false
    // hints did not reach it
    this.#state.runner.host.changed?.({ others: true, isStores: true })
    this.#schedule.spreadWake(this.#state.runner.host.now())
  }

  /** Has the store write down what has ended, if anything has; resolves when no turn is under way. Never rejects. */
  settleEnded(): Promise<void> {
    return this.#busy || this.#hasNews ? this.run() : Promise.resolve()
  }

  /** Makes turns until there is nothing more to do now. Never rejects. */
  run(): Promise<void> {
    if (this.#stopped) return Promise.resolve()
    this.#busy ??= this.#run().finally(() => {
      this.#busy = undefined
      if (this.#stopped || this.isSuspended) return
      if (this.depth > 0) this.#leadership.seek()
      else if (this.#state.leased.size === 0 && this.settling === 0) this.#leadership.resign()
      this.#armIdle()
      this.#state.runner.tick()
    })
    return this.#busy
  }

  stop(): void {
    this.#stopped = true
    // what waits in the store is nothing that this queue waits for any more
    this.depth = 0
    this.#disarmIdle()
  }

  async #run(): Promise<void> {
    const { store, runner } = this.#state
    do {
      const startedAt = runner.host.now()
      try {
        if (store.gather) await store.gather()
        if (this.#stopped) return
        this.#again = false
        await this.#turn()
      } catch (error) {
        this.isClaiming = false
        this.#claimIsMade = false
        this.#failed++
        this.failingSinceAt ??= startedAt
        this.#schedule.nextAt = runner.host.now() + pauseAfter(this.#failed)
        this.#listener.turned(this.#failed, error, undefined)
      }
    } while (this.#again && this.#failed === 0 && !this.#stopped)
  }

  /** Whether a turn could claim something here: without leading, that is only what callers of this process wait for. */
  get #mayClaim(): boolean {
    return !this.isSuspended && (this.#leadership.isLeader || this.#leadership.isHome)
  }

  async #turn(): Promise<void> {
    const { store, owner, runner } = this.#state
    const { host } = runner
    // the turn takes in what the answer is about, and the next idle look would find nothing new
    if (host.events.has('store')) await this.#state.hasChanged()
    const leadership = this.#leadership
    const startedAt = host.now()
    this.#turnAt = startedAt
    const suspensions = this.#suspensions
    const isOurs = () => suspensions === this.#suspensions
    const endings = [...this.#endings]
    const renewing = this.#renewing(startedAt, endings)
    this.#storedSince = 0
    await leadership.renewHome()
    const skipHomes = leadership.isLeader && !this.isSuspended ? await leadership.otherHomes() : []
    const claim = this.#claim(skipHomes)
    this.isClaiming = claim !== null
    this.#claimIsMade = true
    const settle = endings.map(({ settlement }) => settlement)
    const { hold, told } = this.#holds.at(host.now())
    // what was stored up to here the turn counts
    this.#listener.turning()
    const askedAt = host.now()
    const silence = this.#silence.before(askedAt, this.#failed > 0)
    const turn = await store.turn({ owner, settle, hold, renew: renewing.map(({ lease }) => lease), claim, silence })
    this.#silence.turned(turn)
    this.#shareHolds(told())
    this.isClaiming = false
    this.#failed = 0
    this.failingSinceAt = undefined
    this.#endings = this.#endings.filter((ending) => !endings.includes(ending))
    // a turn without a claim shows those of all principals
    const own = turn.lanes.filter(({ lane }) => this.#state.isOwnLane(lane))
    this.depth = own.reduce((sum, { pending, inFlight }) => sum + pending + inFlight, this.#storedSince)
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
        lease.renewAt = startedAt + this.terms.renewAfterMs(lease.forMs)
      }
      this.#listener.renewed(task, answer)
    })
    for (const task of turn.ended) this.#listener.ended(task)
    for (const claimed of turn.claimed) this.#listener.claimed(claimed, startedAt + claimed.lease.forMs, turn, isOurs)
    const ownAt = claim?.ownHomeOnly ? this.#state.ownDueAt(turn) : undefined
    this.#schedule.planNext(turn, claim, askedAt, leadership.lookAt(skipHomes, host.now()), ownAt)
    this.#claimIsMade = false
    if (claim) await leadership.look(turn, claim)
    if (this.depth === 0) this.depth = (await hiddenTasks(this.#state, claim, turn)) + this.#storedSince
    if (this.#roomSince) {
      this.#roomSince = false
      this.roomMade()
    }
    const shut = (claim?.bounds ?? []).flatMap(({ lane, max }) => (max === 0 ? [lane] : []))
    this.#listener.turned(0, undefined, turn, shut)
  }

  #renewing(now: number, endings: readonly Ending[]): { readonly task: Task; readonly lease: Lease }[] {
    const settling = new Set<Task | undefined>(endings.map(({ task }) => task))
    const due: { readonly task: Task; readonly lease: Lease }[] = []
    for (const task of this.#state.leased.values()) {
      const { lease, taskId } = task
      if (!lease || lease.lost || settling.has(task)) continue
      if (lease.renewAt > now && !this.#renewsAll) continue
      due.push({ task, lease: { taskId, token: lease.token, forMs: lease.forMs } })
    }
    this.#renewsAll = false
    return due
  }

  /** The claim of a turn; null: nothing may start here now. */
  #claim(skipHomes: readonly string[]): Claim | null {
    const { runner } = this.#state
    const { core, lanes, limits, host } = runner
    if (runner.stopped || this.#stopped || this.isSuspended || this.#guard.isForeign) return null
    const now = host.now()
    if (!this.#schedule.mayClaim(now)) return null
    const { concurrency: total, concurrencyPerOrigin: perLane } = limits
    return (
      runner.guard(() => {
        const limit = Math.min(core.call(OP_VACANCIES), BATCH)
        if (limit === 0) return null
        // of a lane that is not known here as many may start as of any new one
        const { rate } = host.settings
        // and where a lane is of all principals, of theirs together
        const whole = this.#state.store.everyone && perLane
        const otherMax = rate ? Math.min(rate.burst ?? 1, whole || FOREVER) : whole
        const most = { limit, total, perLane, bounds: lanes.bounds(now, perLane), otherMax }
        const more = { leaseMs: this.terms.leaseMs, ...this.#leadership.homes }
        return { ...most, ...more, lanes: 'any', principal: host.principal, skipHomes } as const
      }) ?? null
    )
  }

  /** Takes note that the store has heard of the holds of these lanes: it alone says from then on how long its tasks wait. A turn does not show lanes that may start nothing here. */
  #shareHolds(told: readonly string[]): void {
    const { runner } = this.#state
    const { core, lanes, host } = runner
    for (const lane of told) {
      const handle = lanes.named(lane)
      if (handle !== undefined) runner.guard(() => core.call(OP_SHARE_HOLD, host.now(), handle, 0))
    }
  }

  /** Takes over the holds that the store keeps, as it has limited them: what one process has heard, all go by. Those of one principal are none of the others'. */
  #learnHolds({ lanes }: Turn): void {
    const { runner, store } = this.#state
    if (store.everyone) return
    runner.guard(() => {
      for (const { lane, heldForMs } of lanes) {
        const handle = heldForMs > 0 ? this.#laneOf(lane) : undefined
        if (handle !== undefined) runner.core.call(OP_SHARE_HOLD, runner.host.now(), handle, heldForMs)
      }
    })
  }

  /** The core's number of a lane. An own lane of which nothing has run here yet gets one: its next call has to wait like all others. */
  #laneOf(name: string): number | undefined {
    const { host, lanes } = this.#state.runner
    return lanes.named(name) ?? (this.#state.isOwnLane(name) ? lanes.of(host.principal, originIn(name)) : undefined)
  }

  /** Plans a turn for what other processes have done and no hint has reported. A process is not kept alive for it. */
  #armIdle(): void {
    const { store, runner } = this.#state
    const { idleCheckMs } = store
    this.#disarmIdle()
    if (idleCheckMs === null) return
    this.#disarmIdle = runner.host.settings.clock.after(idleCheckMs, () => void this.#lookIdle(), true)
  }

  async #lookIdle(): Promise<void> {
    const askedAt = this.#state.runner.host.now()
    const isQuiet = this.#failed === 0 && askedAt < this.#turnAt + QUIET_MS
    const answer = isQuiet ? await this.#state.hasChanged() : true
    if (isQuiet && answer !== undefined) this.#silence.looked(askedAt)
    if (this.#stopped || this.isSuspended || this.#busy) return
    if (answer === false) return this.#armIdle()
    this.#renewsAll = true
    this.requestTurn()
    void this.run()
  }
}
