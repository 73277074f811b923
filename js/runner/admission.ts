/**
 * How a call becomes a task: after a failed first attempt, by `enqueue`, held back or in an order, or from the dead letters.
 * The list is one for all of them: give it a key, join the task of the same request, choose a place, ask the core about the
 * attempt behind it, then keep it or give it up. The store is the first choice, where it takes the call; memory the second.
 */

import { QueueFullError, RedriveError, WasmUnavailableError } from '../api/errors.ts'
import type { RetryTask } from '../api/task.ts'
import { deliver, type Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { assertEnqueueable } from '../call/check-enqueue.ts'
import { adopted, repeatableOf } from '../call/fetch-repeat.ts'
import { notSent } from '../call/not-sent.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import { CLASS_RETRY, NONE, OUTCOME_NETWORK_ERROR, OUTCOME_RELEASED } from '../core/codes.ts'
import type { Keys } from '../core/keys.ts'
import { admit } from '../core/queue-calls.ts'
import { FOREVER } from '../platform/clock.ts'
import { uuid7Maker } from '../platform/random.ts'
import { untrackedOutcome } from '../tasks/ruling.ts'
import { Task } from '../tasks/task.ts'
import { circuitOpen } from './circuit-open.ts'
import { Dedupe } from './dedupe.ts'
import { askedOf, flagsOf } from './handles.ts'
import { DEFAULT_WAIT_MS, joinTask } from './join.ts'
import type { Runner } from './runner.ts'
import type { Arrival, EarlyAnswer, Kept, Place, StoredPlace, Terms } from './stored.ts'

/** Principals who left that are remembered, the last: calls of earlier ones have ended long ago. */
const MOST_GONE = 1_000

const isLive = ({ status }: Task) => status === 'PENDING' || status === 'IN_FLIGHT'

export class Admission {
  readonly dedupe: Dedupe
  /** The way into the store; undefined until it is open. */
  place: StoredPlace | undefined
  readonly #runner: Runner
  readonly #memory: MemoryPlace
  readonly #nextTaskId: (now: number) => string
  /** Principals who left and had all their tasks deleted: calls of theirs that still run leave nothing either. */
  readonly #gone = new Set<string | null>()

  constructor(runner: Runner, loadKeys: () => Promise<Keys>) {
    this.#runner = runner
    this.dedupe = new Dedupe(runner.host, runner.registry, loadKeys)
    this.#memory = new MemoryPlace(runner, this)
    this.#nextTaskId = uuid7Maker(runner.host.draw)
  }

  /** Another principal is signed in; `purged`: all that belonged to the one who left was deleted. */
  switched(from: string | null, to: string | null, purged: boolean): void {
    if (purged) this.#gone.add(from)
    this.#gone.delete(to)
    const [oldest] = this.#gone
    if (this.#gone.size > MOST_GONE && oldest !== undefined) this.#gone.delete(oldest)
  }

  /** Throws where nothing of the call may be kept any more: its principal left, and all that was theirs was deleted. */
  assertStays({ method, origin, principal }: Call): void {
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
    return new Task(taskId, createdAt, call.principal, call)
  }

  /**
   * Looks at a call before its caller's first attempt. undefined: send it at once. Resolves with the answer of a call that became
   * a task instead: its lane is held, it is one of an order, or it came too late to be sent; with undefined: send it now.
   */
  beforeSending(call: Call, createdAt: number): Promise<EarlyAnswer | undefined> | undefined {
    const { stopped, host, gates } = this.#runner
    if (stopped) return undefined
    // in an order, and of a kind that is never queued: to send it would be to overtake (S19)
    if (call.plain) assertEnqueueable(call, false, host.settings.maxBodyBytes)
    const isEarly = this.#mustWait(call, createdAt) || (host.settings.persist === 'before-send' && this.#isStored(call))
    const opensAt = gates.opensAt(call.origin, isEarly)
    if (opensAt !== undefined) return Promise.resolve({ answer: circuitOpen(call, opensAt, host) })
    if (call.key !== '' && !isEarly && !this.#mayBeKnown(call)) return undefined
    return this.#unlessKnown(
      call,
      (same) => (isEarly ? this.#joinLive(same, call, notSent(OUTCOME_RELEASED, createdAt), createdAt) : undefined),
      () => (isEarly ? this.#takeUnsent(call, createdAt) : undefined),
    )
  }

  /** Whether the call may not be sent now, wherever it is kept: it is ordered, expired, or held back as was asked for. */
  #mustWait({ options, origin }: Call, createdAt: number): boolean {
    const { orderKey, expiresAt = FOREVER } = options
    const { gates, host } = this.#runner
    if (orderKey !== undefined || expiresAt < createdAt) return true
    return host.settings.holdFirstAttempts === true && gates.heldUntil(origin) > createdAt
  }

  async #takeUnsent(call: Call, createdAt: number): Promise<EarlyAnswer | undefined> {
    this.assertStays(call)
    const own = notSent(OUTCOME_RELEASED, this.#runner.host.now())
    const mustWait = this.#mustWait(call, createdAt)
    // one of an order waits for its turn; of any other the core says at once whether the wait is too long for its caller
    const asks = mustWait && call.options.orderKey === undefined
    return this.#take({ call, own, terms: termsOf(call, createdAt), asks, mustWait })
  }

  /** Takes over after a first attempt that failed in a way that may pass. Settles as the caller is to be answered. */
  async afterFailure(call: Call, first: Finished, createdAt: number): Promise<unknown> {
    const finished = adopted(call, first)
    if (this.#gone.has(call.principal)) return deliver(finished)
    // one of an order waits for its turn, one in content mode for its key; this one went out while there was no core
    if (call.options.orderKey !== undefined || call.key === '') return deliver(finished)
    if (!finished.answer && repeatableOf(call).isFinal(finished.error)) return deliver(finished)
    if (call.addedCrossOrigin && finished.outcome === OUTCOME_NETWORK_ERROR) {
      const { method, origin } = call
      const remedy = "if its preflight refuses the key's header, take it out of idempotency.origins"
      const message = `${method} ${origin} failed without an answer; ${remedy}`
      this.#runner.host.degraded('maybe_cors', message, origin)
    }
    const taken = await this.#unlessKnown(
      call,
      (same) => {
        const joined = this.#joinLive(same, call, finished, createdAt)
        if (joined) this.observeUntracked(call, finished)
        return joined
      },
      () => {
        if (this.#isTransient(call, finished)) {
          return this.#take({ call, own: finished, terms: termsOf(call, createdAt), asks: true, mustWait: true })
        }
        this.observeUntracked(call, finished)
        return undefined
      },
    ).catch((error) => {
      finished.answer?.rest(false, this.#runner.restTerms)
      throw error
    })
    return taken ? taken.answer : deliver(finished)
  }

  #joinLive(same: Task, call: Call, own: Finished<RepeatAnswer>, createdAt: number): EarlyAnswer | undefined {
    return isLive(same) ? { answer: joinTask(this.#runner, same, call, own, createdAt) } : undefined
  }

  #isTransient(call: Call, finished: Finished): boolean {
    const { core, policies, host } = this.#runner
    const outcome = untrackedOutcome(finished)
    const classify = (policy: number) => core.classify(policy, outcome, finished.status, flagsOf(call, host))
    return this.#runner.guard(() => policies.with(call.policy, classify)) === CLASS_RETRY
  }

  /** Tells a lane of an attempt that makes no task: how its server does, and how long that asks all callers to wait. */
  observeUntracked(call: Call, finished: Finished): void {
    const { origin, policy, principal } = call
    const runner = this.#runner
    const { lanes, rulings, stored, stopped, host } = runner
    if (stopped) return
    const own = adopted(call, finished)
    const lane = lanes.find(principal, origin) ?? (mayHold(own) ? lanes.of(principal, origin) : undefined)
    if (lane === undefined) return
    const heldUntil = runner.guard(() => rulings.observeUntracked(own, lane, policy, host.now())) ?? 0
    stored?.holdLane(principal, origin, heldUntil)
    // a success may have opened a gate
    runner.stored?.roomMade()
    runner.tickSoon()
  }

  /** Queues a call that was not sent yet, or finds the task that it is one with. */
  enqueue(call: Call, createdAt: number): Promise<Kept> {
    const terms = { createdAt, expiresAt: call.options.expiresAt ?? FOREVER, waitUntil: FOREVER }
    return this.#unlessKnown(
      call,
      ({ taskId }) => ({ taskId, key: call.key, durability: 'memory', deduplicated: true }),
      async () => {
        const stored = this.#isStored(call) ? await this.place?.enqueue(call, terms) : undefined
        if (stored) return stored
        this.#assertUnordered(call)
        this.assertStays(call)
        return this.#memory.enqueue(call, terms)
      },
    )
  }

  /** Puts a dead letter back with its key and history, its attempts counted anew. */
  redrive(task: Task, acceptDuplicateRisk: boolean): RetryTask {
    return this.#memory.redrive(task, acceptDuplicateRisk)
  }

  /** Makes the call a task: in the store if that takes it, else in memory. undefined: neither can; the call ends as plain fetch would. */
  async #take(arrival: Arrival): Promise<EarlyAnswer | undefined> {
    const { call, own, mustWait } = arrival
    const stored = this.#isStored(call) ? await this.place?.take(arrival) : undefined
    if (!stored) this.#assertUnordered(call)
    if (stored || !mustWait) return stored
    // one that was sent has an answer of its own
    if (own.outcome !== OUTCOME_RELEASED && this.#gone.has(call.principal)) return undefined
    this.assertStays(call)
    return this.#memory.take(arrival)
  }

  #isStored(call: Call): boolean {
    return this.place?.takes(call) === true
  }

  /** One of an order is kept in no other place than the store, where there is one: in memory it would overtake those in the store (S19). */
  #assertUnordered({ method, origin, options }: Call): void {
    if (options.orderKey === undefined || !this.#runner.host.settings.durable) return
    const remedy = "nothing was sent or queued; try again when it answers, or use a queue with store: 'memory'"
    throw new RedriveError(
      'STORAGE_UNAVAILABLE',
      `${method} ${origin}: its orderKey needs the store, which cannot be had: ${remedy}`,
    )
  }

  /**
   * Gives the call its key, then looks for a task of the same request: `joined` may answer for that. Otherwise `admit` runs at
   * once, so that no other call of the same key comes between.
   */
  async #unlessKnown<T>(call: Call, joined: (same: Task) => T, admit: () => T | Promise<T>): Promise<T> {
    if (call.key === '') await this.dedupe.giveKey(call)
    while (this.#mayBeKnown(call)) {
      const same = await this.dedupe.find(call)
      const taken = same && joined(same)
      if (taken) return taken
      if (same) break
    }
    return admit()
  }

  /** Whether there may be a task of the same request. Answered at once, so that an admission can follow at once. */
  #mayBeKnown({ key, made, fingerprint, principal }: Call): boolean {
    const unique = key === null || (made && fingerprint === undefined)
    return !unique && this.#runner.registry.withKey(principal, key, this.#runner.host.now()) !== undefined
  }
}

function termsOf({ options }: Call, createdAt: number): Terms {
  const { mode, waitMs = DEFAULT_WAIT_MS, expiresAt = FOREVER } = options
  return { createdAt, expiresAt, waitUntil: mode === 'defer' ? FOREVER : createdAt + waitMs }
}

/** Whether an answer may ask others to wait, who are in the store, or come later. */
const mayHold = ({ answer, status }: Finished<RepeatAnswer>): boolean =>
  answer !== null && (status === 429 || status === 503 || answer.header('ratelimit') !== null)

/** Keeps tasks in memory: admits them to the core and to the registry. */
class MemoryPlace implements Place {
  readonly #runner: Runner
  readonly #admission: Pick<Admission, 'dedupe' | 'newTask'>

  constructor(runner: Runner, admission: Pick<Admission, 'dedupe' | 'newTask'>) {
    this.#runner = runner
    this.#admission = admission
  }

  /** Admits a call whose caller waits. undefined: the core trapped, or the queue is full and the call was sent once already. */
  take({ call, own, terms, asks }: Arrival): EarlyAnswer | undefined {
    const { host } = this.#runner
    const admitted = this.#runner.guard(() => ({ task: this.#admit(call, terms, asks) }))
    if (!admitted) return undefined
    const { task } = admitted
    if (!task) {
      const full = this.#full()
      if (own.outcome === OUTCOME_RELEASED) throw full
      const what = `${call.method} ${call.origin} was sent once and is not tried again`
      host.degraded('storage_full', `${what}: ${full.message}`, 'full')
      return undefined
    }
    const answer = new Promise((resolve, reject) => {
      task.waiter = { resolve, reject }
      if (asks) this.#runner.settle(task, own)
      else this.#announce(task)
    })
    return { answer }
  }

  enqueue(call: Call, terms: Terms): Kept {
    const task = this.#unlessTrapped(() => {
      const admitted = this.#admit(call, terms, false)
      if (admitted) this.#announce(admitted)
      return admitted
    })
    if (!task) throw this.#full()
    return { taskId: task.taskId, key: call.key, durability: 'memory', deduplicated: false }
  }

  redrive(task: Task, acceptDuplicateRisk: boolean): RetryTask {
    const { call } = task
    const now = this.#runner.host.now()
    if (!call) throw new RedriveError('TASK_NOT_FOUND', `${task.what} has no request left to send`)
    const { keyTtlMs = FOREVER } = call.policy
    const firstAt = task.entries.find(({ sent }) => sent)?.startedAt ?? now
    const keyEndsAt = task.key === null || acceptDuplicateRisk ? FOREVER : firstAt + keyTtlMs
    if (keyEndsAt < now) {
      throw keyExpired(task.what, `keyTtlMs ${keyTtlMs}`)
    }
    const expiresAt = Math.min(keyEndsAt, call.options.expiresAt ?? FOREVER)
    const isBack = this.#unlessTrapped(() => {
      const slot = this.#slot(call, { createdAt: now, expiresAt, waitUntil: FOREVER }, false, task)
      if (slot === NONE) return false
      this.#runner.registry.revive(task)
      task.revive(now)
      this.#runner.trackSlot(task, slot)
      this.#announce(task)
      return true
    })
    if (!isBack) throw this.#full()
    return this.#runner.show(task)
  }

  #full(): QueueFullError {
    return queueFull(this.#runner, this.#runner.registry.roomTaken().count)
  }

  #unlessTrapped<T>(work: () => T): T {
    const done = this.#runner.guard(() => ({ value: work() }))
    if (!done) throw new WasmUnavailableError(undefined)
    return done.value
  }

  #announce(task: Task): void {
    const dueAt = this.#runner.core.dueAt(task.slot)
    task.nextAttemptAt = Number.isNaN(dueAt) ? this.#runner.host.now() : dueAt
    this.#runner.announce(task)
    this.#runner.tickSoon()
  }

  /** `isStarted`: an attempt of it has just ended. */
  #admit(call: Call, terms: Terms, isStarted: boolean): Task | undefined {
    const slot = this.#slot(call, terms, isStarted)
    if (slot === NONE) return undefined
    const task = this.#admission.newTask(call, terms.createdAt)
    this.#runner.trackSlot(task, slot)
    this.#runner.registry.add(task)
    // another call may have the same key
    if (call.key !== null && !call.made) this.#admission.dedupe.remember(task, call)
    return task
  }

  /** `dead`: the dead letter that goes back, and takes no more room than it has. */
  #slot(call: Call, terms: Terms, isStarted: boolean, dead?: Task): number {
    const { core, orders, policies, registry } = this.#runner
    const { count, bytes } = registry.roomTaken(dead)
    core.keepDead(count, bytes)
    const { orderKey } = call.options
    return policies.with(call.policy, (policy) => {
      const order = orderKey === undefined ? NONE : orders.of(call.principal, orderKey)
      return admit(core, { ...askedOf(this.#runner, call, terms), policy, order, started: isStarted })
    })
  }
}

/** The refusal to send a dead letter again whose server may not know its key any more. */
export function keyExpired(what: string, limit: string): RedriveError {
  const remedy = 'the server may do the work again; pass acceptDuplicateRisk: true to accept that'
  return new RedriveError('KEY_EXPIRED', `${what}: its key is older than ${limit}, ${remedy}`)
}

/** The refusal of a task that the queue has no room for; `dead` of those that take it are dead letters. */
export function queueFull({ host, limits }: Runner, dead: number): QueueFullError {
  const held = `${host.settings.capacity} tasks or ${limits.capacityBytes} bytes of bodies`
  const remedy = dead > 0 ? "redrive or purge those, wait for 'idle'" : "wait for 'idle'"
  const what = `the queue holds ${held} already, ${dead} of them dead letters`
  return new QueueFullError(`${what}; ${remedy}, or raise capacity or capacityBytes`)
}
