/** Fake timers of test runners: Vitest's, Jest's and Sinon's are one library. */

import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { fastForward, reset, toHaveBeenRetried, withFakeServer } from '../../js/testing.ts'
import { always, called, NO_GATES, ORDERS, PLAIN_CURVE, setup, watch } from './setup.ts'

expect.extend({ toHaveBeenRetried })

declare module 'vitest' {
  interface Matchers<R extends void | Promise<void>, T> {
    toHaveBeenRetried(times: number): R
  }
}

let server: ReturnType<typeof withFakeServer>
beforeEach(() => {
  server = withFakeServer()
})
afterEach(() => {
  server.restore()
  vi.useRealTimers()
})

function fresh(options: RetryQueueOptions = {}): RetryQueue {
  const queue = new RetryQueue({ policy: PLAIN_CURVE, ...NO_GATES, ...options })
  onTestFinished(() => queue.close({ drainMs: 0 }))
  return queue
}

test('a queue of the fake global fetch is fast-forwarded to its answer, its core loaded meanwhile', async () => {
  vi.useFakeTimers()
  const queue = fresh()
  server.reply(503).fail().reply(200, {}, 'done')
  const answer = watch(queue.fetch(ORDERS))
  await fastForward(2_999)
  expect(answer.state).toBe('pending')
  await fastForward(1)
  expect(await answer.value?.text()).toBe('done')
  expect(server).toHaveBeenRetried(2)
})

test('two queues are fast-forwarded at once, one of them called by the answer of the other', async () => {
  const [first, second] = [fresh(), fresh()]
  vi.useFakeTimers()
  server.reply(503).reply(200).reply(503).reply(200, {}, 'done')
  const answer = watch(first.fetch(ORDERS).then(() => second.fetch(`${ORDERS}/next`)))
  await fastForward(1_999)
  expect(answer.state).toBe('pending')
  await fastForward(1)
  expect(await answer.value?.text()).toBe('done')
  expect(server).toHaveBeenRetried(2)
})

test('L1 fake timers put on and taken off again keep no later wait from ending', async () => {
  const queue = fresh()
  for (const ms of [8_500, 1_000]) {
    vi.useFakeTimers()
    server.reply(503)
    const answer = watch(queue.fetch(ORDERS))
    await fastForward(ms)
    expect(answer.state).toBe('resolved')
    vi.useRealTimers()
  }
})

test('L1 a wait whose fake timer was taken off with its clock goes on with the next call', async () => {
  const queue = fresh()
  vi.useFakeTimers()
  server.reply(503)
  const left = watch(queue.fetch(ORDERS))
  await fastForward(500)
  vi.useRealTimers()
  vi.useFakeTimers()
  server.reply(503)
  const next = watch(queue.fetch(`${ORDERS}/next`))
  await fastForward(1_000)
  expect([left.state, next.state]).toEqual(['resolved', 'resolved'])
})

test('with setTimeout faked alone the queue says what else has to be', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const queue = fresh()
  const said: string[] = []
  queue.on('degraded', ({ code, message }) => said.push(`${code}: ${message}`))
  server.reply(503)
  const answer = watch(queue.fetch(ORDERS))
  await fastForward(4_000)
  expect(said).toEqual([expect.stringMatching(/^time_faked: .*replace Date and performance too$/)])
  await reset(queue)
  await fastForward(0)
  expect(answer.error).toMatchObject({ name: 'AbortError' })
})

test('without fake timers it says how to put them on', async () => {
  await expect(fastForward(1)).rejects.toThrow('vi.useFakeTimers()')
})

test('a reset queue knows no circuit, hold, pause, dead letter or task of the test before', async () => {
  const { queue, server, clock } = await setup({
    breaker: { afterMs: 0, openMs: 60_000 },
    policy: { strategy: 'table', delaysMs: [0], maxAttempts: 100 },
  })
  always(server, 503, 4)
  server.reply(503, { 'retry-after': '60' })
  await queue.enqueue(ORDERS)
  await clock.advance(0)
  server.reply(400)
  await queue.enqueue('https://other.test/')
  await clock.advance(0)
  const origins = { 'https://api.test': { circuit: 'OPEN', heldUntilAt: expect.any(Number) } }
  expect(queue.stats()).toMatchObject({ depth: 1, deadLetters: 1, origins })
  queue.pause()
  await reset(queue)
  expect(queue.stats()).toMatchObject({ depth: 0, deadLetters: 0, origins: {} })
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.advance(0)
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
})

test('an attempt in flight ends with a reset', async () => {
  const { answer, queue, server, clock } = await called([503, 'hangs'], { forMs: 1_000 })
  await reset(queue)
  await clock.settle()
  expect([answer.error, server.requests[1]?.signal.aborted]).toMatchObject([{ name: 'AbortError' }, true])
})

test('the matcher tells retries by method, URL and key, and lists what came where it fails', async () => {
  const key = (value: string) => ({ method: 'POST', headers: { 'idempotency-key': value } })
  for (const init of [key('a'), key('a'), key('b'), {}]) await server.fetch(ORDERS, init)
  expect(server).toHaveBeenRetried(1)
  expect(server).not.toHaveBeenRetried(2)
  expect(() => expect(server).toHaveBeenRetried(3)).toThrow(`expected 3 retries, got 1; requests: POST ${ORDERS} a`)
})

test('a fake server gives the global fetch back', () => {
  const own = globalThis.fetch
  const other = withFakeServer()
  expect(globalThis.fetch).toBe(other.fetch)
  other[Symbol.dispose]()
  expect(globalThis.fetch).toBe(own)
})
