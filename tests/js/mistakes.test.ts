/** Mistakes of a first day: each is refused at once with the call that was meant, and nothing is sent or stored. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import axios from 'axios'
import { expect, test } from 'vitest'
import { attachToAxios } from '../../js/adapters/axios.ts'
import { installFetch, wrapFetch } from '../../js/adapters/fetch.ts'
import { attachOpenTelemetry } from '../../js/adapters/opentelemetry.ts'
import { metricsOf } from '../../js/adapters/prometheus.ts'
import { EVENTS } from '../../js/api/events.ts'
import { registerBackgroundSync } from '../../js/background-sync.ts'
import { resolveObjectOptions } from '../../js/cloudflare/object-options.ts'
import { resolveWorkerOptions } from '../../js/cloudflare/worker-options.ts'
import { presets, RetryQueue } from '../../js/index.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { ORDERS, setup } from './setup.ts'

test.each<[options: unknown, meant: string]>([
  [{ nme: 'orders' }, "options.nme: no such option; did you mean 'name'?"],
  [{ concurency: 2 }, "'concurrency'"],
  [{ Durable: true }, "'durable'"],
  [{ maxBodySize: 1 }, "'maxBodyBytes'"],
  [{ breaker: { fairShares: 0.5 } }, "options.breaker.fairShares: no such option; did you mean 'fairShare'?"],
  [{ retention: { deadLetterDays: 3 } }, "'deadLetterMs'"],
  [{ policy: { maxAttemps: 3 } }, "options.policy.maxAttemps: no such option; did you mean 'maxAttempts'?"],
  [
    { policies: [{ policyId: 'a', maxDelay: 3 }] },
    "options.policies[0].maxDelay: no such option; did you mean 'maxDelayMs'?",
  ],
  // the right word, one level too high
  [{ maxAttempts: 3 }, "'policy.maxAttempts'"],
  [{ attemptTimeoutMs: 3 }, "'policy.attemptTimeoutMs'"],
  [{ persistHeaders: [] }, "'sanitize.persistHeaders'"],
  // the words of others
  [{ retries: 3 }, "'policy.maxAttempts'"],
  [{ retryCondition() {} }, "options.retryCondition: no such option; did you mean 'shouldRetry'?"],
  [{ retryOn: [503] }, "'shouldRetry'"],
  [{ maxRetries: 3 }, "'policy.maxAttempts'"],
  [{ retry: { limit: 3 } }, "'policy.maxAttempts'"],
  [{ policy: { retry: 3 } }, "'maxAttempts'"],
  [{ policy: { limit: 3 } }, "'maxAttempts'"],
  [{ policy: { minTimeout: 3 } }, "'initialDelayMs'"],
  [{ policy: { retryDelay: 3 } }, "'initialDelayMs'"],
  [{ policy: { maxTimeout: 3 } }, "'maxDelayMs'"],
  [{ policy: { statusCodes: [500] } }, "'retryableStatusCodes'"],
  [{ policy: { timeout: 3 } }, "'attemptTimeoutMs'"],
  [{ policy: { jitter: true } }, "'jitterType'"],
  [{ breaker: { threshold: 3 } }, 'options.breaker.threshold: no such option; there are fairShare'],
  [{ timeoutMs: 3 }, "'policy.attemptTimeoutMs'"],
  [{ user: 'ann' }, "'principal'"],
  [{ credential: {} }, "'credentials'"],
  // the options of one call
  [{ waitMs: 3 }, "options.waitMs: no such option; did you mean 'redrive.waitMs' of a call?"],
  [{ onRetry() {} }, "did you mean 'redrive.onRetry' of a call?"],
  [
    { idempotency: { key: 'a' } },
    "options.idempotency.key: no such option; did you mean 'redrive.idempotencyKey' of a call?",
  ],
  [{ mode: 'defer' }, "options.mode: no such option; did you mean 'redrive.mode' of a call?"],
  // what belongs to one request
  [{ redrive: { mode: 'defer' } }, 'options.redrive: no such option; give it with each call: fetch(url, { redrive })'],
  [{ headers: {} }, 'options.headers: no such option; give it with each call: fetch(url, { headers })'],
  [{ signal: undefined }, 'fetch(url, { signal })'],
  [{ method: 'POST' }, 'fetch(url, { method })'],
  [{ body: 'a' }, 'fetch(url, { body })'],
  [{ cache: 'no-store' }, 'fetch(url, { cache })'],
  [{ idempotency: { headers: [] } }, "options.idempotency.headers: no such option; did you mean 'header'?"],
  // what a client has around its fetch
  [{ baseURL: '/api' }, 'options.baseURL: no such option; Axios and ky have it'],
  [{ prefixUrl: '/api' }, 'Axios and ky have it'],
  [{ throwHttpErrors: false }, 'Axios and ky have it'],
  // a path in one word, or a word that looks like the wrong one of ours
  [{ idempotencyHeader: 'x-key' }, "'idempotency.header'"],
  [{ sanitize: { allowHeaders: [] } }, "'persistHeaders'"],
  [{ sanitize: { denyHeader: [] } }, "'denyHeaders'"],
  // another kind of value
  ['orders', "options: expected an object such as { name: 'orders' }, got 'orders'"],
  [{ policy: 'svix' }, 'expected an object such as { maxAttempts: 5 } or presets.svix, got '],
  [{ policy: presets }, 'expected an object such as { maxAttempts: 5 } or presets.svix, got an object'],
  [{ policies: presets }, 'expected an array such as [presets.svix], got an object'],
  [{ store: 'orders.db' }, "sqliteStore({ path: 'orders.db' })"],
  [{ store: 'orders.db' }, 'a page needs none'],
  [{ principal: 4711 }, 'such as String(id), got 4711'],
  [{ durable: true, principal: 4711 }, 'such as String(id)'],
  [{ credentials: 'token' }, "expected { 'https://api.example.com': (request) => headers }, got a string"],
])('new RetryQueue(%o) says what was meant', (options, meant) => {
  const make = () => new RetryQueue(options as never)
  expect(make).toThrow(meant)
  expect(make).toThrow(/^options/)
})

test("a Worker's fetch and an object name the place of what is a policy's, too", () => {
  const queue = { idFromName: () => ({}), get: () => ({}) }
  const ctx = { waitUntil: () => {} }
  const meant = "no such option; did you mean 'policy.maxAttempts'?"
  expect(() => resolveWorkerOptions({ queue, ctx, retries: 3 } as never)).toThrow(`workerFetch.retries: ${meant}`)
  expect(() => resolveWorkerOptions({ queue, ctx, inlineMS: 3 } as never)).toThrow("did you mean 'inlineMs'?")
  expect(() => resolveObjectOptions({ maxRetries: 3 } as never)).toThrow(`options.maxRetries: ${meant}`)
})

test('a name like none of ours is answered with those that there are', () => {
  expect(() => new RetryQueue({ xyz: 1 } as never)).toThrow(/options\.xyz: no such option; there are name, .*seed$/)
})

test.each([{ redrive: {} }, { sanitize: {} }])(
  'a call with redrive: %o gets no guess that is far off',
  async (redrive) => {
    const { queue } = await setup()
    await expect(queue.fetch(ORDERS, { redrive } as never)).rejects.toThrow(/: no such option; there are policyId/)
  },
)

test.each<[init: object, meant: string]>([
  [{ redrive: true }, 'redrive: expected an object such as { waitMs: 60_000 }, or false, got true'],
  [{ redrive: 'defer' }, "or false, got 'defer'"],
  [{ redrive: { wait: 1 } }, "redrive.wait: no such option; did you mean 'waitMs'?"],
  [{ redrive: { retries: 3 } }, "'policy.maxAttempts'"],
  [{ redrive: { policy: { retries: 3 } } }, "redrive.policy.retries: no such option; did you mean 'maxAttempts'?"],
  [{ idempotencyKey: 'a' }, "idempotencyKey: did you mean redrive: { idempotencyKey: 'a' }?"],
  [{ orderKey: 'a' }, "orderKey: did you mean redrive: { orderKey: 'a' }?"],
  [{ mode: 'defer' }, "mode: did you mean redrive: { mode: 'defer' }?"],
  [{ priority: 5 }, 'priority: did you mean redrive: { priority: 5 }?'],
  [{ sensitive: true }, 'sensitive: did you mean redrive: { sensitive: true }?'],
  [{ policy: { maxAttempts: 3 } }, 'policy: did you mean redrive: { policy: an object }?'],
  [{ maxAttempts: 3 }, 'maxAttempts: did you mean redrive: { policy: { maxAttempts: 3 } }?'],
  [{ body: { a: 1 } }, 'for JSON use JSON.stringify(body)'],
  [{ body: [1, 2] }, 'for JSON use JSON.stringify(body)'],
  [{ body: Promise.resolve('tea') }, 'a form of the platform'],
  [{ body: () => 'tea' }, 'a form of the platform'],
])('a call with %o says what was meant, and is not sent', async (init, meant) => {
  const { queue, events, hitsAfter } = await setup()
  const given = { method: 'POST', ...init } as RequestInit
  for (const call of [
    queue.fetch(ORDERS, given),
    queue.enqueue(ORDERS, given as never),
    wrapFetch(queue)(ORDERS, given),
  ]) {
    await expect(call).rejects.toThrow(TypeError)
    await expect(call).rejects.toThrow(meant)
  }
  expect(await hitsAfter()).toBe(0)
  expect(events.names()).toEqual([])
})

test.each(['retry', 'timeout'])('%s, which ofetch passes on, is left to the fetch below', async (name) => {
  const { queue, server } = await setup({}, 200)
  await queue.fetch(ORDERS, { [name]: 3 })
  expect(server.hits).toBe(1)
})

test.each([new AbortController(), {}, 'signal'])(
  'a signal that is none, %o, is refused before anything is sent or kept',
  async (given) => {
    const { queue, server } = await setup()
    const init = { method: 'POST', body: 'tea', signal: given as AbortSignal }
    for (const call of [queue.fetch(ORDERS, init), queue.enqueue(ORDERS, init), wrapFetch(queue)(ORDERS, init)]) {
      await expect(call).rejects.toThrow('signal: expected an AbortSignal, such as controller.signal')
    }
    expect([server.hits, queue.stats().depth]).toEqual([0, 0])
  },
)

test('a method that is taken from its queue says so', async () => {
  const { enqueue } = new RetryQueue()
  await expect(enqueue(ORDERS)).rejects.toThrow('this: expected a RetryQueue, got undefined')
})

test.each(['POST', 'the body', ['a', 'b']])(
  '%o in place of an init is refused, and not sent as a GET',
  async (given) => {
    const { queue, server } = await setup()
    const init = given as RequestInit
    for (const call of [
      queue.fetch(ORDERS, init),
      queue.enqueue(ORDERS, init as never),
      wrapFetch(queue)(ORDERS, init),
    ]) {
      await expect(call).rejects.toThrow("expected an object such as { method: 'POST', body } after the URL")
    }
    expect(server.hits).toBe(0)
    expect(queue.stats().depth).toBe(0)
  },
)

test('bodies that fetch takes are taken', async () => {
  const { queue, server } = await setup()
  const form = new FormData()
  form.set('a', '1')
  const bodies = [
    'a=1',
    new Uint8Array([97]),
    new Blob(['a']),
    form,
    new URLSearchParams('a=1'),
    new ArrayBuffer(1),
    null,
  ]
  for (const body of bodies) await queue.fetch(ORDERS, { method: 'POST', body })
  expect(server.hits).toBe(bodies.length)
})

test.each<[call: string, work: () => unknown]>([
  ['wrapFetch(queue): expected a RetryQueue, got undefined', () => wrapFetch(undefined as never)],
  [
    'wrapFetch(queue): expected a RetryQueue, got object; is redrive installed twice?',
    () => wrapFetch({ waitMs: 5 } as never),
  ],
  ['wrapFetch(queue): expected a RetryQueue, got function', () => wrapFetch(fetch as never)],
  ['match: expected a function', () => wrapFetch(new RetryQueue(), { match: /api/ as never })],
  ['installFetch(queue): expected a RetryQueue, got undefined', () => installFetch(undefined as never)],
  ['attachToAxios(axios, queue): expected a RetryQueue, got undefined', () => attachToAxios(axios, undefined as never)],
  [
    'attachToAxios(axios, queue): expected an Axios instance first, got object',
    () => attachToAxios(new RetryQueue() as never, axios as never),
  ],
  ['attachOpenTelemetry(queue): expected a RetryQueue, got ', () => attachOpenTelemetry(undefined as never)],
  ['registerBackgroundSync(queue): expected a RetryQueue, got ', () => registerBackgroundSync(undefined as never)],
  ['metricsOf(queue): expected a RetryQueue, got ', () => metricsOf(undefined as never)],
])('%s', (says, work) => {
  expect(work).toThrow(TypeError)
  expect(work).toThrow(says)
})

test.each([
  ['success', "'succeeded'"],
  ['exhaust', "'exhausted'"],
  ['failed', "'exhausted'"],
  ['error', "'exhausted'"],
  ['xyz', 'there are queued, '],
  ['retries', "'retry'"],
  ['deadLetter', "'exhausted'"],
])("on('%s') is no event", (event, meant) => {
  const queue = new RetryQueue()
  expect(() => queue.on(event as never, () => {})).toThrow(`on('${event}'): no such event; `)
  expect(() => queue.on(event as never, () => {})).toThrow(meant)
})

test.each<[unknown, string]>([
  [undefined, "on('undefined'): no such event; "],
  [() => {}, "on('() => {"],
  [{ retry() {} }, "on('[object Object]'): no such event; "],
])('on(%s), without a name, is no event', (event, words) => {
  const queue = new RetryQueue()
  expect(() => queue.on(event as never, () => {})).toThrow(words)
})

test('every event can be listened to', () => {
  const queue = new RetryQueue()
  for (const event of EVENTS) queue.on(event, () => {})
})

test('a store is given its options, not a path', () => {
  expect(() => sqliteStore('orders.db' as never)).toThrow(
    "sqliteStore: expected an object such as { path: 'orders.db' }, got 'orders.db'",
  )
})

test('on a Node without SQLite the store says which Node it needs', async () => {
  const store = new URL('../../js/stores/sqlite.ts', import.meta.url)
  const program = `process.getBuiltinModule = () => undefined; import('${store}').catch(({ message }) => console.log(message))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  expect(stdout).toMatch(
    /^redrive\/sqlite: this is Node [\d.]+, whose SQLite is missing; it needs Node 22\.13 or later\n$/,
  )
})

test('a budget that is longer than the life of its key is refused, at construction and at a call', async () => {
  const week = { totalBudgetMs: 604_800_000 }
  const meant = 'expected keyTtlMs 86400000 at most: raise both, got 604800000'
  expect(() => new RetryQueue({ policy: week })).toThrow(new RangeError(`options.policy.totalBudgetMs: ${meant}`))
  const { queue, server } = await setup({ policy: { totalBudgetMs: 60_000 } })
  const told = new RangeError(`redrive.policy.totalBudgetMs: ${meant}`)
  await expect(queue.fetch(ORDERS, { redrive: { policy: week } })).rejects.toThrow(told)
  await expect(queue.enqueue(ORDERS, { redrive: { policy: week } })).rejects.toThrow(told)
  // one of the two is the queue's: a shorter key of the call's own ends its task first
  await expect(queue.fetch(ORDERS, { redrive: { policy: { keyTtlMs: 1_000 } } })).rejects.toThrow(
    'redrive.policy.totalBudgetMs: expected keyTtlMs 1000 at most: raise both, got 60000',
  )
  expect(server.hits).toBe(0)
  await queue.fetch(ORDERS, { redrive: { policy: { ...week, keyTtlMs: week.totalBudgetMs } } })
})

test('fetch with json, which only enqueue takes, is refused, and not sent without a body', async () => {
  const { queue, server } = await setup()
  const json = { sku: 1 }
  const calls = [queue.fetch, wrapFetch(queue)].map((call) =>
    call.call(queue, ORDERS, { method: 'POST', json } as never),
  )
  for (const end of await Promise.allSettled(calls))
    expect(`${(end as PromiseRejectedResult).reason}`).toContain(
      'json: enqueue alone takes it; give body: JSON.stringify(',
    )
  expect(server.hits).toBe(0)
})
