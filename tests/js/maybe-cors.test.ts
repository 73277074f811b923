/** A browser tells a refused connection and a refused preflight in the same words: where a key was added, both are named, and the remedy. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { world } from './durable-setup.ts'
import { ORDERS, setup, submitted } from './setup.ts'

const POST = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } } as const
const OPTIONS = { idempotency: { origins: ['https://api.test'] } } as const
const TEXT =
  /^no answer from https:\/\/api\.test: it is down, or its CORS.*"Access-Control-Allow-Headers: content-type, idempotency-key".*"No 'Access-Control-Allow-Origin' header".*errors too, need that header$/

beforeEach(() => {
  vi.stubGlobal('location', new URL('https://app.test/'))
})
afterEach(() => {
  vi.unstubAllGlobals()
})

test('an enqueued task without an answer says so, once, and explain does', async () => {
  const { queue, server, clock, events } = await setup(OPTIONS)
  for (let i = 0; i < 2; i++) server.fail(new TypeError('Failed to fetch'))
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(2_000)
  expect(events.of('degraded')).toEqual([{ code: 'maybe_cors', message: expect.stringMatching(TEXT) }])
  const texts = (await queue.explain(taskId)).map(({ text }) => text)
  expect(texts.join()).toContain('Failed to fetch (it is down, or CORS refuses the request); next in')
})

test('a task of an earlier page says so, too', async () => {
  const it = world()
  const first = await it.open(OPTIONS)
  first.queue.pause()
  await first.queue.enqueue(ORDERS, POST)
  await it.close(first)
  it.server.fail(new TypeError('Load failed'))
  const { events } = await it.open(OPTIONS)
  await it.clock.advance(500)
  expect(events.of('degraded')).toMatchObject([{ code: 'maybe_cors' }])
})

test('an answer of whatever status shows that there is no such trouble', async () => {
  const { events } = await submitted([503], { options: OPTIONS, init: POST, forMs: 2_000 })
  expect(events.of('degraded')).toEqual([])
})
