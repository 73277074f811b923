/**
 * A task leaves the Worker: what may be stored of its call, with all that is known of it by now, goes to the object that
 * keeps it, and its caller is answered once it is on the disk there.
 */

import { discard } from '../answers.ts'
import { deliver, type Finished } from '../attempt.ts'
import { release } from '../callers.ts'
import { within } from '../clock.ts'
import { instantiateKeys } from '../core/keys-static.ts'
import { Dedupe } from '../dedupe.ts'
import { contentOf, recordOf } from '../durable/record.ts'
import { errorText } from '../error-text.ts'
import { IdempotencyConflictError, RedriveError } from '../errors.ts'
import { accepted } from '../fetch-replay.ts'
import type { Host } from '../host.ts'
import { random128 } from '../ids.ts'
import type { Ruling } from '../judge.ts'
import { showEntry } from '../log.ts'
import type { Call } from '../request.ts'
import type { NewTask } from '../stores/store.ts'
import { type Task, traceIdOf } from '../task.ts'
import type { DegradedCode, EnqueueReceipt } from '../types.ts'
import { objectName, type RedriveNamespace, type RedriveStub, shardOf, stubOf, type Taken } from './namespace.ts'

const FOREVER = Number.POSITIVE_INFINITY
/** An object that was moved or restarted answers at the next try; the task's id makes twice once. */
const TRIES_AFTER_MS = [100, 500]
const WRONG_CLASS =
  "the object that is bound does not take tasks: bind a class that is, or extends, RedriveObject of 'redrive/cloudflare'"
/** Well under the 30 s that a Worker has left once its client is gone. */
const ANSWER_MS = 5_000

/** Where a call that has failed is tried again: by this Worker, by its object, or not at all. */
export type Next = 'here' | 'elsewhere' | 'nowhere'

interface Handed {
  readonly call: Call
  readonly taskId: string
  readonly createdAt: number
}

export class HandOver {
  readonly #namespace: RedriveNamespace
  readonly #shards: number
  readonly #host: Host
  readonly #dedupe: Dedupe
  readonly #goesOn: (task: Task, nextAt: number) => Next

  /** `goesOn`: asked before each wait. */
  constructor(
    host: Host,
    { namespace, shards }: { readonly namespace: RedriveNamespace; readonly shards: number },
    goesOn: (task: Task, nextAt: number) => Next,
  ) {
    this.#namespace = namespace
    this.#shards = shards
    this.#host = host
    this.#goesOn = goesOn
    // only its fingerprints are used: the object knows which tasks there are
    this.#dedupe = new Dedupe(host, { withKey: () => undefined }, instantiateKeys)
    host.handOver = (task, ruling, leave) => this.#leaves(task, ruling, leave)
  }

  /** A call that is not sent from here. */
  async enqueue(handed: Handed): Promise<EnqueueReceipt> {
    const record = await this.#recordOf(handed, {})
    const taken = await this.#store(record)
    const { taskId, outcome } = taken
    return {
      taskId,
      idempotencyKey: record.idempotencyKey,
      durability: 'replicated',
      deduplicated: outcome === 'duplicate',
    }
  }

  #leaves(task: Task, { why }: Ruling, leave: () => void): boolean {
    const { call, last, nextAttemptAt } = task
    if (!why || !call || nextAttemptAt === null || !task.waiter) return false
    const next = this.#goesOn(task, nextAttemptAt)
    if (next === 'here') return false
    const { taskId, createdAt, attemptNumber, entries } = task
    const { serverMs, phase, previousDelayMs, marks, delayMs: dueInMs } = why
    const log = entries.map((entry) => showEntry(taskId, entry))
    const left = { attemptNumber, serverMs, phase, previousDelayMs, marks, dueInMs, log }
    const waiter = release(task)
    // in memory it ends here, and must not take its last answer along
    task.last = undefined
    leave()
    const answer = next === 'nowhere' && last ? own(last) : this.#answer({ call, taskId, createdAt }, left, last)
    answer.then(waiter?.resolve, waiter?.reject)
    return true
  }

  /** 202, or what the caller's last attempt has brought where the object cannot take it. */
  async #answer(handed: Handed, left: Partial<NewTask>, last: Finished | undefined): Promise<unknown> {
    const { call } = handed
    try {
      const { taskId } = await this.#store(await this.#recordOf(handed, left))
      discard(last?.answer)
      return accepted(call.transport, taskId, traceIdOf(call.headers) ?? random128(this.#host.draw))
    } catch (error) {
      if (error instanceof IdempotencyConflictError) {
        discard(last?.answer)
        throw error
      }
      const code = error instanceof Unstorable ? error.degraded : codeOf(error)
      this.#host.degraded(
        code,
        `${call.method} ${call.origin} was not handed over: ${errorText(error)}`,
        errorText(error),
      )
      if (!last) throw error
      return deliver(last)
    }
  }

  async #recordOf({ call, taskId, createdAt }: Handed, left: Partial<NewTask>): Promise<NewTask> {
    const { settings, sanitizer, now } = this.#host
    if (!sanitizer) throw new RedriveError('WASM_UNAVAILABLE', 'the core is not here to say what may be stored')
    const content = await contentOf(call, sanitizer, settings)
    if ('code' in content) throw new Unstorable(content.code, content.message)
    const fingerprint = (await this.#dedupe.fingerprint(call)) ?? `unknown ${taskId}`
    const { expiresAt = FOREVER } = call.options
    const timing = { now: now(), createdAt, expiresAt, dueInMs: 0 }
    return {
      ...recordOf({ taskId, fingerprint, principal: call.principal, home: null }, call, content, timing),
      ...left,
    }
  }

  /** The object has it when this resolves. */
  async #store(record: NewTask): Promise<Taken> {
    const { principal, targetUrl } = record
    const name = objectName(principal, new URL(targetUrl).origin, shardOf(record, this.#shards))
    const taken = await this.#try(name, record)
    if (taken.outcome === 'conflict') {
      const remedy = 'use a new key for a new request; this one is not kept'
      const what = `its idempotency key belongs to another request, task ${taken.taskId}`
      throw new IdempotencyConflictError(`${record.method} ${new URL(targetUrl).origin}: ${what}; ${remedy}`)
    }
    if (taken.outcome === 'full') {
      throw new RedriveError('QUEUE_FULL', `the object '${name}' is full; raise its capacity or capacityBytes`)
    }
    if (taken.outcome === 'refused')
      throw new RedriveError(taken.code ?? 'REFUSED', taken.message ?? 'the object refused it')
    // its own id: an earlier try was done, and its answer lost
    const own = taken.outcome === 'duplicate' && taken.taskId === record.taskId
    return own ? { ...taken, outcome: 'stored' } : taken
  }

  async #try(name: string, record: NewTask): Promise<Taken> {
    const { clock } = this.#host.settings
    for (let tries = 0; ; tries++) {
      // a stub that has failed once goes on failing
      const stub = stubOf(this.#namespace, name)
      try {
        const [taken] = await within(clock, ANSWER_MS, `the object '${name}'`, enqueued(stub, record))
        if (taken) return taken
        throw new TypeError(`the object '${name}' gave no answer for the task`)
      } catch (error) {
        const afterMs = TRIES_AFTER_MS[tries]
        if (afterMs === undefined || isHopeless(error)) {
          // it may be there all the same: nobody is told so, so it must not run
          void cancelled(stub, record.taskId)
          throw isHopeless(error) ? new RedriveError('BINDING_INVALID', WRONG_CLASS, { cause: error }) : error
        }
        await new Promise<void>((resolve) => clock.after(afterMs, resolve))
      }
    }
  }
}

const own = async (last: Finished): Promise<unknown> => deliver(last)

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
  override readonly name = 'Unstorable'
  readonly degraded: DegradedCode

  constructor(degraded: DegradedCode, message: string) {
    super(degraded.toUpperCase(), message)
    this.degraded = degraded
  }
}
