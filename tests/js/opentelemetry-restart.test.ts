/** A trace that goes on in another process: the context is stored with the task. */

import { context, propagation, SpanKind } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import type { OpenTelemetryOptions } from '../../js/adapters/opentelemetry.ts'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { QUICK, startServer } from './axios-setup.ts'
import { eventually } from './eventually.ts'
import { freshPath } from './sqlite/setup.ts'
import { attach, parentsOf, registerGlobals, traceparentOf } from './telemetry.ts'

beforeAll(registerGlobals)

const POST = { method: 'POST', body: 'order' } as const

/** One more process on the file, as far as anything of it can tell: its own queue, SDK and memory. */
async function process(path: string, options: RetryQueueOptions = {}, how: OpenTelemetryOptions = {}) {
  const queue = new RetryQueue({
    store: sqliteStore({ path }),
    principal: null,
    ...options,
    policy: { ...QUICK, maxAttempts: 20, ...options.policy },
  })
  onTestFinished(() => queue.close({ drainMs: 0 }))
  const telemetry = attach(queue, how)
  await queue.ready
  return { queue, telemetry }
}

test('process A and process B make one trace, with no new root', async () => {
  const path = freshPath()
  const server = await startServer()
  server.reply(503, { 'retry-after': '1' })
  const a = await process(path)
  const baggage = propagation.createBaggage({ tenant: { value: 'acme' } })
  await context.with(propagation.setBaggage(context.active(), baggage), () =>
    a.telemetry.inSpan('checkout', () =>
      a.queue.fetch(`${server.url}/orders`, { ...POST, redrive: { mode: 'defer' } }),
    ),
  )
  await a.queue.close({ drainMs: 0 })
  const b = await process(path)
  await eventually(() => server.hits).toBe(2)
  await b.queue.idle()
  const checkout = a.telemetry.spans.find(({ name }) => name === 'checkout')?.spanContext()
  expect(a.telemetry.attempts).toHaveLength(1)
  expect(b.telemetry.spans).toHaveLength(1)
  expect(b.telemetry.spans[0]?.parentSpanContext).toMatchObject({
    traceId: checkout?.traceId,
    spanId: checkout?.spanId,
    isRemote: true,
  })
  expect(b.telemetry.spans[0]?.attributes['http.request.resend_count']).toBe(1)
  expect(server.requests[1]?.headers.traceparent).toBe(traceparentOf(b.telemetry.spans[0] as ReadableSpan))
  expect(server.requests[1]?.headers.baggage).toBe('tenant=acme')
})

test('a call outside of any span: its first attempt in A is the parent of its replay in B', async () => {
  const path = freshPath()
  const server = await startServer()
  server.reply(503, { 'retry-after': '1' })
  const a = await process(path)
  await a.queue.fetch(`${server.url}/orders`, { ...POST, redrive: { mode: 'defer' } })
  await a.queue.close({ drainMs: 0 })
  const b = await process(path)
  await eventually(() => b.telemetry.spans.length).toBe(1)
  const first = a.telemetry.attempts[0]?.spanContext()
  expect(b.telemetry.spans[0]?.parentSpanContext?.spanId).toBe(first?.spanId)
  expect(b.telemetry.spans[0]?.spanContext().traceId).toBe(first?.traceId)
})

test.each(['child', 'link'] as const)('%s: enqueued in A, sent in B', async (replay) => {
  const path = freshPath()
  const server = await startServer()
  const a = await process(path)
  a.queue.pause()
  await a.queue.enqueue(`${server.url}/orders`, POST)
  await a.queue.close({ drainMs: 0 })
  const b = await process(path, {}, { replay })
  await eventually(() => b.telemetry.spans.length).toBe(1)
  const [producer] = a.telemetry.spans
  const [sent] = b.telemetry.spans
  expect(producer?.kind).toBe(SpanKind.PRODUCER)
  const id = producer?.spanContext().spanId
  expect(sent?.parentSpanContext?.spanId).toBe(replay === 'child' ? id : undefined)
  expect(sent?.links.map(({ context }) => context.spanId)).toEqual(replay === 'child' ? [] : [id])
})

test('before-send: the first attempt is part of the trace that was stored', async () => {
  const path = freshPath()
  const server = await startServer()
  const a = await process(path, { persist: 'before-send' })
  await a.telemetry.inSpan('checkout', () => a.queue.fetch(`${server.url}/orders`, POST))
  const checkout = a.telemetry.spans.find(({ name }) => name === 'checkout')?.spanContext()
  expect(parentsOf(a.telemetry.attempts)).toEqual([checkout?.spanId])
})

test('where the context may not be stored, replays here are children all the same', async () => {
  const server = await startServer()
  server.reply(503).reply(503)
  const a = await process(freshPath(), {}, { propagateTo: [] })
  const { taskId } = await a.queue.enqueue(`${server.url}/orders`, POST)
  await a.queue.result(taskId)
  expect(a.telemetry.attempts).toHaveLength(3)
  const id = a.telemetry.spans[0]?.spanContext().spanId
  expect(parentsOf(a.telemetry.attempts)).toEqual([id, id, id])
  expect(server.requests.filter(({ headers }) => headers.traceparent)).toEqual([])
})

test('a task of before anything was traced begins one trace, at its next attempt', async () => {
  const path = freshPath()
  const server = await startServer()
  const before = new RetryQueue({ store: sqliteStore({ path }), principal: null })
  before.pause()
  await before.enqueue(`${server.url}/orders`, POST)
  await before.close({ drainMs: 0 })
  server.reply(503).reply(503)
  const { telemetry } = await process(path)
  await eventually(() => telemetry.spans.length).toBe(3)
  const id = telemetry.spans[0]?.spanContext().spanId
  expect(parentsOf(telemetry.attempts)).toEqual([undefined, id, id])
})

test('a process that traces nothing sends the context that was stored', async () => {
  const path = freshPath()
  const server = await startServer()
  const a = await process(path)
  a.queue.pause()
  await a.queue.enqueue(`${server.url}/orders`, POST)
  await a.queue.close({ drainMs: 0 })
  const b = new RetryQueue({ store: sqliteStore({ path }), principal: null })
  onTestFinished(() => b.close({ drainMs: 0 }))
  await b.ready
  await eventually(() => server.hits).toBe(1)
  expect(server.requests[0]?.headers.traceparent).toBe(traceparentOf(a.telemetry.spans[0] as ReadableSpan))
})

test('S12 baggage that holds a secret is sent and not stored, and the task waits for nobody because of it', async () => {
  const path = freshPath()
  const server = await startServer()
  server.reply(503, { 'retry-after': '1' })
  const a = await process(path)
  const secret = { userToken: { value: 'c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00' } }
  await context.with(propagation.setBaggage(context.active(), propagation.createBaggage(secret)), () =>
    a.queue.fetch(`${server.url}/orders`, { ...POST, redrive: { mode: 'defer' } }),
  )
  const [task] = (await a.queue.list()).tasks
  expect(task?.headers).not.toHaveProperty('baggage')
  expect(task?.withheldHeaders).toEqual([])
  await a.queue.close({ drainMs: 0 })
  await process(path)
  await eventually(() => server.hits).toBe(2)
  expect(server.requests[0]?.headers.baggage).toContain('userToken=')
  expect(server.requests[1]?.headers.baggage).toBeUndefined()
})
