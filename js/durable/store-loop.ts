/**
 * The store's side of the loop: one `turn` after another, never two at once. Each settles what ended, renews what runs and
 * claims what there is room for. It decides nothing: the core says how many may start and in which lanes none may, the
 * store what is due.
 */

import {
  type Claim,
  LANES_SHOWN,
  type Lease,
  laneName,
  type Settlement,
  type StoredTask,
  type TaskStore,
  type Turn,
} from '../api/store.ts'
import type { Runner } from '../runner/runner.ts'
import { afterIdle } from '../runner/wake-timer.ts'
import type { Task } from '../tasks/task.ts'
import { Leadership } from './leadership.ts'
import { originOf } from './state.ts'
import { LeaseTerms, TurnSchedule } from './turn-schedule.ts'

/** Most claims of one turn. */
const BATCH = 64
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
export interface TurnListener {
  /** `isOurs`: the page was not put away since it was asked for; where it was, others may have the task by now. */
  claimed(task: StoredTask, lease: Lease, endsAt: number, turn: Turn, isOurs: () => boolean): void
  ended(task: StoredTask): void
  renewed(task: Task, answer: Turn['renewed'][number]): void
  /** A turn is over; `failed`: how many in a row could not be made. */
  turned(failed: number, error: unknown, turn: Turn | undefined): void
  /** Requests are another principal's now: nothing may be claimed. */
  readonly isForeign: boolean
  /** When the first task is due that a caller of this process waits for; Infinity: none. */
  ownDueAt(turn: Turn): number
}

export class StoreLoop {
  readonly owner: string
  /** Tasks that this process holds a lease of. */
  readonly leased: Map<string, Task> = new Map()
  /** As of the last turn: tasks of this principal that wait or run; at least 1 while there is any. */
  depth = 0
  readonly leadership: Leadership
  readonly terms: LeaseTerms
  readonly #schedule: TurnSchedule
  readonly #store: TaskStore
  readonly #runner: Runner
  readonly #listener: TurnListener
  #endings: Ending[] = []
  /** Tasks stored since the turn under way was asked for. */
  #storedSince = 0
  #busy: Promise<void> | undefined
  #isClaiming = false
  /** A turn is under way whose claim was made, or left out, with the room that there was. */
  #claimIsMade = false
  #again = false
  #stopped = false
  #failed = 0
  #isSuspended = false
  #suspensions = 0
  /** Told so while a turn was under way. */
  #roomSince = false
  /** The next turn is to learn what nobody has told. */
  #looksForUnheard = false
  #disarmIdle: () => void = () => {}

  constructor(store: TaskStore, owner: string, runner: Runner, listener: TurnListener) {
    this.#store = store
    this.owner = owner
    this.#runner = runner
    this.#listener = listener
    this.#schedule = new TurnSchedule(runner)
    this.terms = new LeaseTerms(store.graceMs, runner.host.settings.policies.values())
    this.leadership = new Leadership(store, owner, runner, () => {
      this.requestTurn()
      runner.tickSoon()
    })
  }

  /** The next moment at which a turn has something to do. */
  get wakeAt(): number {
    if (this.#stopped || this.#busy) return FOREVER
    // whatever is late by now, a store that fails is left alone until then
    if (this.#failed > 0) return this.#schedule.nextAt
    let at = this.#isOnDuty ? Math.min(this.#schedule.claimAt, this.leadership.wakeAt) : FOREVER
    if (this.settling > 0) at = this.#schedule.nextAt
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
    // told of a turn's own settlements before what it claimed in their place has come, or of room that a turn under way
    // knew nothing of: asked again once it is planned what comes next
    if (this.#claimIsMade) this.#roomSince = true
    else if (this.#schedule.roomMade()) this.requestTurn()
  }

  /** A claim is on its way: what it brings has to fit. */
  get isClaiming(): boolean {
    return this.#isClaiming
  }

  addEnding(ending: Ending): void {
    this.#endings.push(ending)
    this.requestTurn()
  }

  /** One more task is in the store. */
  taskStored(): void {
    this.depth++
    this.#storedSince++
    this.leadership.seek()
    this.workOffered()
  }

  /** Something in the store may be due. With no room for it here no turn could claim it: the room brings the turn. */
  workOffered(): void {
    // the store may have taken back what was lost here, which makes room
    const mayHaveRoom = [...this.leased.values()].some(({ lease }) => lease?.lost)
    if (this.#schedule.workOffered() || mayHaveRoom) this.requestTurn()
  }

  /** Others have ended one, which may have been the last that waits here: if no turn finds that out, one does soon. */
  endedElsewhere(): void {
    if (this.depth > 0) this.#schedule.lookSoon(this.#runner.host.now())
  }

  /** Something may be due, or may have become free. */
  requestTurn(): void {
    this.#schedule.afterGap(this.#runner.host.now())
    if (this.#failed === 0) this.#schedule.nextAt = 0
    this.#again = true
  }

  tick(now: number): void {
    this.#schedule.afterGap(now)
    if (!this.#stopped && !this.#busy && this.wakeAt <= now) void this.run()
  }

  /** The page is put away: nothing is claimed from now on. */
  suspend(): void {
    this.#isSuspended = true
    this.#suspensions++
    this.leadership.suspend()
  }

  get isSuspended(): boolean {
    return this.#isSuspended
  }

  /** It is back. */
  resumeFromSuspend(): void {
    this.#isSuspended = false
    this.#schedule.spreadWake(this.#runner.host.now())
  }

  /** What has ended is written down, if anything has; resolves when no turn is under way. Never rejects. */
  settleEnded(): Promise<void> {
    return this.#busy || this.settling > 0 ? this.run() : Promise.resolve()
  }

  /** Turns until there is nothing more to do now. Never rejects. */
  run(): Promise<void> {
    if (this.#stopped) return Promise.resolve()
    this.#busy ??= this.#run().finally(() => {
      this.#busy = undefined
      if (this.#stopped || this.#isSuspended) return
      if (this.depth > 0) this.leadership.seek()
      else if (this.leased.size === 0 && this.settling === 0) this.leadership.resign()
      this.#armIdle()
      this.#runner.tick()
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
    do {
      this.#again = false
      await this.#turn()
    } while (this.#again && this.#failed === 0 && !this.#stopped)
  }

  /** There is something that a turn could do here: where others pump, that is only what comes from here. */
  get #isOnDuty(): boolean {
    if (this.#isSuspended) return false
    return this.leadership.isLeader || this.leadership.isHome
  }

  async #turn(): Promise<void> {
    const { host } = this.#runner
    const startedAt = host.now()
    const rests = this.#suspensions
    const isOurs = () => rests === this.#suspensions
    const endings = [...this.#endings]
    const renewing = this.#renewing(startedAt, endings)
    this.#storedSince = 0
    try {
      await this.leadership.renewHome()
      const skipHomes = this.leadership.isLeader && !this.#isSuspended ? await this.leadership.otherHomes() : []
      const claim = this.#claim(skipHomes)
      this.#isClaiming = claim !== null
      this.#claimIsMade = true
      const renew = renewing.map(({ lease }) => lease)
      const settle = endings.map(({ settlement }) => settlement)
      const turn = await this.#store.turn({ owner: this.owner, settle, renew, claim })
      this.#isClaiming = false
      this.#failed = 0
      this.#endings = this.#endings.filter((ending) => !endings.includes(ending))
      // a turn without a claim shows those of all principals
      const own = turn.lanes.filter(({ lane }) => this.#isOwn(lane))
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
      for (const { task, lease } of turn.claimed)
        this.#listener.claimed(task, lease, startedAt + lease.forMs, turn, isOurs)
      const ownAt = claim?.ownHomeOnly ? this.#listener.ownDueAt(turn) : undefined
      this.#schedule.planNext(turn, claim, this.leadership.lookAt(skipHomes, host.now()), ownAt)
      this.#claimIsMade = false
      if (this.depth === 0) this.depth = await this.#unshown(claim, turn)
      if (this.#roomSince) {
        this.#roomSince = false
        this.roomMade()
      }
      this.#listener.turned(0, undefined, turn)
    } catch (error) {
      this.#isClaiming = false
      this.#claimIsMade = false
      this.#failed++
      this.#schedule.nextAt = host.now() + Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failed - 1))
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
      if (lease.renewAt > now && !this.#looksForUnheard) continue
      due.push({ task, lease: { taskId, token: lease.token, forMs: lease.forMs } })
    }
    this.#looksForUnheard = false
    return due
  }

  /** null: nothing may start here now. */
  #claim(skipHomes: readonly string[]): Claim | null {
    const { core, lanes, limits, host } = this.#runner
    if (this.#runner.stopped || this.#stopped || this.#isSuspended || this.#listener.isForeign) return null
    const now = host.now()
    if (!this.#schedule.mayClaim(now)) return null
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
        const { leaseMs } = this.terms
        const whose = this.leadership.isLeader ? {} : { ownHomeOnly: true }
        return { limit, leaseMs, total, perLane, lanes: 'any', bounds, principal, skipHomes, ...whose } as const
      }) ?? null
    )
  }

  /** A turn does not show the lanes that the claim had shut, nor, without a claim, those behind others' lanes: whether anything is in them. */
  async #unshown(claim: Claim | null, { lanes }: Turn): Promise<number> {
    const hides = claim ? claim.bounds?.some(({ max }) => max === 0) : lanes.length >= LANES_SHOWN
    if (!hides) return this.#storedSince
    const { principal } = this.#runner.host
    for (const status of ['PENDING', 'IN_FLIGHT'] as const) {
      const { tasks } = await this.#store.list({ status, principal, limit: 1 })
      if (tasks.length > 0) return tasks.length + this.#storedSince
    }
    return this.#storedSince
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
    return lanes.named(name) ?? (this.#isOwn(name) ? lanes.of(host.principal, originOf(name)) : undefined)
  }

  /** Of the principal that is there. */
  #isOwn(lane: string): boolean {
    return lane === laneName(this.#runner.host.principal, originOf(lane))
  }

  /** For what others have done unheard. A process is not kept alive for it. */
  #armIdle(): void {
    const { idleCheckMs } = this.#store
    this.#disarmIdle()
    if (idleCheckMs === null) return
    this.#disarmIdle = afterIdle(this.#runner.host.settings.clock, idleCheckMs, () => {
      this.#looksForUnheard = true
      this.requestTurn()
      void this.run()
    })
  }
}
