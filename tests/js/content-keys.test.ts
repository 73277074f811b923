/** Keys made of the request's content: equal calls of one user within a window are one intent. */

import { expect, test } from 'vitest'
import { instantiate } from '../../js/core/file.ts'
import { loadCore } from '../../js/core.ts'
import type { IdempotencyOptions } from '../../js/index.ts'
import { assemble } from '../../js/queue/assemble.ts'
import type { EngineSource } from '../../js/queue/core-loader.ts'
import { RetryQueue } from '../../js/queue/queue.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { setup as axiosSetup, keysOf } from './axios-setup.ts'
import { chunks } from './chunks.ts'
import { called, heard, markOf, ORDERS, PLAIN_CURVE, setup, watch, withoutDigest } from './setup.ts'

const core = await loadCore()
const JSON_TYPE = { 'content-type': 'application/json' }
const post = (body: string) => ({ method: 'POST', headers: JSON_TYPE, body })
const TEA = post('{"item":"tea","qty":2}')
const content = (more: IdempotencyOptions = {}) => ({
  principal: 'ann',
  idempotency: { mode: 'content', ...more } as const,
})
const HEX = /^[\da-f]{64}$/

/** The keys of the requests that were sent. */
const sent = ({ requests }: { readonly requests: readonly { readonly headers: Headers }[] }) =>
  requests.map(({ headers }) => headers.get('idempotency-key'))

test('the key is generateIdempotencyKey of the request, its nonce the number of the window', async () => {
  const windowMs = 3_600_000
  const { queue, server, clock } = await setup(content({ windowMs, scope: 'tenant-1' }))
  await queue.fetch(ORDERS, TEA)
  const nonce = String(Math.floor(clock.now() / windowMs))
  const key = core.generateIdempotencyKey({
    method: 'POST',
    url: ORDERS,
    body: { qty: 2, item: 'tea' },
    principal: 'ann',
    scope: 'tenant-1',
    nonce,
  })
  expect(sent(server)).toEqual([key])
})

test('the window is a day unless told otherwise', async () => {
  const { queue, server, clock } = await setup(content())
  await queue.fetch(ORDERS, TEA)
  const nonce = String(Math.floor(clock.now() / 86_400_000))
  const { body } = TEA
  const request = { method: 'POST', url: ORDERS, body, contentType: 'application/json', nonce }
  expect(sent(server)).toEqual([core.generateIdempotencyKey({ ...request, principal: 'ann' })])
})

test('S5 every attempt carries it, the first included', async () => {
  const { answer, server } = await called([503, 503], { options: content(), init: TEA, forMs: 3_000 })
  expect(answer.value?.status).toBe(200)
  const keys = sent(server)
  expect(keys).toHaveLength(3)
  expect(keys[0]).toMatch(HEX)
  expect(new Set(keys).size).toBe(1)
})

test('equal calls share a key for windowMs from the first of them, and not longer', async () => {
  const { queue, server, clock } = await setup(content({ windowMs: 60_000 }))
  // the start of a window by the clock has no say: the first call begins one
  await clock.advance(59_000)
  await queue.fetch(ORDERS, TEA)
  await clock.advance(59_999)
  await queue.fetch(ORDERS, post('{ "qty": 2, "item": "tea" }'))
  await clock.advance(1)
  await queue.fetch(ORDERS, TEA)
  const [first, within, after] = sent(server)
  expect(within).toBe(first)
  expect(after).toMatch(HEX)
  expect(after).not.toBe(first)
})

test('a key that the caller gives, by option or header, wins', async () => {
  const { queue, server } = await setup(content())
  await queue.fetch(ORDERS, { ...TEA, redrive: { idempotencyKey: 'option' } })
  await queue.fetch(ORDERS, { ...TEA, headers: { ...JSON_TYPE, 'idempotency-key': 'header' } })
  expect(sent(server)).toEqual(['option', 'header'])
})

test('S14 equal calls enqueued at once are one task; after the window they are two', async () => {
  const { queue, clock, hitsAfter } = await setup(content({ windowMs: 60_000 }))
  const receipts = await Promise.all([queue.enqueue(ORDERS, TEA), queue.enqueue(ORDERS, TEA)])
  expect(receipts.map(({ deduplicated }) => deduplicated)).toEqual([false, true])
  expect(receipts[0]?.taskId).toBe(receipts[1]?.taskId)
  expect(receipts[0]?.idempotencyKey).toMatch(HEX)
  await clock.advance(60_000)
  expect(await queue.enqueue(ORDERS, TEA)).toMatchObject({ deduplicated: false })
  expect(await hitsAfter()).toBe(2)
})

test('a body in bytes has the key of its text', async () => {
  const { queue, server } = await setup(content())
  await queue.fetch(ORDERS, TEA)
  await queue.fetch(ORDERS, { ...TEA, body: new TextEncoder().encode(TEA.body) })
  await queue.fetch(ORDERS, { ...TEA, body: new Blob([TEA.body]) })
  await queue.fetch(new Request(ORDERS, TEA))
  expect(new Set(sent(server)).size).toBe(1)
})

test('equal forms share a key, whatever boundary the platform drew', async () => {
  const { queue, server } = await setup(content())
  for (const item of ['tea', 'tea', 'milk']) {
    const body = new FormData()
    body.set('item', item)
    await queue.fetch(ORDERS, { method: 'POST', body })
  }
  const [first, second, third] = sent(server)
  expect([first === second, second === third]).toEqual([true, false])
})

test('Axios sends it on the first attempt, too', async () => {
  const { server, api } = await axiosSetup('http', { ...content(), answers: [503] })
  await api.post('/orders', { item: 'tea', qty: 2 })
  await api.post('/orders', { qty: 2, item: 'tea' })
  const keys = keysOf(server)
  expect(keys).toHaveLength(3)
  expect(keys[0]).toMatch(HEX)
  expect(new Set(keys).size).toBe(1)
})

/** A queue whose parts come as they are told. */
function queueOf(source: EngineSource) {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const queue = new RetryQueue({ clock, fetch: server.fetch, policy: PLAIN_CURVE, ...content() }, source)
  const events = heard(queue, clock)
  return { queue, server, clock, events }
}

const lost = () => Promise.reject(new TypeError('Failed to fetch dynamically imported module'))

test('S18 where the module of keys cannot load a call is sent once, without a key, and degraded says so once', async () => {
  const { queue, server, clock, events } = queueOf(async () => assemble(instantiate, { ...chunks, keys: lost }))
  await queue.ready
  server.reply(503).reply(503)
  for (let i = 0; i < 2; i++) {
    const answer = watch(queue.fetch(ORDERS, TEA))
    await clock.advance(5_000)
    expect([answer.value?.status, markOf(answer.value)]).toEqual([503, { reason: 'core_unavailable' }])
  }
  expect(sent(server)).toEqual([null, null])
  expect(events.of('degraded')).toMatchObject([
    { code: 'core_unreachable', message: expect.stringContaining("mode 'content'") },
  ])
  // a safe method needs none
  server.reply(503)
  const safe = watch(queue.fetch(ORDERS))
  await clock.advance(1_000)
  expect(safe.value?.status).toBe(200)
})

test('S18 there, a key that the caller gives is kept, and calls under it are told apart by method and URL', async () => {
  withoutDigest()
  const { queue, server, clock } = queueOf(async () => assemble(instantiate, { ...chunks, keys: lost }))
  const keyed = { ...TEA, redrive: { idempotencyKey: 'mine' } }
  const first = await queue.enqueue(ORDERS, keyed)
  expect(await queue.enqueue(ORDERS, keyed)).toEqual({ ...first, deduplicated: true })
  await expect(queue.enqueue(`${ORDERS}/1`, keyed)).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
  await clock.settle()
  expect(sent(server)).toEqual(['mine'])
})

test('S5 S18 sent without a key because the core was not here, it is not sent again with one', async () => {
  let reachable = false
  const { queue, server, clock } = queueOf(async () => {
    if (!reachable) return lost()
    return assemble(instantiate, chunks)
  })
  const release = server.hang()
  const answer = watch(queue.fetch(ORDERS, TEA))
  await clock.settle()
  reachable = true
  release(503)
  await queue.ready
  await clock.advance(60_000)
  expect(sent(server)).toEqual([null])
  expect(answer.value?.status).toBe(503)
})

test('S6 forms of other parts have other keys, whatever stands in a part', async () => {
  const { queue, server } = await setup(content())
  const form = (parts: Readonly<Record<string, string>>) => {
    const body = new FormData()
    for (const [name, value] of Object.entries(parts)) body.set(name, value)
    return queue.fetch(ORDERS, { method: 'POST', body })
  }
  const part = '\r\nContent-Disposition: form-data; name="amount"\r\n\r\n100'
  await form({ note: 'hello', amount: '100' })
  for (const word of ['boundary', '', 'x']) await form({ note: `hello\r\n--${word}${part}` })
  await form({ note: `hello${part}` })
  expect(new Set(sent(server)).size).toBe(5)
})

test('a form is read in linear time, whatever its boundary', async () => {
  const { queue, server } = await setup({ ...content(), maxBodyBytes: 2 * 2 ** 20 })
  const body = new Uint8Array(2 * 2 ** 20).map((_, i) => '\r\n--a'.charCodeAt(i % 5))
  // in quadratic time it would take hours, and the test has a time limit
  await queue.fetch(ORDERS, { method: 'POST', headers: { 'content-type': 'multipart/form-data; boundary=a' }, body })
  expect(sent(server)).toEqual([expect.stringMatching(HEX)])
})
