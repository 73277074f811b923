import { expect, onTestFinished, test, vi } from 'vitest'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { MAX_TIMER_MS, systemClock } from '../../js/platform/clock.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { called, closeNow, gaps, markOf, ORDERS, setup, watch } from './setup.ts'

test('an attempt without an answer in attemptTimeoutMs is aborted and tried again', async () => {
  const { queue, server, clock } = await setup({ policy: { attemptTimeoutMs: 5_000 } }, 'hangs')
  const answer = queue.fetch(ORDERS)
  await clock.advance(4_999)
  expect(server.requests[0]?.signal.aborted).toBe(false)
  await clock.advance(1)
  expect(server.requests[0]?.signal.aborted).toBe(true)
  await clock.advance(1_000)
  expect((await answer).status).toBe(200)
  expect(gaps(server)).toEqual([6_000])
})

test('when every attempt times out the caller gets a TimeoutError that says how long', async () => {
  const { queue, server, clock } = await setup({ policy: { attemptTimeoutMs: 5_000, maxAttempts: 2 } }, 'hangs')
  server.hang()
  const answer = watch(queue.fetch(ORDERS))
  await clock.advance(11_000)
  expect(answer.error).toMatchObject({ name: 'TimeoutError', message: expect.stringContaining('5000 ms') })
  expect(markOf(answer.error)).toMatchObject({ reason: 'max_attempts' })
})

test.each([
  [{ waitMs: 2_000 }, 'attempt 1 had no answer within 2000 ms, what was left of waitMs'],
  [{ policy: { maxAttempts: 1 } }, 'attempt 1 had no answer within 10000 ms, its attemptTimeoutMs'],
])('the error of a call with %o names the limit that has ended it', async (redrive, message) => {
  const { answer } = await called(['hangs'], { init: { redrive }, forMs: 10_000 })
  expect(answer.error).toMatchObject({ name: 'TimeoutError', message })
})

test('the default is 10 s and the time of the body at 50 KB/s, and 0 is none', async () => {
  const { queue, server, clock } = await setup()
  const release = server.hang()
  const patient = watch(queue.fetch(ORDERS, { redrive: { policy: { attemptTimeoutMs: 0 }, waitMs: 86_400_000 } }))
  await clock.settle()
  // those of waitMs: for the attempt, and for all that the call waits for
  expect(clock.timers).toBe(2)
  server.hang()
  const hasty = watch(queue.fetch(ORDERS, { redrive: { policy: { maxAttempts: 1 } } }))
  server.hang()
  const body = 'x'.repeat(100_000)
  const large = watch(queue.fetch(ORDERS, { method: 'POST', body, redrive: { policy: { maxAttempts: 1 } } }))
  await clock.advance(9_999)
  expect(hasty.state).toBe('pending')
  await clock.advance(1)
  expect(hasty.error).toMatchObject({ name: 'TimeoutError' })
  await clock.advance(1_999)
  expect(large.state).toBe('pending')
  await clock.advance(1)
  expect(large.error).toMatchObject({ name: 'TimeoutError' })
  await clock.advance(3_600_000)
  expect(patient.state).toBe('pending')
  release(200)
  await clock.settle()
  expect(patient.state).toBe('resolved')
})

/** A server that answers after so long, whichever attempt it is. */
async function slow(answersAfterMs: number, options: RetryQueueOptions = {}) {
  const clock = fakeClock()
  const sentAt: number[] = []
  const fetch = (_: unknown, init?: RequestInit) =>
    new Promise<Response>((resolve, reject) => {
      sentAt.push(clock.now())
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
      clock.after(answersAfterMs, () => resolve(new Response('slow')))
    })
  const queue = new RetryQueue({ clock, fetch, ...options })
  await queue.ready
  return { queue, clock, sentAt }
}

test.each([
  [15_000, {}, 2, undefined],
  [15_000, { attemptTimeoutMs: 10_000 }, 3, /^attempt 3 had no answer within \d+ ms, what was left of waitMs$/],
  [1e9, {}, 3, /^attempt 3 had no answer within \d+ ms, what was left of waitMs$/],
  [1e9, { maxAttempts: 2 }, 2, /^attempt 2 had no answer within 1\d{4} ms, more than its attemptTimeoutMs$/],
])(
  'a lone call to a server that needs %i ms: the attempt after one without an answer has longer (%o)',
  async (ms, policy, attempts, message) => {
    const { queue, clock, sentAt } = await slow(ms)
    const answer = watch(queue.fetch(ORDERS, { redrive: { policy } }))
    await clock.advance(30_000)
    expect(sentAt.length).toBe(attempts)
    if (message) expect(answer.error).toMatchObject({ name: 'TimeoutError', message: expect.stringMatching(message) })
    else expect(answer.value).toMatchObject({ status: 200 })
  },
)

test('an enqueued task has twice its limit, too, and no more', async () => {
  for (const [ms, attempts, isDone] of [
    [19_000, 2, true],
    [21_000, 3, false],
  ] as const) {
    const { queue, clock, sentAt } = await slow(ms)
    const { taskId } = await queue.enqueue(ORDERS)
    await clock.advance(36_000)
    expect([sentAt.length, (await queue.get(taskId))?.status === 'SUCCEEDED']).toEqual([attempts, isDone])
  }
})

test('the timeout is for the headers: a slow body is not cut', async () => {
  let push: (chunk: string) => void = () => {}
  let end = () => {}
  let signal: AbortSignal | null | undefined
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      push = (chunk) => controller.enqueue(new TextEncoder().encode(chunk))
      end = () => controller.close()
    },
  })
  const { queue, clock } = await setup({
    fetch: async (_input, init) => {
      signal = init?.signal
      return new Response(body)
    },
  })
  const response = await queue.fetch(ORDERS)
  const text = response.text()
  push('slow ')
  await clock.advance(3_600_000)
  expect(signal?.aborted).toBe(false)
  push('but whole')
  end()
  expect(await text).toBe('slow but whole')
})

test('one timer waits for any number of tasks', async () => {
  const { queue, server, clock } = await setup()
  for (let i = 0; i < 50; i++) server.reply(503)
  for (let i = 0; i < 50; i++) await queue.fetch(`${ORDERS}/${i}`, { redrive: { mode: 'defer' } })
  expect(clock.timers).toBe(1)
})

test('S11 a wait beyond 2^31-1 ms is waited for in pieces, and the attempt is not early', async () => {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const armed: number[] = []
  const after = (ms: number, wake: () => void) => {
    armed.push(ms)
    return clock.after(ms, wake)
  }
  const year = 365 * 86_400_000
  const policy = { totalBudgetMs: year, keyTtlMs: year, maxRetryAfterMs: year, attemptTimeoutMs: 0 }
  const queue = new RetryQueue({ clock: { ...clock, after }, fetch: server.fetch, policy })
  await queue.ready
  server.reply(503, { 'retry-after': '5000000' }) // 57.9 days
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.settle()
  await clock.advance(4_999_999_999)
  expect(server.hits).toBe(1)
  await clock.advance(5_001)
  expect(server.hits).toBe(2)
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
  expect(armed.length).toBeGreaterThan(2)
  for (const ms of armed) {
    expect(ms).toBeGreaterThanOrEqual(0)
    expect(ms).toBeLessThanOrEqual(2 ** 31 - 1)
  }
  await closeNow(queue, clock)
})

test.each([
  [-5, 0],
  [5, 5],
  [2 ** 31, MAX_TIMER_MS],
  [Number.POSITIVE_INFINITY, MAX_TIMER_MS],
])('S11 the system’s clock never hands %d ms to a timer but %d', (asked, given) => {
  const spy = vi.spyOn(globalThis, 'setTimeout').mockReturnValue(0 as unknown as NodeJS.Timeout)
  try {
    systemClock.after(asked, () => {})()
    expect(spy.mock.calls[0]?.[1]).toBe(given)
  } finally {
    spy.mockRestore()
  }
})

test.each([
  { lateMs: 0, isIdle: false, waits: [5_000] },
  // a hidden page's, which come once a second
  { lateMs: 999, isIdle: true, waits: [5_000] },
  { lateMs: 1_001, isIdle: false, waits: [5_000, 50] },
  { lateMs: 3_600_000, isIdle: true, waits: [5_000, 50] },
])('what a timer $lateMs ms late would end is read first: timers of $waits ms', ({ lateMs, isIdle, waits }) => {
  let now = 1_000
  const armed: { readonly ms: number; readonly fire: () => void; readonly unref: () => void }[] = []
  const cleared: unknown[] = []
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  vi.stubGlobal('setTimeout', (fire: () => void, ms: number) => armed[armed.push({ ms, fire, unref: vi.fn() }) - 1])
  vi.stubGlobal('clearTimeout', (timer: unknown) => cleared.push(timer))
  onTestFinished(() => {
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })
  const wake = vi.fn()
  const disarm = systemClock.after(5_000, wake, isIdle)
  now += 5_000 + lateMs
  armed[0]?.fire()
  expect(wake).toHaveBeenCalledTimes(2 - waits.length)
  // and ends nothing where that takes it back
  disarm()
  expect(cleared).toEqual([armed.at(-1)])
  armed[1]?.fire()
  expect(wake).toHaveBeenCalledTimes(1)
  expect(armed.map(({ ms }) => ms)).toEqual(waits)
  for (const { unref } of armed) expect(unref).toHaveBeenCalledTimes(isIdle ? 1 : 0)
})
