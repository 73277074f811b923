/** A3: which answers and which errors are tried again, over fetch; Axios has its own file. */

import { describe, expect, test } from 'vitest'
import type { RetryQueueOptions } from '../../js/index.ts'
import { onLoopback } from '../loopback.ts'
import { opened, world } from './durable-setup.ts'
import { always, called, gaps, keysOf, markOf, ORDERS, type Said, setup, watch } from './setup.ts'

const BROAD = [408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524]
const POST = { method: 'POST', body: 'order' } as const

describe('statuses', () => {
  test.each([200, 202, 304, 400, 404, 409, 418, 422, 500])('a listed %i is tried again', async (status) => {
    for (const init of [POST, {}]) {
      const { queue, server, clock } = await setup({ policy: { retryableStatusCodes: [status] } }, status, 201)
      const answer = queue.fetch(ORDERS, init)
      await clock.advance(10_000)
      expect([(await answer).status, server.hits]).toEqual([201, 2])
    }
  })

  test('a listed status is tried again where the call says so, and is in the store as it was said', async () => {
    const { server, clock, store, queue } = await opened({}, 422)
    const answer = queue.fetch(ORDERS, { ...POST, redrive: { policy: { retryableStatusCodes: 'broad' } } })
    await clock.advance(10_000)
    expect((await answer).status).toBe(422)
    always(server, 500, 2)
    await queue.fetch(ORDERS, { ...POST, redrive: { mode: 'defer', policy: { retryableStatusCodes: 'broad' } } })
    const { tasks } = await store.list({ limit: 10 })
    expect(tasks.map(({ policy }) => policy.retryableStatusCodes)).toEqual([BROAD])
    await clock.advance(10_000)
    expect(queue.stats().succeeded).toBe(1)
  })
})

describe('409 to a request with a key', () => {
  const MADE = [201, {}, 'made'] as const
  const TOLD = (seconds: string) => [409, { 'retry-after': seconds }] as const

  test.each<[what: string, answers: readonly Said[], leastMs?: number]>([
    ['after an attempt without an answer', ['lost', 409, 409, MADE]],
    ['after one that timed out', ['hangs', TOLD('7'), MADE], 7_000],
    ...[502, 503, 504].map((status): [string, Said[]] => [`after a gateway’s ${status}`, [status, 409, 409, MADE]]),
    // something on the way has sent it twice
    ['at first, with a Retry-After', [TOLD('2'), MADE], 2_000],
  ])(
    'S1 %s the server is still at work on it, and is asked no sooner than it says',
    async (_, answers, leastMs = 0) => {
      const options = { policy: { attemptTimeoutMs: 1_000 } }
      const { answer, server } = await called(answers, { options, init: POST, forMs: 20_000 })
      expect(await answer.value?.text()).toBe('made')
      expect(new Set(keysOf(server)).size).toBe(1)
      expect(gaps(server).at(-1)).toBeGreaterThanOrEqual(leastMs)
    },
  )

  test('S9 it is asked about with patience, for as long as its caller waits, and each time as the same attempt', async () => {
    const { queue, server, clock } = await setup()
    const answers: number[] = []
    queue.on('retry', ({ log }) => answers.push(log.attemptNumber))
    server.reply(504)
    always(server, 409, 20)
    const answer = watch(queue.fetch(ORDERS, POST))
    await clock.advance(30_000)
    expect(answer.value?.status).toBe(409)
    expect(markOf(answer.value)).toMatchObject({ reason: 'wait_exceeded' })
    const waits = gaps(server).slice(1)
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(1_000)
    expect(Math.max(...waits)).toBeLessThanOrEqual(10_000)
    expect(waits.length).toBeGreaterThanOrEqual(3)
    expect(answers).toEqual([1, ...waits.map(() => 2)])
  })

  test('it is the resource’s own without such an attempt, or without a key', async () => {
    const { answer: kept, queue, server, clock } = await called([429, 409], { init: POST, forMs: 20_000 })
    expect([kept.value?.status, server.hits]).toEqual([409, 2])
    server.fail().reply(409)
    const bare = queue.fetch(ORDERS)
    await clock.advance(20_000)
    expect([(await bare).status, server.hits]).toEqual([409, 4])
    server.reply(409)
    expect((await queue.fetch(ORDERS, POST)).status).toBe(409)
    server.reply(409, { 'retry-after': '1' })
    expect((await queue.fetch(ORDERS)).status).toBe(409)
    expect(server.hits).toBe(6)
  })

  test('a stored task says why it waits', async () => {
    const { server, clock, queue } = await opened({}, 504)
    always(server, 409, 9)
    const { taskId } = await queue.enqueue(ORDERS, POST)
    await clock.advance(8_000)
    const decisions = await queue.explain(taskId)
    const released = decisions.find(({ kind }) => kind === 'released')
    expect(released?.data).toMatchObject({ cause: 'in_progress', counted: false, responseStatus: 409 })
    expect(released?.text).toMatch(/^409, still in progress; given back, not counted; next in /)
  })

  test('S1 a stored task knows it in the next process', async () => {
    const { open, server, clock, close } = world()
    const first = await open()
    server.fail()
    await first.queue.fetch(ORDERS, { ...POST, redrive: { mode: 'defer' } })
    await close(first)
    server.reply(409).reply(201)
    const second = await open()
    await clock.advance(60_000)
    expect(second.queue.stats().succeeded).toBe(1)
    expect(server.hits).toBe(3)
  })

  test('S1 L2 a process that died had no answer either', async () => {
    const { open, server, clock, store } = world()
    const dead = await open()
    server.hang()
    await dead.queue.enqueue(ORDERS, POST)
    await clock.settle()
    // what it holds runs out, and it renews nothing any more
    clock.step(120_000)
    await store.turn({ owner: 'another', settle: [], renew: [], claim: null })
    server.reply(409).reply(201)
    const { queue } = await open()
    await clock.advance(60_000)
    expect(queue.stats().succeeded + dead.queue.stats().succeeded).toBe(1)
    expect(server.hits).toBe(3)
  })
})

describe('a failure that its server has stored under the key', () => {
  test.each(['Idempotent-Replayed', 'idempotency-replayed'])(
    'is final the second time that %s marks it',
    async (mark) => {
      const { queue, server, clock } = await setup()
      const ended: unknown[] = []
      queue.on('exhausted', ({ reason, error }) => ended.push(reason, error.message))
      server.reply(503)
      always(server, 503, 9, { [mark]: 'true' })
      const { taskId } = await queue.enqueue(ORDERS, POST)
      await clock.advance(60_000)
      expect([server.hits, ended]).toEqual([3, ['not_retryable', expect.stringMatching(/stored .* with a new key/)]])
      expect(queue.stats().origins[new URL(ORDERS).origin]?.circuit).toBe('CLOSED')
      const { attempts } = await queue.attempts(taskId)
      expect(attempts.at(-1)?.errorMessage).toMatch(/stored this failure under the key/)
    },
  )
})

describe('a request that never got in', () => {
  test('a 408 to a POST without a key is final: some send it when their handler takes too long', async () => {
    const { queue, server } = await setup({ idempotency: false }, 408)
    expect((await queue.fetch(ORDERS, POST)).status).toBe(408)
    expect(server.hits).toBe(1)
  })

  test('a 429 that names no wait is asked again later than a 503', async () => {
    const { answer, server, clock } = await called(Array(5).fill(429), { init: POST, forMs: 6_999 })
    // after 1 s, 3 s and 7 s at the earliest
    expect(server.hits).toBeLessThanOrEqual(3)
    await clock.advance(23_001)
    expect(answer.value?.status).toBe(429)
  })

  test.each([100, 102, 103])('an interim %i in place of an answer is none, and 101 is one', async (interim) => {
    let hits = 0
    const answers = [interim, interim, 101]
    const fetch = async () => Object.defineProperty(new Response(null), 'status', { value: answers[hits++] ?? 500 })
    const { answer } = await called([], { options: { fetch }, init: POST, forMs: 10_000 })
    expect([answer.value?.status, hits]).toEqual([101, 3])
  })
})

describe('errors', () => {
  const throwing = async (error: unknown, policy: RetryQueueOptions['policy'] = {}) => {
    let hits = 0
    const fetch = async () => {
      hits++
      throw error
    }
    const options = { fetch, policy: { ...policy, maxAttempts: 3 } }
    const { answer } = await called([], { options, init: POST, forMs: 60_000 })
    expect(answer.error).toBe(error)
    return hits
  }
  const caused = (message: string, cause: object) => Object.assign(new TypeError(message), { cause })
  const coded = (code: string) => Object.assign(new Error(code), { code })
  const named = (name: string) => Object.assign(new Error(name), { name })

  test.each([
    new TypeError('fetch failed'),
    new TypeError('Failed to fetch'),
    new TypeError('NetworkError when attempting to fetch resource.'),
    new TypeError('Load failed'),
    new TypeError('Network connection lost.'),
    new TypeError('terminated'),
    caused('fetch failed', coded('ECONNRESET')),
    caused('fetch failed', coded('UND_ERR_SOCKET')),
    caused('fetch failed', coded('UND_ERR_CONNECT_TIMEOUT')),
    caused('fetch failed', coded('EPROTO')),
    coded('ERR_HTTP2_STREAM_ERROR'),
    coded('HPE_INVALID_CONSTANT'),
    new Error('socket hang up'),
    'a string',
    null,
  ])('%s is a lost connection', async (error) => {
    expect(await throwing(error)).toBe(3)
  })

  test.each([
    new DOMException('left', 'AbortError'),
    Object.assign(new Error('The user aborted a request.'), { name: 'AbortError' }),
    new TypeError("Cannot read properties of undefined (reading 'token')"),
    new TypeError('client.send is not a function'),
    new TypeError('can\'t access property "token", session is undefined'),
    new TypeError('session is undefined'),
    new TypeError("undefined is not an object (evaluating 'session.token')"),
    new TypeError("Failed to execute 'fetch' on 'Window': Invalid value"),
    new TypeError("Window.fetch: 'x y' is not a valid header value."),
    new TypeError('Invalid header value.'),
    new TypeError('Fetch API cannot load: ftp://a.test/'),
    new ReferenceError('token is not defined'),
    new RangeError('Maximum call stack size exceeded'),
    caused('fetch failed', new Error('bad port')),
    caused('fetch failed', new Error('unknown scheme')),
    caused('fetch failed', new Error('unexpected redirect')),
    caused('fetch failed', new Error('redirect count exceeded')),
    caused('fetch failed', new Error('integrity mismatch')),
    caused('fetch failed', new Error('URL scheme must be a HTTP(S) scheme')),
    new TypeError('more than 20 redirects'),
    caused('fetch failed', coded('UND_ERR_INVALID_ARG')),
    caused('fetch failed', coded('UND_ERR_NOT_SUPPORTED')),
    coded('ERR_INVALID_URL'),
    coded('ERR_HTTP2_INVALID_HEADER_VALUE'),
    // what mocks say of a call that no test expects
    caused('fetch failed', named('MockNotMatchedError')),
    caused('fetch failed', named('NetConnectNotAllowedError')),
    caused('fetch failed', coded('ERR_NOCK_NO_MATCH')),
    named('InternalError'),
  ])('%s is the caller’s own, and final', async (error) => {
    expect(await throwing(error)).toBe(1)
  })

  test.each([
    ['a header that undici does not take', { headers: { expect: '100-continue' } }],
    ['a port that fetch does not send to', { url: 'http://127.0.0.1:1/' }],
  ])(
    '%s is final with the fetch of this platform',
    async (_what, {
      url = 'http://127.0.0.1:9/',
      headers = {},
    }: {
      readonly url?: string
      readonly headers?: Record<string, string>
    }) => {
      let hits = 0
      const fetch: typeof globalThis.fetch = (input, init) => {
        hits++
        return globalThis.fetch(input, init)
      }
      const { queue } = await setup({ fetch })
      await expect(queue.fetch(url, { headers })).rejects.toThrow(TypeError)
      expect(hits).toBe(1)
    },
  )

  test.each([
    ['a redirect that the call refuses', { redirect: 'error' }, 1],
    ['redirects without an end', {}, 21],
  ] as const)('%s is final with the fetch of this platform', async (_what, init, requests) => {
    let hits = 0
    const origin = await onLoopback((request, response) => {
      hits++
      response.writeHead(302, { location: `${request.url}x` }).end()
    })
    const { queue } = await setup({ fetch: globalThis.fetch })
    await expect(queue.fetch(origin, init)).rejects.toThrow('fetch failed')
    expect(hits).toBe(requests)
  })

  test.each([
    [{ retryTimeouts: false }, 1, 3],
    [{ retryNetworkErrors: false }, 3, 1],
    [{ retryTimeouts: false, retryNetworkErrors: false }, 1, 1],
    [{}, 3, 3],
  ])('%j: timeouts are told from lost connections', async (policy, timeouts, losses) => {
    const late = [
      new DOMException('late', 'TimeoutError'),
      coded('ETIMEDOUT'),
      caused('fetch failed', coded('UND_ERR_HEADERS_TIMEOUT')),
    ]
    for (const error of late) expect(await throwing(error, policy), String(error)).toBe(timeouts)
    for (const error of [new TypeError('fetch failed'), coded('ECONNRESET')])
      expect(await throwing(error, policy), String(error)).toBe(losses)
    const options = { policy: { ...policy, maxAttempts: 3, attemptTimeoutMs: 500 } }
    const { answer, server } = await called(['hangs', 'hangs', 'hangs'], { options, init: POST, forMs: 60_000 })
    expect([answer.state, server.hits]).toEqual(['rejected', timeouts])
  })
})

describe('a wait that a server names', () => {
  const spent = (name: string, reset: string) => ({ [`${name}-remaining`]: '0', [`${name}-reset`]: reset })
  const SECONDS = 20

  test.each<[what: string, headers: (at: number) => Record<string, string>]>([
    ['a Retry-After', () => ({ 'retry-after': `${SECONDS}` })],
    ['x-ratelimit-reset, as GitHub sends it', (at) => spent('x-ratelimit', `${at / 1_000}`)],
    ['a time of RFC 3339', (at) => spent('x-rate-limit', new Date(at).toISOString())],
    ['a number of seconds', () => spent('ratelimit', `${SECONDS}`)],
    ['a RateLimit', () => ({ RateLimit: `"day";r=0;t=${SECONDS}` })],
    ['a RateLimit of draft 7', () => ({ RateLimit: `limit=9, remaining=0, reset=${SECONDS}` })],
  ])('S9 a 403 that names a time, or of a quota that is used up, is a limit until then: %s', async (_what, headers) => {
    for (const way of ['fetch', 'enqueue'] as const) {
      const { queue, server, clock } = await setup()
      server.reply(403, headers(clock.now() + SECONDS * 1_000))
      const answer = way === 'fetch' ? watch(queue.fetch(ORDERS, POST)) : await queue.enqueue(ORDERS, POST)
      await clock.advance(SECONDS * 1_000 - 1)
      expect(server.hits, way).toBe(1)
      await clock.advance(2_001)
      expect(server.hits, way).toBe(2)
      if (way === 'fetch') expect(answer).toMatchObject({ value: { status: 200 } })
    }
  })

  test('a 403 whose quota begins anew after waitMs is given to its caller at once', async () => {
    const { queue, server } = await setup({}, [403, spent('x-ratelimit', '3600')])
    expect((await queue.fetch(ORDERS, POST)).status).toBe(403)
    expect(server.hits).toBe(1)
  })

  test('S9 Retry-After: 0 means now, three times; then the curve holds again', async () => {
    const { queue, server, clock, hitsAfter } = await setup({ policy: { maxAttempts: 6 } })
    always(server, 503, 6, { 'retry-after': '0' })
    const answer = watch(queue.fetch(ORDERS, POST))
    expect(await hitsAfter()).toBe(4)
    expect(await hitsAfter(7_999)).toBe(4)
    await clock.advance(40_000)
    expect([server.hits, answer.value?.status]).toEqual([6, 503])
    expect(markOf(answer.value)).toMatchObject({ reason: 'max_attempts' })
  })

  test('a limit of one partition (pk) binds its request, and holds no other of its origin', async () => {
    const { queue, server, clock } = await setup({ concurrency: 10 }, [429, { ratelimit: '"user";r=0;t=50;pk=:YQ==:' }])
    await queue.enqueue(`${ORDERS}/1`, POST)
    await clock.settle()
    await queue.enqueue(`${ORDERS}/2`, POST)
    await clock.settle()
    expect(server.hits).toBe(2)
    await clock.advance(49_999)
    expect(server.hits).toBe(2)
    await clock.advance(6_000)
    expect(server.hits).toBe(3)
    server.reply(200, { ratelimit: '"all";r=0;t=30' })
    await queue.fetch(ORDERS, POST)
    await queue.enqueue(`${ORDERS}/3`, POST)
    await clock.advance(29_000)
    expect(server.hits).toBe(4)
  })

  test('maxRetryAfterMs: a longer wait is not begun, and the caller has the answer', async () => {
    const { queue, server, clock } = await setup({ policy: { maxRetryAfterMs: 60_000 } })
    for (const header of ['retry-after', 'x-ratelimit-reset']) {
      server.reply(429, { [header]: '61' }, 'slow down')
      const answer = watch(queue.fetch(ORDERS, { ...POST, redrive: { waitMs: 600_000 } }))
      await clock.settle()
      expect(await answer.value?.text()).toBe('slow down')
      expect(markOf(answer.value)).toMatchObject({ reason: 'retry_after_too_long' })
      expect(queue.stats().origins[new URL(ORDERS).origin]?.heldUntilAt ?? null).toBeNull()
    }
  })
})
