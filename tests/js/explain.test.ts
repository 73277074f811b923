/** What explain() says of a task, wherever it stands. */

import { expect, test } from 'vitest'
import type { Decision, RetryQueueOptions } from '../../js/index.ts'
import { enqueued, expectLines, goOffline, lines } from './explain-setup.ts'
import { type Fakes, forApi, ORDERS, setup, watch } from './setup.ts'

/** Filler that must be in no text. */
const SECRETS = ['hush-query', 'hush-header', 'hush-body', 'hush-key']
const URL_WITH_QUERY = `${ORDERS}?page=hush-query`
const callOf = (more: object = {}) => ({
  method: 'POST',
  headers: { 'x-own': 'hush-header', authorization: 'Bearer hush-header' },
  body: 'hush-body',
  redrive: { idempotencyKey: 'hush-key', ...more },
})
const secretly = (fakes: Fakes, more?: object) => enqueued(fakes, callOf(more), URL_WITH_QUERY)

/** Its decisions after the first, once it is seen that they are in order and give nothing away. */
async function told({ queue }: Fakes, taskId: string): Promise<readonly Decision[]> {
  const [first, ...decisions] = await queue.explain(taskId)
  expect(first).toMatchObject({ kind: 'queued', text: `POST ${ORDERS}, policy 'default', with a key` })
  const times = [first?.at ?? 0, ...decisions.map(({ at }) => at)]
  expect(times).toEqual([...times].sort((a, b) => a - b))
  const texts = JSON.stringify([first, ...decisions])
  for (const secret of SECRETS) expect(texts).not.toContain(secret)
  return decisions
}

interface Case {
  readonly isOffline?: true
  readonly options?: RetryQueueOptions
  /** What the server answers, and whatever else is so before the task comes. */
  readonly before?: (fakes: Fakes) => unknown
  readonly task?: (fakes: Fakes) => object
  /** What happens then. */
  readonly after?: (fakes: Fakes, taskId: string) => unknown
  /** What is said after that the task was queued. */
  readonly says: readonly (string | RegExp)[]
}

const SENT = 'attempt: attempt 1 was sent'
const AGAIN = 'retry: 503; next in 1 s, at 00:00:01'
const later = (ms: number) => (fakes: Fakes) => fakes.clock.advance(ms)
const expiring = (ms: number) => (fakes: Fakes) => ({ expiresAt: fakes.clock.now() + ms })

const cases: Readonly<Record<string, Case>> = {
  'waiting for its own curve': {
    before: ({ server }) => server.reply(503),
    says: [SENT, AGAIN, 'waits: waits for its own delay until 00:00:01'],
  },
  'S9 held by Retry-After: the server’s wait, and what the curve alone would have been': {
    before: ({ server }) => server.reply(503, { 'retry-after': '120' }),
    says: [
      SENT,
      /^retry: 503, Retry-After 120 s; next in 12\d(\.\d+)? s, at 00:02:0\d \(the curve alone: 1 s\)$/,
      /^waits: .*until 00:02:0\d$/,
    ],
  },
  'a Retry-After that cannot be read': {
    before: ({ server }) => server.reply(503, { 'retry-after': 'soon' }),
    says: [SENT, 'retry: 503, Retry-After unreadable; next in 1 s, at 00:00:01', /^waits: waits for /],
  },
  'held with its origin by the Retry-After of another': {
    before: async (fakes) => {
      fakes.server.reply(503, { 'retry-after': '120' })
      await enqueued(fakes, {}, `${ORDERS}/other`)
    },
    says: ['waits: waits for its origin, which asked for a pause in its answer to another request until 00:01:00'],
  },
  'paused, everything': { before: ({ queue }) => queue.pause(), says: ['waits: waits for resume()'] },
  'paused, its origin': {
    before: ({ queue }) => {
      queue.pause({ origin: 'https://api.test' })
      // takes back every pause
      queue.resume()
      queue.pause({ origin: 'https://api.test' })
    },
    says: ['waits: waits for resume() of its origin'],
  },
  offline: { isOffline: true, says: ['waits: waits for the network'] },
  'behind one of its orderKey': {
    before: (fakes) => inOrder(fakes, 1),
    task: () => ({ orderKey: 'a' }),
    says: ['waits: waits for its turn: 1 task of its orderKey comes first'],
  },
  'behind others of its orderKey': {
    before: (fakes) => inOrder(fakes, 2),
    task: () => ({ orderKey: 'a' }),
    says: ['waits: waits for its turn: 2 tasks of its orderKey come first'],
  },
  'at the limit of all': {
    options: { concurrency: 1, concurrencyPerOrigin: 1 },
    before: (fakes) => busy(fakes, 'https://other.test/'),
    says: ['waits: waits for a free place (concurrency)'],
  },
  'at the limit of its origin': {
    options: { concurrency: 2, concurrencyPerOrigin: 1 },
    before: (fakes) => busy(fakes, ORDERS),
    says: ['waits: waits for a free place at its origin (concurrencyPerOrigin)'],
  },
  'parked by a 401': {
    options: { credentials: forApi(() => ({ authorization: 'Bearer hush-header' })) },
    before: ({ server }) => server.reply(401).reply(401),
    after: later(10_000),
    says: [
      SENT,
      'released: 401; given back, not counted; due again at once',
      /^attempt: /,
      'parked: 401; its credentials were refused twice: parked until resume()',
      'waits: waits for resume(), since its credentials were refused',
    ],
  },
  'in flight': {
    before: ({ server }) => server.reply(503).hang(),
    after: later(1_000),
    says: [SENT, AGAIN, 'waits: waits for the attempt under way'],
  },
  'given back unsent, its credentials having failed': {
    options: { credentials: forApi(() => Promise.reject(new Error('hush-header'))) },
    says: [
      'released: not sent, credentials failed; given back, not counted; next in 1 s, at 00:00:01',
      /^waits: waits for /,
    ],
  },
  delivered: {
    before: ({ server }) => server.reply(503).fail(new TypeError('fetch failed')),
    after: later(60_000),
    says: [
      SENT,
      AGAIN,
      /^attempt: /,
      /^retry: .*fetch failed; next in 2 s, at 00:00:03$/,
      /^attempt: /,
      'succeeded: 200; delivered',
    ],
  },
  'given up after an attempt': {
    before: ({ server }) => server.reply(503).reply(404),
    after: later(1_000),
    says: [SENT, AGAIN, /^attempt: /, 'exhausted: 404; given up: not_retryable'],
  },
  'given up without an attempt': { task: expiring(-1), says: ['exhausted: given up: expired'] },
  'given up while it waited: the wait was decided before': {
    before: ({ server }) => server.reply(503),
    task: expiring(30_000),
    after: async ({ queue, clock }) => {
      queue.pause()
      await clock.advance(60_000)
      queue.resume()
      await clock.settle()
    },
    says: [SENT, AGAIN, 'exhausted: given up: expired'],
  },
  'cancelled while it waited': {
    before: ({ server }) => server.reply(503),
    after: ({ queue }, taskId) => queue.cancel(taskId),
    says: [SENT, AGAIN, 'cancelled: cancelled'],
  },
  'cancelled while in flight': {
    before: ({ server }) => server.hang(),
    after: async ({ queue, clock }, taskId) => {
      await queue.cancel(taskId)
      await clock.settle()
    },
    says: [SENT, /^cancelled: /],
  },
  'put back from the dead letters: its history stays': {
    before: ({ server }) => server.reply(404),
    after: async ({ queue, clock }, taskId) => {
      await clock.advance(5_000)
      await queue.deadLetters.redrive(taskId)
      await clock.settle()
    },
    says: [
      SENT,
      'exhausted: 404; given up: not_retryable',
      'redriven: put back from the dead letters, attempts counted anew',
      /^attempt: /,
      /^succeeded: /,
    ],
  },
}

/** So many of one order, the first of which is under way. */
async function inOrder(fakes: Fakes, count: number): Promise<void> {
  fakes.server.hang()
  for (let n = 1; n <= count; n++) await secretly(fakes, { orderKey: 'a', idempotencyKey: `hush-key-${n}` })
}

async function busy({ queue, server }: Fakes, url: string): Promise<void> {
  server.hang()
  await queue.enqueue(url)
}

test.each(Object.entries(cases))('%s', async (_, { isOffline, options, before, task, after, says }) => {
  if (isOffline) goOffline()
  const fakes = await setup(options)
  await before?.(fakes)
  const taskId = await secretly(fakes, task?.(fakes))
  await after?.(fakes, taskId)
  expectLines(lines(await told(fakes, taskId)), says)
})

test('what is decided at once is said of that moment', async () => {
  const fakes = await setup()
  fakes.server.reply(503)
  const start = fakes.clock.now()
  const decisions = await fakes.queue.explain(await secretly(fakes))
  expect(decisions.map(({ at }) => at)).toEqual([start, start, start, start])
})

test('a fetch that waits is explained from its first attempt on', async () => {
  const fakes = await setup()
  const { queue, server, clock } = fakes
  server.reply(503)
  const answer = watch(queue.fetch(URL_WITH_QUERY, callOf()))
  await clock.settle()
  const taskId = (await queue.list()).tasks[0]?.taskId ?? ''
  expectLines(lines(await told(fakes, taskId)), [SENT, AGAIN, /^waits: waits for /])
  await clock.advance(1_000)
  expect(answer.value?.status).toBe(200)
  expectLines(lines(await told(fakes, taskId)), [SENT, AGAIN, /^attempt: /, /^succeeded: /])
})

test('of a task that is not there nothing is known', async () => {
  const { queue } = await setup()
  expect(await queue.explain('x')).toEqual([])
})
