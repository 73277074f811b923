/** What is said of an attempt, and that it is said once. */

import { context, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { isTracingSuppressed, suppressTracing } from '@opentelemetry/core'
import { beforeAll, expect, test } from 'vitest'
import { attachOpenTelemetry, type OpenTelemetryOptions } from '../../js/adapters/opentelemetry.ts'
import type { ScriptedServer } from '../../js/testing.ts'
import { ORDERS, setup } from './setup.ts'
import { registerGlobals, Telemetry, traced } from './telemetry.ts'

beforeAll(registerGlobals)

const POST = { method: 'POST', body: 'order' } as const
const NAMELESS = Object.assign(new Error('hush'), { name: 'Bearer hush' })

test('an attempt is one CLIENT span named by its method, with what the conventions ask for', async () => {
  const { queue, telemetry } = await traced()
  await queue.fetch('https://api.test:8443/orders?page=2', POST)
  expect(telemetry.spans).toHaveLength(1)
  const [span] = telemetry.spans
  expect(span).toMatchObject({ name: 'POST', kind: SpanKind.CLIENT, status: { code: SpanStatusCode.UNSET } })
  expect(span?.instrumentationScope.name).toBe('redrive')
  expect(span?.attributes).toEqual({
    'http.request.method': 'POST',
    'url.full': 'https://api.test:8443/orders?page=2',
    'server.address': 'api.test',
    'server.port': 8443,
    'http.response.status_code': 200,
    'redrive.policy_id': 'default',
  })
})

test('every attempt has a span, and each after the first says how many were before it', async () => {
  const { queue, clock, telemetry, events } = await traced({}, {}, 503, 'lost', 200)
  const answer = queue.fetch(ORDERS, POST)
  await clock.advance(3_000)
  await answer
  const [task] = events.of('queued')
  const taskId = task?.task.taskId
  const same = {
    'http.request.method': 'POST',
    'url.full': ORDERS,
    'server.address': 'api.test',
    'server.port': 443,
    'redrive.policy_id': 'default',
  }
  expect(telemetry.spans.map(({ attributes }) => attributes)).toEqual([
    { ...same, 'http.response.status_code': 503, 'error.type': '503' },
    { ...same, 'error.type': 'TypeError', 'http.request.resend_count': 1, 'redrive.task_id': taskId },
    { ...same, 'http.response.status_code': 200, 'http.request.resend_count': 2, 'redrive.task_id': taskId },
  ])
  const { ERROR, UNSET } = SpanStatusCode
  expect(telemetry.spans.map(({ status }) => status)).toEqual([{ code: ERROR }, { code: ERROR }, { code: UNSET }])
})

test('the first attempt of an enqueued task is no resend', async () => {
  const { queue, clock, telemetry } = await traced({}, {}, 503, 200)
  await queue.enqueue(ORDERS, POST)
  await clock.advance(1_000)
  const counts = telemetry.attempts.map(({ attributes }) => attributes['http.request.resend_count'])
  expect(counts).toEqual([undefined, 1])
})

test.each<[what: string, meet: (server: ScriptedServer) => unknown, type: string]>([
  ['404', (server) => server.reply(404), '404'],
  ['500', (server) => server.reply(500), '500'],
  ['no answer in time', (server) => server.hang(), 'timeout'],
  ['S12 an error whose name is no name', (server) => server.fail(NAMELESS), '_OTHER'],
])('%s is an error, whatever the queue makes of it', async (_, meet, type) => {
  const { queue, server, clock, telemetry } = await traced({ policy: { attemptTimeoutMs: 500, maxAttempts: 1 } })
  meet(server)
  const answer = queue.fetch(ORDERS).catch(() => {})
  await clock.advance(500)
  await answer
  expect(telemetry.spans).toMatchObject([
    { attributes: { 'error.type': type }, status: { code: SpanStatusCode.ERROR } },
  ])
  expect(JSON.stringify(telemetry.spans[0]?.attributes)).not.toContain('hush')
})

test('a method that no convention knows is OTHER, so that metrics stay few', async () => {
  const { queue, telemetry } = await traced()
  await queue.fetch(ORDERS, { method: 'PURGE' })
  expect(telemetry.spans).toMatchObject([
    { name: 'HTTP', attributes: { 'http.request.method': '_OTHER', 'http.request.method_original': 'PURGE' } },
  ])
})

test('an IPv6 host is an address without brackets', async () => {
  const { queue, telemetry } = await traced()
  await queue.fetch('http://[::1]/orders')
  expect(telemetry.spans[0]?.attributes).toMatchObject({ 'server.address': '::1', 'server.port': 80 })
})

test('S12 secrets of a URL are redacted as the task shows them', async () => {
  const { queue, clock, telemetry } = await traced({}, {}, 503)
  const answer = queue.fetch(`${ORDERS}?page=2&access_token=hush#id_token=hush`)
  await clock.advance(1_000)
  await answer
  const urls = telemetry.spans.map(({ attributes }) => attributes['url.full'])
  expect(urls).toEqual(Array(2).fill(`${ORDERS}?page=2&access_token=REDACTED#id_token=REDACTED`))
})

test('S12 while there is no core to look into a URL, its origin alone is told', async () => {
  const { RetryQueue } = await import('../../js/index.ts')
  const queue = new RetryQueue({ preload: 'never', fetch: async () => new Response() })
  const telemetry = new Telemetry()
  attachOpenTelemetry(queue, { tracerProvider: telemetry.tracerProvider })
  await queue.fetch(`${ORDERS}?access_token=hush#hush`)
  expect(telemetry.spans[0]?.attributes['url.full']).toBe('https://api.test/')
  await queue.close()
})

test('other instrumentation of fetch sees that the attempt is traced already', async () => {
  const seen: boolean[] = []
  const { queue, clock } = await traced({
    fetch: async () => {
      seen.push(isTracingSuppressed(context.active()))
      return new Response(null, { status: seen.length === 1 ? 503 : 200 })
    },
  })
  const answer = queue.fetch(ORDERS)
  await clock.advance(1_000)
  await answer
  expect(seen).toEqual([true, true])
  expect(isTracingSuppressed(context.active())).toBe(false)
})

test('what is sent where tracing is suppressed, as by an exporter, has no span, and neither have its replays', async () => {
  const { queue, server, clock, telemetry } = await traced({}, {}, 503, 503, 200)
  const answer = context.with(suppressTracing(context.active()), () => queue.fetch(ORDERS, POST))
  await context.with(suppressTracing(context.active()), () => queue.enqueue(`${ORDERS}/2`, POST))
  await clock.advance(3_000)
  await answer
  expect(server.hits).toBe(4)
  expect(telemetry.spans).toEqual([])
  expect(server.requests.map(({ headers }) => headers.get('traceparent'))).toEqual(Array(4).fill(null))
})

test('detached: attempts under way end their spans, later ones have none', async () => {
  const { queue, server, clock, telemetry, detach } = await traced()
  const release = server.hang()
  const answer = queue.fetch(ORDERS)
  await clock.settle()
  detach()
  detach()
  release(503)
  await clock.advance(1_000)
  await answer
  expect(server.hits).toBe(2)
  expect(telemetry.spans).toMatchObject([{ attributes: { 'http.response.status_code': 503 } }])
  expect(server.requests[1]?.headers.get('traceparent')).toBeNull()
})

test('attached once more, the latest takes over: an attempt never has two spans', async () => {
  const { queue, telemetry } = await traced()
  const latest = new Telemetry()
  attachOpenTelemetry(queue, { tracerProvider: latest.tracerProvider, meterProvider: latest.meterProvider })
  await queue.fetch(ORDERS)
  expect([telemetry.spans.length, latest.spans.length]).toEqual([0, 1])
  expect(await telemetry.points('redrive.queue.depth')).toEqual([])
})

test('a tracer that throws costs the span, not the request, and degraded says so once', async () => {
  const startSpan = () => {
    throw new Error('hush')
  }
  const tracerProvider = { getTracer: () => ({ startSpan, startActiveSpan: startSpan }) }
  const { queue, server, events } = await traced({}, { tracerProvider })
  expect((await queue.fetch(ORDERS, POST)).status).toBe(200)
  await queue.enqueue(ORDERS, POST)
  expect(server.requests[0]?.body).toBe('order')
  const told = events.of('degraded')
  expect(told).toMatchObject([{ code: 'hook_threw', message: expect.stringContaining('OpenTelemetry failed (Error') }])
  expect(told[0]?.message).not.toContain('hush')
})

test('a propagator that throws costs the headers, not the request', async () => {
  const fails = () => {
    throw new Error('no')
  }
  const propagator = { inject: fails, extract: (context: never) => context, fields: () => [] }
  const { queue, clock, telemetry } = await traced({}, { propagator }, 503)
  const answer = queue.fetch(ORDERS, POST)
  await clock.advance(1_000)
  expect((await answer).status).toBe(200)
  expect(telemetry.spans).toHaveLength(2)
})

test.each([
  [{ replay: 'sibling' }, "attachOpenTelemetry.replay: expected 'child' or 'link', got 'sibling'"],
  [
    { propagateTo: ['api.test'] },
    "attachOpenTelemetry.propagateTo[0]: expected an exact origin such as 'https://api.test', got 'api.test'",
  ],
  [{ maxOrigins: 0 }, 'attachOpenTelemetry.maxOrigins: expected a whole number from 1 to 10000, got 0'],
  [{ tracer: {} }, 'attachOpenTelemetry.tracer: no such option'],
])('%j is refused', async (options, message) => {
  const { queue } = await setup()
  expect(() => attachOpenTelemetry(queue, options as OpenTelemetryOptions)).toThrow(message)
})
