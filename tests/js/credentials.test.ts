import { expect, test } from 'vitest'
import type { CredentialsRequest } from '../../js/index.ts'
import { always, forApi, gaps, markOf, ORDERS, setup, watch } from './setup.ts'

const authOf = (requests: readonly { headers: Headers }[]) =>
  requests.map(({ headers }) => headers.get('authorization'))

test('credentials are asked before every retry, laid over the caller’s headers, and not before attempt 1', async () => {
  let asked = 0
  const { queue, server, clock } = await setup({ credentials: forApi(() => ({ authorization: `Bearer ${++asked}` })) })
  always(server, 503, 2)
  const headers = { authorization: 'Bearer caller', 'x-own': 'a' }
  const answer = queue.fetch(ORDERS, { headers })
  await clock.advance(3_000)
  await answer
  expect(authOf(server.requests)).toEqual(['Bearer caller', 'Bearer 1', 'Bearer 2'])
  expect(server.requests.map((request) => request.headers.get('x-own'))).toEqual(['a', 'a', 'a'])
})

test('an enqueued task asks before its first attempt, too', async () => {
  const { queue, server, clock } = await setup({ credentials: forApi(async () => [['authorization', 'Bearer x']]) })
  await queue.enqueue(ORDERS)
  await clock.settle()
  expect(authOf(server.requests)).toEqual(['Bearer x'])
})

test('S12 what credentials returned is in no task, log or event', async () => {
  const { queue, server, clock, events } = await setup({
    credentials: forApi(() => ({ authorization: 'Bearer hush' })),
  })
  server.reply(503).reply(401).reply(404)
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.advance(10_000)
  const told = JSON.stringify([
    await queue.get(taskId),
    await queue.attempts(taskId),
    await queue.result(taskId),
    events.of('attempt'),
    events.of('retry'),
    events.of('exhausted'),
  ])
  expect(told).not.toContain('hush')
})

test('S12 a credential that is no valid header value is not quoted', async () => {
  const { queue, server, clock, events } = await setup({
    credentials: forApi(() => ({ authorization: 'Bearer hush\nhush' })),
  })
  await queue.enqueue(ORDERS)
  await clock.advance(2_000)
  expect(server.hits).toBe(0)
  const told = JSON.stringify(events.of('degraded'))
  expect(told).toContain('credentials_failed')
  expect(told).toContain('no valid headers')
  expect(told).not.toContain('hush')
})

test('credentials hear which attempt it is', async () => {
  const heard: CredentialsRequest[] = []
  const { queue, server, clock } = await setup({
    credentials: forApi((request) => {
      heard.push(request)
      return {}
    }),
  })
  server.reply(503)
  await queue.enqueue(ORDERS)
  await clock.advance(1_000)
  expect(heard.map(({ attemptNumber, unauthorized }) => [attemptNumber, unauthorized])).toEqual([
    [1, false],
    [2, false],
  ])
})

test.each<[what: string, credentials: () => HeadersInit | Promise<HeadersInit>]>([
  [
    'throws',
    () => {
      throw new Error('no session')
    },
  ],
  ['rejects', () => Promise.reject(new Error('no session'))],
  ['returns a bad header', () => ({ 'bad name': 'no session' })],
  ['returns nothing', () => undefined as unknown as HeadersInit],
])('when it %s the attempt is given back, nothing is sent, and degraded says so once', async (_what, failing) => {
  let works = false
  const { queue, server, clock, events } = await setup({
    credentials: forApi(() => (works ? {} : failing())),
    policy: { maxAttempts: 2 },
  })
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.advance(20_000)
  expect(server.hits).toBe(0)
  expect(await queue.get(taskId)).toMatchObject({ status: 'PENDING', attemptNumber: 0 })
  expect(events.of('degraded')).toMatchObject([{ code: 'credentials_failed' }])
  works = true
  await clock.advance(30_000)
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
})

test('L1 credentials that always fail end the task in the end', async () => {
  const { queue, clock } = await setup({ credentials: forApi(() => Promise.reject(new Error('never'))) })
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.advance(86_400_000)
  expect(await queue.get(taskId)).toMatchObject({ status: 'EXHAUSTED' })
  expect(clock.timers).toBe(0)
})

test('credentials that take longer than 5 s have failed', async () => {
  const { queue, server, clock, events } = await setup({ credentials: forApi(() => new Promise(() => {})) })
  await queue.enqueue(ORDERS)
  await clock.advance(4_999)
  expect(events.of('degraded')).toEqual([])
  await clock.advance(1)
  expect(events.of('degraded')).toMatchObject([
    { code: 'credentials_failed', message: expect.stringContaining('5000 ms') },
  ])
  expect(server.hits).toBe(0)
})

test('S8 beforeAttempt says no: the task ends vetoed and the caller has the last answer', async () => {
  const { queue, server, clock } = await setup({ beforeAttempt: () => false })
  server.reply(503, {}, 'the first')
  const answer = queue.fetch(ORDERS)
  await clock.advance(1_000)
  const response = await answer
  expect(markOf(response)).toMatchObject({ reason: 'vetoed' })
  expect(await response.text()).toBe('the first')
  expect(server.hits).toBe(1)
})

test.each<[what: string, beforeAttempt: () => boolean | Promise<boolean>]>([
  ['true', () => true],
  ['a promise of true', async () => true],
  ['nothing', () => undefined as unknown as boolean],
])('beforeAttempt says %s: the attempt is made', async (_what, beforeAttempt) => {
  const { queue, server, clock } = await setup({ beforeAttempt })
  server.reply(503)
  const answer = queue.fetch(ORDERS)
  await clock.advance(1_000)
  expect((await answer).status).toBe(200)
})

test.each<[what: string, beforeAttempt: () => boolean | Promise<boolean>, message: RegExp]>([
  [
    'throws',
    () => {
      throw new Error('boom')
    },
    /boom/,
  ],
  ['takes longer than 5 s', () => new Promise(() => {}), /5000 ms/],
])('beforeAttempt %s: reported once, the attempt is made', async (_what, beforeAttempt, message) => {
  const { queue, server, clock, events } = await setup({ beforeAttempt })
  always(server, 503, 2)
  await queue.enqueue(ORDERS)
  await clock.advance(30_000)
  expect(server.hits).toBe(3)
  expect(events.of('degraded')).toMatchObject([{ code: 'hook_threw', message: expect.stringMatching(message) }])
})

test('a 401 to a caller’s first attempt is the caller’s, resolver or not', async () => {
  let asked = 0
  const { queue, server } = await setup({ credentials: forApi(() => ({ 'x-asked': String(++asked) })) })
  server.reply(401)
  expect((await queue.fetch(ORDERS)).status).toBe(401)
  expect(asked).toBe(0)
})

test('a 401 to a replay asks again once, at once, saying so, and costs no attempt', async () => {
  const asked: boolean[] = []
  const { queue, server, clock } = await setup({
    policy: { maxAttempts: 2 },
    credentials: forApi(({ unauthorized }) => {
      asked.push(unauthorized)
      return { authorization: unauthorized ? 'fresh' : 'stale' }
    }),
  })
  server.reply(503).reply(401).reply(200)
  const answer = queue.fetch(ORDERS)
  await clock.advance(1_000)
  expect((await answer).status).toBe(200)
  expect(asked).toEqual([false, true])
  expect(authOf(server.requests)).toEqual([null, 'stale', 'fresh'])
  expect(gaps(server)).toEqual([1_000, 0])
})

test('a second 401 parks the task, says so, and resume lets it try again', async () => {
  const { queue, server, clock, events } = await setup({ credentials: forApi(() => ({})) })
  always(server, 401, 2)
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.advance(600_000)
  expect(server.hits).toBe(2)
  expect(events.names()).toEqual(['queued', 'attempt', 'retry', 'attempt', 'unauthorized'])
  expect(await queue.get(taskId)).toMatchObject({ status: 'PENDING', nextAttemptAt: null })
  queue.resume()
  await clock.settle()
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
})

test('resume of another origin leaves it parked', async () => {
  const { queue, server, clock } = await setup({ credentials: forApi(() => ({})) })
  always(server, 401, 2)
  await queue.enqueue(ORDERS)
  await clock.settle()
  queue.resume({ origin: 'https://other.test' })
  await clock.settle()
  expect(server.hits).toBe(2)
  queue.resume({ origin: 'https://api.test' })
  await clock.settle()
  expect(server.hits).toBe(3)
})

test('L1 a caller does not wait for a login longer than waitMs: it gets the 401', async () => {
  const { queue, server, clock } = await setup({ credentials: forApi(() => ({})) })
  server.reply(503).reply(401).reply(401)
  const answer = watch(queue.fetch(ORDERS, { redrive: { waitMs: 10_000 } }))
  await clock.advance(10_001)
  expect(answer.value?.status).toBe(401)
  expect(markOf(answer.value)).toMatchObject({ reason: 'wait_exceeded' })
})

test('without a resolver a 401 to a replay is final', async () => {
  const { queue, server, clock } = await setup()
  server.reply(503).reply(401)
  const answer = queue.fetch(ORDERS)
  await clock.advance(1_000)
  expect((await answer).status).toBe(401)
  expect(markOf(await answer)).toMatchObject({ reason: 'not_retryable' })
})

test('cancelled while its credentials are asked for: nothing is sent', async () => {
  let give: (headers: HeadersInit) => void = () => {}
  const { queue, server, clock } = await setup({
    credentials: forApi(() => new Promise((resolve) => (give = resolve))),
  })
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.settle()
  expect(await queue.cancel(taskId)).toBe('requested')
  give({})
  await clock.settle()
  expect(server.hits).toBe(0)
  expect(await queue.get(taskId)).toMatchObject({ status: 'CANCELLED' })
  expect(clock.timers).toBe(0)
})
