import { expect, test } from 'vitest'
import { QueueClosedError } from '../../js/index.ts'
import { device } from './principals-setup.ts'
import { API, ORDERS, setup } from './setup.ts'

type Row = readonly [
  what: string,
  input: string,
  init: object,
  error: typeof TypeError | typeof RangeError,
  says: RegExp,
]

const wrong: readonly Row[] = [
  ['a malformed URL', 'http://', {}, TypeError, /expected a URL/],
  ['a relative URL where there is no page', '/orders', {}, TypeError, /'\/orders'/],
  ['a port out of range', 'http://a.test:99999/', {}, TypeError, /expected a URL/],
  ['a user name and password', 'https://user:hush@api.test/', {}, TypeError, /api\.test/],
  ['a bad header name', ORDERS, { headers: { 'bad name': 'x' } }, TypeError, /bad name/],
  ['a bad header value', ORDERS, { headers: { 'x-own': 'a\nb' } }, TypeError, /./],
  ["redrive's mode as fetch's", ORDERS, { mode: 'defer' }, TypeError, /did you mean redrive: \{ mode: 'defer' \}/],
  ['data, as Axios has it', ORDERS, { data: { a: 1 } }, TypeError, /body: expected .*JSON\.stringify/],
  ['redrive: true', ORDERS, { redrive: true }, TypeError, /redrive: expected an object such as .* got true/],
  ['an unknown option', ORDERS, { redrive: { retries: 3 } }, TypeError, /redrive\.retries: no such option/],
  ['an unknown policyId', ORDERS, { redrive: { policyId: 'fast' } }, RangeError, /policyId.*default.*'fast'/],
  ['a wrong policy', ORDERS, { redrive: { policy: { maxAttempts: 0 } } }, RangeError, /redrive\.policy\.maxAttempts/],
  ['a table without delays', ORDERS, { redrive: { policy: { strategy: 'table' } } }, TypeError, /policy\.delaysMs/],
  ['an unknown mode', ORDERS, { redrive: { mode: 'later' } }, RangeError, /redrive\.mode.*'later'/],
  ['waitMs -1', ORDERS, { redrive: { waitMs: -1 } }, RangeError, /redrive\.waitMs.*-1/],
  ['waitMs Infinity', ORDERS, { redrive: { waitMs: Number.POSITIVE_INFINITY } }, RangeError, /redrive\.waitMs/],
  ['priority 0.5', ORDERS, { redrive: { priority: 0.5 } }, RangeError, /redrive\.priority.*0\.5/],
  ['priority 2^31', ORDERS, { redrive: { priority: 2 ** 31 } }, RangeError, /redrive\.priority/],
  ['expiresAt as a Date', ORDERS, { redrive: { expiresAt: new Date() } }, TypeError, /redrive\.expiresAt/],
  ['detach as text', ORDERS, { redrive: { detach: 'yes' } }, TypeError, /redrive\.detach/],
  ['an empty key', ORDERS, { redrive: { idempotencyKey: '' } }, RangeError, /idempotencyKey.*1 to 255/],
  ['a key with a space', ORDERS, { redrive: { idempotencyKey: 'a b' } }, RangeError, /idempotencyKey/],
  ['a key with a line break', ORDERS, { redrive: { idempotencyKey: 'a\r\nx: y' } }, RangeError, /idempotencyKey/],
  ['a key of 256 characters', ORDERS, { redrive: { idempotencyKey: 'k'.repeat(256) } }, RangeError, /idempotencyKey/],
  ['credentials of its own', ORDERS, { redrive: { credentials: 'always' } }, RangeError, /'on-401', got 'always'/],
  ['an orderKey that is no text', ORDERS, { redrive: { orderKey: 5 } }, TypeError, /redrive\.orderKey.*5/],
]

test.each(wrong)('%s is refused before anything is sent or queued', async (_what, input, init, error, says) => {
  const { queue, events, hitsAfter } = await setup()
  for (const call of [
    queue.fetch(input, { method: 'POST', ...init }),
    queue.enqueue(input, { method: 'POST', ...init }),
  ]) {
    const thrown = await call.catch((caught: unknown) => caught)
    expect(thrown).toBeInstanceOf(error)
    expect((thrown as Error).message).toMatch(says)
    expect((thrown as Error).message).not.toContain('hush')
  }
  expect(await hitsAfter()).toBe(0)
  expect(events.names()).toEqual([])
})

test.each<[what: string, args: readonly unknown[]]>([
  ['no arguments', []],
  ['a config, as Axios has it', [{ url: ORDERS, method: 'POST', data: 'tea' }]],
  ['null', [null]],
])('%s in place of a URL: the right call is shown', async (_what, args) => {
  const { queue, server } = await setup()
  const [input, init] = args as [string, RequestInit]
  for (const call of [queue.fetch(input, init), queue.enqueue(input, init)]) {
    await expect(call).rejects.toThrow(/expected a URL.*\(url, \{ method, body \}\)/)
  }
  expect(server.hits).toBe(0)
})

test.each<[what: string, init: object, says: RegExp]>([
  ['a mode', { mode: 'CORS' }, /init\.mode: expected 'cors' or 'same-origin', got 'CORS'/],
  ['credentials', { credentials: 'included' }, /init\.credentials.*'included'/],
  ['a cache', { cache: 'none' }, /init\.cache/],
  ['a redirect', { redirect: 'never' }, /init\.redirect/],
  ['a referrer policy', { referrerPolicy: 'x' }, /init\.referrerPolicy/],
  ['a priority', { priority: 'urgent' }, /init\.priority.*'high'/],
  ['params, as Axios has them', { params: { a: 1 } }, /params: no option of fetch.*the URL/],
  ['baseURL, as Axios has it', { baseURL: API }, /baseURL: no option of fetch/],
  ['meta beside redrive', { meta: { order: 7 } }, /meta: no option of fetch.*give redrive: \{ meta \}/],
  ['tags beside redrive', { tags: ['a'] }, /tags: no option of fetch.*give redrive: \{ tags \}/],
  ['a principal', { principal: 'ann' }, /principal: no option of fetch.*setPrincipal\(\)/],
])('S1 %s that no platform knows is refused by enqueue, whatever the platform looks at', async (_what, init, says) => {
  const { queue, server, events } = await setup()
  await expect(queue.enqueue(ORDERS, { method: 'POST', ...init } as RequestInit)).rejects.toThrow(says)
  expect([server.hits, events.names()]).toEqual([0, []])
})

test.each([
  ['ftp://api.test/a?token=hush', {}, "enqueue: expected an http(s) URL, got 'ftp://api.test/a…'"],
  [ORDERS, { mode: 'no-cors' }, 'enqueue: takes no request with no-cors'],
  [ORDERS, { keepalive: true }, 'enqueue: takes no request with keepalive'],
  [ORDERS, { redrive: false }, 'enqueue: takes no request with redrive: false'],
] as const)('enqueue(%s, %o) cannot be tried again, and says why', async (url, init, says) => {
  const { queue, server } = await setup()
  await expect(queue.enqueue(url, init as RequestInit)).rejects.toThrow(says)
  expect(server.hits).toBe(0)
})

test('S12 a URL that is refused does not show its query', async () => {
  const { queue } = await setup()
  await expect(queue.fetch('/orders?token=hush')).rejects.toThrow(/^(?!.*hush)/)
})

const unsendable: readonly [what: string, init: object][] = [
  ['a method that is no token', { method: 'BAD M' }],
  ['a method that fetch forbids', { method: 'TRACE' }],
  ['a GET with a body', { method: 'GET', body: 'x' }],
]

test.each(unsendable)(
  '%s, which no repeat would mend, is refused by enqueue as by fetch, and not tried again',
  async (_what, init) => {
    const { queue, server, clock, events } = await setup()
    await expect(queue.enqueue(ORDERS, init)).rejects.toThrow(TypeError)
    await clock.settle()
    expect([server.hits, events.names(), (await queue.list()).tasks]).toEqual([0, [], []])
    await expect(queue.fetch(ORDERS, init)).rejects.toThrow(TypeError)
    await clock.settle()
    expect([server.hits, (await queue.list()).tasks]).toEqual([0, []])
  },
)

test.each<[what: string, principal: unknown, options: unknown, says: RegExp]>([
  [
    'no principal',
    undefined,
    {},
    /^setPrincipal: expected null or a well-formed string such as String\(id\), got undefined$/,
  ],
  ['a number', 7, {}, /^setPrincipal: expected null or a well-formed string such as String\(id\), got 7$/],
  ['options that are no object', 'anna', true, /^setPrincipal: expected an object, got true$/],
  ['an unknown option', 'anna', { delete: true }, /^setPrincipal\.delete: no such option/],
  ['a during that is no function', 'anna', { during: 'login' }, /^setPrincipal\.during: expected a function/],
  ['purge as text', 'anna', { purge: 'yes' }, /^setPrincipal\.purge: expected a boolean, got 'yes'$/],
])('setPrincipal refuses %s, and the principal stays', async (_what, principal, options, says) => {
  const { queue, clock } = await setup({ principal: 'otto' })
  const thrown = await queue.setPrincipal(principal as string, options as object).catch((error: unknown) => error)
  expect(thrown).toBeInstanceOf(TypeError)
  expect((thrown as Error).message).toMatch(says)
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.settle()
  expect((await queue.get(taskId))?.principal).toBe('otto')
})

test('after close every method rejects with QueueClosedError', async () => {
  const { queue } = await setup()
  await queue.close()
  const calls = {
    fetch: () => queue.fetch(ORDERS),
    'fetch that passes through': () => queue.fetch('data:,x'),
    enqueue: () => queue.enqueue(ORDERS),
    get: () => queue.get('x'),
    attempts: () => queue.attempts('x'),
    list: () => queue.list(),
    result: () => queue.result('x'),
    cancel: () => queue.cancel('x'),
    pause: async () => queue.pause(),
    resume: async () => queue.resume(),
    flush: () => queue.flush(),
    idle: () => queue.idle(),
    'deadLetters.list': () => queue.deadLetters.list(),
    'deadLetters.redrive': () => queue.deadLetters.redrive('x'),
    'deadLetters.redriveAll': () => queue.deadLetters.redriveAll(),
    'deadLetters.purge': () => queue.deadLetters.purge('x'),
    'deadLetters.purgeAll': () => queue.deadLetters.purgeAll(),
    'deadLetters.export': () => queue.deadLetters.export(),
    setPrincipal: () => queue.setPrincipal('x'),
  }
  for (const [name, call] of Object.entries(calls)) {
    const thrown = await call().catch((error: unknown) => error)
    expect([name, thrown]).toEqual([name, expect.any(QueueClosedError)])
    expect(thrown).toMatchObject({ code: 'QUEUE_CLOSED', message: expect.stringContaining("'default'") })
  }
})

test('an order that is longer than a store keeps is refused at once, and the store is not asked again', async () => {
  const { open, store, server } = device()
  const { queue, events } = await open()
  const redrive = { orderKey: 'x'.repeat(140_000) }
  const refused = await queue.enqueue(ORDERS, { method: 'POST', redrive }).catch((error) => error)
  expect(refused).toBeInstanceOf(RangeError)
  expect(refused.message).toMatch(/orderKey: expected a well-formed string of at most 131072 characters/)
  expect(await store.counts()).toMatchObject({ pending: 0 })
  expect(events.of('degraded')).toEqual([])
  expect(server.hits).toBe(0)
})
