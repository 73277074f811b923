/**
 * A trace's context as headers and back. The user's propagator writes and reads them; where there is none, W3C Trace Context
 * is written here, since a request without `traceparent` ends its trace. That is also how a context is stored, whatever goes over
 * the wire: a task may be sent by a process that is set up otherwise.
 */

import {
  type Context,
  createTraceState,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  type SpanContext,
  type TextMapGetter,
  type TextMapPropagator,
  type TextMapSetter,
  trace,
} from '@opentelemetry/api'

/** Headers of a context that the core lets be stored. */
export const STORED = ['traceparent', 'tracestate', 'baggage'] as const

const TRACEPARENT = /^(?!ff)([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/

const getter: TextMapGetter<Headers> = {
  get: (headers, name) => headers.get(name) ?? undefined,
  keys: (headers) => [...headers].map(([name]) => name),
}
const setter: TextMapSetter<Headers> = { set: (headers, name, value) => headers.set(name, value) }

export class ContextHeaders {
  readonly #propagator: Pick<TextMapPropagator, 'inject' | 'extract'>

  /** undefined: the global one. */
  constructor(propagator: TextMapPropagator | undefined) {
    this.#propagator = propagator ?? {
      inject: (context, carrier, set) => propagation.inject(context, carrier, set),
      extract: (context, carrier, get) => propagation.extract(context, carrier, get),
    }
  }

  /** The headers of a request with this context. */
  write(context: Context): Headers {
    const headers = new Headers()
    this.#propagator.inject(context, headers, setter)
    // one that speaks another format has said it in that
    if ([...headers].every(([name]) => name === 'baggage')) writeW3C(context, headers)
    return headers
  }

  /** The headers that are stored of this context. */
  writeStored(context: Context): Headers {
    const headers = new Headers()
    const baggage = this.write(context).get('baggage')
    if (baggage) headers.set('baggage', baggage)
    writeW3C(context, headers)
    return headers
  }

  /** undefined: the headers name no trace. */
  read(headers: Headers): Context | undefined {
    const read = this.#propagator.extract(ROOT_CONTEXT, headers, getter)
    if (spanContextOf(read)) return read
    const own = parse(headers.get('traceparent'), headers.get('tracestate'))
    return own && trace.setSpanContext(read, own)
  }
}

/** The span of a context; undefined: none, or one without a valid id. */
export function spanContextOf(context: Context): SpanContext | undefined {
  const found = trace.getSpanContext(context)
  return found && isSpanContextValid(found) ? found : undefined
}

function writeW3C(context: Context, headers: Headers): void {
  const found = spanContextOf(context)
  if (!found) return
  const flags = (found.traceFlags & 0xff).toString(16).padStart(2, '0')
  headers.set('traceparent', `00-${found.traceId}-${found.spanId}-${flags}`)
  const state = found.traceState?.serialize()
  if (state) headers.set('tracestate', state)
}

/** W3C Trace Context, 3.2: later versions may append to what is known of the first. */
function parse(traceparent: string | null, tracestate: string | null): SpanContext | undefined {
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(traceparent ?? '') ?? []
  if (!traceId || !spanId || !flags || (version === '00' && more)) return undefined
  const found: SpanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  if (tracestate) found.traceState = createTraceState(tracestate)
  return isSpanContextValid(found) ? found : undefined
}
