/** A real OpenTelemetry SDK that keeps what it was told in memory. */

import { context, propagation, type Span, SpanKind, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core'
import { MeterProvider, MetricReader, type ResourceMetrics } from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { onTestFinished } from 'vitest'
import { attachOpenTelemetry, type OpenTelemetryOptions } from '../../js/adapters/opentelemetry.ts'
import type { RetryQueue, RetryQueueOptions } from '../../js/index.ts'
import { type Fakes, type Said, setup } from './setup.ts'

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

export interface Point {
  readonly attributes: Record<string, unknown>
  readonly value: unknown
}

export class Telemetry {
  readonly #exporter = new InMemorySpanExporter()
  readonly #reader = new Reader()
  readonly tracerProvider: BasicTracerProvider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(this.#exporter)],
  })
  readonly meterProvider: MeterProvider = new MeterProvider({ readers: [this.#reader] })

  /** Spans of attempts that have ended, in that order. */
  get attempts(): readonly ReadableSpan[] {
    return this.spans.filter(({ kind }) => kind === SpanKind.CLIENT)
  }

  get spans(): readonly ReadableSpan[] {
    return this.#exporter.getFinishedSpans()
  }

  /** Every number there is now. */
  async collect(): Promise<ResourceMetrics> {
    const { resourceMetrics, errors } = await this.#reader.collect()
    if (errors.length > 0) throw errors[0]
    return resourceMetrics
  }

  async points(name: string): Promise<readonly Point[]> {
    const { scopeMetrics } = await this.collect()
    const all = scopeMetrics.flatMap(({ metrics }) => metrics)
    const found = all.find(({ descriptor }) => descriptor.name === name)
    return (found?.dataPoints ?? []).map(({ attributes, value }) => ({ attributes, value }))
  }

  /** Does `work` as a user's code does, inside a span of its own. */
  inSpan<T>(name: string, work: (span: Span) => T): T {
    const span = this.tracerProvider.getTracer('test').startSpan(name)
    return context.with(trace.setSpan(context.active(), span), () => {
      try {
        return work(span)
      } finally {
        span.end()
      }
    })
  }
}

/** As an application in Node sets it up; what it returns takes that back. */
export function registerGlobals(): () => void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(
    new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
  )
  return () => {
    context.disable()
    propagation.disable()
  }
}

/** `traceparent` of a span that was sampled. */
export function traceparentOf(span: Pick<ReadableSpan, 'spanContext'>): string {
  const { traceId, spanId } = span.spanContext()
  return `00-${traceId}-${spanId}-01`
}

export const parentsOf = (spans: readonly ReadableSpan[]): (string | undefined)[] =>
  spans.map(({ parentSpanContext }) => parentSpanContext?.spanId)

export const tracesOf = (spans: readonly ReadableSpan[]): Set<string> =>
  new Set(spans.map((span) => span.spanContext().traceId))

/** Traces and measures a queue until the test is over. */
export function attach(queue: RetryQueue, options: OpenTelemetryOptions = {}): Telemetry {
  const telemetry = new Telemetry()
  const { tracerProvider, meterProvider } = telemetry
  onTestFinished(attachOpenTelemetry(queue, { tracerProvider, meterProvider, ...options }))
  return telemetry
}

export interface Traced extends Fakes {
  readonly telemetry: Telemetry
  readonly detach: () => void
}

/** A queue on virtual time that is traced and measured. */
export async function traced(
  options: RetryQueueOptions = {},
  how: OpenTelemetryOptions = {},
  ...answers: Said[]
): Promise<Traced> {
  const fakes = await setup(options, ...answers)
  const telemetry = new Telemetry()
  const { tracerProvider, meterProvider } = telemetry
  return { ...fakes, telemetry, detach: attachOpenTelemetry(fakes.queue, { tracerProvider, meterProvider, ...how }) }
}
