/**
 * Inbound replay: a request whose handler failed for a reason that may pass is kept, its client gets a 202, and the queue sends it again to
 * this service. The rules are here, once; `express.ts`, `fastify.ts` and `hono.ts` only say how their framework has it.
 */

import { RedriveError } from '../../api/errors.ts'
import type { DegradedCode } from '../../api/events.ts'
import type { Call } from '../../call/call.ts'
import type { Acceptance } from '../../call/transport.ts'
import { unsaid } from '../../platform/error-text.ts'
import { internalsOf } from '../../queue/internals.ts'
import { observe } from '../../queue/observe.ts'
import type { RetryQueue } from '../../queue/queue.ts'
import type { QueueContext } from '../../runner/context.ts'
import { DeferredError } from './deferred.ts'
import { acceptanceIn, callOf, HandlerError, type Replayed } from './handler-run.ts'
import { failureOf, mayPass, statusOfReplay } from './may-pass.ts'
import { checkInbound, type InboundOptions } from './options.ts'
import { markRepeats, marksOf, REPLAY_HEADER, type ReplayMarks } from './replay-header.ts'
import { headsOf, keyIn, mayRepeat, urlAt } from './replayed.ts'
import { accepted, circuitOpen, type Reply } from './reply.ts'
import type { Body, Incoming, Lack } from './request.ts'

/** The end of an error: `reply` is sent in its place, or it goes on. */
export interface Settled {
  readonly reply?: Reply
  /** The status of the error's own answer, which has to let the task of a replay go on. Absent: as it is. */
  readonly toStatus?: (status: number) => number
}

const GOES_ON: Settled = {}

/** 'cut_off' is reported to no one: its client has left. */
const LACKS: Readonly<Record<Exclude<Lack, 'cut_off'>, readonly [DegradedCode, string]>> = {
  not_captured: [
    'not_replayable',
    'its body was read before its bytes were captured: put captureBody() before every parser',
  ],
  too_large: ['body_too_large', 'its body is longer than maxBodyBytes'],
}

export class Inbound {
  readonly #queue: RetryQueue
  readonly #host: QueueContext
  readonly #run: (call: Call) => Promise<unknown>
  readonly #options: InboundOptions
  readonly #codes: readonly number[]
  readonly #dropped: ReadonlySet<string>
  readonly #marks: ReplayMarks
  /** The id that a call has as a task, if it is a new one. */
  readonly #ids = new WeakMap<Call, string>()

  /** `what`: the call that makes the middleware, in its users' words. */
  constructor(queue: RetryQueue, options: InboundOptions, what: string) {
    const { host, run } = internalsOf(queue, what)
    checkInbound(what, options, host.settings)
    this.#queue = queue
    this.#host = host
    this.#run = run
    this.#options = { ...options }
    this.#codes = host.settings.policies.get(options.policyId ?? 'default')?.policy.retryableStatusCodes ?? []
    this.#dropped = new Set(options.dropHeaders?.map((name) => name.toLowerCase()))
    this.#marks = marksOf(queue, options.secret)
    markRepeats(queue, options.origin, this.#marks)
    observe(queue, {
      onTask: (call, taskId) => {
        if (taskId !== undefined) this.#ids.set(call, taskId)
      },
    })
  }

  /** Whether a request is one that may be kept: of any other no copy of its body is needed. */
  mayKeep(method: string, headers: Headers): boolean {
    return mayRepeat(method, keyIn(headers, this.#host.settings.idempotency.header))
  }

  /** Decides about an error that a handler has thrown. `original`: the framework's own request. Never rejects. */
  async settle(error: unknown, request: Incoming, original: unknown): Promise<Settled> {
    if (request.isAnswered()) return GOES_ON
    try {
      if (error instanceof DeferredError) return { reply: this.#accepted(error) }
      const isReplay = await this.#marks.isOwn(request.headers.get(REPLAY_HEADER))
      const mayBeKept = isReplay || this.mayKeep(request.method, request.headers)
      if (!mayBeKept || !this.#matches(error, request)) return GOES_ON
      if (isReplay) return this.#ofReplay()
      return this.#shut() ?? (await this.#keep(error, request, original))
    } catch (failed) {
      const isOwn = failed instanceof RedriveError
      this.#tell('not_durable', request, isOwn ? failed.message : unsaid(failed), isOwn ? failed.code : 'threw')
      return GOES_ON
    }
  }

  #matches(error: unknown, { method, target, headers, id }: Incoming): boolean {
    const { match } = this.#options
    if (!match) return mayPass(error, this.#codes)
    const asked = { method, target, headers: new Headers(headers), ...(id !== undefined && { id }) }
    return this.#asks('match', () => match(error, asked))
  }

  /** Only `true` counts: a promise is true, whatever it comes to. */
  #asks(hook: string, ask: () => unknown): boolean {
    try {
      return ask() === true
    } catch (thrown) {
      this.#host.degraded('hook_threw', `${hook} threw (${unsaid(thrown)}): the request is not kept`, hook)
      return false
    }
  }

  /** The answer while the circuit of this service is open: what is kept now would only wait with the rest. */
  #shut(): Settled | undefined {
    const { circuit, shutUntilAt = null } = this.#queue.stats().origins[this.#options.origin] ?? {}
    if (circuit !== 'OPEN') return undefined
    return { reply: circuitOpen(shutUntilAt === null ? null : shutUntilAt - this.#host.now()) }
  }

  async #keep(error: unknown, request: Incoming, original: unknown): Promise<Settled> {
    const url = urlAt(this.#options.origin, request.target)
    if (url === undefined) {
      this.#tell('not_replayable', request, 'its target is no path, or one that fetch would change', 'target')
      return GOES_ON
    }
    const body = await this.#bodyOf(request)
    await this.#queue.ready
    const { sanitizer } = this.#host
    // without the core no task can be kept, and `degraded` has said so
    if (!body || !sanitizer || request.isAnswered()) return GOES_ON
    const { method } = request
    const { header } = this.#host.settings.idempotency
    const { unknown, ...heads } = headsOf(request, body.isUnpacked, this.#dropped, header, sanitizer)
    if (unknown.length > 0) {
      const names = unknown.join(', ')
      const remedy = 'list it in sanitize.persistHeaders of the queue, or in dropHeaders if a repeat needs none'
      this.#tell('headers_withheld', request, `${names} is on no list of headers; ${remedy}`, 'headers')
      return GOES_ON
    }
    if (!this.#mayStandIn(heads.withheld, original)) {
      const why = "authenticated has not returned true, and a repeat needs the service's credentials"
      this.#tell('not_replayable', request, why, 'authenticated')
      return GOES_ON
    }
    const replayed: Replayed = { method, url, bytes: body.bytes, ...heads }
    const { policyId } = this.#options
    // a key of its own for each: should a repeat come back unmarked, it is known by that
    const key = keyIn(request.headers, header)
    const options = { idempotencyKey: key ?? this.#host.makeKey(), ...(policyId !== undefined && { policyId }) }
    const call = await callOf(replayed, failureOf(error, this.#codes), options, this.#host)
    const taken = await this.#run(call).catch((failed) => {
      if (failed instanceof HandlerError) return new Response()
      throw failed
    })
    const acceptance = await acceptanceIn(taken)
    return acceptance ? this.#answerFor(call, acceptance, request) : GOES_ON
  }

  /**
   * Whether the service may send it again in its own name. Its client may have made a token up, or have none, and the handler may have failed
   * before that was seen: then its repeat would do with the service's credential what was never allowed.
   */
  #mayStandIn(withheld: readonly string[], original: unknown): boolean {
    const { credentials, sign } = this.#host.settings
    const { origin, authenticated } = this.#options
    const isAnyone = withheld.length === 0 && !(credentials[origin] ?? credentials.self ?? sign)
    return isAnyone || this.#asks('authenticated', () => authenticated?.(original))
  }

  /** The body, or undefined where it is not at hand, and `degraded` has said why. */
  async #bodyOf(request: Incoming): Promise<Body | undefined> {
    const body = await request.body()
    if (!('lacks' in body) && body.bytes && /^(GET|HEAD)$/.test(request.method)) {
      this.#tell('not_replayable', request, 'fetch sends no body with its method', 'GET')
      return undefined
    }
    if (!('lacks' in body)) return body
    if (body.lacks !== 'cut_off') {
      const [code, why] = LACKS[body.lacks]
      this.#tell(code, request, why, why)
    }
    return undefined
  }

  /**
   * Answers for a task that is kept. One that another request has made counts if it waits: if it is under way, this may be its own repeat with
   * a mark that this process cannot read, and a 202 would end it as done.
   */
  async #answerFor(call: Call, acceptance: Acceptance, request: Incoming): Promise<Settled> {
    const { taskId, durability } = acceptance
    const isNew = this.#ids.get(call) === taskId
    if (durability === 'memory') {
      // a store that says so once it is open: nothing may be promised
      if (isNew) await this.#queue.cancel(taskId)
      return GOES_ON
    }
    const isWaiting = isNew || (await this.#queue.get(taskId))?.status === 'PENDING'
    return isWaiting ? { reply: this.#accepted(withTrace(acceptance, request)) } : this.#ofReplay()
  }

  /** The error of a repeat is answered so that its task goes on. */
  #ofReplay(): Settled {
    return { toStatus: (status) => statusOfReplay(status, this.#codes) }
  }

  #accepted(acceptance: Acceptance): Reply {
    try {
      return accepted(acceptance, this.#options)
    } catch (error) {
      // the task is kept, and its client has to hear so
      this.#host.degraded('hook_threw', `taskUrl threw (${unsaid(error)}): the 202 has no location`, 'taskUrl')
      return accepted(acceptance, {})
    }
  }

  /** Says why an error went on: the client got that error, and the owner of the queue hears nothing. */
  #tell(code: DegradedCode, { method }: Incoming, why: string, once: string): void {
    const { origin } = this.#options
    this.#host.degraded(code, `${method} ${origin} has failed and was not kept: ${why}`, `inbound ${origin} ${once}`)
  }
}

/** The trace of the queue is that of `traceparent`, or a new one, in whose place the framework's id of the request tells more. */
function withTrace(acceptance: Acceptance, { headers, id }: Incoming): Acceptance {
  const isNew = !headers.get('traceparent')?.includes(acceptance.traceId)
  return isNew && id !== undefined ? { ...acceptance, traceId: id } : acceptance
}
