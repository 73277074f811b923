/** The oldest engines meant (Chrome 91, Firefox 113, Safari 16.4) lack some of what today's have. */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { RetryQueue } from '../../js/index.ts'
import { fakeClock } from '../../js/testing.ts'
import { closeNow, PLAIN_CURVE, watch } from './setup.ts'

const YOUNGER: readonly [owner: object, name: string][] = [
  [URL, 'canParse'],
  [AbortSignal, 'any'],
  [AbortSignal, 'timeout'],
  [AbortSignal.prototype, 'throwIfAborted'],
  [Array.prototype, 'at'],
  [Array.prototype, 'findLast'],
  [Array.prototype, 'toSorted'],
  [Object, 'hasOwn'],
  [Promise, 'withResolvers'],
  [Request.prototype, 'body'],
]
const taken = YOUNGER.map(([owner, name]) => Object.getOwnPropertyDescriptor(owner, name))

/** Without what is younger; the test runner itself needs it back. */
function onOldEngine<T>(work: () => T): T {
  for (const [owner, name] of YOUNGER) Reflect.deleteProperty(owner, name)
  try {
    return work()
  } finally {
    for (const [i, [owner, name]] of YOUNGER.entries()) Object.defineProperty(owner, name, taken[i] ?? {})
  }
}

let queue: RetryQueue
const clock = fakeClock()
const statuses: number[] = []
const sent: string[] = []

beforeAll(async () => {
  const fetch = async (url: unknown, init?: RequestInit) => {
    sent.push(await new Request(url as string, init).text())
    return new Response(null, { status: statuses.shift() ?? 200 })
  }
  const idempotency = { origins: ['https://api.test'] }
  queue = onOldEngine(() => new RetryQueue({ clock, fetch, idempotency, policy: PLAIN_CURVE }))
  await queue.ready
})

afterAll(() => closeNow(queue, clock))

const ORDERS = 'https://api.test/orders'

test('a call with a signal is sent and tried again', async () => {
  statuses.push(503)
  const answer = onOldEngine(() => queue.fetch(ORDERS, { signal: new AbortController().signal }))
  await clock.advance(1_000)
  expect((await answer).status).toBe(200)
})

test.each<[what: string, abortFirst: boolean]>([
  ['before the call', true],
  ['during the wait', false],
])('an abort %s rejects with its reason', async (_what, abortFirst) => {
  statuses.push(503)
  const controller = new AbortController()
  const left = new Error('left')
  if (abortFirst) controller.abort(left)
  const answer = onOldEngine(() => watch(queue.fetch(ORDERS, { signal: controller.signal })))
  await clock.settle()
  controller.abort(left)
  await clock.settle()
  expect(answer.error).toBe(left)
  statuses.length = 0
})

test('pause checks its origin', () => {
  expect(() => onOldEngine(() => queue.pause({ origin: 'nonsense' }))).toThrow(RangeError)
})

test('the body of a Request that does not say whether it has one is sent', async () => {
  const request = new Request(ORDERS, { method: 'POST', body: 'two apples' })
  expect((await onOldEngine(() => queue.fetch(request))).status).toBe(200)
  expect(sent.at(-1)).toBe('two apples')
})

test('a Request without a body is sent without one', async () => {
  await onOldEngine(() => queue.fetch(new Request(ORDERS)))
  expect(sent.at(-1)).toBe('')
})
