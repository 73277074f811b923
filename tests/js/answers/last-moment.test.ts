/** Answers whose headers come shortly before their caller's time is up, and whose bodies take longer. */

import { expect, test } from 'vitest'
import { FetchAnswer } from '../../../js/call/fetch-transport.ts'
import { whileThere } from '../../../js/call/leaving.ts'
import { OUTCOME_RESPONSE } from '../../../js/core/codes.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { fakeClock } from '../../../js/testing.ts'
import { deferred, markOf, ORDERS, setup, watch } from '../setup.ts'

const STORES = [
  ['memory', () => ({})],
  ['a store', () => ({ store: memoryStore() })],
] as const

/** The first answer is whole; of each later one a part is there, and no more of it comes. */
async function setupAt(delayMs: number, status: number, store: object) {
  const cancelled: number[] = []
  let sent = 0
  const fetch = async () => {
    const nth = ++sent
    if (nth === 1) return new Response('first', { status: 503 })
    const start = (to: ReadableStreamDefaultController) => to.enqueue(new TextEncoder().encode('later'))
    const cancel = () => void cancelled.push(nth)
    return new Response(new ReadableStream({ start, cancel }), { status })
  }
  return { ...(await setup({ ...store, fetch, delay: () => delayMs })), cancelled, sent: () => sent }
}

test.for(STORES.flatMap(([name, make]) => [1_740, 1_780, 1_850].map((ms) => [name, ms, make] as const)))(
  'S22 %s: an answer that comes after %i of 2,000 ms is its caller’s, though its body is not all there',
  async ([, ms, make]) => {
    for (const status of [404, 503]) {
      const { queue, clock, events, cancelled } = await setupAt(ms, status, make())
      const call = watch(queue.fetch(ORDERS, { redrive: { waitMs: 2_000 } }))
      await clock.advance(2_050)
      expect(call.value?.status).toBe(status)
      expect(markOf(call.value)?.reason).toBe(status === 404 ? 'not_retryable' : 'wait_exceeded')
      const reader = call.value?.body?.getReader()
      expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('later')
      expect(cancelled).toEqual([])
      expect(events.of('exhausted').map(({ responseStatus }) => responseStatus)).toEqual([status])
    }
  },
)

test.for([
  ['of another attempt is cancelled', false],
  ['that its caller has is not', true],
] as const)('of what comes when its caller’s time was up, an answer %s', async ([, isSame]) => {
  const cancelled: string[] = []
  const made = (name: string) => new Response(new ReadableStream({ cancel: () => void cancelled.push(name) }))
  const [first, later] = [made('first'), made('later')]
  const last = { outcome: OUTCOME_RESPONSE, status: 200, answer: new FetchAnswer(first), error: undefined }
  const clock = fakeClock()
  const work = deferred<Response>()
  const call = { method: 'GET', origin: ORDERS, options: {}, signal: null, isLeft: false }
  const caller = watch(whileThere(call, clock, 1_000, work.promise, { last: { ...last, startedAt: 0, durationMs: 0 } }))
  await clock.advance(1_050)
  expect(caller.value).toBe(first)
  work.resolve(isSame ? first : later)
  await clock.settle()
  expect(cancelled).toEqual(isSame ? [] : ['later'])
})
