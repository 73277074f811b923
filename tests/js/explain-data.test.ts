/** What explain() says as data: of a task in memory, and the same of one that a store keeps. */

import { expect, test } from 'vitest'
import type { Decision, RetryQueueOptions } from '../../js/index.ts'
import { world } from './durable-setup.ts'
import { dataOf, enqueued, goOffline, lastOf, lines, type Stage } from './explain-setup.ts'
import { forApi, ORDERS, setup } from './setup.ts'

/** Both kinds of queue. */
const KINDS: readonly (readonly [kind: string, open: (options?: RetryQueueOptions) => Promise<Stage>])[] = [
  ['in memory', (options) => setup(options)],
  [
    'in a store',
    async (options) => {
      const { open, server, clock } = world()
      const { queue } = await open(options)
      return { queue, server, clock }
    },
  ],
]

/** What is not known is not there, and what is there can be sent anywhere. */
function expectPlain(decisions: readonly Decision[]): void {
  expect(JSON.parse(JSON.stringify(decisions))).toEqual(decisions)
  const values = decisions.flatMap(({ data = {} }) => Object.values(data))
  expect(values).not.toContain(undefined)
}

test.for(KINDS)('S9 the waits of curve and server, and what was added to them: %s', async ([, open]) => {
  const stage = await open()
  const { queue, server, clock } = stage
  const start = clock.now()
  server.reply(503).reply(503, { 'retry-after': '120' }).reply(503, { 'retry-after': 'soon' }).reply(200)
  const taskId = await enqueued(stage)
  await clock.advance(1_000)
  const [, , , , second] = await queue.explain(taskId)
  const { spreadMs = 0, delayMs = 0 } = second?.data ?? {}
  expect(spreadMs).toBeGreaterThan(0)
  expect(delayMs).toBe(120_000 + spreadMs)
  await clock.advance(delayMs + 4_000)
  const decisions = await queue.explain(taskId)
  expectPlain(decisions)
  const at2 = start + 1_000
  const at3 = at2 + delayMs
  const attempt = { durationMs: 0, responseStatus: 503, counted: true }
  expect(dataOf(decisions)).toEqual([
    { kind: 'queued', policyId: 'default' },
    { kind: 'attempt', attemptNumber: 1 },
    { kind: 'retry', attemptNumber: 1, ...attempt, delayMs: 1_000, curveMs: 1_000, nextAttemptAt: at2 },
    { kind: 'attempt', attemptNumber: 2 },
    {
      kind: 'retry',
      attemptNumber: 2,
      ...attempt,
      delayMs,
      curveMs: 2_000,
      serverDelayMs: 120_000,
      spreadMs,
      nextAttemptAt: at3,
    },
    { kind: 'attempt', attemptNumber: 3 },
    {
      kind: 'retry',
      attemptNumber: 3,
      ...attempt,
      delayMs: 4_000,
      curveMs: 4_000,
      serverDelayUnreadable: true,
      nextAttemptAt: at3 + 4_000,
    },
    { kind: 'attempt', attemptNumber: 4 },
    { kind: 'succeeded', attemptNumber: 4, durationMs: 0, responseStatus: 200 },
  ])
})

test.for(KINDS)('a lost connection, and the reason for giving up: %s', async ([, open]) => {
  const stage = await open({ policy: { maxAttempts: 2 } })
  const { queue, server, clock } = stage
  server.fail(new TypeError('fetch failed')).reply(503)
  const taskId = await enqueued(stage)
  await clock.advance(1_000)
  const decisions = await queue.explain(taskId)
  expectPlain(decisions)
  expect(dataOf(decisions).slice(2)).toMatchObject([
    { kind: 'retry', errorMessage: 'fetch failed', delayMs: 1_000 },
    { kind: 'attempt', attemptNumber: 2 },
    { kind: 'exhausted', attemptNumber: 2, responseStatus: 503, reason: 'max_attempts' },
  ])
  expect(lastOf(decisions)?.text).toBe('503; given up: max_attempts')
})

test.for(KINDS)('S8 a refused credential is not counted, and the next attempt knows of it: %s', async ([, open]) => {
  const stage = await open({ credentials: forApi(() => ({ authorization: 'Bearer x' })) })
  const { queue, server, clock } = stage
  server.reply(401).reply(401)
  const taskId = await enqueued(stage)
  await clock.advance(10_000)
  const decisions = await queue.explain(taskId)
  expectPlain(decisions)
  const refused = { responseStatus: 401, counted: false, cause: 'unauthorized' }
  expect(dataOf(decisions).slice(2)).toMatchObject([
    { kind: 'released', attemptNumber: 1, ...refused, authorize: true },
    { kind: 'attempt', attemptNumber: 1 },
    { kind: 'parked', attemptNumber: 1, ...refused },
    { kind: 'waits', gate: 'parked' },
  ])
  expect(decisions[4]?.data).not.toHaveProperty('nextAttemptAt')
  // no curve has chosen when it comes back
  for (const { data } of decisions) expect(data).not.toHaveProperty('curveMs')
  expect(decisions[4]?.text).toBe('401; its credentials were refused twice: parked until resume()')
})

test.for(KINDS)('credentials failed: nothing was sent, and nothing is counted: %s', async ([, open]) => {
  const stage = await open({ credentials: forApi(() => Promise.reject(new Error('no'))) })
  const taskId = await enqueued(stage)
  const decisions = await stage.queue.explain(taskId)
  expectPlain(decisions)
  expect(dataOf(decisions)[1]).toMatchObject({ kind: 'released', cause: 'credentials_failed', counted: false })
  expect(decisions[1]?.text).toMatch(/^not sent, credentials failed; given back, not counted; next in /)
})

test.for(KINDS)('an attempt that failed for want of a network is not counted: %s', async ([, open]) => {
  const stage = await open()
  goOffline()
  stage.server.fail(new TypeError('fetch failed'))
  const taskId = await enqueued(stage)
  const decisions = await stage.queue.explain(taskId)
  expectPlain(decisions)
  expect(dataOf(decisions).slice(1, 4)).toMatchObject([
    { kind: 'attempt', attemptNumber: 1 },
    { kind: 'released', errorMessage: 'fetch failed', cause: 'offline', counted: false },
    { kind: 'attempt', attemptNumber: 1 },
  ])
  expect(decisions[2]?.text).toMatch(/^fetch failed; given back, not counted; /)
})

test.for(KINDS)('a veto is a reason, and no attempt: %s', async ([, open]) => {
  const stage = await open({ beforeAttempt: () => false })
  const taskId = await enqueued(stage)
  const decisions = await stage.queue.explain(taskId)
  expectPlain(decisions)
  expect(dataOf(decisions)).toMatchObject([{ kind: 'queued' }, { kind: 'exhausted', reason: 'vetoed' }])
})

test.for(KINDS)('what it waits for, with until when: %s', async ([, open]) => {
  const stage = await open()
  const { queue, server, clock } = stage
  server.reply(503)
  const start = clock.now()
  const taskId = await enqueued(stage)
  expect((await queue.explain(taskId)).at(-1)?.data).toEqual({ gate: 'due', until: start + 1_000 })
  await queue.cancel(taskId)
  expect(dataOf(await queue.explain(taskId)).at(-1)).toEqual({ kind: 'cancelled' })
})

test.for(KINDS)(
  'both tell a task that was given up, put back and delivered in the same words: %s',
  async ([, open]) => {
    const stage = await open({ policy: { maxAttempts: 2 } })
    const { queue, server, clock } = stage
    server.reply(503, { 'retry-after': 'soon' }).reply(503).reply(201)
    const taskId = await enqueued(stage)
    await clock.advance(1_000)
    await queue.deadLetters.redrive(taskId)
    await clock.settle()
    const decisions = await queue.explain(taskId)
    expectPlain(decisions)
    expect(lines(decisions)).toEqual([
      `queued: POST ${ORDERS}, policy 'default', with a key`,
      'attempt: attempt 1 was sent',
      'retry: 503, Retry-After unreadable; next in 1 s, at 00:00:01',
      'attempt: attempt 2 was sent',
      'exhausted: 503; given up: max_attempts',
      'redriven: put back from the dead letters, attempts counted anew',
      'attempt: attempt 1 was sent',
      'succeeded: 201; delivered',
    ])
  },
)

test.for(KINDS)('the log of a retry carries the same data: %s', async ([, open]) => {
  const stage = await open()
  const logs: unknown[] = []
  stage.queue.on('retry', ({ log }) => logs.push(log))
  stage.server.reply(503)
  const taskId = await enqueued(stage)
  const { attempts } = await stage.queue.attempts(taskId)
  expect(attempts).toEqual(logs)
  expect(attempts).toMatchObject([{ kind: 'retry', data: { delayMs: 1_000, curveMs: 1_000, counted: true } }])
})
