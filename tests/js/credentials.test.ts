import { expect, test } from 'vitest'
import { always, authOf, called, forApi, gaps, markOf, ORDERS, setup, submitted, throwing, watch } from './setup.ts'

test('credentials are asked before every retry, laid over the caller’s headers, and not before attempt 1', async () => {
  let asked = 0
  const { queue, server, clock } = await setup({ credentials: forApi(() => ({ authorization: `Bearer ${++asked}` })) })
  always(server, 503, 2)
  const headers = { authorization: 'Bearer caller', 'x-own': 'a' }
  const answer = queue.fetch(ORDERS, { headers })
  await clock.advance(3_000)
  await answer
  expect(authOf(server)).toEqual(['Bearer caller', 'Bearer 1', 'Bearer 2'])
  expect(server.requests.map((request) => request.headers.get('x-own'))).toEqual(['a', 'a', 'a'])
})

test.each<[what: string, credentials: () => HeadersInit | Promise<HeadersInit>]>([
  ['throws', throwing(new Error('no session'))],
  ['rejects', () => Promise.reject(new Error('no session'))],
  ['returns a bad header', () => ({ 'bad name': 'no session' })],
  ['returns nothing', () => undefined as unknown as HeadersInit],
  ['takes longer than 5 s', () => new Promise(() => {})],
])('when it %s the attempt is given back, nothing is sent, and degraded says so once', async (_what, failing) => {
  let works = false
  const { queue, clock, events, hitsAfter } = await setup({
    credentials: forApi(() => (works ? {} : failing())),
    policy: { maxAttempts: 2 },
  })
  const { taskId } = await queue.enqueue(ORDERS)
  expect(await hitsAfter(20_000)).toBe(0)
  expect(await queue.get(taskId)).toMatchObject({ status: 'PENDING', attemptNumber: 0 })
  expect(events.of('degraded')).toMatchObject([{ code: 'credentials_failed' }])
  works = true
  await clock.advance(30_000)
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
})

test('a task whose credentials fail is asked about with pauses, also by a policy that has none', async () => {
  let asked = 0
  const { queue, server, clock } = await setup({
    credentials: forApi(() => {
      // without a pause nothing else would ever run
      if (++asked > 100) return {}
      throw new Error('no session')
    }),
    policy: { initialDelayMs: 0, maxDelayMs: 0 },
  })
  await queue.enqueue(ORDERS)
  await clock.advance(950)
  expect(asked).toBe(10)
  expect(server.hits).toBe(0)
})

test('S8 beforeAttempt says no: the task ends vetoed and the caller has the last answer', async () => {
  const { queue, server, clock } = await setup({ beforeAttempt: () => false }, [503, {}, 'the first'])
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
  const { answer } = await called([503], { options: { beforeAttempt }, forMs: 1_000 })
  expect(answer.value?.status).toBe(200)
})

test.each<[what: string, beforeAttempt: () => boolean | Promise<boolean>, message: RegExp]>([
  ['throws', throwing(new Error('boom')), /boom/],
  ['takes longer than 5 s', () => new Promise(() => {}), /5000 ms/],
])('beforeAttempt %s: reported once, the attempt is made', async (_what, beforeAttempt, message) => {
  const { server, events } = await submitted([503, 503], { options: { beforeAttempt }, forMs: 30_000 })
  expect(server.hits).toBe(3)
  expect(events.of('degraded')).toMatchObject([{ code: 'hook_threw', message: expect.stringMatching(message) }])
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
  expect(authOf(server)).toEqual([null, 'stale', 'fresh'])
  expect(gaps(server)).toEqual([1_000, 0])
})

test('a second 401 parks the task, says so, and resume of its own origin lets it try again', async () => {
  const { queue, clock, events, hitsAfter } = await setup({ credentials: forApi(() => ({})) }, 401, 401)
  const { taskId } = await queue.enqueue(ORDERS)
  expect(await hitsAfter(600_000)).toBe(2)
  expect(events.names()).toEqual(['queued', 'attempt', 'retry', 'attempt', 'unauthorized'])
  expect(await queue.get(taskId)).toMatchObject({ status: 'PENDING', nextAttemptAt: null })
  queue.resume({ origin: 'https://other.test' })
  expect(await hitsAfter()).toBe(2)
  queue.resume({ origin: 'https://api.test' })
  await clock.settle()
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
})

test('L1 a caller does not wait for a login longer than waitMs: it gets the 401', async () => {
  const { queue, clock } = await setup({ credentials: forApi(() => ({})) }, 503, 401, 401)
  const answer = watch(queue.fetch(ORDERS, { redrive: { waitMs: 10_000 } }))
  await clock.advance(10_001)
  expect(answer.value?.status).toBe(401)
  expect(markOf(answer.value)).toMatchObject({ reason: 'wait_exceeded' })
})

test('cancelled while its credentials are asked for: nothing is sent', async () => {
  let give: (headers: HeadersInit) => void = () => {}
  const { queue, clock, hitsAfter } = await setup({
    credentials: forApi(() => new Promise((resolve) => (give = resolve))),
  })
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.settle()
  expect(await queue.cancel(taskId)).toBe('requested')
  give({})
  expect(await hitsAfter()).toBe(0)
  expect(await queue.get(taskId)).toMatchObject({ status: 'CANCELLED' })
  expect(clock.timers).toBe(0)
})
