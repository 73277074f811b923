/**
 * A span for every attempt, and the queue in numbers, by OpenTelemetry. It observes the queue: one that is not attached pays
 * nothing. A failure in here costs the span, never the request.
 */

import {
  type Context,
  context,
  type MeterProvider,
  metrics,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import type { AttemptPlan, Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { FetchTransport } from '../call/fetch-transport.ts'
import type { Transport } from '../call/transport.ts'
import { check, int, list, object, oneOf, origin as originRule, type Rules } from '../options/check.ts'
import { unsaid } from '../platform/error-text.ts'
import { pageOrigin } from '../platform/page.ts'
import { internalsOf } from '../queue/internals.ts'
import { observe } from '../queue/observe.ts'
import type { RetryQueue } from '../queue/queue.ts'
import type { QueueContext } from '../runner/context.ts'
import { Contexts, isSuppressed, suppressed } from './opentelemetry/context.ts'
import { Metrics } from './opentelemetry/metrics.ts'
import { answerAttributes, errorType, nameOf, nameOfError, requestAttributes } from './opentelemetry/span.ts'
import { ContextHeaders, spanContextOf } from './opentelemetry/w3c.ts'

export interface OpenTelemetryOptions {
  /** Makes the spans. @default the global one, also where it is registered later */
  readonly tracerProvider?: TracerProvider
  /** Makes the metrics. @default the global one, which must be registered before this is called */
  readonly meterProvider?: MeterProvider
  /** Writes and reads the headers of a context. @default the global one; W3C Trace Context where none is registered */
  readonly propagator?: TextMapPropagator
  /**
   * The relation of a replay's span to the call that it repeats. 'child': one more span of the call's trace, also after a restart. 'link': a
   * trace of its own with a link to the call, for replays that come hours later. @default 'child'
   */
  readonly replay?: 'child' | 'link'
  /**
   * Origins whose requests carry the context (`traceparent`, `tracestate`, `baggage`), and no others, each exactly as
   * `new URL(url).origin` has it. A page needs its server's
   * leave to send them to another origin: without `Access-Control-Allow-Headers: traceparent` the browser refuses the whole
   * request. Where they may not go they are not stored either, so a replay after a reload begins a trace.
   * @default in pages and their workers the own origin; elsewhere all
   */
  readonly propagateTo?: readonly string[]
  /** Origins that metrics tell apart; what comes later is `server.address: 'other'`. 1 to 10,000. @default 100 */
  readonly maxOrigins?: number
}

const RULES: Rules<OpenTelemetryOptions> = {
  tracerProvider: object,
  meterProvider: object,
  propagator: object,
  replay: oneOf('child', 'link'),
  propagateTo: list(originRule),
  maxOrigins: int(1, 10_000),
}
const SCOPE = 'redrive'
const MAX_ORIGINS = 100

/** Detaches what is attached to a queue. A second attachment takes over from the first, or every attempt would have two spans. */
const attached = new WeakMap<RetryQueue, () => void>()

/**
 * Makes a CLIENT span of every attempt, the caller's own first one included, and metrics of the queue. Returns what detaches;
 * attempts under way end their spans all the same. Needs `@opentelemetry/api`; which SDK is behind it is the user's choice.
 * Throws TypeError and RangeError on options, as the queue does on its own.
 */
export function attachOpenTelemetry(queue: RetryQueue, options: OpenTelemetryOptions = {}): () => void {
  check('attachOpenTelemetry', options, RULES)
  attached.get(queue)?.()
  const tracing = new Tracing(queue, internalsOf(queue, 'attachOpenTelemetry(queue)').host, options)
  let active = true
  const stopObserving = observe(queue, {
    attempt: (call, plan, next) => tracing.attempt(call, plan, next),
    onTask: (call, taskId) => tracing.onTask(call, taskId),
  })
  const detach = () => {
    if (!active) return
    active = false
    stopObserving()
    tracing.end()
    if (attached.get(queue) === detach) attached.delete(queue)
  }
  attached.set(queue, detach)
  return detach
}

class Tracing {
  readonly #host: QueueContext
  readonly #tracer: Tracer
  readonly #headers: ContextHeaders
  readonly #contexts: Contexts
  readonly #metrics: Metrics
  readonly #links: boolean
  /** undefined: every origin. */
  readonly #propagateTo: ReadonlySet<string> | undefined

  constructor(queue: RetryQueue, host: QueueContext, options: OpenTelemetryOptions) {
    const { tracerProvider = trace, meterProvider = metrics, maxOrigins = MAX_ORIGINS } = options
    const own = pageOrigin()
    const origins = options.propagateTo ?? (own === undefined ? undefined : [own])
    this.#host = host
    this.#tracer = tracerProvider.getTracer(SCOPE)
    this.#headers = new ContextHeaders(options.propagator)
    this.#contexts = new Contexts(this.#headers)
    this.#metrics = new Metrics(queue, meterProvider.getMeter(SCOPE), maxOrigins)
    this.#links = options.replay === 'link'
    this.#propagateTo = origins && new Set(origins)
  }

  async attempt(call: Call, plan: AttemptPlan, next: () => Promise<Finished>): Promise<Finished> {
    const span = this.#guarded(() => this.#begin(call, plan))
    if (!span) return next()
    const within = trace.setSpan(plan.isReplay ? ROOT_CONTEXT : context.active(), span)
    this.#guarded(() => this.#addHeaders(call, plan, span))
    try {
      const finished = await context.with(suppressed(within), next)
      this.#guarded(() => this.#end(span, call, finished))
      return finished
    } catch (error) {
      this.#guarded(() => {
        span.setAttribute('error.type', nameOfError(error))
        span.setStatus({ code: SpanStatusCode.ERROR }).end()
      })
      throw error
    }
  }

  /** A call without a trace that becomes a task unsent: its attempts need something to be children of. */
  onTask(call: Call, taskId: string | undefined): void {
    this.#guarded(() => {
      const made = this.#contexts.made(call) ?? this.#enqueued(call)
      if (this.#mayCarry(call)) this.#contexts.keep(call, made, this.#host.sanitizer)
      else if (taskId) this.#contexts.remember(taskId, made)
    })
  }

  end(): void {
    this.#metrics.end()
  }

  #begin(call: Call, { isReplay, task }: AttemptPlan): Span {
    const parent = isReplay ? this.#contexts.recalled(call, task?.taskId) : this.#contexts.made(call)
    const attributes = requestAttributes(call, this.#host.sanitizer)
    if (task) attributes['redrive.task_id'] = task.taskId
    const resent = (task?.attemptNumber ?? 1) - 1
    if (resent > 0) attributes['http.request.resend_count'] = resent
    const linked = isReplay && this.#links && parent ? spanContextOf(parent) : undefined
    const kind = { kind: SpanKind.CLIENT, attributes, ...(linked ? { root: true, links: [{ context: linked }] } : {}) }
    // of a first attempt all that is active, which a sampler or processor may look at
    const active = context.active()
    const isActive = !isReplay && spanContextOf(active) !== undefined
    const span = this.#tracer.startSpan(nameOf(call), kind, isActive ? active : (parent ?? ROOT_CONTEXT))
    if (!parent) {
      const made = this.#contexts.begin(call, trace.setSpan(isReplay ? ROOT_CONTEXT : active, span))
      if (task) this.#contexts.remember(task.taskId, made)
    }
    return span
  }

  #enqueued(call: Call): Context {
    const attributes = requestAttributes(call, this.#host.sanitizer)
    const span = this.#tracer.startSpan(`enqueue ${nameOf(call)}`, { kind: SpanKind.PRODUCER, attributes })
    span.end()
    return this.#contexts.begin(call, trace.setSpan(context.active(), span))
  }

  /** Puts the span's context into the headers of the attempt. */
  #addHeaders(call: Call, plan: AttemptPlan, span: Span): void {
    const made = this.#contexts.recalled(call, plan.task?.taskId) ?? ROOT_CONTEXT
    if (!this.#mayCarry(call) || isSuppressed(made)) return
    const overlay = new Headers(plan.overlay ?? undefined)
    this.#headers.write(trace.setSpan(made, span)).forEach((value, name) => {
      overlay.set(name, value)
    })
    plan.transport = withOverlay(plan, overlay)
    plan.overlay = overlay
  }

  #end(span: Span, call: Call, finished: Finished): void {
    span.setAttributes(answerAttributes(finished))
    if (errorType(finished)) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end()
    this.#metrics.attempt(call, finished)
  }

  #mayCarry({ origin }: Call): boolean {
    return this.#propagateTo?.has(origin) ?? true
  }

  /** undefined: it threw, and `degraded` has said so. */
  #guarded<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      const message = `OpenTelemetry failed (${unsaid(error)}): requests go on, traces and metrics may lack something`
      this.#host.degraded('hook_threw', message, 'opentelemetry')
      return undefined
    }
  }
}

/** The transport of an attempt that sends `overlay` too: a first attempt by fetch lays none over its headers, any other does. */
function withOverlay({ transport }: AttemptPlan, overlay: Headers): Transport {
  if (!(transport instanceof FetchTransport)) return transport
  const { sendable } = transport
  const headers = new Headers(sendable.init.headers)
  // of another trace than the one that is named now
  headers.delete('tracestate')
  overlay.forEach((value, name) => {
    headers.set(name, value)
  })
  return new FetchTransport({ ...sendable, init: { ...sendable.init, headers } })
}
