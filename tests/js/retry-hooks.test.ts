/** D1: shouldRetry, delay, onRetry and on('retry'), of the queue and of a call. */

import { expect, test } from 'vitest'
import type { RetryContext, RetryNotice } from '../../js/index.ts'
import { opened, world } from './durable-setup.ts'
import { always, called, gaps, markOf, ORDERS, setup, submitted, throwing, watch } from './setup.ts'

const POST = { method: 'POST', body: 'order' } as const
/** No hook of its own, and no key: not to be repeated. */
const UNSAFE = { idempotency: false } as const

test('shouldRetry is asked about each failure, with what there is to know, before anything is decided', async () => {
  const seen: RetryContext[] = []
  const shouldRetry = (context: RetryContext) => {
    seen.push(context)
    return undefined
  }
  const { queue, server, clock } = await setup({ shouldRetry })
  const lost = new TypeError('fetch failed')
  server.reply(503, { 'x-why': 'busy' }).fail(lost).reply(404)
  const answer = queue.fetch(ORDERS, { ...POST, headers: { 'x-tenant': '7' } })
  await clock.advance(10_000)
  expect((await answer).status).toBe(404)
  expect(seen.map(({ attemptNumber }) => attemptNumber)).toEqual([1, 2, 3])
  expect(seen.map(({ response }) => response?.status)).toEqual([503, undefined, 404])
  expect(seen.map(({ error }) => error)).toEqual([undefined, lost, undefined])
  expect(seen[0]?.response?.headers.get('X-Why')).toBe('busy')
  expect(seen.map(({ taskId }) => taskId !== undefined)).toEqual([false, true, true])
  const key = server.requests[0]?.headers.get('idempotency-key')
  const request = { method: 'POST', url: ORDERS, idempotencyKey: key, isReplayable: true }
  expect(seen.map((context) => context.request)).toMatchObject([request, request, request])
  expect(seen[2]?.request.headers.get('x-tenant')).toBe('7')
})

test.each(['throws', 'rejects'])('an onRetry that %s is told of, once, and ends nothing', async (how) => {
  const { queue, server, clock, events } = await setup()
  const onRetry = () => {
    if (how === 'throws') throw new Error('mine')
    return Promise.reject(new Error('mine'))
  }
  always(server, 503, 2)
  const answer = queue.fetch(ORDERS, { redrive: { onRetry } })
  await clock.advance(10_000)
  expect((await answer).status).toBe(200)
  expect(events.of('degraded').map(({ code }) => code)).toEqual(['hook_threw'])
})

test('it is not asked about a success or an abort', async () => {
  let asked = 0
  const shouldRetry = () => {
    asked++
    return true
  }
  const { queue, server, clock } = await setup({ shouldRetry }, 200, 302)
  await queue.fetch(ORDERS)
  await queue.fetch(ORDERS, { redirect: 'manual' })
  const controller = new AbortController()
  server.hang()
  const left = watch(queue.fetch(ORDERS, { signal: controller.signal }))
  await clock.settle()
  controller.abort()
  server.fail(new DOMException('left', 'AbortError'))
  const foreign = watch(queue.fetch(ORDERS))
  await clock.advance(1_000)
  expect([left, foreign].map(({ state }) => state)).toEqual(['rejected', 'rejected'])
  expect([asked, server.hits]).toEqual([0, 4])
})

test('it is asked about what was taken for a mistake of the caller’s own, and true tries that again', async () => {
  const said: unknown[] = [true, true, 'yes']
  const { queue, server, clock } = await setup({ shouldRetry: () => said.shift() as boolean })
  const own = new TypeError('x is not a function')
  server.fail(own).fail(own)
  const answer = queue.fetch(ORDERS)
  await clock.advance(10_000)
  expect((await answer).status).toBe(200)
  server.fail(own)
  const call = watch(queue.fetch(ORDERS))
  await clock.advance(10_000)
  expect([call.error, server.hits]).toEqual([own, 4])
})

test.each([true, Promise.resolve(true)])(
  '%j tries again what the policy would not, within its limits',
  async (said) => {
    const { queue, server, clock } = await setup({ shouldRetry: () => said, policy: { maxAttempts: 4 } })
    server.reply(404).reply(500).reply(200, {}, 'there')
    const late = queue.fetch(ORDERS, POST)
    await clock.advance(10_000)
    expect(await (await late).text()).toBe('there')
    always(server, 404, 10)
    const never = queue.fetch(ORDERS, POST)
    await clock.advance(60_000)
    expect(markOf(await never)).toMatchObject({ reason: 'max_attempts' })
    expect(server.hits).toBe(7)
  },
)

test('S5 true repeats no unsafe request without a key, and no body that cannot be sent again', async () => {
  const { queue, hitsAfter } = await setup({ shouldRetry: () => true, maxBodyBytes: 10, ...UNSAFE }, 503, 503)
  expect((await queue.fetch(ORDERS, POST)).status).toBe(503)
  expect((await queue.fetch(ORDERS, { method: 'PUT', body: 'longer than ten bytes' })).status).toBe(503)
  expect(await hitsAfter(60_000)).toBe(2)
})

test('false gives the caller the answer at once, and ends a task as vetoed', async () => {
  const { queue, server, clock } = await setup({
    shouldRetry: ({ attemptNumber }) => (attemptNumber < 2 ? undefined : false),
  })
  always(server, 503, 9)
  const answer = watch(queue.fetch(ORDERS, POST))
  await clock.advance(1_000)
  expect(answer.value?.status).toBe(503)
  expect(markOf(answer.value)).toMatchObject({ reason: 'vetoed' })
  const first = watch(queue.fetch(ORDERS, { ...POST, redrive: { shouldRetry: () => false } }))
  await clock.settle()
  expect([first.value?.status, server.hits]).toEqual([503, 3])
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(10_000)
  expect(await queue.get(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'vetoed', attemptNumber: 2 })
})

test('the call’s hook has the word before the queue’s, which is asked where it gives undefined', async () => {
  const order: string[] = []
  const said = (name: string, word: boolean | undefined) => () => {
    order.push(name)
    return word
  }
  const { queue, server, clock } = await setup({ shouldRetry: said('queue', false) }, 503)
  const kept = queue.fetch(ORDERS, { redrive: { shouldRetry: said('call', true) } })
  await clock.advance(2_000)
  expect([(await kept).status, ...order.splice(0)]).toEqual([200, 'call'])
  server.reply(503)
  expect((await queue.fetch(ORDERS, { redrive: { shouldRetry: said('call', undefined) } })).status).toBe(503)
  expect(order).toEqual(['call', 'queue'])
})

test.each([
  ['throws', throwing(new Error('mine'))],
  ['rejects', () => Promise.reject(new Error('mine'))],
] as const)(
  'what a hook %s is what the call rejects with, after its first attempt and after a later one',
  async (_how, hook) => {
    for (const name of ['shouldRetry', 'delay'] as const) {
      const { queue, server, clock } = await setup({}, ...Array(9).fill(503))
      const first = watch(queue.fetch(ORDERS, { redrive: { [name]: hook } }))
      const later = watch(
        queue.fetch(ORDERS, {
          redrive: { [name]: (context: RetryContext) => (context.attemptNumber > 1 ? hook() : undefined) },
        }),
      )
      await clock.advance(30_000)
      expect([first.error, later.error]).toMatchObject([{ message: 'mine' }, { message: 'mine' }])
      expect([server.hits, queue.stats().depth]).toEqual([3, 0])
    }
  },
)

test('a hook that takes longer than 5 s counts as one that throws', async () => {
  const { queue, clock } = await setup({ shouldRetry: () => new Promise<boolean>(() => {}) }, 503)
  const call = watch(queue.fetch(ORDERS))
  await clock.advance(4_999)
  expect(call.state).toBe('pending')
  await clock.advance(1)
  expect(call.error).toMatchObject({ name: 'TimeoutError', message: 'shouldRetry() took longer than 5000 ms' })
})

test('S2 where no caller waits a hook that throws loses no task: the policy decides, and degraded says so', async () => {
  const shouldRetry = () => {
    throw new Error('mine')
  }
  const { taskId, queue, events } = await submitted([503, 503], { options: { shouldRetry }, init: POST, forMs: 10_000 })
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
  const [told, ...more] = events.of('degraded')
  expect(told).toMatchObject({ code: 'hook_threw', message: expect.stringContaining('mine') })
  expect(more).toEqual([])
})

test('delay names the wait in place of the curve; undefined leaves it to the curve', async () => {
  const delay = ({ attemptNumber }: RetryContext) => (attemptNumber === 2 ? undefined : attemptNumber * 100.4)
  const { answer, server } = await called([503, 503, 503], { options: { delay }, init: POST, forMs: 10_000 })
  expect(answer.value?.status).toBe(200)
  expect(gaps(server)).toEqual([101, 2_000, 302])
})

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, '5', null])('a delay of %j', async (given) => {
  const { answer: call } = await called([503], { options: { delay: () => given as number }, forMs: 1_000 })
  if (given === null) expect(call.value?.status).toBe(200)
  else expect(String(call.error)).toMatch(/^(Type|Range)Error: delay\(\): expected milliseconds/)
})

test.each(['shouldRetry', 'delay', 'onRetry'])('%s has to be a function', async (name) => {
  const { queue } = await setup()
  await expect(queue.fetch(ORDERS, { redrive: { [name]: 5 } })).rejects.toThrow(`redrive.${name}`)
  if (name !== 'onRetry') await expect(setup({ [name]: 5 })).rejects.toThrow(`options.${name}`)
})

test.each([false, true])(
  'on(retry) and onRetry hear of each retry from the first failure on; stored: %j',
  async (isStored) => {
    const heard: RetryNotice[] = []
    const { queue, events, server, clock } = isStored ? await opened() : await setup()
    const lost = new TypeError('fetch failed')
    server.reply(503).fail(lost)
    const answer = queue.fetch(ORDERS, { ...POST, redrive: { onRetry: (retry) => heard.push(retry) } })
    await clock.advance(10_000)
    expect((await answer).status).toBe(200)
    const told = events.of('retry')
    expect(told).toEqual(heard)
    expect(told.map(({ status, error, delayMs }) => [status, error, delayMs])).toEqual([
      [503, null, 1_000],
      [null, 'fetch failed', 2_000],
    ])
    expect(told.map(({ task, log }) => [task.attemptNumber, log.attemptNumber, log.errorMessage])).toEqual([
      [1, 1, null],
      [2, 2, 'fetch failed'],
    ])
    expect(events.names()).toEqual(['queued', 'retry', 'attempt', 'retry', 'attempt', 'succeeded'])
  },
)

test('no retry is told of where none follows', async () => {
  const { queue, clock, events } = await setup({ policy: { maxAttempts: 1 } }, 503, 404)
  await queue.fetch(ORDERS)
  await queue.fetch(ORDERS)
  await queue.enqueue(ORDERS, POST)
  await clock.advance(60_000)
  expect(events.of('retry')).toEqual([])
})

test('a stored task goes by the hooks of the queue that takes it up: those of its call are gone with their process', async () => {
  const { open, close, server, clock } = world()
  const first = await open()
  always(server, 500, 3)
  const asked: string[] = []
  const hook = (name: string) => () => {
    asked.push(name)
    return true
  }
  await first.queue.fetch(ORDERS, { ...POST, redrive: { mode: 'defer', shouldRetry: hook('call') } })
  await close(first)
  const second = await open({ shouldRetry: hook('second queue') })
  await clock.advance(60_000)
  expect(second.queue.stats().succeeded).toBe(1)
  expect(asked).toEqual(['call', 'second queue', 'second queue'])
})

test('a task that is cancelled while its hook thinks is cancelled', async () => {
  const { queue, server, clock } = await setup({
    shouldRetry: ({ taskId }) => {
      if (taskId) void queue.cancel(taskId)
      return true
    },
  })
  always(server, 503, 5)
  const answer = watch(queue.fetch(ORDERS, POST))
  await clock.advance(60_000)
  expect(answer.error).toMatchObject({ name: 'AbortError' })
  expect([server.hits, queue.stats().cancelled]).toEqual([2, 1])
})

test.each<[what: string, isStored: boolean, isFirst: boolean]>([
  ['of a task in memory', false, false],
  ['of a stored task', true, false],
  ['of a caller’s own first attempt', false, true],
])(
  'S9 a wait that a server asks of all begins while a slow hook is asked about the answer, %s',
  async (_what, isStored, isFirst) => {
    const { open, server, clock, hitsAfter } = world()
    const slow = () => new Promise<undefined>((resolve) => clock.after(4_000, () => resolve(undefined)))
    const options = { shouldRetry: slow }
    const { queue } = isStored ? await open(options) : await setup({ ...options, clock, fetch: server.fetch })
    server.reply(503, { 'retry-after': '30' })
    if (isFirst) watch(queue.fetch(ORDERS, { method: 'POST', body: 'a' }))
    else await queue.enqueue(ORDERS, { method: 'POST', body: 'a' })
    expect(await hitsAfter(1_000)).toBe(1)
    await queue.enqueue(ORDERS, { method: 'POST', body: 'b' })
    expect(await hitsAfter(28_900)).toBe(1)
    await clock.advance(20_000)
    // a caller waits for 30 s
    expect(server.hits).toBe(isFirst ? 2 : 3)
  },
)
