/** A trace that goes on in another process: the context is stored with the task. */

import { context, propagation, SpanKind } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import type { OpenTelemetryOptions } from '../../js/adapters/opentelemetry.ts'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { closeNow, ORDERS, PLAIN_CURVE } from './setup.ts'
import { freshPath } from './sqlite/setup.ts'
import { attach, parentsOf, registerGlobals, traceparentOf } from './telemetry.ts'

beforeAll(registerGlobals)

const POST = { method: 'POST', body: 'order' } as const
const DEFER = { ...POST, redrive: { mode: 'defer' } } as const

/** A file, and processes on it, one after another: each has its own queue, SDK and memory. */
function disk() {
  const path = freshPath()
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  function made(options: RetryQueueOptions = {}): RetryQueue {
    const given = { store: sqliteStore({ path, clock }), clock, fetch: server.fetch, principal: null }
    const queue = new RetryQueue({ ...given, policy: PLAIN_CURVE, ...options })
    onTestFinished(() => closeNow(queue, clock))
    return queue
  }
  async function untraced(): Promise<RetryQueue> {
    const queue = made()
    await queue.ready
    return queue
  }
  async function open(options: RetryQueueOptions = {}, how: OpenTelemetryOptions = {}) {
    const queue = made(options)
    const telemetry = attach(queue, how)
    await queue.ready
    return { queue, telemetry }
  }
  const sent = (name: string) => server.requests.map(({ headers }) => headers.get(name))
  return { clock, server, untraced, open, sent }
}

const withBaggage = <T>(entries: Parameters<typeof propagation.createBaggage>[0], work: () => T): T =>
  context.with(propagation.setBaggage(context.active(), propagation.createBaggage(entries)), work)

test('process A and process B make one trace, with no new root', async () => {
  const { clock, server, open, sent } = disk()
  server.reply(503, { 'retry-after': '1' })
  const a = await open()
  await withBaggage({ tenant: { value: 'acme' } }, () =>
    a.telemetry.inSpan('checkout', () => a.queue.fetch(ORDERS, DEFER)),
  )
  await closeNow(a.queue, clock)
  const b = await open()
  await clock.advance(60_000)
  const checkout = a.telemetry.spans.find(({ name }) => name === 'checkout')?.spanContext()
  expect([a.telemetry.attempts.length, b.telemetry.spans.length]).toEqual([1, 1])
  const [span] = b.telemetry.spans
  const { traceId, spanId } = checkout ?? {}
  expect(span?.parentSpanContext).toMatchObject({ traceId, spanId, isRemote: true })
  expect(span?.attributes['http.request.resend_count']).toBe(1)
  expect(sent('traceparent')[1]).toBe(traceparentOf(span as ReadableSpan))
  expect(sent('baggage')[1]).toBe('tenant=acme')
})

test('a call outside of any span: its first attempt in A is the parent of its replay in B', async () => {
  const { clock, server, open } = disk()
  server.reply(503, { 'retry-after': '1' })
  const a = await open()
  await a.queue.fetch(ORDERS, DEFER)
  await closeNow(a.queue, clock)
  const b = await open()
  await clock.advance(60_000)
  const { traceId, spanId } = a.telemetry.attempts[0]?.spanContext() ?? {}
  expect(b.telemetry.spans[0]?.parentSpanContext?.spanId).toBe(spanId)
  expect(b.telemetry.spans[0]?.spanContext().traceId).toBe(traceId)
})

test.each(['child', 'link', 'untraced'] as const)('%s: enqueued in A, sent in B', async (replay) => {
  const { clock, open, untraced, sent } = disk()
  const a = await open()
  a.queue.pause()
  await a.queue.enqueue(ORDERS, POST)
  await closeNow(a.queue, clock)
  const [producer] = a.telemetry.spans
  expect(producer?.kind).toBe(SpanKind.PRODUCER)
  if (replay === 'untraced') {
    await untraced()
    await clock.advance(60_000)
    expect(sent('traceparent')).toEqual([traceparentOf(producer as ReadableSpan)])
    return
  }
  const b = await open({}, { replay })
  await clock.advance(60_000)
  const [span] = b.telemetry.spans
  const id = producer?.spanContext().spanId
  expect(span?.parentSpanContext?.spanId).toBe(replay === 'child' ? id : undefined)
  expect(span?.links.map(({ context }) => context.spanId)).toEqual(replay === 'child' ? [] : [id])
})

test('before-send: the first attempt is part of the trace that was stored', async () => {
  const { open } = disk()
  const { queue, telemetry } = await open({ persist: 'before-send' })
  await telemetry.inSpan('checkout', () => queue.fetch(ORDERS, POST))
  const checkout = telemetry.spans.find(({ name }) => name === 'checkout')?.spanContext()
  expect(parentsOf(telemetry.attempts)).toEqual([checkout?.spanId])
})

test('where the context may not be stored, replays here are children all the same', async () => {
  const { clock, server, open, sent } = disk()
  server.reply(503).reply(503)
  const { queue, telemetry } = await open({}, { propagateTo: [] })
  await queue.enqueue(ORDERS, POST)
  await clock.advance(60_000)
  const id = telemetry.spans[0]?.spanContext().spanId
  expect(parentsOf(telemetry.attempts)).toEqual([id, id, id])
  expect(sent('traceparent')).toEqual([null, null, null])
})

test('a task of before anything was traced begins one trace, at its next attempt', async () => {
  const { clock, server, open, untraced } = disk()
  const before = await untraced()
  before.pause()
  await before.enqueue(ORDERS, POST)
  await closeNow(before, clock)
  server.reply(503).reply(503)
  const { telemetry } = await open()
  await clock.advance(60_000)
  const id = telemetry.spans[0]?.spanContext().spanId
  expect(parentsOf(telemetry.attempts)).toEqual([undefined, id, id])
})

test('S12 baggage that holds a secret is sent and not stored, and the task does not wait because of it', async () => {
  const { clock, server, open, sent } = disk()
  server.reply(503, { 'retry-after': '1' })
  const a = await open()
  const secret = { userToken: { value: 'c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00' } }
  await withBaggage(secret, () => a.queue.fetch(ORDERS, DEFER))
  const [task] = (await a.queue.list()).tasks
  expect(task?.headers).not.toHaveProperty('baggage')
  expect(task?.withheldHeaders).toEqual([])
  await closeNow(a.queue, clock)
  await open()
  await clock.advance(60_000)
  expect(sent('baggage')).toEqual([expect.stringContaining('userToken='), null])
})
