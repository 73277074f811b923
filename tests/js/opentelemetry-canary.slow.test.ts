/** S12: every flow of the canary once more, traced and measured: no secret in what leaves for a collector. */

import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { attachOpenTelemetry } from '../../js/adapters/opentelemetry.ts'
import type { RetryQueue, RetryQueueOptions } from '../../js/index.ts'
import { FileScenario } from './canary-file.ts'
import { flows } from './canary-flows.ts'
import { MARKERS } from './canary-scenario.ts'
import { registerGlobals, Telemetry } from './telemetry.ts'

const telemetry = new Telemetry()

class Traced extends FileScenario {
  override async queue(options: RetryQueueOptions = {}): Promise<RetryQueue> {
    const queue = await super.queue(options)
    const { tracerProvider, meterProvider } = telemetry
    attachOpenTelemetry(queue, { tracerProvider, meterProvider })
    return queue
  }
}

const scenario = new Traced()

beforeAll(async () => {
  await scenario.server.start()
  return registerGlobals()
})
afterAll(() => scenario.end())

/** All that an exporter is given of a span, its trace state and baggage included. */
function exported(span: ReadableSpan): string {
  const { name, attributes, events, links, status, parentSpanContext, instrumentationScope, resource } = span
  const contexts = [span.spanContext(), parentSpanContext, ...links.map(({ context }) => context)]
  const states = contexts.map((each) => [each, each?.traceState?.serialize()])
  return JSON.stringify({ name, attributes, events, links, status, states, instrumentationScope, resource })
}

const leaksIn = (texts: readonly string[]): string[] => [
  ...new Set(texts.flatMap((text) => scenario.canaries.foundIn(Buffer.from(text)))),
]

test.each(Object.entries(flows))('S12 no span, metric, file or event holds a secret: %s', async (_, flow) => {
  const [spansBefore, filesBefore, toldBefore] = [telemetry.spans.length, scenario.files.length, scenario.told.length]
  await flow(scenario)
  const spans = telemetry.spans.slice(spansBefore).map(exported)
  expect(leaksIn(spans)).toEqual([])
  expect(leaksIn([JSON.stringify((await telemetry.collect()).scopeMetrics)])).toEqual([])
  expect(leaksIn(scenario.told.slice(toldBefore).map(({ text }) => text))).toEqual([])
  const files = scenario.files.slice(filesBefore).flatMap(({ bytes }) => scenario.canaries.foundIn(bytes))
  expect([...new Set(files)]).toEqual([])
})

test('the spans are those of the requests, and what is harmless in them is told', () => {
  const { attempts } = telemetry
  expect(attempts.length).toBeGreaterThan(50)
  const urls = attempts.map(({ attributes }) => String(attributes['url.full']))
  expect(urls.every((url) => url.includes(MARKERS.path))).toBe(true)
  expect(urls.some((url) => url.includes('page=2&token=REDACTED'))).toBe(true)
})
