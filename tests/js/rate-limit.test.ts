/** S9: what RateLimit, retry-after-ms and Retry-After ask, and what becomes of headers that nobody can read. */

import { expect, test } from 'vitest'
import { setup as axiosSetup, eventually } from './axios-setup.ts'
import { called, gaps, ORDERS, setup, submitted } from './setup.ts'

const ORIGIN = 'https://api.test'
const spent = (seconds: number) => ({ ratelimit: `"burst";r=0;t=${seconds}` })

test.each<[what: string, statuses: readonly number[], ratelimit: string]>([
  ['a failure', [503], '"burst";r=0;t=20'],
  ['a success of a task', [200], '"burst";r=0;t=20'],
  ['a success of a retry', [503, 200], '"burst";r=0;t=20'],
  ['a failure, beside a limit that has some left', [503], '"day";r=1000;t=86400, "burst";r=0;t=20'],
])('S9 nothing left, said with %s: the origin is held until the reset', async (_what, statuses, ratelimit) => {
  const { queue, server, clock, hitsAfter } = await setup()
  statuses.forEach((status, i) => {
    server.reply(status, i === statuses.length - 1 ? { ratelimit } : {})
  })
  await queue.enqueue(ORDERS)
  expect(await hitsAfter(1_000 * (statuses.length - 1))).toBe(statuses.length)
  const saidAt = server.requests.at(-1)?.at ?? 0
  expect(queue.stats().origins[ORIGIN]?.heldUntilAt).toBe(saidAt + 20_000)
  await queue.enqueue(`${ORDERS}/other`)
  expect(await hitsAfter(19_999)).toBe(statuses.length)
  await clock.advance(5_001)
  expect(server.requests.slice(statuses.length).map(({ url }) => url)).toContain(`${ORDERS}/other`)
})

test.each<[what: string, headers: Record<string, string>]>([
  ['a Retry-After', { 'retry-after': 'soon' }],
  ['a retry-after-ms alone', { 'retry-after-ms': '-1' }],
  ['both', { 'retry-after': 'soon', 'retry-after-ms': '' }],
])('%s that cannot be read is counted, and the curve holds', async (_what, headers) => {
  const { taskId, queue, server } = await submitted(
    [
      [503, headers],
      [503, headers],
    ],
    { forMs: 10_000 },
  )
  expect(gaps(server)).toEqual([1_000, 2_000])
  expect(queue.stats().unusableRetryAfter).toBe(2)
  const { attempts } = await queue.attempts(taskId)
  expect(attempts[0]?.decision).toMatch(/^503, Retry-After unreadable: next at /)
})

test('it is counted on the caller’s own first attempt, too', async () => {
  const { answer, queue } = await called([[503, { 'retry-after': 'soon' }]], { forMs: 1_000 })
  expect(answer.value?.status).toBe(200)
  expect(queue.stats().unusableRetryAfter).toBe(1)
})

test('a success with a Retry-After nobody asked for counts as nothing', async () => {
  const { queue, clock } = await submitted([
    [202, { 'retry-after': 'soon' }],
    [202, { 'retry-after': '30' }],
  ])
  await queue.enqueue(ORDERS)
  await clock.settle()
  expect(queue.stats()).toMatchObject({ unusableRetryAfter: 0, succeeded: 2 })
  expect((await queue.fetch(ORDERS)).status).toBe(200)
})

test('S9 Axios: RateLimit of an answer holds the origin', async () => {
  const { server, queue, api } = await axiosSetup('http', { answers: [[503, spent(1)]] })
  const answer = api.get('/a')
  await eventually(() => Object.values(queue.stats().origins)[0]?.heldUntilAt).toBeTypeOf('number')
  expect((await answer).status).toBe(200)
  expect((server.requests[1]?.at ?? 0) - (server.requests[0]?.at ?? 0)).toBeGreaterThanOrEqual(990)
})
