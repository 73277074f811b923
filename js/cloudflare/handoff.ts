/**
 * Moves a task from the Worker to the Durable Object of its origin: what may be stored of the call, with its key, attempts
 * and log so far. The caller is answered 202 once the object has it on disk.
 */

import { RedriveError, WasmUnavailableError } from '../api/errors.ts'
import type { DegradedCode } from '../api/events.ts'
import type { EnqueueReceipt } from '../api/methods.ts'
import type { NewTask } from '../api/store.ts'
import type { AttemptLog } from '../api/task.ts'
import { IdempotencyConflictError, NotDurableError, QueueFullError } from '../api/task-errors.ts'
import { deliver } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { repeatableOf } from '../call/fetch-repeat.ts'
import { instantiateKeys } from '../core/keys-static.ts'
import { contentOf, recordOf } from '../durable/record.ts'
import { FOREVER, within } from '../platform/clock.ts'
import { unsaid } from '../platform/error-text.ts'
import { random128 } from '../platform/random.ts'
import type { QueueContext } from '../runner/context.ts'
import { Dedupe } from '../runner/dedupe.ts'
import { keyConflict } from '../runner/key-conflict.ts'
import { assertStorable } from '../stores/engine/sound.ts'
import { detachCaller } from '../tasks/callers.ts'
import { showEntry } from '../tasks/history.ts'
import type { Ruling } from '../tasks/ruling.ts'
import { type Task, traceIdOf } from '../tasks/task.ts'
import { type ObjectFault, objectName, type RedriveStub, shardOf, stubOf, type Taken } from './namespace.ts'
import { askForFault, classFault } from './object-fault.ts'
import { type Binding, hasTaken } from './object-holds.ts'

/** An object that was moved or restarted answers at the next try; the task's id makes twice once. */
const TRIES_AFTER_MS = [100, 500]
/** All tries together: what a Worker has left, once its client is gone, beyond its own attempts. */
const ANSWER_MS = 4_500
/** A retry that has not begun so long after its time is kept back by something that no request can wait for. */
const LATE_MS = 500
/** The durability of an object's storage. */
const DURABILITY = 'replicated'
const MISCONFIGURED = 'object_misconfigured'

/** The place where a failed call is tried again: this Worker, its object, or none. */
export type Next = 'here' | 'elsewhere' | 'nowhere'

/** A call that leaves the Worker. */
interface Departure {
  readonly call: Call
  readonly taskId: string
  readonly createdAt: number
}

/** The limits of one call in its Worker. */
export interface CallTerms {
  /** The call may move to its object; else its last answer is the caller's. */
  readonly mayLeave: boolean
  /** The longest that the call may wait in the Worker, from its start. */
  readonly hereMs: number
}

/** A call that nothing was said about: it ends here. */
const STAYS: CallTerms = { mayLeave: false, hereMs: 0 }

interface Terms extends Binding {
  /** Asked before each wait. `nextAt` is Infinity for a task that was kept back past its time and must not wait on. */
  readonly whereNext: (task: Task, terms: CallTerms, nextAt: number) => Next
}

export class Handoff {
  readonly #host: QueueContext
  readonly #terms: Terms
  readonly #dedupe: Dedupe
  readonly #callTerms = new WeakMap<Call, CallTerms>()

  constructor(host: QueueContext, terms: Terms) {
    this.#host = host
    this.#terms = terms
    // gives keys and fingerprints only: which tasks there are the object knows
    this.#dedupe = new Dedupe(host, { withKey: () => undefined }, instantiateKeys)
    host.handOver = (task, ruling, leave) => this.#ask(task, ruling, leave)
  }

  /** Says what a call may cost; before it is sent. */
  setTerms(call: Call, terms: CallTerms): void {
    this.#callTerms.set(call, terms)
  }

  /** Moves a call that was never sent from here. */
  async enqueue(departure: Departure): Promise<EnqueueReceipt & { readonly hasEnded: boolean }> {
    const { call } = departure
    if (call.key === '') await this.#dedupe.giveKey(call)
    const record = await this.#recordOf(departure, {})
    const { taskId, outcome, hasEnded = false } = await this.#store(record, () => !call.isLeft)
    const deduplicated = outcome === 'duplicate'
    return { taskId, idempotencyKey: record.idempotencyKey, durability: DURABILITY, deduplicated, hasEnded }
  }

  /** Has the object of a call say, once an isolate, whether it can take tasks: without that, a mistake in its options shows in the first outage. */
  verify({ principal, origin }: Call): void {
    const { namespace, shards, waitUntil } = this.#terms
    const name = objectName(principal, origin, shards === 1 ? undefined : 0)
    const tell = (fault: ObjectFault | undefined): void => {
      if (!fault) return
      const { message } = fault
      this.#host.degraded(MISCONFIGURED, `no call can move to the object of ${origin}: ${message}`, message)
    }
    waitUntil(askForFault(namespace, name, this.#host.settings.clock).then(tell))
  }

  /** Reports why a call did not move. */
  tellWhyNot({ method, origin }: Call, error: unknown): { readonly code: DegradedCode; readonly words: string } {
    const code = codeOf(error)
    // words of our own, which name options: no request is in them
    const isOurs = code === MISCONFIGURED
    const words = isOurs ? (error as Error).message : (this.#host.sanitizer?.message(error) ?? unsaid(error))
    this.#host.degraded(code, `${method} ${origin} did not move to its object: ${words}`, words)
    return { code, words }
  }

  #ask(task: Task, ruling: Ruling, leave: () => void): boolean {
    const { nextAttemptAt, last, waiter } = task
    if (!waiter) return false
    // parked, and no credentials will come by themselves: the server's answer is the caller's
    if (nextAttemptAt === null) return this.#leaves(task, ruling, leave, last ? 'nowhere' : 'elsewhere')
    const next = this.#whereNext(task, nextAttemptAt)
    if (next !== 'here') return this.#leaves(task, ruling, leave, next)
    this.#watch(task, nextAttemptAt, ruling, leave)
    return false
  }

  #whereNext(task: Task, nextAt: number): Next {
    // one who joined may wait in place of a caller who has left
    return this.#terms.whereNext(task, this.#termsOf(task.waiter?.call ?? task.call), nextAt)
  }

  #termsOf(call: Call | null | undefined): CallTerms {
    return (call && this.#callTerms.get(call)) ?? STAYS
  }

  /** Moves a task if another call of the same request has held its lane past the task's due time. */
  #watch(task: Task, nextAt: number, ruling: Ruling, leave: () => void): void {
    const { now, settings } = this.#host
    settings.clock.after(Math.max(0, nextAt - now()) + LATE_MS, () => {
      const waits = task.waiter && task.slot >= 0 && task.status === 'PENDING' && task.nextAttemptAt === nextAt
      if (waits) this.#leaves(task, ruling, leave, this.#whereNext(task, FOREVER))
    })
  }

  /** Whether the task has left. One without an answer that may not move is the queue's to end. */
  #leaves(task: Task, { why, holdMs }: Ruling, leave: () => void, next: Next): boolean {
    const { call, last, taskId, createdAt, attemptNumber, entries, nextAttemptAt } = task
    if (!why || !call || next === 'here' || (next === 'nowhere' && !last)) return false
    const { serverMs, phase, previousDelayMs, marks } = why
    const dueInMs = Math.max(0, (nextAttemptAt ?? 0) - this.#host.now())
    const left: Partial<NewTask> = {
      attemptNumber,
      serverMs: Math.min(serverMs, dueInMs),
      phase,
      previousDelayMs,
      marks,
      dueInMs,
      ...(holdMs > 0 ? { holdLaneForMs: holdMs } : {}),
      log: entries.map((entry) => showEntry(taskId, entry)),
    }
    // it moves for those who may be answered so
    if (next === 'elsewhere') for (const each of task.joined) if (!this.#termsOf(each.call).mayLeave) each.end?.()
    const waiter = detachCaller(task)
    const isOwn = !waiter?.call
    const joined = isOwn ? task.joined : [waiter, ...task.joined]
    // what leaves is not cancelled: those who joined are answered as its caller is
    task.joined = []
    // in memory it ends here, and must not take its last answer along
    task.last = undefined
    leave()
    // each of them leaves it by itself
    task.joined = joined
    const isAwaited = () => (isOwn && !call.isLeft) || task.joined.length > 0
    const departure = { call, taskId, createdAt }
    const answer = next === 'nowhere' && last ? answerOf(last) : this.#answer(departure, left, last, isAwaited)
    answer.then(
      (given) => {
        for (const each of joined) each.resolve((given as Response).clone())
        if (isOwn) waiter?.resolve(given)
      },
      (error) => {
        for (const each of [waiter ?? [], ...joined].flat()) each.reject(error)
      },
    )
    return true
  }

  /** Answers 202, or with the caller's last answer where the object cannot take the task. */
  async #answer(
    departure: Departure,
    left: Partial<NewTask>,
    last: Task['last'],
    isAwaited: () => boolean,
  ): Promise<unknown> {
    const { call } = departure
    try {
      const { taskId, hasEnded } = await this.#store(await this.#recordOf(departure, left), isAwaited)
      // the key is that of a task that has ended: no further attempt will come
      if (hasEnded && last) return deliver(last)
      last?.answer?.discard()
      const traceId = traceIdOf(call.headers) ?? random128(this.#host.draw)
      return repeatableOf(call).accepted({ taskId, traceId, durability: DURABILITY })
    } catch (error) {
      if (error instanceof IdempotencyConflictError || !isAwaited()) {
        last?.answer?.discard()
        throw error
      }
      const { code } = this.tellWhyNot(call, error)
      if (!last) throw error
      return deliver(last, { reason: code === 'storage_full' ? 'queue_full' : 'not_durable' })
    }
  }

  async #recordOf({ call, taskId, createdAt }: Departure, left: Partial<NewTask>): Promise<NewTask> {
    const { settings, sanitizer, now } = this.#host
    if (call.options.sensitive) throw new TypeError('redrive.sensitive: what is sensitive is not stored; fetch it')
    if (!sanitizer) throw new WasmUnavailableError(undefined)
    const content = await contentOf(call, sanitizer, settings, ' of withRetry / workerFetch')
    if ('code' in content) throw new NotDurableError(content.code, `${content.what} may not be stored: ${content.why}`)
    const fingerprint = (await this.#dedupe.fingerprint(call)) ?? `unknown ${taskId}`
    const { expiresAt = FOREVER } = call.options
    const timing = { now: now(), createdAt, expiresAt, dueInMs: 0 }
    const ids = { taskId, fingerprint, principal: call.principal, home: null }
    const { log = [], attemptNumber = 0 } = left
    const whole = [...log, handedOver(taskId, now(), attemptNumber)]
    const record = { ...recordOf(ids, call, content, timing), ...left, log: whole }
    assertStorable([record]) // refused by its object it would be asked again
    return record
  }

  /** Resolves once the object has the record. `isAwaited`: a caller still waits for that; else the object is not to send it. */
  async #store(record: NewTask, isAwaited: () => boolean): Promise<Taken> {
    const { shards, waitUntil } = this.#terms
    const { principal, targetUrl } = record
    const { origin } = new URL(targetUrl)
    const name = objectName(principal, origin, shardOf(record, shards))
    const tried = this.#try(name, record, isAwaited)
    // where its caller leaves, the request may end
    waitUntil(tried.catch(() => {}))
    const taken = await tried
    if (taken.outcome === 'conflict') {
      throw keyConflict({ method: record.method, origin }, `task ${taken.taskId}`, taken.isElsewhere === true)
    }
    if (taken.outcome === 'full') {
      const { deadLetters = 0 } = taken
      const remedy = 'redrive or purge those, or raise its capacity or capacityBytes'
      throw new QueueFullError(`the object '${name}' is full, ${deadLetters} of its tasks are dead letters; ${remedy}`)
    }
    if (taken.outcome === 'refused') {
      throw new RedriveError(taken.code ?? 'REFUSED', taken.message ?? 'the object refused it')
    }
    hasTaken(name)
    // its own id: an earlier try was done, and its answer lost
    const isOwn = taken.outcome === 'duplicate' && taken.taskId === record.taskId
    return isOwn ? { taskId: taken.taskId, outcome: 'stored' } : taken
  }

  async #try(name: string, record: NewTask, isAwaited: () => boolean): Promise<Taken> {
    const { clock } = this.#host.settings
    const overAt = clock.now() + ANSWER_MS
    // a stub that has failed once goes on failing
    const stub = () => stubOf(this.#terms.namespace, name)
    if (!isAwaited()) throw new DOMException('its callers have left', 'AbortError')
    for (let tries = 0; ; tries++) {
      try {
        const leftMs = Math.max(1, overAt - clock.now())
        const [taken] = await within(clock, leftMs, `the object '${name}'`, enqueued(stub(), record))
        if (taken && !isAwaited() && taken.taskId === record.taskId) await cancelled(stub(), record.taskId)
        if (taken) return taken
        throw new Error(`the object '${name}' gave no answer for the task`)
      } catch (error) {
        const afterMs = TRIES_AFTER_MS[tries]
        const fault = classFault(error)
        if (afterMs === undefined || fault || !isAwaited() || clock.now() + afterMs >= overAt) {
          // the object may have stored it all the same; its caller is told that it failed, so it must not run
          this.#terms.waitUntil(cancelled(stub(), record.taskId))
          throw fault ?? error
        }
        await new Promise<void>((resolve) => clock.after(afterMs, resolve))
      }
    }
  }
}

/** The line of a task's log that says where it goes on. */
const handedOver = (taskId: string, at: number, attemptNumber: number): AttemptLog => ({
  ...{ taskId, attemptNumber: 0, startedAt: at, durationMs: 0, responseStatus: null, errorMessage: null },
  decision: attemptNumber > 0 ? 'moved to its object' : 'moved to its object unsent',
})

const answerOf = async (last: NonNullable<Task['last']>): Promise<unknown> => deliver(last)

/** Asks the object; a stub's method that throws at once rejects like any other. */
const enqueued = async (stub: RedriveStub, record: NewTask): Promise<readonly Taken[]> => stub.enqueue([record])

async function cancelled(stub: RedriveStub, taskId: string): Promise<void> {
  // a failed cancel is ignored: the object is as unreachable as it was for `enqueue`
  await Promise.resolve(stub.cancel(taskId)).catch(() => {})
}

function codeOf(error: unknown): DegradedCode {
  const { code, reason } = error as Partial<NotDurableError>
  if (code === 'OBJECT_MISCONFIGURED' || code === 'BINDING_INVALID') return MISCONFIGURED
  if (code === 'NOT_DURABLE' && (reason === 'headers_withheld' || reason === 'url_secret')) return reason
  return code === 'QUEUE_FULL' || code === 'STORAGE_FULL' ? 'storage_full' : 'storage_unavailable'
}
