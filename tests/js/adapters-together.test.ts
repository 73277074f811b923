/** What watches attempts may be many, put on and taken off in any order. */

import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { expect, test } from 'vitest'
import { attachOpenTelemetry } from '../../js/adapters/opentelemetry.ts'
import { metricsOf } from '../../js/adapters/prometheus.ts'
import { RetryQueue } from '../../js/index.ts'
import { internalsOf } from '../../js/queue/internals.ts'
import { ORDERS } from './setup.ts'

test.each([
  ['the first first', [0, 1]],
  ['the last first', [1, 0]],
] as const)('spans and metrics come off, %s', async (_, order) => {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const queue = new RetryQueue({ fetch: async () => new Response() })
  const metrics = metricsOf(queue)
  const offs = [metrics.detach, attachOpenTelemetry(queue, { tracerProvider })]
  const seen = () => {
    const [, count = ''] = /retry_attempts_total{outcome="success",policy="default"} (\d+)/.exec(metrics.text()) ?? []
    return [Number(count), exporter.getFinishedSpans().length]
  }
  const counts = [seen()]
  for (const off of [undefined, ...order.map((i) => offs[i])]) {
    off?.()
    await queue.fetch(ORDERS)
    counts.push(seen())
  }
  const left = order[0] === 0 ? [1, 2] : [2, 1]
  expect(counts).toEqual([[0, 0], [1, 1], left, left])
  expect(internalsOf(queue).host.onEnd).toBeUndefined()
})
