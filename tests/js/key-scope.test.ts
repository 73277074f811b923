/** Equal requests of two users are two: a content key is one user's, and no call joins a task of another's, whatever its key. */

import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { TaskStore } from '../../js/api/store.ts'
import { resolveObjectOptions } from '../../js/cloudflare/object-options.ts'
import { resolveWorkerOptions } from '../../js/cloudflare/worker-options.ts'
import { loadCore } from '../../js/core.ts'
import { type IdempotencyOptions, RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { type FakeClock, fakeClock, scriptedServer } from '../../js/testing.ts'
import { called, heard, NO_GATES, ORDERS, PLAIN_CURVE, setup, watch } from './setup.ts'
import { freshPath } from './sqlite/setup.ts'

const core = await loadCore()
const TEA = { method: 'POST', body: '{"item":"tea"}' }
const CONTENT = { mode: 'content' } as const
const HEX = /^[\da-f]{64}$/

type Store = (path: string, clock: FakeClock) => TaskStore | undefined

const STORES: readonly (readonly [name: string, store: Store])[] = [
  ['in memory', () => undefined],
  ['with the memory store', (_, clock) => memoryStore({ clock })],
  ['with SQLite', (path, clock) => sqliteStore({ path, clock })],
]

async function ofAnn(make: Store, idempotency: IdempotencyOptions = CONTENT) {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const store = make(freshPath(), clock)
  const given = { clock, fetch: server.fetch, policy: PLAIN_CURVE, principal: 'ann', idempotency, ...NO_GATES }
  const queue = new RetryQueue({ ...given, ...(store ? { store } : {}) })
  const events = heard(queue, clock)
  await queue.ready
  return { queue, server, clock, store, events }
}

const sent = ({ requests }: { readonly requests: readonly { readonly headers: Headers }[] }) =>
  requests.map(({ headers }) => headers.get('idempotency-key'))

test.each(STORES)('S16 %s equal calls of two users have two keys, and each gets its own answer', async (_, make) => {
  const { queue, server } = await ofAnn(make)
  server.reply(200, {}, "ann's").reply(200, {}, "ben's").reply(200, {}, "ann's again")
  expect(await (await queue.fetch(ORDERS, TEA)).text()).toBe("ann's")
  await queue.setPrincipal('ben')
  expect(await (await queue.fetch(ORDERS, TEA)).text()).toBe("ben's")
  await queue.setPrincipal('ann')
  await queue.fetch(ORDERS, TEA)
  const [ann, ben, again] = sent(server)
  expect([ann, ben]).toEqual([expect.stringMatching(HEX), expect.stringMatching(HEX)])
  expect(ben).not.toBe(ann)
  expect(again).toBe(ann)
})

test.each(STORES)(
  'S16 %s equal calls of two users are two tasks, content keys or equal ones given',
  async (_, make) => {
    for (const redrive of [{}, { idempotencyKey: 'order-1' }]) {
      const { queue, server, clock } = await ofAnn(make)
      const init = { ...TEA, redrive }
      const ann = await queue.enqueue(ORDERS, init)
      await queue.setPrincipal('ben')
      const ben = await queue.enqueue(ORDERS, init)
      expect([ann.deduplicated, ben.deduplicated]).toEqual([false, false])
      expect(ben.taskId).not.toBe(ann.taskId)
      // each is still one of its own user's
      expect(await queue.enqueue(ORDERS, init)).toMatchObject({ taskId: ben.taskId, deduplicated: true })
      await queue.setPrincipal('ann')
      await clock.advance(5_000)
      expect(server.hits).toBe(2)
    }
  },
)

test.each(STORES)('S16 S22 %s a call that fails waits for no task of another user under its key', async (_, make) => {
  for (const redrive of [{}, { idempotencyKey: 'order-1' }]) {
    const { queue, server, clock } = await ofAnn(make)
    server.reply(503).reply(503).reply(200, {}, "ben's")
    const ann = watch(queue.fetch(ORDERS, { ...TEA, redrive: { ...redrive, waitMs: 30_000 } }))
    await clock.settle()
    await queue.setPrincipal('ben')
    const ben = watch(queue.fetch(ORDERS, { ...TEA, redrive }))
    await clock.advance(3_000)
    expect(await ben.value?.text()).toBe("ben's")
    expect(ann.value).toBeUndefined()
    server.reply(200, {}, "ann's")
    await queue.setPrincipal('ann')
    await clock.advance(5_000)
    expect(await ann.value?.text()).toBe("ann's")
  }
})

const NAMESPACE = { idFromName: () => ({}), get: () => ({}) }
const WORKER = { queue: NAMESPACE, ctx: { waitUntil() {} } }

test.each<[door: string, make: (options: RetryQueueOptions) => unknown]>([
  ['a queue', (options) => new RetryQueue(options)],
  ["a Worker's fetch", (options) => resolveWorkerOptions({ ...WORKER, ...options })],
])('S16 %s in content mode asks for a scope where there is no principal', (_, make) => {
  for (const principal of [undefined, null]) {
    const given = principal === null ? { principal } : {}
    expect(() => make({ ...given, idempotency: CONTENT })).toThrow(
      /^options\.idempotency\.scope: expected one, or a principal/,
    )
    make({ ...given, idempotency: { ...CONTENT, scope: 'all' } })
    make({ ...given, idempotency: { mode: 'intent' } })
  }
  make({ principal: '', idempotency: CONTENT })
})

test('a Durable Object, whose tasks come with their keys, takes the options of its Worker', () => {
  const { queue } = resolveObjectOptions({ idempotency: { ...CONTENT, header: 'X-Intent' } })
  expect(queue.idempotency).toEqual({ mode: 'intent', header: 'X-Intent' })
  expect(() => resolveObjectOptions({ idempotency: { mode: 'body' as 'content' } })).toThrow('options.idempotency.mode')
})

test('S16 while no user is signed in keys are random, unless a scope says who shares them', async () => {
  const { queue, server } = await setup({ principal: 'ann', idempotency: CONTENT })
  await queue.setPrincipal(null)
  await queue.fetch(ORDERS, TEA)
  await queue.fetch(ORDERS, TEA)
  const [one, two] = sent(server)
  expect(one).not.toBe(two)
  for (const key of [one, two]) expect(key).not.toMatch(HEX)

  const scoped = await setup({ principal: null, idempotency: { ...CONTENT, scope: 'shop-1' } })
  await scoped.queue.fetch(ORDERS, TEA)
  await scoped.queue.fetch(ORDERS, TEA)
  expect(new Set(sent(scoped.server)).size).toBe(1)
})

const SECRET = 'hush-hush-hush-hush'

test('a key under a secret is what generateIdempotencyKey makes with it, and no bare hash of the request', async () => {
  const { queue, server, clock } = await setup({ principal: 'ann', idempotency: { ...CONTENT, scopeKey: SECRET } })
  await queue.fetch(ORDERS, { method: 'POST', body: '1234' })
  const nonce = String(Math.floor(clock.now() / 86_400_000))
  const request = { method: 'POST', url: ORDERS, body: '1234', contentType: 'text/plain;charset=UTF-8' }
  const within = { principal: 'ann', nonce }
  expect(sent(server)).toEqual([core.generateIdempotencyKey({ ...request, ...within, scopeKey: SECRET })])
  expect(sent(server)).not.toEqual([core.generateIdempotencyKey({ ...request, ...within })])
})

test.each([SECRET.slice(0, 15), '', new Uint8Array(15), 12345678901234567890n, null, {}, ['hush']])(
  'S12 the secret %o is refused without being shown',
  async (scopeKey) => {
    const idempotency = { ...CONTENT, scope: 'all', scopeKey: scopeKey as string }
    const queue = () => new RetryQueue({ idempotency })
    const request = { method: 'POST', url: ORDERS, scopeKey: scopeKey as string }
    for (const [make, name] of [
      [queue, 'options.idempotency.scopeKey'],
      [() => core.generateIdempotencyKey(request), 'request.scopeKey'],
    ] as const) {
      expect(make).toThrow(`${name}: expected a secret of 16 characters or bytes or more`)
      expect(make).not.toThrow(/hush|1234567/)
    }
  },
)

test('S12 a secret that another text would be equal to is refused: half a surrogate, or NUL, which HMAC fills up with', () => {
  for (const end of ['\ud800', '\0']) {
    const idempotency = { ...CONTENT, scope: 'all', scopeKey: SECRET + end }
    expect(() => new RetryQueue({ idempotency })).toThrow('options.idempotency.scopeKey: expected a secret')
  }
})

test.each(STORES)('S12 %s the secret is in nothing that is told, and in no row', async (_, make) => {
  const { queue, server, clock, store, events } = await ofAnn(make, { ...CONTENT, scopeKey: SECRET })
  server.reply(503).reply(503)
  const { taskId } = await queue.enqueue(ORDERS, TEA)
  await clock.advance(1_000)
  const rows = await store?.list({ limit: 10 })
  const told = [rows, await queue.get(taskId), await queue.explain(taskId), await queue.attempts(taskId), queue.stats()]
  const inspected = inspect([queue, events], { depth: 3, showHidden: true })
  expect(JSON.stringify(told) + inspected).not.toContain('hush')
})

test('S12 a secret in bytes is copied: its owner may wipe it', async () => {
  const scopeKey = new TextEncoder().encode(SECRET)
  const { queue, server } = await setup({ principal: 'ann', idempotency: { ...CONTENT, scopeKey } })
  await queue.fetch(ORDERS, TEA)
  scopeKey.fill(0)
  await queue.fetch(ORDERS, TEA)
  const [first, second] = sent(server)
  expect(second).toBe(first)
})

describe('S6 without a principal the credentials of a call say whose it is', () => {
  const as = (authorization: string, more: object = {}) => ({
    ...TEA,
    headers: { authorization, ...more },
    redrive: { idempotencyKey: '1' },
  })

  test.each([
    ['Authorization', as('Bearer ann'), as('Bearer ben')],
    ['Cookie', as('', { cookie: 'sid=1' }), as('', { cookie: 'sid=2' })],
    ['an API key', as('', { 'x-api-key': 'a' }), as('', { 'x-api-key': 'b' })],
    ['none in the one', as('Bearer ann'), { ...TEA, redrive: { idempotencyKey: '1' } }],
  ])('equal calls under one key with another %s are not one', async (_, ann, ben) => {
    const { answer: first, queue, clock } = await called([503, [200, {}, "ann's"]], { init: ann })
    const second = queue.fetch(ORDERS, ben)
    await expect(second).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
      message: expect.stringContaining('principal'),
    })
    await expect(queue.enqueue(ORDERS, ben)).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
    await clock.advance(1_000)
    expect(await first.value?.text()).toBe("ann's")
    // also once the task has ended, and let go of its request
    await expect(queue.enqueue(ORDERS, ben)).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
    expect(await queue.enqueue(ORDERS, ann)).toMatchObject({ deduplicated: true })
  })

  test.each([
    ['a token against forgery', { 'x-csrf-token': '1' }, { 'x-csrf-token': '2' }],
    ['a signature', { 'x-signature': '1' }, { 'x-signature': '2' }],
    ['an id of the request', { 'x-request-id': '1' }, { 'x-request-id': '2' }],
  ])('%s is another with each request of one user', async (_, one, other) => {
    const { queue } = await setup()
    await queue.enqueue(ORDERS, as('Bearer ann', one))
    expect(await queue.enqueue(ORDERS, as('Bearer ann', other))).toMatchObject({ deduplicated: true })
  })

  test('with a principal a token that was refreshed meanwhile is the same user’s', async () => {
    const { queue } = await setup({ principal: 'ann' })
    await queue.enqueue(ORDERS, as('Bearer old'))
    expect(await queue.enqueue(ORDERS, as('Bearer new'))).toMatchObject({ deduplicated: true })
  })
})
