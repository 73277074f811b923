/**
 * A fetch for Workers. A transient failure is tried again while the request lives. A call that takes longer moves to a
 * Durable Object and its caller answered 202, so that no caller waits on a Worker that may be gone by then.
 *
 * A queue lives no longer than the calls of one request: in a Worker, timers and promises belong to the request that made them.
 */

import { RedriveError, WasmUnavailableError } from '../api/errors.ts'
import type { RedriveResponse } from '../api/mark.ts'
import type { EnqueueReceipt } from '../api/methods.ts'
import { CircuitOpenError, IdempotencyConflictError, type OpenCircuit } from '../api/task-errors.ts'
import type { Call } from '../call/call.ts'
import { assertEnqueueable, assertInit } from '../call/check-enqueue.ts'
import { repeatableOf } from '../call/fetch-repeat.ts'
import { whileThere } from '../call/leaving.ts'
import {
  absolute,
  type EnqueueInit,
  partsOf,
  passesThrough,
  type RedriveInit,
  readFetch,
  withJson,
} from '../call/read-fetch.ts'
import { handedOver } from '../options/background.ts'
import { MAX_MS } from '../options/check.ts'
import type { RetryQueueOptions } from '../options/queue-options.ts'
import type { TaskOptions } from '../options/task-options.ts'
import { checkTask } from '../options/task-rules.ts'
import { assertNotAborted, orAbort, orLeft } from '../platform/abort.ts'
import { FOREVER } from '../platform/clock.ts'
import { random128 } from '../platform/random.ts'
import { newMark } from '../platform/request-mark.ts'
import { uuid7Maker } from '../platform/uuid7.ts'
import type { RequestLike } from '../platform/web.ts'
import * as engine from '../queue/chunk.workerd.ts'
import { internalsOf } from '../queue/internals.ts'
import { RetryQueue } from '../queue/queue.ts'
import { wordsOf } from '../runner/circuit-open.ts'
import { type Task, traceIdOf } from '../tasks/task.ts'
import { type CallTerms, Handoff, type Next } from './handoff.ts'
import { type Binding, tellHold } from './object-holds.ts'
import { SharedGates } from './shared-gates.ts'
import { checkWall, resolveWorkerOptions, type WorkerFetchOptions, type WorkerTerms } from './worker-options.ts'

export interface WorkerFetch {
  /**
   * fetch, made retryable. A transient failure ends in a 202 once a Durable Object has the task:
   * `redrive-task-id` and a body of `{ status: 'queued', taskId, traceId, durability }`. With `redrive: { mode: 'await' }`, or
   * `sensitive`, nothing moves, and the last answer is the caller's.
   */
  (input: RequestLike, init?: RedriveInit): Promise<RedriveResponse>
  /** Moves a request to its object without an attempt from here. Rejects where it cannot be stored. */
  enqueue(input: RequestLike, init?: EnqueueInit): Promise<EnqueueReceipt>
}

/** Throws as `RetryQueue` does, naming the option; a binding that is missing, or of another kind, is named with what to put into the configuration. */
export function workerFetch(options: WorkerFetchOptions): WorkerFetch {
  const calls = new Calls(options)
  return Object.assign((input: RequestLike, init?: RedriveInit) => calls.fetch(input, init), {
    enqueue: (input: RequestLike, init?: EnqueueInit) => calls.enqueue(input, withJson(input, init)),
  })
}

interface Open {
  readonly queue: RetryQueue
  readonly handoff: Handoff
  readonly gates: SharedGates
}

type Receipt = Awaited<ReturnType<Handoff['enqueue']>>

class Calls {
  readonly #own: WorkerTerms
  readonly #options: RetryQueueOptions
  /** The queue of the request, while calls run. */
  #open: Open | undefined
  #running = 0
  /** Attempts made, and retries that are to be made. */
  #used = 0
  /** That of the request of this fetch. */
  readonly #mark = newMark()

  constructor(given: WorkerFetchOptions) {
    const { own, queue } = resolveWorkerOptions(given)
    this.#own = own
    this.#options = queue
  }

  async fetch(input: RequestLike, given?: RedriveInit | null): Promise<Response> {
    // null as for fetch: libraries pass it on
    const { redrive } = given ?? {}
    if (given instanceof Request) {
      const request = new Request(input instanceof Request ? input : absolute(String(input)), given)
      return this.fetch(request, redrive === undefined ? {} : { redrive })
    }
    const init: RedriveInit = { ...partsOf(given ?? {}), ...(redrive === undefined ? {} : { redrive }) }
    if (typeof redrive !== 'object' || redrive === null || !redrive.detach) {
      return this.#during((open) => this.#fetch(open, input, init))
    }
    // the caller may leave, and the call goes on
    const signal = init.signal ?? (input instanceof Request ? input.signal : null)
    const own = { ...init, signal: null, redrive: { ...redrive, detach: false } }
    assertNotAborted(signal)
    return orLeft(
      signal,
      this.#during((open) => this.#fetch(open, input, own)),
    )
  }

  enqueue(input: RequestLike, init?: RedriveInit): Promise<EnqueueReceipt> {
    return this.#during(async (open) => {
      const { hasEnded: _, ...receipt } = (await this.#enqueue(open, input, init)).receipt
      return receipt
    })
  }

  async #fetch(open: Open, input: RequestLike, init: RedriveInit): Promise<Response> {
    const { redrive = {} } = init
    this.#used++
    // turned off for this call, or no options at all, which the queue says
    if (typeof redrive !== 'object' || redrive === null) return open.queue.fetch(input, init)
    // as given: the queue is told another mode and another waitMs
    checkTask(redrive)
    const { inlineMs, stayMs } = this.#own
    checkWall(inlineMs, redrive.policy?.attemptTimeoutMs, 'redrive.policy')
    const { waitMs = MAX_MS, orderKey } = redrive
    const mayLeave = this.#mayLeave(input, init.method, redrive)
    if (orderKey !== undefined && !mayLeave) {
      throw new TypeError(
        "redrive.orderKey: expected a call that may move to its object, since its order is the object's",
      )
    }
    if (orderKey !== undefined) return this.#ordered(open, input, init)
    const hereMs = Math.min(waitMs, mayLeave ? inlineMs : stayMs)
    // the queue ends no call that may leave: the handoff decides how long that call waits here
    const own = { ...init, redrive: { ...redrive, mode: 'await', waitMs: mayLeave ? MAX_MS : hereMs } as const }
    if (passesThrough(input, own)) return open.queue.fetch(input, own)
    const { host, run } = internalsOf(open.queue)
    const call = endingWith(redrive, mayLeave, await readFetch(input, own, host))
    // a Worker's own fetch does not look at every word of it
    assertInit(call)
    // its attempts here are the first of many
    if (mayLeave) call.policy = { ...call.policy, maxAttempts: handedOver(call).maxAttempts }
    open.handoff.setTerms(call, { mayLeave, hereMs })
    if (mayLeave) open.handoff.verify(call)
    const waitUntil = mayLeave ? 0 : host.now() + hereMs
    const circuit = call.plain ? undefined : await orAbort(call.signal, open.gates.turnsAway(call, waitUntil))
    return circuit ? this.#turnedAway(open, call, circuit, mayLeave) : (run(call) as Promise<Response>)
  }

  /** Moves a call to its object unsent, since its server does not answer; where it may not leave, its caller hears that at once. */
  async #turnedAway(open: Open, call: Call, circuit: OpenCircuit, mayLeave: boolean): Promise<Response> {
    let remedy = 'enqueue() it to have its object send it later, or set retryBudget: false'
    let cause: unknown
    if (mayLeave) {
      let receipt: Receipt | undefined
      try {
        receipt = await this.#handOver(open, call, internalsOf(open.queue).host.now())
      } catch (error) {
        if (error instanceof IdempotencyConflictError) throw error
        assertNotAborted(call.signal)
        cause = error
        remedy = `it could not move to its object either: ${open.handoff.tellWhyNot(call, error).words}`
      }
      if (receipt) return this.#accepted(open, call, receipt)
    }
    throw new CircuitOpenError(`${wordsOf(call, circuit)}; ${remedy}`, circuit, cause)
  }

  /** Moves an ordered call unsent: the object gives it its turn. */
  async #ordered(open: Open, input: RequestLike, init: RedriveInit): Promise<Response> {
    const { call, receipt } = await this.#enqueue(open, input, init)
    return this.#accepted(open, call, receipt)
  }

  #accepted(open: Open, call: Call, { taskId, durability, hasEnded }: Receipt): Response {
    if (hasEnded) {
      const remedy = 'ask the object what became of it, redrive it, or use a new key'
      throw new RedriveError('TASK_ENDED', `the key is that of task ${taskId}, which has ended; ${remedy}`)
    }
    const traceId = traceIdOf(call.headers) ?? random128(internalsOf(open.queue).host.draw)
    return repeatableOf(call).accepted({ taskId, traceId, durability }) as Response
  }

  /** Whether a call may move. Its caller then learns that it is queued, and nothing more. */
  #mayLeave(input: RequestLike, given: string | undefined, { mode, sensitive }: TaskOptions): boolean {
    const method = given ?? (input instanceof Request ? input.method : 'GET')
    return mode !== 'await' && sensitive !== true && this.#own.persistMethods.some((name) => isSame(name, method))
  }

  async #enqueue(open: Open, input: RequestLike, init: RedriveInit | undefined) {
    const { host } = internalsOf(open.queue)
    const createdAt = host.now()
    const call = await readFetch(input, init, host)
    assertEnqueueable(call, passesThrough(input, init), host.settings.maxBodyBytes)
    return { call, receipt: await this.#handOver(open, call, createdAt) }
  }

  /** Moves a call that was never sent, for as long as its caller waits. */
  #handOver(open: Open, call: Call, createdAt: number): Promise<Receipt> {
    const { clock } = internalsOf(open.queue).host.settings
    const moved = this.#move(open, call, createdAt)
    return whileThere(call, clock, call.options.waitMs && call.leaveMs, moved)
  }

  async #move({ queue, handoff }: Open, call: Call, createdAt: number): Promise<Receipt> {
    const { host } = internalsOf(queue)
    await queue.ready
    if (!host.sanitizer) throw new WasmUnavailableError(undefined)
    const taskId = uuid7Maker(host.draw)(createdAt)
    host.onTask?.(call, taskId)
    return handoff.enqueue({ call, taskId, createdAt })
  }

  /** Runs `work` on the queue of the request, which is closed when the last call has ended. */
  async #during<T>(work: (open: Open) => Promise<T>): Promise<T> {
    this.#assertOwn()
    this.#open ??= this.#make()
    const open = this.#open
    this.#running++
    const { ctx } = this.#own
    try {
      const running = work(open)
      // its caller hears of the failure
      ctx.waitUntil(running.catch(() => {}))
      return await running
    } finally {
      this.#running--
      if (this.#running === 0) {
        this.#open = undefined
        ctx.waitUntil(open.queue.close())
      }
    }
  }

  /** One that served two requests would lose answers between them: what one of them began the platform keeps from the other. */
  #assertOwn(): void {
    if (this.#mark?.()) return
    throw new TypeError('workerFetch: expected one for each request, got that of another; make it in the handler')
  }

  #make(): Open {
    const { queue: namespace, shards, onDegraded, retryBudget } = this.#own
    const queue = new RetryQueue(this.#options, async () => engine, engine.CHECKS)
    queue.on('degraded', onDegraded)
    const { host } = internalsOf(queue)
    const { ctx } = this.#own
    const binding: Binding = { namespace, shards, waitUntil: (work) => ctx.waitUntil(work) }
    const breaker = retryBudget === false ? false : {}
    const gates = new SharedGates(queue, { retryBudget, breaker }, (...hold) => tellHold(binding, ...hold))
    const handoff = new Handoff(host, {
      ...binding,
      whereNext: (task, terms, nextAt) => this.#whereNext(gates, task, terms, nextAt),
    })
    return { queue, handoff, gates }
  }

  /** The place of a call's next attempt. */
  #whereNext(gates: SharedGates, task: Task, { mayLeave, hereMs }: CallTerms, nextAt: number): Next {
    const { inlineAttempts, subrequests } = this.#own
    const { createdAt, attemptNumber, origin } = task
    const otherwise = mayLeave ? 'elsewhere' : 'nowhere'
    // kept back past its time, one that stays waits for as long as its caller does
    if (nextAt - createdAt > hereMs) return nextAt === FOREVER && !mayLeave ? 'here' : otherwise
    // held back before it was ever sent: the attempt to come is its first
    if (attemptNumber === 0) return 'here'
    const waitUntil = mayLeave ? undefined : createdAt + hereMs
    if (attemptNumber >= inlineAttempts || this.#used >= subrequests || !gates.mayRetry(origin, nextAt, waitUntil)) {
      return otherwise
    }
    this.#used++
    return 'here'
  }
}

/**
 * The call whose attempt ends when its deferring caller waits no longer. No attempt moves with its call, so it is made again from the
 * object: only a caller who says how long it waits has that.
 */
const endingWith = ({ mode, waitMs }: TaskOptions, mayLeave: boolean, call: Call): Call =>
  mayLeave && mode === 'defer' && waitMs !== undefined
    ? { ...call, timeoutMs: Math.min(call.timeoutMs || FOREVER, Math.max(1, waitMs)) }
    : call

const isSame = (name: string, method: string): boolean => name.toUpperCase() === method.toUpperCase()
