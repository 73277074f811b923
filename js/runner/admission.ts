/**
 * How a call becomes a task: after a failed first attempt, by `enqueue`, held back or in an order, or from the dead letters.
 * The list is one for all of them: give it a key, join the task of the same request, choose a place, ask the core about the
 * attempt behind it, then keep it or give it up. The store is the first choice, where it takes the call; memory the second.
 */

import { RedriveError } from '../api/errors.ts'
import type { RetryTask } from '../api/task.ts'
import { NotDurableError } from '../api/task-errors.ts'
import { deliver, type Finished } from '../call/attempt.ts'
import type { Call, UnderWay } from '../call/call.ts'
import { assertEnqueueable } from '../call/check-enqueue.ts'
import { adopted, fails } from '../call/fetch-repeat.ts'
import { assertThere, notSent } from '../call/not-sent.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import { CLASS_RETRY, OP_VISIT, OUTCOME_OWN_ERROR, OUTCOME_REDIRECT_REFUSED, OUTCOME_RELEASED } from '../core/codes.ts'
import type { Keys } from '../core/keys.ts'
import { handedOver } from '../options/background.ts'
import { FOREVER } from '../platform/clock.ts'
import { isOffline } from '../platform/page.ts'
import { uuid7Maker } from '../platform/uuid7.ts'
import { Task } from '../tasks/task.ts'
import { circuitOpen } from './circuit-open.ts'
import { tellMaybeCors } from './cors.ts'
import { mayRefresh } from './credentials.ts'
import { Dedupe } from './dedupe.ts'
import { isImpatient, joinTask, termsOf } from './join.ts'
import { MemoryPlace } from './memory-place.ts'
import { classOf, entersLimits, isHeldBack, settleOwn } from './own-attempts.ts'
import { assertMayBeInMemory, assertUnordered, delivered, inMemory, type Obstacle, storeAway } from './refusals.ts'
import { askHooks, asksAbout } from './retry-hooks.ts'
import type { Runner } from './runner.ts'
import { beginServerWait } from './server-wait.ts'
import type { Arrival, EarlyAnswer, Kept, StoredManager, StoredPlace, Terms } from './stored.ts'
import { reportUnkeyed } from './unkeyed.ts'

/** Principals who left that are remembered, the last: calls of earlier ones have ended long ago. */
const MOST_GONE = 1_000

export class Admission {
  readonly dedupe: Dedupe
  /** The way into the store; undefined until it is open. */
  place: StoredPlace | undefined
  /** Answers questions about stored tasks; undefined until the store is open. */
  stored: StoredManager | undefined
  /** Why the store could not be had when it was last asked. */
  obstacle: Obstacle = storeAway('the store is not open yet')
  readonly #runner: Runner
  readonly #memory: MemoryPlace
  /** Until then, calls that failed wait for the core or the store. */
  #readyAt = FOREVER
  readonly #nextTaskId: (now: number) => string
  /** Principals who left and had all their tasks deleted: their calls that still run leave nothing either. */
  readonly #gone = new Set<string | null>()

  constructor(runner: Runner, loadKeys: () => Promise<Keys>) {
    this.#runner = runner
    this.dedupe = new Dedupe(runner.host, runner.registry, loadKeys)
    this.#memory = new MemoryPlace(runner, this)
    this.#nextTaskId = uuid7Maker(runner.host.draw)
  }

  /** The core is there, and the store if there is one: calls that failed are heard of from now on. */
  begin(): void {
    this.#readyAt = this.#runner.host.now()
  }

  /** Another principal is signed in; `purged`: all that belonged to the one who left was deleted. */
  switched(from: string | null, to: string | null, purged: boolean): void {
    if (purged) this.#gone.add(from)
    this.#gone.delete(to)
    const [oldest] = this.#gone
    if (this.#gone.size > MOST_GONE && oldest !== undefined) this.#gone.delete(oldest)
  }

  /** Throws where nothing of the call may be kept any more: its caller left, or its principal did, and all that was theirs was deleted. */
  assertStays(call: Call): void {
    assertThere(call)
    const { method, origin, principal } = call
    if (!this.#gone.has(principal)) return
    throw new RedriveError(
      'PRINCIPAL_CHANGED',
      `${method} ${origin}: not queued, since its principal left and was purged`,
    )
  }

  newTask(call: Call, createdAt: number): Task {
    const { host } = this.#runner
    const taskId = this.#nextTaskId(host.now())
    host.onTask?.(call, taskId)
    return new Task(taskId, createdAt, call)
  }

  /**
   * Looks at a call before its caller's first attempt. undefined: send it at once. Resolves with the answer of a call that became
   * a task instead: its lane is held, it is one of an order, or it came too late to be sent; with undefined: send it now.
   */
  beforeSending(call: Call, createdAt: number): Promise<EarlyAnswer | undefined> | undefined {
    const { stopped, host, door } = this.#runner
    if (stopped) return undefined
    // never queued, and in an order: to send it would be to overtake (S19)
    if (call.plain) assertEnqueueable(call, '', host.settings.maxBodyBytes)
    if (this.#isKept(call)) return this.#unlessEarly(call, createdAt, true)
    const isFirstStored = host.settings.persist === 'before-send' && this.#isStored(call)
    const entered = door.enter(call, createdAt, isFirstStored || isHeldBack(call, createdAt, this.#runner))
    if (!entered) return this.#unlessEarly(call, createdAt, false)
    return entered.then((open) =>
      open ? { answer: circuitOpen(call, open, host) } : this.#unlessEarly(call, createdAt, false),
    )
  }

  /** `beforeSending`, past the circuit. */
  #unlessEarly(call: Call, createdAt: number, isKept: boolean): Promise<EarlyAnswer | undefined> | undefined {
    const { settings } = this.#runner.host
    const isLimited = !isKept && !entersLimits(call, this.#runner)
    // it is not the one to try the server out, after all
    if (isLimited) this.#runner.door.left(call, createdAt)
    const mustWait = isKept || isLimited || isHeldBack(call, createdAt, this.#runner)
    const isEarly = mustWait || (settings.persist === 'before-send' && this.#isStored(call))
    if (!isEarly && this.#isStored(call)) this.place?.reportStorability(call)
    if (call.key !== '' && !isEarly && !this.#mayBeKnown(call)) return undefined
    return this.#unlessKnown(
      call,
      (same) => (isEarly ? this.#joinLive(same, call, notSent(OUTCOME_RELEASED, createdAt), createdAt) : undefined),
      () => (isEarly ? this.#takeUnsent(call, createdAt) : undefined),
    )
  }

  /** Whether the call is deferred to wait for its server: the circuit of its origin is not closed. */
  #isKept({ options, origin }: Call): boolean {
    return options.mode === 'defer' && this.#runner.gates.keeps(origin)
  }

  async #takeUnsent(call: Call, createdAt: number): Promise<EarlyAnswer | undefined> {
    this.assertStays(call)
    const own = notSent(OUTCOME_RELEASED, this.#runner.host.now())
    const isKept = this.#isKept(call)
    const mustWait = isKept || isHeldBack(call, createdAt, this.#runner) || !entersLimits(call, this.#runner)
    // one of an order waits for its turn, one that is kept has no caller that waits; of any other the core says at once whether the wait is too long
    const asks = mustWait && !isKept && call.options.orderKey === undefined
    return this.#take({ call, own, terms: termsOf(call, createdAt), asks, mustWait })
  }

  /**
   * Keeps a deferred call while its caller's attempt goes on, which its task takes for its first. undefined: its caller has to wait for
   * the answer, since no other attempt could follow, or the call cannot be kept.
   */
  async keepUnderWay(call: Call, own: UnderWay, createdAt: number): Promise<EarlyAnswer | undefined> {
    const { policy, plain, replayable, principal } = call
    const mayFollow = replayable && !plain && handedOver(call).maxAttempts > 1 && !this.#gone.has(principal)
    const isOver = this.#runner.stopped && !this.#mayStillBeStored(call)
    if (isOver || !mayFollow || own.controller.signal.aborted || this.#mayBeKnown(call)) return undefined
    call.underWay = own
    own.sending.then((finished) => {
      // its attempt keeps the place that it has taken, until its task has one
      call.leave?.(true)
      // and what it was told holds others back before that
      this.heard(call, finished)
    })
    const unsent = notSent(OUTCOME_RELEASED, createdAt)
    const arrival = { call, own: unsent, terms: termsOf(call, createdAt), asks: false, mustWait: true }
    // what keeps it out is told when the attempt has failed
    const taken = await this.#take(arrival).catch(() => undefined)
    if (taken) {
      const place = taken.task?.record ? this.place : this.#memory
      this.#runner.draining.until(settleOwn(call, own, taken.task, place, this.#runner))
    } else {
      call.underWay = undefined
      call.policy = policy
    }
    return taken
  }

  /** Begins the wait that an answer asks of all callers, before its call is a task (S9). */
  heard(call: Call, finished: Finished): void {
    if (!this.#runner.stopped) beginServerWait(call, adopted(call, finished), this.#runner)
  }

  /** Takes over after a first attempt that failed in a way that may pass. Settles as the caller is to be answered, who may have left with `first`. */
  async afterFailure(call: Call, first: Finished, createdAt: number): Promise<unknown> {
    let finished = adopted(call, first)
    const { stopped, isTrapped } = this.#runner
    if (stopped && !this.#mayStillBeStored(call)) {
      return deliver(first, { reason: isTrapped ? 'core_unavailable' : 'closed' })
    }
    // one of an order waits for its turn, one in content mode for its key; this one went out while there was no core
    const isLate = call.options.orderKey !== undefined || call.key === ''
    const isGone = isLate || call.isLeft || this.#gone.has(call.principal)
    const isOwn = finished.outcome === OUTCOME_OWN_ERROR
    if (!isGone && asksAbout(call, finished, this.#runner.host)) finished = await this.#asked(call, finished, createdAt)
    if (isGone || (isOwn && !finished.said?.retry)) {
      this.observeUntracked(call, finished)
      return deliver(first, isLate ? { reason: 'core_unavailable' } : null)
    }
    tellMaybeCors(call, finished, this.#runner.host)
    const taken = await this.#unlessKnown(
      call,
      (same) => {
        const joined = this.#joinLive(same, call, finished, createdAt)
        if (joined) this.observeUntracked(call, finished)
        return joined
      },
      () => {
        if (this.#isTransient(call, finished) || mayRefresh(call, finished, this.#runner.host)) {
          return this.#take({ call, own: finished, terms: termsOf(call, createdAt), asks: true, mustWait: true })
        }
        this.observeUntracked(call, finished)
        return undefined
      },
    ).catch((error) => {
      this.#drop(call, finished)
      throw error
    })
    if (taken) return taken.answer
    return deliver(
      finished,
      finished.outcome === OUTCOME_REDIRECT_REFUSED && finished.answer ? { reason: 'not_retryable' } : null,
    )
  }

  /** The attempt with what the user's hooks say of it. Rejects with what one throws: the caller waits. */
  #asked(call: Call, finished: Finished<RepeatAnswer>, createdAt: number): Promise<Finished<RepeatAnswer>> {
    return askHooks(call, finished, this.#runner, createdAt + call.waitMs).catch((error) => {
      this.observeUntracked(call, finished)
      this.#drop(call, finished)
      throw error
    })
  }

  /** Drops an answer that no caller gets. One who has left may have it already. */
  #drop(call: Call, { answer }: Finished<RepeatAnswer>): void {
    if (!call.isLeft) answer?.rest(false, this.#runner.restTerms)
  }

  #joinLive(same: Task, call: Call, own: Finished<RepeatAnswer>, createdAt: number): EarlyAnswer | undefined {
    const cancel = (reason: unknown) => void this.#runner.cancel(same, reason)
    return same.slot >= 0 ? { answer: joinTask(this.#runner, same, call, own, createdAt, cancel) } : undefined
  }

  #isTransient(call: Call, finished: Finished<RepeatAnswer>): boolean {
    const { said } = finished
    if (said?.retry !== undefined) return said.retry && call.replayable
    return classOf(call, finished, this.#runner) === CLASS_RETRY
  }

  /** Takes note of a first attempt that its caller has ended with. */
  sentOnce(call: Call, finished: Finished): void {
    reportUnkeyed(call, finished, this.#runner.host)
    this.observeUntracked(call, finished)
  }

  /** Tells a lane of an attempt that makes no task: how its server does, and how long that asks all callers to wait. */
  observeUntracked(call: Call, finished: Finished): void {
    const { origin, policy, principal } = call
    const runner = this.#runner
    const { lanes, rulings, stored, stopped, host } = runner
    if (stopped) return
    const own = adopted(call, finished)
    // what failed while the core was loading is weighed against what was answered meanwhile
    const isEarly = own.answer && own.startedAt + own.durationMs <= this.#readyAt
    const { answer, outcome, status } = own
    if (answer && status < 500) runner.evidence.answered(origin)
    // of an origin of which nothing is known, a success that asks for no wait is no news
    const isNews = answer ? fails(policy, status) || answer.header('ratelimit') !== null : outcome < OUTCOME_OWN_ERROR
    const lane = isEarly || isNews ? lanes.of(principal, origin) : lanes.find(principal, origin)
    if (lane === undefined) return
    const heldUntil = runner.guard(() => rulings.heard(own, lane, policy, host.now())) ?? 0
    stored?.holdLane(principal, origin, heldUntil)
    runner.stored?.loop.roomMade()
    runner.tickSoon()
  }

  left(call: Call, startedAt: number): void {
    this.#runner.door.left(call, startedAt)
  }

  /** Queues a call that was not sent yet, or finds the task that it is one with. */
  enqueue(call: Call, createdAt: number): Promise<Kept> {
    call.policy = handedOver(call)
    this.#visit(call)
    const terms = { createdAt, expiresAt: call.options.expiresAt ?? FOREVER, waitUntil: FOREVER }
    if (this.#isStored(call, true) || call.key === '' || this.#mayBeKnown(call)) return this.#enqueueOnce(call, terms)
    try {
      return Promise.resolve(this.#enqueueInMemory(call, terms))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #enqueueOnce(call: Call, terms: Terms): Promise<Kept> {
    const isStored = this.#isStored(call, true)
    let dead: Task | undefined
    return this.#unlessKnown(
      call,
      (task) => {
        // its caller was told, and waits no more: what is handed over now goes where it outlives this process
        if (isStored && isImpatient(task.reason ?? '')) dead = task
        return dead ? undefined : this.#joinInMemory(call, task)
      },
      async () => {
        const stored = isStored ? await this.place?.enqueue(call, terms) : undefined
        return stored ?? (dead ? this.#joinInMemory(call, dead) : this.#enqueueInMemory(call, terms))
      },
    )
  }

  #joinInMemory(call: Call, task: Task): Kept {
    const { taskId } = task
    assertMayBeInMemory(this.#runner.host.settings, call, true, inMemory(taskId))
    task.isHandedOver = task.waiter !== undefined
    return { taskId, key: call.key, durability: 'memory', deduplicated: true }
  }

  #enqueueInMemory(call: Call, terms: Terms): Kept {
    const { settings } = this.#runner.host
    assertUnordered(settings, call)
    assertMayBeInMemory(settings, call, true, this.obstacle)
    this.assertStays(call)
    return this.#memory.enqueue(call, terms)
  }

  /** Puts a dead letter back with its key and history, its attempts counted anew. */
  redrive(task: Task, acceptDuplicateRisk: boolean): RetryTask {
    return this.#memory.redrive(task, acceptDuplicateRisk)
  }

  /** Makes the call a task: in the store if that takes it, else in memory. undefined: neither can; the call ends as plain fetch would. */
  async #take(arrival: Arrival): Promise<EarlyAnswer | undefined> {
    try {
      return await this.#takeSafely(arrival)
    } catch (error) {
      const { call, own } = arrival
      if (!(error instanceof NotDurableError) || own.outcome === OUTCOME_RELEASED) throw error
      // handed over after an attempt that failed: that has an answer, and the promise of a 202 would not be kept
      this.observeUntracked(call, own)
      this.#runner.host.degraded('not_durable', error.message, `${error.reason} ${call.origin}`)
      return delivered(own, 'not_durable')
    }
  }

  async #takeSafely(arrival: Arrival): Promise<EarlyAnswer | undefined> {
    const { call, own, mustWait } = arrival
    call.within = this.#runner.host.keepContext?.()
    if (call.options.mode === 'defer') {
      call.policy = handedOver(call)
      // one that is under way sees for itself how its server does
      if (own.outcome === OUTCOME_RELEASED && !call.underWay) this.#visit(call)
    }
    const stored = this.#isStored(call) ? await this.place?.take(arrival) : undefined
    if (stored === undefined) assertUnordered(this.#runner.host.settings, call)
    if (stored !== undefined || !mustWait) return stored ?? undefined
    assertMayBeInMemory(this.#runner.host.settings, call, false, this.obstacle)
    // one that was sent has an answer of its own
    if (own.outcome !== OUTCOME_RELEASED && this.#gone.has(call.principal)) return undefined
    this.assertStays(call)
    return this.#memory.take(arrival)
  }

  /** Its user may expect that an enqueued task is tried soon, also while an origin that failed is asked with pauses. */
  #visit({ origin, principal }: Call): void {
    const { core, lanes, host } = this.#runner
    const lane = isOffline() ? lanes.of(principal, origin) : lanes.find(principal, origin)
    if (lane !== undefined) this.#runner.guard(() => core.call(OP_VISIT, host.now(), lane))
  }

  /** Whether the call outlives the queue that closes: it was enqueued, and the store takes it. */
  #mayStillBeStored(call: Call): boolean {
    return this.#runner.state === 'closing' && call.options.mode === 'defer' && this.#isStored(call)
  }

  #isStored(call: Call, isHandedOver: boolean = call.options.mode === 'defer'): boolean {
    return this.place?.takes(call, isHandedOver) === true
  }

  /**
   * Gives the call its key, then looks for a task of the same request: `joined` may answer for that. Otherwise `admit` runs at
   * once, so that no other call of the same key comes between.
   */
  async #unlessKnown<T>(call: Call, joined: (same: Task) => T | undefined, admit: () => T | Promise<T>): Promise<T> {
    if (call.key === '') await this.dedupe.giveKey(call)
    while (this.#mayBeKnown(call)) {
      const same = await this.dedupe.find(call)
      assertThere(call)
      const taken = same && joined(same)
      if (taken) return taken
      if (same) break
    }
    assertThere(call)
    return admit()
  }

  /** Whether there may be a task of the same request. Answered at once, so that an admission can follow at once. */
  #mayBeKnown({ key, made, fingerprint, principal }: Call): boolean {
    const unique = key === null || (made && fingerprint === undefined)
    return !unique && this.#runner.registry.withKey(principal, key, this.#runner.host.now()) !== undefined
  }
}
