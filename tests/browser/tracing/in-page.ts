/** The part of the tracing tests that runs in a page: a queue whose spans are kept, and what they say. */

import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { attachOpenTelemetry } from '../../../js/adapters/opentelemetry.ts'
import { RetryQueue } from '../../../js/index.ts'

export interface Traced {
  readonly got: number | string
  /** As the wire has them. */
  readonly traceparents: readonly string[]
  readonly roots: number
}

declare global {
  var traced: (url: string, propagateTo: readonly string[] | undefined) => Promise<Traced>
}

/** Gets `url` by a queue that makes two attempts. */
globalThis.traced = async (url, propagateTo) => {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const queue = new RetryQueue({ policy: { maxAttempts: 2, initialDelayMs: 1, jitterType: 'NONE' } })
  attachOpenTelemetry(queue, { tracerProvider, ...(propagateTo ? { propagateTo } : {}) })
  const got = await queue.fetch(url).then(
    ({ status }) => status,
    (error: Error) => error.name,
  )
  await queue.close()
  const spans = exporter.getFinishedSpans()
  return {
    got,
    traceparents: spans.map((span) => `00-${span.spanContext().traceId}-${span.spanContext().spanId}-01`),
    roots: spans.filter(({ parentSpanContext }) => !parentSpanContext).length,
  }
}
