/** The module of keys may trap: it runs out of memory, or has a fault of its own. What is asked of it next is asked of a new instance. */

import { expect, test } from 'vitest'
import * as glue from '../../js/core/generated/keys/glue.js'
import * as queueGlue from '../../js/core/generated/queue/glue.js'
import { loadCore } from '../../js/core.ts'
import { setup, watch, withoutDigest } from './setup.ts'

const core = await loadCore()
const JSON_TYPE = { 'content-type': 'application/json' }
const post = (body: string) => ({ method: 'POST', headers: JSON_TYPE, body })
const HEX = /^[\da-f]{64}$/
const content = { idempotency: { mode: 'content', scope: 'tenant-1' } } as const

/** The module's instance is dead from now on: whatever is asked of it traps. */
function poison(): void {
  const trap = () => {
    throw new WebAssembly.RuntimeError('unreachable')
  }
  glue.__wbg_set_wasm(new Proxy({}, { get: () => trap }))
}

test('S18 a call whose key cannot be made is sent once, without one; the next one has its key', async () => {
  const { queue, server, clock, events } = await setup(content)
  poison()
  server.reply(503)
  expect((await queue.fetch('https://api.test/orders', post('{"item":"tea"}'))).status).toBe(503)
  expect(server.requests[0]?.headers.get('idempotency-key')).toBeNull()
  expect(events.of('degraded')).toMatchObject([{ code: 'core_unreachable' }])
  server.reply(503).reply(200)
  const next = watch(queue.fetch('https://api.test/orders', post('{"item":"tea"}')))
  await clock.advance(2_000)
  expect(next.value?.status).toBe(200)
  expect(server.requests[1]?.headers.get('idempotency-key')).toMatch(HEX)
})

test('S18 a trap in one queue is none in another, and is told once in each that it met', async () => {
  const one = await setup(content)
  const other = await setup(content)
  for (let i = 0; i < 3; i++) {
    poison()
    await one.queue.fetch('https://api.test/orders', post(`{"item":${i}}`))
    await other.queue.fetch('https://api.test/orders', post(`{"item":${i}}`))
  }
  expect(one.events.of('degraded')).toHaveLength(1)
  expect(other.events.of('degraded')).toHaveLength(0)
  for (const { headers } of other.server.requests) expect(headers.get('idempotency-key')).toMatch(HEX)
})

test('S6 requests under one key are told apart by method and URL while there is no fingerprint', async () => {
  withoutDigest()
  const { queue, clock } = await setup()
  poison()
  const redrive = { idempotencyKey: 'order-1' }
  const first = await queue.enqueue('https://api.test/orders', { ...post('1'), redrive })
  const again = await queue.enqueue('https://api.test/orders', { ...post('1'), redrive })
  expect(again.taskId).toBe(first.taskId)
  await clock.advance(1_000)
  await expect(queue.enqueue('https://api.test/other', { ...post('1'), redrive })).rejects.toMatchObject({
    code: 'IDEMPOTENCY_CONFLICT',
  })
})

test('a function of redrive/core that traps throws, typed, and can be called again soon', async () => {
  poison()
  const request = { method: 'POST', url: 'https://api.test/orders', body: { a: 1 } }
  expect(() => core.generateIdempotencyKey(request)).toThrow(expect.objectContaining({ code: 'CORE_TRAPPED' }))
  expect(() => core.canonicalJson('{"b":1,"a":2}')).toThrow(expect.objectContaining({ code: 'CORE_TRAPPED' }))
  await expect.poll(() => core.canonicalJson('{"b":1,"a":2}')).toBe('{"a":2,"b":1}')
  expect(core.generateIdempotencyKey(request)).toMatch(HEX)
  expect(core.parseDuration('1.5s')).toBe(1_500)
})

test('a text that is no JSON is no trap: what comes next is answered at once', () => {
  expect(() => core.canonicalJson('{"a":')).toThrow(SyntaxError)
  expect(core.canonicalJson('{"b":1,"a":2}')).toBe('{"a":2,"b":1}')
})

test.each(['[', '{"a":'])('JSON that is nested a million deep (%s) is no trap', (open) => {
  const close = open === '[' ? ']' : '}'
  const deep = `${open.repeat(1_000_000)}1${close.repeat(1_000_000)}`
  expect(core.canonicalJson(deep)).toBe(deep)
})

test('a module that has run out of memory once answers the next question', () => {
  // no memory is that large
  expect(() => glue.scratch(2 ** 32 - 16)).toThrow(WebAssembly.RuntimeError)
  expect(core.canonicalJson('{"b":1,"a":2}')).toBe('{"a":2,"b":1}')
})

test('S18 a trap while the core of all queues reads a text is none in the queues', async () => {
  const { queue, server, clock, events } = await setup()
  expect(() => queueGlue.scratch(2 ** 32 - 16)).toThrow(WebAssembly.RuntimeError)
  server.reply(503, { 'retry-after': '1' }).reply(200)
  const answer = watch(queue.fetch('https://api.test/orders?token=1', { headers: { 'x-own': 'a' } }))
  await clock.advance(5_000)
  expect(answer.value?.status).toBe(200)
  expect(events.of('degraded')).toEqual([])
  expect(core.parseRetryAfter('120', 0)).toBe(120_000)
})
