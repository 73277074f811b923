/** What explain() says of a task, wherever it stands. */

import { expect, onTestFinished, test, vi } from 'vitest'
import type { Decision } from '../../js/index.ts'
import { type Fakes, ORDERS, setup, watch } from './setup.ts'

/** Filler that must be in no text. */
const SECRETS = ['hush-query', 'hush-header', 'hush-body', 'hush-key']
const CALL = {
  method: 'POST',
  headers: { 'x-own': SECRETS[1] ?? '', authorization: `Bearer ${SECRETS[1]}` },
  body: SECRETS[2] ?? '',
  redrive: { idempotencyKey: SECRETS[3] ?? '' },
}
const URL_WITH_QUERY = `${ORDERS}?page=hush-query`

async function enqueued({ queue, clock }: Fakes, more: object = {}): Promise<string> {
  const { redrive, ...init } = CALL
  const { taskId } = await queue.enqueue(URL_WITH_QUERY, { ...init, redrive: { ...redrive, ...more } })
  await clock.settle()
  return taskId
}

/** Its decisions, once it is seen that they are in order and give nothing away. */
async function told({ queue }: Fakes, taskId: string): Promise<readonly Decision[]> {
  const decisions = await queue.explain(taskId)
  expect(decisions[0]).toMatchObject({ kind: 'queued', text: `POST ${ORDERS}, policy 'default', with a key` })
  const times = decisions.map(({ at }) => at)
  expect(times).toEqual([...times].sort((a, b) => a - b))
  const texts = JSON.stringify(decisions)
  for (const secret of SECRETS) expect(texts).not.toContain(secret)
  return decisions
}

const kinds = (decisions: readonly Decision[]) => decisions.map(({ kind }) => kind)
const lastOf = (decisions: readonly Decision[]) => decisions.at(-1)?.text

test('waiting for its own curve', async () => {
  const fakes = await setup()
  fakes.server.reply(503)
  const start = fakes.clock.now()
  const taskId = await enqueued(fakes)
  const decisions = await told(fakes, taskId)
  expect(decisions).toMatchObject([
    { at: start, kind: 'queued' },
    { at: start, kind: 'attempt', text: 'attempt 1 was sent' },
    { at: start, kind: 'retry', text: '503; next in 1 s, at 00:00:01' },
    { at: start, kind: 'waits', text: 'its own wait until 00:00:01' },
  ])
})

test('S9 held by Retry-After: the server’s wait, and what the curve alone would have been', async () => {
  const fakes = await setup()
  fakes.server.reply(503, { 'retry-after': '120' })
  const decisions = await told(fakes, await enqueued(fakes))
  expect(kinds(decisions)).toEqual(['queued', 'attempt', 'retry', 'waits'])
  expect(decisions[2]?.text).toMatch(
    /^503, Retry-After 120 s; next in 12\d(\.\d+)? s, at 00:02:0\d \(the curve alone: 1 s\)$/,
  )
  expect(decisions[3]?.text).toMatch(/until 00:02:0\d$/)
})

test('a Retry-After that cannot be read', async () => {
  const fakes = await setup()
  fakes.server.reply(503, { 'retry-after': 'soon' })
  const decisions = await told(fakes, await enqueued(fakes))
  expect(decisions[2]?.text).toBe('503, Retry-After unreadable; next in 1 s, at 00:00:01')
})

test('held with its origin by the Retry-After of another', async () => {
  const fakes = await setup()
  const { queue, server, clock } = fakes
  server.reply(503, { 'retry-after': '120' })
  await queue.enqueue(`${ORDERS}/other`)
  await clock.settle()
  const decisions = await told(fakes, await enqueued(fakes))
  expect(kinds(decisions)).toEqual(['queued', 'waits'])
  expect(lastOf(decisions)).toMatch(/^its origin, which asked everybody to wait until 00:02:0\d$/)
})

test('paused, everything or its origin', async () => {
  const fakes = await setup()
  fakes.queue.pause()
  const taskId = await enqueued(fakes)
  expect(lastOf(await told(fakes, taskId))).toBe('resume()')
  fakes.queue.pause({ origin: ORDERS })
  fakes.queue.resume()
  fakes.queue.pause({ origin: ORDERS })
  const other = await enqueued(fakes, { idempotencyKey: 'hush-key-2' })
  expect(lastOf(await told(fakes, other))).toBe('resume() of its origin')
})

test('offline', async () => {
  vi.stubGlobal('navigator', { onLine: false })
  onTestFinished(() => void vi.unstubAllGlobals())
  const fakes = await setup()
  expect(lastOf(await told(fakes, await enqueued(fakes)))).toBe('the network')
})

test('behind others of its orderKey', async () => {
  const fakes = await setup()
  fakes.server.hang()
  await enqueued(fakes, { orderKey: 'a', idempotencyKey: 'hush-key-1' })
  const second = await enqueued(fakes, { orderKey: 'a', idempotencyKey: 'hush-key-2' })
  const third = await enqueued(fakes, { orderKey: 'a', idempotencyKey: 'hush-key-3' })
  expect(lastOf(await told(fakes, second))).toBe('its turn: 1 of its orderKey comes first')
  expect(lastOf(await told(fakes, third))).toBe('its turn: 2 of its orderKey come first')
})

test.each([
  ['concurrency: as many attempts run as may', { concurrency: 1, concurrencyPerOrigin: 1 }, 'https://other.test/'],
  [
    'concurrencyPerOrigin: as many attempts run at its origin as may',
    { concurrency: 2, concurrencyPerOrigin: 1 },
    ORDERS,
  ],
])('at the limit: %s', async (text, options, busy) => {
  const fakes = await setup(options)
  fakes.server.hang()
  await fakes.queue.enqueue(busy)
  const decisions = await told(fakes, await enqueued(fakes))
  expect(lastOf(decisions)).toBe(text)
})

test('parked by a 401', async () => {
  const fakes = await setup({ credentials: () => ({ authorization: 'Bearer hush-header' }) })
  fakes.server.reply(401).reply(401)
  const taskId = await enqueued(fakes)
  await fakes.clock.advance(10_000)
  const decisions = await told(fakes, taskId)
  expect(kinds(decisions)).toEqual(['queued', 'attempt', 'released', 'attempt', 'parked', 'waits'])
  expect(decisions[2]?.text).toBe('401; given back, not counted; due again at once')
  expect(decisions[4]?.text).toBe('401; its credentials were refused twice: parked until resume()')
  expect(lastOf(decisions)).toBe('resume(): its credentials were refused')
})

test('in flight', async () => {
  const fakes = await setup()
  fakes.server.reply(503).hang()
  const taskId = await enqueued(fakes)
  await fakes.clock.advance(1_000)
  const decisions = await told(fakes, taskId)
  expect(kinds(decisions)).toEqual(['queued', 'attempt', 'retry', 'waits'])
  expect(lastOf(decisions)).toBe('nothing: an attempt is under way')
})

test('given back unsent, its credentials having failed', async () => {
  const fakes = await setup({ credentials: () => Promise.reject(new Error('hush-header')) })
  const decisions = await told(fakes, await enqueued(fakes))
  expect(kinds(decisions)).toEqual(['queued', 'released', 'waits'])
  expect(decisions[1]?.text).toBe('not sent, credentials() failed; given back, not counted; next in 1 s, at 00:00:01')
})

test('delivered', async () => {
  const fakes = await setup()
  fakes.server.reply(503).fail(new TypeError('fetch failed'))
  const taskId = await enqueued(fakes)
  await fakes.clock.advance(60_000)
  const decisions = await told(fakes, taskId)
  expect(kinds(decisions)).toEqual(['queued', 'attempt', 'retry', 'attempt', 'retry', 'attempt', 'succeeded'])
  expect(decisions[4]?.text).toMatch(/fetch failed; next in 2 s, at 00:00:03$/)
  expect(lastOf(decisions)).toBe('200; delivered')
})

test('given up after an attempt', async () => {
  const fakes = await setup()
  fakes.server.reply(503).reply(404)
  const taskId = await enqueued(fakes)
  await fakes.clock.advance(1_000)
  const decisions = await told(fakes, taskId)
  expect(kinds(decisions)).toEqual(['queued', 'attempt', 'retry', 'attempt', 'exhausted'])
  expect(lastOf(decisions)).toBe('404; given up: not_retryable')
})

test('given up without an attempt', async () => {
  const fakes = await setup()
  const taskId = await enqueued(fakes, { expiresAt: fakes.clock.now() - 1 })
  const decisions = await told(fakes, taskId)
  expect(kinds(decisions)).toEqual(['queued', 'exhausted'])
  expect(lastOf(decisions)).toBe('given up: expired')
})

test('given up while it waited: the wait was decided before', async () => {
  const fakes = await setup()
  const { clock, queue } = fakes
  fakes.server.reply(503)
  const taskId = await enqueued(fakes, { expiresAt: clock.now() + 30_000 })
  queue.pause()
  await clock.advance(60_000)
  queue.resume()
  await clock.settle()
  const decisions = await told(fakes, taskId)
  expect(kinds(decisions)).toEqual(['queued', 'attempt', 'retry', 'exhausted'])
  expect(lastOf(decisions)).toBe('given up: expired')
})

test('cancelled while it waited, and while in flight', async () => {
  const fakes = await setup()
  const { queue, server, clock } = fakes
  server.reply(503)
  const waiting = await enqueued(fakes)
  await queue.cancel(waiting)
  const decisions = await told(fakes, waiting)
  expect(kinds(decisions)).toEqual(['queued', 'attempt', 'retry', 'cancelled'])
  expect(lastOf(decisions)).toBe('cancelled')
  server.hang()
  const flying = await enqueued(fakes, { idempotencyKey: 'hush-key-2' })
  await queue.cancel(flying)
  await clock.settle()
  const others = await told(fakes, flying)
  expect(kinds(others)).toEqual(['queued', 'attempt', 'cancelled'])
})

test('put back from the dead letters: its history stays', async () => {
  const fakes = await setup()
  const { queue, server, clock } = fakes
  server.reply(404)
  const taskId = await enqueued(fakes)
  await clock.advance(5_000)
  await queue.deadLetters.redrive(taskId)
  await clock.settle()
  const decisions = await told(fakes, taskId)
  expect(kinds(decisions)).toEqual(['queued', 'attempt', 'exhausted', 'redriven', 'attempt', 'succeeded'])
  expect(decisions[2]?.text).toBe('404; given up: not_retryable')
  expect(decisions[3]?.text).toBe('put back from the dead letters, attempts counted anew')
})

test('a fetch that waits is explained from its first attempt on', async () => {
  const fakes = await setup()
  const { queue, server, clock } = fakes
  server.reply(503)
  const { redrive, ...init } = CALL
  const answer = watch(queue.fetch(URL_WITH_QUERY, { ...init, redrive }))
  await clock.settle()
  const taskId = (await queue.list()).tasks[0]?.taskId ?? ''
  expect(kinds(await told(fakes, taskId))).toEqual(['queued', 'attempt', 'retry', 'waits'])
  await clock.advance(1_000)
  expect(answer.value?.status).toBe(200)
  expect(kinds(await told(fakes, taskId))).toEqual(['queued', 'attempt', 'retry', 'attempt', 'succeeded'])
})

test('of a task that is not there nothing is known', async () => {
  const { queue } = await setup()
  expect(await queue.explain('x')).toEqual([])
})
