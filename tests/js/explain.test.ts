/** What explain() says of a task, wherever it stands: in words and as data, of a queue in memory and of one with a store. */

import { expect, test } from 'vitest'
import type { Decision, RetryQueueOptions } from '../../js/index.ts'
import { dataOf, enqueued, goOffline, KINDS, lastOf, lines, POST, type Stage } from './explain-setup.ts'
import { API, forApi, ORDERS, setup, watch } from './setup.ts'

/** Filler that must be in no text. */
const SECRETS = ['hush-query', 'hush-header', 'hush-body', 'hush-key']
const URL_WITH_QUERY = `${ORDERS}?page=hush-query`
const callOf = (more: object = {}) => ({
  method: 'POST',
  headers: { authorization: 'Bearer hush-header' },
  body: 'hush-body',
  redrive: { idempotencyKey: 'hush-key', ...more },
})
const secretly = (stage: Stage, more?: object) => enqueued(stage, callOf(more), URL_WITH_QUERY)

/** Its decisions after the first, once it is seen that they are in order, can be sent anywhere and give nothing away. */
async function told({ queue }: Stage, taskId: string): Promise<readonly Decision[]> {
  const [first, ...decisions] = await queue.explain(taskId)
  expect(first).toMatchObject({ kind: 'queued', text: `POST ${ORDERS}, policy 'default', with a key` })
  const times = [first?.at ?? 0, ...decisions.map(({ at }) => at)]
  expect(times).toEqual([...times].sort((a, b) => a - b))
  expect(JSON.parse(JSON.stringify(decisions))).toStrictEqual(decisions)
  for (const secret of SECRETS) expect(JSON.stringify([first, ...decisions])).not.toContain(secret)
  return decisions
}

interface Case {
  readonly only?: 'memory'
  readonly isOffline?: true
  readonly options?: RetryQueueOptions
  /** What the server answers, and what else is so before the task comes. */
  readonly before?: (stage: Stage) => unknown
  readonly task?: (stage: Stage) => object
  /** What happens then. */
  readonly after?: (stage: Stage, taskId: string) => unknown
  /** What is said after that the task was queued. */
  readonly says: readonly (string | RegExp)[]
  /** The last of it, where a store makes that another: its queue does not know what other processes do. */
  readonly stored?: string
  /** The last of it as data. */
  readonly data?: object
}

const SENT = 'attempt: attempt 1 was sent'
const AGAIN = 'retry: 503; next in 1 s, at 00:00:01'
const later = (ms: number) => (stage: Stage) => stage.clock.advance(ms)
const expiring = (ms: number) => (stage: Stage) => ({ expiresAt: stage.clock.now() + ms })
const START = Date.UTC(2030, 0, 1)

const cases: Readonly<Record<string, Case>> = {
  'waiting for its own curve': {
    before: ({ server }) => server.reply(503),
    says: [SENT, AGAIN, 'waits: waits for its own delay until 00:00:01'],
    data: { gate: 'due', until: START + 1_000 },
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
  'S9 held with its origin by the Retry-After of another': {
    before: async (stage) => {
      stage.server.reply(503, { 'retry-after': '120' })
      await enqueued(stage, {}, `${ORDERS}/other`)
    },
    says: ['waits: waits for its origin, which asked for a pause of all requests until 00:01:00'],
    data: { gate: 'lane-held', until: START + 60_000 },
  },
  'paused, everything': {
    before: ({ queue }) => queue.pause(),
    says: ['waits: waits for resume()'],
    data: { gate: 'paused' },
  },
  'paused, its origin': {
    only: 'memory',
    before: ({ queue }) => queue.pause({ origin: API }),
    says: ['waits: waits for resume() of its origin'],
    data: { gate: 'lane-paused' },
  },
  offline: {
    isOffline: true,
    before: (stage) => void stage.server.fail(new TypeError('fetch failed')),
    after: (stage) => stage.clock.advance(2_000),
    says: [
      'attempt: attempt 1 was sent',
      /^released: fetch failed; given back, not counted/,
      /^waits: waits for the network, since the browser says that it is offline; next tried at /,
    ],
    data: { gate: 'offline', until: expect.any(Number) },
  },
  'S19 behind one of its orderKey': {
    before: (stage) => inOrder(stage, 1),
    task: () => ({ orderKey: 'a' }),
    says: ['waits: waits for its turn: 1 task of its orderKey comes first'],
    stored: 'waits: waits for its turn: other tasks of its orderKey come first',
    data: expect.objectContaining({ gate: 'behind' }),
  },
  'S19 behind others of its orderKey': {
    before: (stage) => inOrder(stage, 2),
    task: () => ({ orderKey: 'a' }),
    says: ['waits: waits for its turn: 2 tasks of its orderKey come first'],
    stored: 'waits: waits for its turn: other tasks of its orderKey come first',
  },
  'at the limit of all': {
    options: { concurrency: 1, concurrencyPerOrigin: 1 },
    before: (stage) => busy(stage, 'https://other.test/'),
    says: ['waits: waits for a free place (concurrency)'],
    data: { gate: 'limit' },
  },
  'at the limit of its origin': {
    options: { concurrency: 2, concurrencyPerOrigin: 1 },
    before: (stage) => busy(stage, ORDERS),
    says: ['waits: waits for a free place at its origin (concurrencyPerOrigin)'],
    data: { gate: 'lane-limit' },
  },
  'S8 parked by a 401': {
    options: { credentials: forApi(() => ({ authorization: 'Bearer hush-header' })) },
    before: ({ server }) => server.reply(401).reply(401),
    after: later(10_000),
    says: [
      SENT,
      'released: 401; given back, not counted; due again at once',
      /^attempt: /,
      'parked: 401; its credentials were refused twice: parked',
      'waits: waits for resume(), since its credentials were refused',
    ],
    stored: 'waits: waits for resume() or setPrincipal(), since its credentials are missing or were refused',
    data: { gate: 'parked' },
  },
  'in flight': {
    before: ({ server }) => server.reply(503).hang(),
    after: later(1_000),
    says: [SENT, AGAIN, 'waits: waits for the attempt under way'],
    stored: 'waits: waits for the attempt under way, here or in another process',
    data: { gate: 'in-flight', attemptNumber: 2 },
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
    data: { attemptNumber: 3, durationMs: 0, responseStatus: 200 },
  },
  'given up after an attempt': {
    before: ({ server }) => server.reply(503).reply(404),
    after: later(1_000),
    says: [SENT, AGAIN, /^attempt: /, 'exhausted: 404; given up: not_retryable'],
  },
  'given up after all attempts': {
    options: { policy: { maxAttempts: 2 } },
    before: ({ server }) => server.fail(new TypeError('fetch failed')).reply(503),
    after: later(1_000),
    says: [SENT, /^retry: fetch failed; /, /^attempt: /, 'exhausted: 503; given up: max_attempts'],
    data: { attemptNumber: 2, durationMs: 0, responseStatus: 503, reason: 'max_attempts' },
  },
  'given up without an attempt': { only: 'memory', task: expiring(-1), says: ['exhausted: given up: expired'] },
  'given up by a veto, without an attempt': {
    options: { beforeAttempt: () => false },
    says: ['exhausted: not sent; given up: vetoed'],
    data: expect.objectContaining({ reason: 'vetoed' }),
  },
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
    options: { credentials: forApi(() => ({ authorization: 'Bearer hush-header' })) },
    before: ({ server }) => server.reply(503, { 'retry-after': 'soon' }).reply(404).reply(201),
    after: async ({ queue, clock }, taskId) => {
      await clock.advance(5_000)
      await queue.deadLetters.redrive(taskId)
      await clock.settle()
    },
    says: [
      SENT,
      'retry: 503, Retry-After unreadable; next in 1 s, at 00:00:01',
      'attempt: attempt 2 was sent',
      'exhausted: 404; given up: not_retryable',
      'redriven: put back from the dead letters, attempts counted anew',
      SENT,
      'succeeded: 201; delivered',
    ],
  },
}

/** So many of one order, the first of which is under way. */
async function inOrder(stage: Stage, count: number): Promise<void> {
  stage.server.hang()
  for (let n = 1; n <= count; n++) await secretly(stage, { orderKey: 'a', idempotencyKey: `hush-key-${n}` })
}

async function busy(stage: Stage, url: string): Promise<void> {
  stage.server.hang()
  await enqueued(stage, {}, url)
}

const rows = Object.entries(cases).flatMap(([name, given]) =>
  Object.entries(KINDS)
    .filter(([kind]) => (given.only ?? kind) === kind)
    .map(([kind, open]) => [`${name}, in ${kind}`, given, kind === 'memory', open] as const),
)

test.for(rows)('%s', async ([, { isOffline, options, before, task, after, says, stored, data }, isInMemory, open]) => {
  if (isOffline) goOffline()
  const stage = await open(options)
  await before?.(stage)
  const taskId = await secretly(stage, task?.(stage))
  await after?.(stage, taskId)
  const decisions = await told(stage, taskId)
  const wanted = isInMemory || stored === undefined ? says : [...says.slice(0, -1), stored]
  expect(lines(decisions)).toEqual(wanted.map((line) => (line instanceof RegExp ? expect.stringMatching(line) : line)))
  if (data) expect(lastOf(decisions)?.data).toEqual(data)
})

test.for(Object.entries(KINDS))(
  'S9 the waits of curve and server, and what was added to them: in %s',
  async ([, open]) => {
    const stage = await open()
    const { queue, server, clock } = stage
    const logs: unknown[] = []
    queue.on('retry', ({ log }) => logs.push(log))
    server.reply(503).reply(503, { 'retry-after': '120' }).reply(503, { 'retry-after': 'soon' }).reply(200)
    const taskId = await enqueued(stage)
    await clock.advance(1_000)
    const { spreadMs = 0, delayMs = 0 } = (await queue.explain(taskId))[4]?.data ?? {}
    expect(spreadMs).toBeGreaterThan(0)
    expect(delayMs).toBe(120_000 + spreadMs)
    await clock.advance(delayMs + 4_000)
    const at3 = START + 1_000 + delayMs
    const failed = { durationMs: 0, responseStatus: 503, counted: true }
    const waits = [
      { delayMs: 1_000, curveMs: 1_000, nextAttemptAt: START + 1_000 },
      { delayMs, curveMs: 2_000, serverDelayMs: 120_000, spreadMs, nextAttemptAt: at3 },
      { delayMs: 4_000, curveMs: 4_000, serverDelayUnreadable: true, nextAttemptAt: at3 + 4_000 },
    ]
    expect(dataOf(await queue.explain(taskId))).toEqual([
      { kind: 'queued', policyId: 'default' },
      ...waits.flatMap((wait, i) => [
        { kind: 'attempt', attemptNumber: i + 1 },
        { kind: 'retry', attemptNumber: i + 1, ...failed, ...wait },
      ]),
      { kind: 'attempt', attemptNumber: 4 },
      { kind: 'succeeded', attemptNumber: 4, durationMs: 0, responseStatus: 200 },
    ])
    // the logs of its events carry the same
    expect(logs).toHaveLength(3)
    expect((await queue.attempts(taskId)).attempts.slice(0, 3)).toEqual(logs)
  },
)

test.for(Object.entries(KINDS))('S8 what was given back is not counted, and says why: in %s', async ([, open]) => {
  const refused = await open({ credentials: forApi(() => ({ authorization: 'Bearer x' })) })
  refused.server.reply(401).reply(401)
  const first = await enqueued(refused)
  await refused.clock.advance(10_000)
  const unauthorized = { responseStatus: 401, counted: false, cause: 'unauthorized', attemptNumber: 1 }
  const decisions = await refused.queue.explain(first)
  expect(dataOf(decisions).slice(2, 5)).toMatchObject([
    { kind: 'released', ...unauthorized, authorize: true },
    { kind: 'attempt', attemptNumber: 1 },
    { kind: 'parked', ...unauthorized },
  ])
  expect(decisions[4]?.data).not.toHaveProperty('nextAttemptAt')
  // no curve has chosen when it comes back
  for (const { data } of decisions) expect(data).not.toHaveProperty('curveMs')

  const unsent = await open({ credentials: forApi(() => Promise.reject(new Error('no'))) })
  const released = dataOf(await unsent.queue.explain(await enqueued(unsent)))[1]
  expect(released).toMatchObject({ kind: 'released', cause: 'credentials_failed', counted: false })

  const lost = await open()
  goOffline()
  lost.server.fail(new TypeError('fetch failed'))
  const given = await lost.queue.explain(await enqueued(lost))
  expect(dataOf(given).slice(1, 4)).toMatchObject([
    { kind: 'attempt', attemptNumber: 1 },
    { kind: 'released', errorMessage: 'fetch failed', cause: 'offline', counted: false },
    { kind: 'waits' },
  ])
  expect(given[2]?.text).toMatch(/^fetch failed; given back, not counted; /)
})

test('what is decided at once is said of that moment', async () => {
  const fakes = await setup()
  fakes.server.reply(503)
  const decisions = await fakes.queue.explain(await enqueued(fakes, POST))
  expect(decisions.map(({ at }) => at)).toEqual(Array(4).fill(START))
})

test('a fetch that waits is explained from its first attempt on', async () => {
  const fakes = await setup()
  const { queue, server, clock } = fakes
  server.reply(503)
  const answer = watch(queue.fetch(URL_WITH_QUERY, callOf()))
  await clock.settle()
  const taskId = (await queue.list()).tasks[0]?.taskId ?? ''
  expect(lines(await told(fakes, taskId))).toEqual([SENT, AGAIN, expect.stringMatching(/^waits: waits for /)])
  await clock.advance(1_000)
  expect(answer.value?.status).toBe(200)
  expect(dataOf(await told(fakes, taskId)).slice(2)).toMatchObject([{ kind: 'attempt' }, { kind: 'succeeded' }])
})

test('of a task that is not there nothing is known', async () => {
  const { queue } = await setup()
  expect(await queue.explain('x')).toEqual([])
})
