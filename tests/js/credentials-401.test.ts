/** Fresh credentials for a caller's own first attempt that was refused, where its caller asks for them. */

import { expect, test } from 'vitest'
import { wrapFetch } from '../../js/adapters/fetch.ts'
import type { CredentialsRequest } from '../../js/index.ts'
import { opened } from './durable-setup.ts'
import { authOf, called, forApi, gaps, markOf, ORDERS, type Said, setup, throwing, watch } from './setup.ts'

const REFRESH = { credentials: 'on-401' } as const
const POST = { method: 'POST', body: 'tea', headers: { authorization: 'stale' } } as const

/** Gives a fresh token, and notes what it was asked. */
function giver(heard: CredentialsRequest[] = []) {
  return {
    heard,
    credentials: forApi((request) => {
      heard.push(request)
      return { authorization: 'fresh' }
    }),
  }
}

test.each<[what: string, policy: object, isAtOnce: boolean]>([
  ['at once', {}, true],
  ['after its wait where 401 is listed as well', { retryableStatusCodes: [401, 503] }, false],
])(
  'S8 a first attempt refused with 401 is made once more with fresh credentials, %s',
  async (_what, policy, isAtOnce) => {
    const { heard, credentials } = giver()
    const { queue, server, clock } = await setup({ credentials, policy }, 401, 201)
    const answer = queue.fetch(ORDERS, { ...POST, redrive: REFRESH })
    await clock.advance(1_000)
    expect((await answer).status).toBe(201)
    expect(authOf(server)).toEqual(['stale', 'fresh'])
    expect(heard).toMatchObject([{ withheldHeaders: ['authorization'], unauthorized: isAtOnce }])
    expect(gaps(server)).toEqual([isAtOnce ? 0 : 1_000])
    const [first, second] = server.requests
    expect(second?.headers.get('idempotency-key')).toBe(first?.headers.get('idempotency-key'))
    expect(second?.body).toEqual(first?.body)
  },
)

test('S8 a second 401 is the caller’s', async () => {
  const { heard, credentials } = giver()
  const { queue, server, clock, events } = await setup({ credentials }, ...Array(5).fill(401))
  const answer = queue.fetch(ORDERS, { ...POST, redrive: REFRESH })
  await clock.settle()
  expect((await answer).status).toBe(401)
  expect(markOf(await answer)).toMatchObject({ reason: 'not_retryable' })
  expect(server.hits).toBe(2)
  expect(heard).toHaveLength(1)
  expect(events.of('unauthorized')).toEqual([])
  expect(queue.stats().depth).toBe(0)
})

test('S8 it counts as an attempt', async () => {
  const { queue, server, clock } = await setup({ credentials: giver().credentials, policy: { maxAttempts: 3 } })
  server.reply(401).reply(503).reply(503).reply(200)
  const answer = queue.fetch(ORDERS, { ...POST, redrive: REFRESH })
  await clock.advance(60_000)
  expect([(await answer).status, server.hits]).toEqual([503, 3])

  const { queue: single, server: asked } = await setup({ credentials: giver().credentials, policy: { maxAttempts: 1 } })
  asked.reply(401)
  expect((await single.fetch(ORDERS, { ...POST, redrive: REFRESH })).status).toBe(401)
  expect(asked.hits).toBe(1)
})

test.each<[what: string, answers: Said[], status: number, questions: boolean[], options?: object, more?: object]>([
  [
    'a transient failure after it is retried, with credentials, and a 401 then is the caller’s',
    [401, 503, 401, 200],
    401,
    [true, false],
  ],
  ['without the option the 401 is the caller’s', [401], 401, [], {}, POST],
  // the server has refused it
  ['what may not be repeated for lack of a key may be after a 401', [401, 503], 503, [true], { idempotency: false }],
  ['a body over maxBodyBytes is not sent again', [401], 401, [], { maxBodyBytes: 2 }],
])('%s', async (_what, answers, status, questions, more = {}, init = { ...POST, redrive: REFRESH }) => {
  const { heard, credentials } = giver()
  const { answer, server } = await called(answers, { options: { credentials, ...more }, init, forMs: 60_000 })
  expect(answer.value?.status).toBe(status)
  expect(heard.map(({ unauthorized }) => unauthorized)).toEqual(questions)
  expect(server.hits).toBe(Math.min(answers.length, 3))
})

test('without an entry of the origin it is too, and degraded says which is missing', async () => {
  const { queue, server, events } = await setup({}, 401)
  expect((await queue.fetch(ORDERS, { ...POST, redrive: REFRESH })).status).toBe(401)
  expect(server.hits).toBe(1)
  expect(events.of('degraded')).toMatchObject([
    { code: 'credentials_missing', message: expect.stringContaining("credentials['https://api.test']") },
  ])
})

test.each<[what: string, give: () => never]>([
  ['throws', throwing(new Error('no session'))],
  ['takes too long', () => new Promise(() => {}) as never],
])('where the entry %s the caller has its 401, and waits for nothing', async (_what, give) => {
  const { queue, server, clock, events } = await setup({ credentials: forApi(give) }, 401)
  const call = watch(queue.fetch(ORDERS, { ...POST, redrive: REFRESH }))
  await clock.advance(5_000)
  expect([call.value?.status, server.hits]).toEqual([401, 1])
  expect(events.of('degraded')).toMatchObject([{ code: 'credentials_failed' }])
})

test('what may not be repeated for lack of a key may be after a 401: the server has refused it', async () => {
  const { queue, server, clock } = await setup({ credentials: giver().credentials, idempotency: false }, 401, 503)
  const answer = queue.fetch(ORDERS, { ...POST, redrive: REFRESH })
  await clock.advance(60_000)
  expect([(await answer).status, server.hits]).toEqual([503, 2])
})

test('wrapFetch takes it as a default of its calls', async () => {
  const { queue, server, clock } = await setup({ credentials: giver().credentials }, 401)
  const answer = wrapFetch(queue, REFRESH)(ORDERS, POST)
  await clock.settle()
  expect([(await answer).status, server.hits]).toEqual([200, 2])
})

test('S8 with a store: the attempt counts there, and a second 401 is the caller’s', async () => {
  const { heard, credentials } = giver()
  const { server, clock, store, queue, events } = await opened({ credentials }, 401, 200, 401, 401)
  const good = queue.fetch(ORDERS, { ...POST, redrive: REFRESH })
  await clock.advance(1_000)
  expect((await good).status).toBe(200)
  expect(authOf(server)).toEqual(['stale', 'fresh'])
  const [taskId] = events.of('queued').map(({ task }) => task.taskId)
  expect(await store.get(taskId ?? '')).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 2, refunds: 0 })

  const bad = watch(queue.fetch(ORDERS, { ...POST, redrive: REFRESH }))
  await clock.advance(1_000)
  expect([bad.value?.status, server.hits]).toEqual([401, 4])
  expect(heard.map(({ unauthorized }) => unauthorized)).toEqual([true, true])
})
