/** A `fetch` of the user's own may give what is no Response: a mock, a wrapper's object. The queue goes on, and takes none for a success. */

import { expect, test } from 'vitest'
import { ORDERS, setup, watch } from '../setup.ts'

const throws = () => {
  throw new Error('no headers')
}
const NO_RETRY_AFTER: readonly (readonly [what: string, answer: object])[] = [
  ['none', { status: 503 }],
  ['a plain object', { status: 503, headers: { 'retry-after': '1' } }],
  ['a Map', { status: 503, headers: new Map() }],
  ['such as throw', { status: 503, headers: { get: throws } }],
]

/** A queue whose first attempts, so many, are answered so. */
async function answered(answer: object, times = 1) {
  let calls = 0
  const fetch = async () => (calls++ < times ? answer : new Response('good')) as Response
  return { ...(await setup({ fetch })), calls: () => calls }
}

test.each(NO_RETRY_AFTER)('S18 an answer whose headers are %s is read by its status', async (_, answer) => {
  const { queue, clock, events, calls } = await answered(answer)
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await clock.advance(60_000)
  expect((await queue.get(taskId))?.status).toBe('SUCCEEDED')
  expect([calls(), events.of('degraded')]).toEqual([2, []])
})

test.each(NO_RETRY_AFTER)(
  'S18 a caller whose first answer has headers that are %s gets the next one',
  async (_, answer) => {
    const { queue, clock, events, calls } = await answered(answer)
    const call = watch(queue.fetch(ORDERS, { method: 'POST', body: 'tea' }))
    await clock.advance(60_000)
    expect([call.value?.status, calls(), events.of('degraded')]).toEqual([200, 2, []])
  },
)

test('Response.error() is a lost connection for an awaited call, too', async () => {
  const { queue, clock, calls } = await answered(Response.error(), 2)
  const call = watch(queue.fetch(ORDERS))
  await clock.advance(60_000)
  expect([call.value?.status, calls()]).toEqual([200, 3])
})

test.each([
  ['an object without a status', { ok: true }],
  ['Response.error()', Response.error()],
])('S1 %s is no success: the task goes on', async (_, answer) => {
  const { queue, clock, events, calls } = await answered(answer, 2)
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await clock.advance(60_000)
  expect((await queue.get(taskId))?.status).toBe('SUCCEEDED')
  expect([calls(), events.of('degraded')]).toEqual([3, []])
})
