/**
 * A task leaves the Worker: what may be stored of its call, with all that is known of it by now, goes to the object that
 * keeps it, and its caller is answered once it is on the disk there.
 */

import { IdempotencyConflictError, QueueFullError, RedriveError, WasmUnavailableError } from '../api/errors.ts'
import type { DegradedCode, EnqueueReceipt } from '../api/events.ts'
import type { NewTask } from '../api/store.ts'
import { discard } from '../call/answers.ts'
import { deliver, type Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { accepted } from '../call/fetch-repeat.ts'
import { instantiateKeys } from '../core/keys-static.ts'
import { contentOf, recordOf } from '../durable/record.ts'
import { within } from '../platform/clock.ts'
import { errorText } from '../platform/error-text.ts'
import { random128 } from '../platform/random.ts'
import type { QueueContext } from '../runner/context.ts'
import { Dedupe } from '../runner/dedupe.ts'
import { detachCaller } from '../tasks/callers.ts'
import { showEntry } from '../tasks/history.ts'
import type { Ruling } from '../tasks/ruling.ts'
import { type Task, traceIdOf } from '../tasks/task.ts'
import { objectName, type RedriveNamespace, type RedriveStub, shardOf, stubOf, type Taken } from './namespace.ts'

const FOREVER = Number.POSITIVE_INFINITY
/** An object that was moved or restarted answers at the next try; the task's id makes twice once. */
const TRIES_AFTER_MS = [100, 500]
/** All tries together: what a Worker has left, once its client is gone, beyond its own attempts. */
const ANSWER_MS = 4_500
/** A retry that has not begun so long after its time is kept back by something that no request can wait for. */
const LATE_MS = 500
const WRONG_CLASS =
  "the object that is bound does not take tasks: bind a class that is, or extends, RedriveObject of 'redrive/cloudflare'"

/** Where a call that has failed is tried again: by this Worker, by its object, or not at all. */
export type Next = 'here' | 'elsewhere' | 'nowhere'

/** A call as it is handed over. */
interface Leaving {
  readonly call: Call
  readonly taskId: string
  readonly createdAt: number
}

interface Terms {
  readonly namespace: RedriveNamespace
  readonly shards: number
  /** Keeps what is still to be said to an object alive. */
  readonly waitUntil: (work: Promise<unknown>) => void
  /** Asked before each wait; `nextAt` Infinity: it has been kept back, and must not wait on. */
  readonly goesOn: (task: Task, nextAt: number) => Next
}

export class HandOver {
  readonly #host: QueueContext
  readonly #terms: Terms
  readonly #dedupe: Dedupe

  constructor(host: QueueContext, terms: Terms) {
    this.#host = host
    this.#terms = terms
    // only its keys and fingerprints are used: the object knows which tasks there are
    this.#dedupe = new Dedupe(host, { withKey: () => undefined }, instantiateKeys)
    host.handOver = (task, ruling, leave) => this.#ask(task, ruling, leave)
  }

  /** A call that is not sent from here. */
  async enqueue(leaving: Leaving): Promise<EnqueueReceipt & { readonly hasEnded: boolean }> {
    const { call } = leaving
    if (call.key === '') await this.#dedupe.giveKey(call)
    const record = await this.#recordOf(leaving, {})
    const { taskId, outcome, hasEnded = false } = await this.#store(record)
    const deduplicated = outcome === 'duplicate'
    return { taskId, idempotencyKey: record.idempotencyKey, durability: 'replicated', deduplicated, hasEnded }
  }

  #ask(task: Task, ruling: Ruling, leave: () => void): boolean {
    const { nextAttemptAt, last, waiter } = task
    if (!waiter) return false
    // no credentials will come by themselves: what the server has said is the answer
    if (nextAttemptAt === null) return this.#leaves(task, ruling, leave, last ? 'nowhere' : 'elsewhere')
    const next = this.#terms.goesOn(task, nextAttemptAt)
    if (next !== 'here') return this.#leaves(task, ruling, leave, next)
    this.#watch(task, nextAttemptAt, ruling, leave)
    return false
  }

  /** Others of the request may have held its lane meanwhile: nothing waits here for longer than it was let. */
  #watch(task: Task, nextAt: number, ruling: Ruling, leave: () => void): void {
    const { now, settings } = this.#host
    settings.clock.after(Math.max(0, nextAt - now()) + LATE_MS, () => {
      const waits = task.waiter && task.slot >= 0 && task.status === 'PENDING' && task.nextAttemptAt === nextAt
      if (waits) this.#leaves(task, ruling, leave, this.#terms.goesOn(task, FOREVER))
    })
  }

  /** Whether it has left. One that has no answer yet, and may not be handed over, is the queue's to end. */
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
    const waiter = detachCaller(task)
    // in memory it ends here, and must not take its last answer along
    task.last = undefined
    leave()
    const answer = next === 'nowhere' && last ? answerOf(last) : this.#answer({ call, taskId, createdAt }, left, last)
    answer.then(waiter?.resolve, waiter?.reject)
    return true
  }

  /** 202, or what the caller's last attempt has brought where the object cannot take it. */
  async #answer(leaving: Leaving, left: Partial<NewTask>, last: Finished | undefined): Promise<unknown> {
    const { call } = leaving
    try {
      const { taskId, hasEnded } = await this.#store(await this.#recordOf(leaving, left))
      // nothing more comes of that task
      if (hasEnded && last) return deliver(last)
      discard(last?.answer)
      return accepted(call.transport, taskId, traceIdOf(call.headers) ?? random128(this.#host.draw))
    } catch (error) {
      if (error instanceof IdempotencyConflictError) {
        discard(last?.answer)
        throw error
      }
      const code = error instanceof Unstorable ? error.degraded : codeOf(error)
      const what = `${call.method} ${call.origin} was not handed over: ${errorText(error)}`
      this.#host.degraded(code, what, errorText(error))
      if (!last) throw error
      return deliver(last)
    }
  }

  async #recordOf({ call, taskId, createdAt }: Leaving, left: Partial<NewTask>): Promise<NewTask> {
    const { settings, sanitizer, now } = this.#host
    if (call.options.sensitive) throw new TypeError('redrive.sensitive: what is sensitive is not stored; fetch it')
    if (!sanitizer) throw new WasmUnavailableError(undefined)
    const content = await contentOf(call, sanitizer, settings)
    if ('code' in content) throw new Unstorable(content.code, content.message)
    const fingerprint = (await this.#dedupe.fingerprint(call)) ?? `unknown ${taskId}`
    const { expiresAt = FOREVER } = call.options
    const timing = { now: now(), createdAt, expiresAt, dueInMs: 0 }
    const ids = { taskId, fingerprint, principal: call.principal, home: null }
    return { ...recordOf(ids, call, content, timing), ...left }
  }

  /** The object has it when this resolves. */
  async #store(record: NewTask): Promise<Taken> {
    const { principal, targetUrl } = record
    const { origin } = new URL(targetUrl)
    const name = objectName(principal, origin, shardOf(record, this.#terms.shards))
    const taken = await this.#try(name, record)
    if (taken.outcome === 'conflict') {
      const remedy = 'use a new key for a new request; this one is not kept'
      const what = `its idempotency key belongs to another request, task ${taken.taskId}`
      throw new IdempotencyConflictError(`${record.method} ${origin}: ${what}; ${remedy}`)
    }
    if (taken.outcome === 'full') {
      throw new QueueFullError(`the object '${name}' is full; raise its capacity or capacityBytes`)
    }
    if (taken.outcome === 'refused') {
      throw new RedriveError(taken.code ?? 'REFUSED', taken.message ?? 'the object refused it')
    }
    // its own id: an earlier try was done, and its answer lost
    const isOwn = taken.outcome === 'duplicate' && taken.taskId === record.taskId
    return isOwn ? { taskId: taken.taskId, outcome: 'stored' } : taken
  }

  async #try(name: string, record: NewTask): Promise<Taken> {
    const { clock } = this.#host.settings
    const overAt = clock.now() + ANSWER_MS
    for (let tries = 0; ; tries++) {
      // a stub that has failed once goes on failing
      const stub = stubOf(this.#terms.namespace, name)
      try {
        const leftMs = Math.max(1, overAt - clock.now())
        const [taken] = await within(clock, leftMs, `the object '${name}'`, enqueued(stub, record))
        if (taken) return taken
        throw new TypeError(`the object '${name}' gave no answer for the task`)
      } catch (error) {
        const afterMs = TRIES_AFTER_MS[tries]
        if (afterMs === undefined || isHopeless(error) || clock.now() + afterMs >= overAt) {
          // it may be there all the same: nobody is told so, so it must not run
          this.#terms.waitUntil(cancelled(stub, record.taskId))
          throw isHopeless(error) ? new RedriveError('BINDING_INVALID', WRONG_CLASS, { cause: error }) : error
        }
        await new Promise<void>((resolve) => clock.after(afterMs, resolve))
      }
    }
  }
}

const answerOf = async (last: Finished): Promise<unknown> => deliver(last)

/** The methods of a stub may throw at once, as well as reject. */
const enqueued = async (stub: RedriveStub, record: NewTask): Promise<readonly Taken[]> => stub.enqueue([record])

async function cancelled(stub: RedriveStub, taskId: string): Promise<void> {
  // what kept it from being stored keeps it from being cancelled, mostly
  await Promise.resolve(stub.cancel(taskId)).catch(() => {})
}

/** No repeat mends an object of another class. */
function isHopeless(error: unknown): boolean {
  return error instanceof TypeError && /does not implement|not a function/.test(error.message)
}

function codeOf(error: unknown): DegradedCode {
  const { code } = error as Partial<RedriveError>
  return code === 'QUEUE_FULL' || code === 'STORAGE_FULL' ? 'storage_full' : 'storage_unavailable'
}

/** Nothing of the call may be stored: `degraded` says so where its caller has an answer, and this where it has none. */
class Unstorable extends RedriveError {
  readonly degraded: DegradedCode

  constructor(degraded: DegradedCode, message: string) {
    super(degraded.toUpperCase(), message)
    this.degraded = degraded
  }
}
