/** Which trace an attempt is part of, on the wire and in the store. */

import {
  context,
  INVALID_SPAN_CONTEXT,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  type TextMapPropagator,
  trace,
} from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import axios from 'axios'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { attachToAxios } from '../../js/adapters/axios.ts'
import type { OpenTelemetryOptions } from '../../js/adapters/opentelemetry.ts'
import type { RetryQueue } from '../../js/index.ts'
import { ADAPTERS, openQueue, startServer } from './axios-setup.ts'
import { forApi, ORDERS, setup, stub } from './setup.ts'
import { attach, parentsOf, registerGlobals, type Telemetry, traceparentOf, tracesOf } from './telemetry.ts'

beforeAll(registerGlobals)

const POST = { method: 'POST', body: 'order' } as const
const CALLER = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const [, CALLER_TRACE, CALLER_SPAN] = CALLER.split('-')

/** What the first two attempts of a task were sent, and the spans: the first is answered 503. */
async function twice(call: (queue: RetryQueue, telemetry: Telemetry) => unknown, options: OpenTelemetryOptions = {}) {
  const { queue, server, clock, events } = await setup()
  const telemetry = attach(queue, options)
  server.reply(503)
  const answer = call(queue, telemetry)
  await clock.advance(1_000)
  await answer
  const headers = (name: string) => server.requests.map((request) => request.headers.get(name))
  // one that has ended shows no headers any more
  const [queued] = events.of('queued')
  return { telemetry, headers, stored: queued?.task.headers }
}

describe('parents', () => {
  test.each(['fetch', 'enqueue'] as const)(
    'all attempts of a %s are children of the span in which it was made',
    async (how) => {
      const { telemetry } = await twice((queue, telemetry) =>
        telemetry.inSpan('checkout', () => queue[how](ORDERS, POST)),
      )
      // no PRODUCER beside it
      expect(telemetry.spans.map(({ name }) => name).sort()).toEqual(['POST', 'POST', 'checkout'])
      const id = telemetry.spans.find(({ name }) => name === 'checkout')?.spanContext().spanId
      expect(parentsOf(telemetry.attempts)).toEqual([id, id])
    },
  )

  test('a call outside of any span is the parent of its replays', async () => {
    const { telemetry } = await twice((queue) => queue.fetch(ORDERS, POST))
    const [first] = telemetry.attempts
    expect(parentsOf(telemetry.attempts)).toEqual([undefined, first?.spanContext().spanId])
    expect(tracesOf(telemetry.attempts).size).toBe(1)
  })

  test('where no span is active the caller’s own traceparent names the parent', async () => {
    const { telemetry } = await twice((queue) =>
      queue.fetch(ORDERS, { ...POST, headers: { traceparent: CALLER, tracestate: 'acme=1' } }),
    )
    expect(tracesOf(telemetry.attempts)).toEqual(new Set([CALLER_TRACE]))
    expect(parentsOf(telemetry.attempts)).toEqual([CALLER_SPAN, CALLER_SPAN])
    expect(telemetry.attempts.map((span) => span.spanContext().traceState?.serialize())).toEqual(['acme=1', 'acme=1'])
  })

  test('an active span wins over the caller’s traceparent, also in what is kept', async () => {
    const { telemetry, stored } = await twice((queue, telemetry) =>
      telemetry.inSpan('checkout', () =>
        queue.fetch(ORDERS, { ...POST, headers: { traceparent: CALLER, tracestate: 'acme=1' } }),
      ),
    )
    const checkout = telemetry.spans.find(({ name }) => name === 'checkout') as ReadableSpan
    expect(tracesOf(telemetry.attempts)).toEqual(new Set([checkout.spanContext().traceId]))
    expect(stored?.traceparent).toBe(traceparentOf(checkout))
    expect(stored).not.toHaveProperty('tracestate')
  })

  test.each(['nonsense', CALLER.replace(/^00/, 'ff'), `${CALLER}-more`, CALLER.replace(/[1-9a-f]/g, '0')])(
    'a traceparent that is none names no parent: %s',
    async (traceparent) => {
      const { telemetry } = await twice((queue) => queue.fetch(ORDERS, { ...POST, headers: { traceparent } }))
      expect(parentsOf(telemetry.attempts)).toEqual([undefined, telemetry.attempts[0]?.spanContext().spanId])
    },
  )

  test('an active span’s request carries no tracestate of another trace', async () => {
    const { headers } = await twice((queue, telemetry) =>
      telemetry.inSpan('checkout', () => queue.fetch(ORDERS, { ...POST, headers: { tracestate: 'acme=1' } })),
    )
    expect(headers('tracestate')).toEqual([null, null])
  })

  test('enqueued outside of any span, a PRODUCER span is the parent of every attempt', async () => {
    const { telemetry, stored } = await twice((queue) => queue.enqueue(ORDERS, POST))
    const [producer] = telemetry.spans
    expect(producer).toMatchObject({ name: 'enqueue POST', kind: SpanKind.PRODUCER })
    expect(producer?.attributes).toMatchObject({ 'url.full': ORDERS, 'server.address': 'api.test' })
    const id = producer?.spanContext().spanId
    expect(parentsOf(telemetry.attempts)).toEqual([id, id])
    expect(telemetry.spans).toHaveLength(3)
    expect(stored?.traceparent).toBe(traceparentOf(producer as ReadableSpan))
  })

  test('a replay belongs to its own call, whosever span is active when the timer fires', async () => {
    const { queue, server, clock } = await setup()
    const telemetry = attach(queue)
    server.reply(503)
    const answer = telemetry.inSpan('its own', () => queue.fetch(ORDERS, POST))
    await clock.settle()
    await telemetry.inSpan('a stranger', () => clock.advance(1_000))
    await answer
    const own = telemetry.spans.find(({ name }) => name === 'its own')?.spanContext().spanId
    expect(parentsOf(telemetry.attempts)).toEqual([own, own])
  })

  test('linked, a replay is a trace of its own that points to the call', async () => {
    const { telemetry } = await twice(
      (queue, telemetry) => telemetry.inSpan('checkout', () => queue.fetch(ORDERS, POST)),
      { replay: 'link' },
    )
    const [first, again] = telemetry.attempts
    const checkout = telemetry.spans.find(({ name }) => name === 'checkout')?.spanContext()
    expect(first?.parentSpanContext?.spanId).toBe(checkout?.spanId)
    expect(again?.parentSpanContext).toBeUndefined()
    expect(again?.spanContext().traceId).not.toBe(checkout?.traceId)
    expect(again?.links.map(({ context }) => context.spanId)).toEqual([checkout?.spanId])
  })
})

describe('on the wire', () => {
  test.each(['child', 'link'] as const)('%s: every request carries the span of its attempt', async (replay) => {
    const server = await startServer()
    const queue = await openQueue()
    const telemetry = attach(queue, { replay })
    server.reply(503).reset().reply(200)
    await queue.fetch(`${server.url}/orders`, POST)
    const sent = server.requests.map(({ headers }) => headers.traceparent)
    expect(new Set(sent).size).toBe(3)
    expect(sent).toEqual(telemetry.attempts.map(traceparentOf))
    expect(server.requests.map(({ body }) => String(body))).toEqual(['order', 'order', 'order'])
  })

  test.each(ADAPTERS)('the same by Axios, its %s adapter', async (adapter) => {
    const server = await startServer()
    const queue = await openQueue()
    const api = axios.create({ adapter, baseURL: server.url })
    attachToAxios(api, queue)
    const telemetry = attach(queue)
    server.reply(503).reply(503)
    await telemetry.inSpan('checkout', () => api.post('/orders', { id: 7 }))
    const sent = server.requests.map(({ headers }) => headers.traceparent)
    expect(sent).toEqual(telemetry.attempts.map(traceparentOf))
    expect(sent).toHaveLength(3)
    expect(tracesOf(telemetry.spans).size).toBe(1)
    expect(server.requests.map(({ headers }) => headers['content-type'])).toEqual(Array(3).fill('application/json'))
  })

  test('baggage goes along with every attempt', async () => {
    const baggage = propagation.createBaggage({ tenant: { value: 'acme' } })
    const { headers } = await twice((queue) =>
      context.with(propagation.setBaggage(ROOT_CONTEXT, baggage), () => queue.fetch(ORDERS, POST)),
    )
    expect(headers('baggage')).toEqual(['tenant=acme', 'tenant=acme'])
  })

  test('credentials and the context are both laid over a replay', async () => {
    const { queue, server, clock } = await setup({ credentials: forApi(() => ({ authorization: 'fresh' })) })
    const telemetry = attach(queue)
    server.reply(503)
    const answer = queue.fetch(ORDERS, { ...POST, headers: { authorization: 'stale' } })
    await clock.advance(1_000)
    await answer
    expect(server.requests.map((request) => request.headers.get('authorization'))).toEqual(['stale', 'fresh'])
    const sent = server.requests.map((request) => request.headers.get('traceparent'))
    expect(sent).toEqual(telemetry.attempts.map(traceparentOf))
  })

  test('without a propagator W3C Trace Context is written all the same', async () => {
    propagation.disable()
    onTestFinished(() => void registerGlobals())
    const { headers, telemetry } = await twice((queue) => queue.fetch(ORDERS, POST))
    expect(headers('traceparent')).toEqual(telemetry.attempts.map(traceparentOf))
  })

  test('a propagator of another format has its own headers, and the task the standard’s', async () => {
    const propagator: TextMapPropagator = {
      inject: (from, carrier, setter) => {
        const { traceId, spanId } = trace.getSpanContext(from) ?? INVALID_SPAN_CONTEXT
        setter.set(carrier, 'b3', `${traceId}-${spanId}-1`)
      },
      extract: (from) => from,
      fields: () => ['b3'],
    }
    const { headers, telemetry, stored } = await twice((queue) => queue.enqueue(ORDERS, POST), { propagator })
    const spans = telemetry.attempts.map((span) => span.spanContext())
    expect(headers('b3')).toEqual(spans.map(({ traceId, spanId }) => `${traceId}-${spanId}-1`))
    expect(stored?.traceparent).toBe(traceparentOf(telemetry.spans[0] as ReadableSpan))
  })

  test('origins that are not listed get none of it, and their tasks are stored without', async () => {
    const { headers, telemetry, stored } = await twice((queue) => queue.enqueue(ORDERS, POST), {
      propagateTo: ['https://other.test'],
    })
    expect(headers('traceparent')).toEqual([null, null])
    expect(stored).toEqual({ 'content-type': expect.any(String), 'idempotency-key': expect.any(String) })
    expect(tracesOf(telemetry.spans).size).toBe(1)
  })

  test.each([
    ['https://api.test', undefined, true],
    ['https://shop.test', undefined, false],
    ['https://api.test', 'null', false],
  ])('in a page of %s, its origin %s, a request to api.test carries it: %s', async (address, origin, carries) => {
    stub({ location: new URL(address), origin })
    const { queue, server } = await setup()
    attach(queue)
    await queue.fetch(ORDERS, POST)
    expect(server.requests.map((request) => request.headers.has('traceparent'))).toEqual([carries])
  })

  test('in a page a retry that carries it may be redirected, as one without it', async () => {
    stub({ location: new URL(ORDERS) })
    const sent: unknown[] = []
    const { queue, clock } = await setup({
      fetch: async (_, init) => {
        sent.push([init?.redirect, new Headers(init?.headers).has('traceparent')])
        return new Response('', { status: sent.length === 1 ? 503 : 200 })
      },
    })
    attach(queue)
    const answer = queue.fetch(ORDERS)
    await clock.advance(1_000)
    await answer
    expect(sent).toEqual([
      [undefined, true],
      ['follow', true],
    ])
  })

  test('the trace of a deferred call is the one its caller is told', async () => {
    const { queue, server } = await setup()
    const telemetry = attach(queue)
    server.reply(503)
    const answer = await queue.fetch(ORDERS, { ...POST, redrive: { mode: 'defer' } })
    expect(await answer.json()).toMatchObject({ traceId: telemetry.attempts[0]?.spanContext().traceId })
  })
})
