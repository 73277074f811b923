/**
 * Remembers the trace of each call. A replay runs in a timer, where the active context belongs to another call, and may run in
 * another process. So the context is taken when the call is made, and stored with the task as headers.
 */

import { type Context, context, createContextKey, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import type { Call } from '../../call/call.ts'
import type { Sanitizer } from '../../core/sanitizer.ts'
import { type ContextHeaders, STORED, spanContextOf } from './w3c.ts'

/** The SDK's, which its API does not export: keys of one name are one key. */
const SUPPRESSED = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING')

export const isSuppressed = (context: Context): boolean => context.getValue(SUPPRESSED) === true

/** Instrumentation of fetch or http would add a span of its own, and a second `traceparent`, to the same attempt. */
export const suppressed = (context: Context): Context => context.setValue(SUPPRESSED, true)

/** Tasks whose context is remembered because it could not be stored: the oldest is forgotten first. */
const MAX_TASKS = 1_000

export class Contexts {
  readonly #headers: ContextHeaders
  /** In which each call was made: its span and baggage, and nothing else that may have been there. */
  readonly #ofCalls = new WeakMap<Call, Context>()
  /** Contexts of tasks that are stored without one; their call is made anew for each attempt. */
  readonly #ofTasks = new Map<string, Context>()

  constructor(headers: ContextHeaders) {
    this.#headers = headers
  }

  /** In which a call is made, now; undefined: in no trace. What is active wins over the caller's own headers. */
  made(call: Call): Context | undefined {
    const known = this.#ofCalls.get(call)
    if (known) return known
    const active = context.active()
    if (isSuppressed(active)) return this.begin(call, suppressed(ROOT_CONTEXT))
    const found = spanContextOf(active) ? active : this.#headers.read(call.headers)
    return found && this.begin(call, found)
  }

  /** In which the call of a task was made, here or where it was stored. */
  recalled(call: Call, taskId: string | undefined): Context | undefined {
    const known = this.#ofCalls.get(call) ?? this.#ofTasks.get(taskId ?? '')
    if (known) return known
    const stored = this.#headers.read(call.headers)
    return stored && this.begin(call, stored)
  }

  remember(taskId: string, made: Context): void {
    this.#ofTasks.set(taskId, made)
    const [oldest] = this.#ofTasks.keys()
    if (oldest !== undefined && this.#ofTasks.size > MAX_TASKS) this.#ofTasks.delete(oldest)
  }

  /** `made`: what all later attempts of the call belong to. */
  begin(call: Call, made: Context): Context {
    const span = spanContextOf(made)
    const baggage = propagation.getBaggage(made)
    let kept = isSuppressed(made) ? suppressed(ROOT_CONTEXT) : ROOT_CONTEXT
    if (span) kept = trace.setSpanContext(kept, span)
    if (baggage) kept = propagation.setBaggage(kept, baggage)
    this.#ofCalls.set(call, kept)
    return kept
  }

  /** Puts a call's context among the headers that are stored, as far as it may be (S12). */
  keep(call: Call, made: Context, sanitizer: Sanitizer | undefined): void {
    if (!spanContextOf(made)) return
    const { headers = {} } = sanitizer?.headers(this.#headers.writeStored(made)) ?? {}
    if (!headers.traceparent) return
    // of another trace than the one that is now named
    call.headers.delete('tracestate')
    for (const name of STORED) {
      const value = headers[name]
      if (value !== undefined) call.headers.set(name, value)
    }
  }
}
