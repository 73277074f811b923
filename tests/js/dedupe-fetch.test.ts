/** S14, S22: a call under the key of a live task gets what the task gets. */

import { text } from 'node:stream/consumers'
import type { AxiosInstance, AxiosRequestConfig, AxiosResponse } from 'axios'
import { Agent, type Dispatcher, request } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { retryInterceptor } from '../../js/adapters/undici.ts'
import { instantiate } from '../../js/core/file.ts'
import type { Keys } from '../../js/core/keys.ts'
import { instantiateKeys } from '../../js/core/keys-file.ts'
import { IdempotencyConflictError, RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { assemble } from '../../js/queue/assemble.ts'
import { RetryQueue as Queue } from '../../js/queue/queue.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { ADAPTERS, type AdapterName, setup as axiosSetup, eventually, keysOf } from './axios-setup.ts'
import { chunks } from './chunks.ts'
import { opened } from './durable-setup.ts'
import {
  called,
  closeNow,
  type Fakes,
  markOf,
  ORDERS,
  PLAIN_CURVE,
  setup,
  submitted,
  type Watched,
  watch,
  withoutDigest,
} from './setup.ts'

const KEY = 'order-4711'

function post(redrive: object = {}, more: RequestInit = {}) {
  return { method: 'POST', body: 'tea', ...more, redrive: { idempotencyKey: KEY, ...redrive } }
}

/** Two callers under one key, both of whose own attempts have failed: one task, the second has joined it. */
async function joined(options: RetryQueueOptions = {}, redrive: object = {}, more: RequestInit = {}) {
  const fakes = await setup(options, [503, {}, 'first'], [503, {}, 'second'])
  const first = watch(fakes.queue.fetch(ORDERS, post()))
  await fakes.clock.settle()
  const second = watch(fakes.queue.fetch(ORDERS, post(redrive, more)))
  await fakes.clock.settle()
  return { ...fakes, first, second }
}

test.each<[what: string, script: (server: Fakes['server']) => unknown, both: string]>([
  ['a success', (server) => server.reply(200, {}, 'done'), '200 done undefined'],
  ['a refusal', (server) => server.reply(404, {}, 'gone'), '404 gone not_retryable'],
  ['a lost connection', (server) => server.fail(new TypeError('fetch failed')), 'TypeError: fetch failed'],
])('S14 S22 both callers get what one task ends with, and both can read it: %s', async (_, script, both) => {
  const { queue, server, clock, events, first, second } = await joined({ policy: { maxAttempts: 2 } })
  expect([first.state, second.state, queue.stats().depth]).toEqual(['pending', 'pending', 1])
  script(server)
  await clock.advance(1_000)
  const heard = async ({ value, error }: Watched<Response>) =>
    value ? `${value.status} ${await value.text()} ${markOf(value)?.reason}` : String(error)
  expect([await heard(first), await heard(second)]).toEqual([both, both])
  expect([server.hits, events.of('queued').length]).toEqual([3, 1])
})

test('an abort of the one who joined ends its waiting alone', async () => {
  const controller = new AbortController()
  const { queue, clock, first, second } = await joined({}, {}, { signal: controller.signal })
  const left = new Error('left')
  controller.abort(left)
  await clock.settle()
  expect([first.state, second.state, second.error]).toEqual(['pending', 'rejected', left])
  await clock.advance(1_000)
  expect(first.value?.status).toBe(200)
  expect(queue.stats()).toMatchObject({ succeeded: 1, cancelled: 0 })
})

/** The same in memory and in a store: `leave` is the signal of the first. */
async function bothIn(place: string, fetch?: typeof globalThis.fetch) {
  const { queue, server, clock } =
    place === 'memory' ? await setup(fetch && { fetch }) : await opened(fetch && { fetch })
  const [leave, leaveToo] = [new AbortController(), new AbortController()]
  server.reply(503, {}, 'first').reply(503, {}, 'second')
  const first = watch(queue.fetch(ORDERS, post({}, { signal: leave.signal })))
  await clock.settle()
  const second = watch(queue.fetch(ORDERS, post({ waitMs: 60_000 }, { signal: leaveToo.signal })))
  await clock.settle()
  return { queue, server, clock, first, second, leave, leaveToo }
}

const LEFT = new Error('left')

test.for(['memory', 'a store'])(
  'in %s: an abort of the first caller leaves the task to the one who joined',
  async (place) => {
    const { server, clock, first, second, leave } = await bothIn(place)
    leave.abort(LEFT)
    await clock.settle()
    expect([first.error, second.state]).toEqual([LEFT, 'pending'])
    server.reply(200, {}, 'done')
    await clock.advance(1_500)
    expect(await second.value?.text()).toBe('done')
  },
)

test.for(['memory', 'a store'])(
  'in %s: the last answer is whole for one who joined, though the first caller has left',
  async (place) => {
    const { queue, clock, second, leave } = await bothIn(place)
    queue.pause()
    leave.abort(LEFT)
    await clock.advance(31_000)
    expect([second.value?.status, await second.value?.text()]).toEqual([503, 'first'])
  },
)

test.for(['memory', 'a store'])('S14 in %s: where both have left, the task is cancelled', async (place) => {
  const { queue, server, clock, second, leave, leaveToo } = await bothIn(place)
  leave.abort(LEFT)
  await clock.settle()
  leaveToo.abort(LEFT)
  await clock.settle()
  expect([second.error, queue.stats().cancelled]).toEqual([LEFT, 1])
  const { hits } = server
  await clock.advance(60_000)
  expect(server.hits).toBe(hits)
})

test.for(['memory', 'a store'])('S14 in %s: a cancel rejects all callers alike', async (place) => {
  const { queue, clock, first, second } = await bothIn(place)
  const [task] = (await queue.list()).tasks
  await queue.cancel(task?.taskId ?? '')
  await clock.settle()
  expect(first.error).toMatchObject({ name: 'AbortError' })
  expect(second.error).toBe(first.error)
})

test('an abort of the first caller while an attempt is under way: it is made again for the one who joined', async () => {
  let sent = 0
  const heeding = (_: unknown, init?: RequestInit) =>
    new Promise<Response>((resolve, reject) => {
      const nth = ++sent
      if (nth !== 3) return resolve(new Response(`${nth}`, { status: nth < 3 ? 503 : 200 }))
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
    })
  const { clock, first, second, leave } = await bothIn('memory', heeding as typeof fetch)
  await clock.advance(1_000)
  expect(sent).toBe(3)
  leave.abort(LEFT)
  await clock.advance(5_000)
  expect([first.error, await second.value?.text()]).toEqual([LEFT, '4'])
})

test('the one who joined waits no longer than its own waitMs, and has its own answer then', async () => {
  const { clock, first, second } = await joined({ policy: { initialDelayMs: 20_000 } }, { waitMs: 5_000 })
  await clock.advance(4_999)
  expect(second.state).toBe('pending')
  await clock.advance(1)
  expect([second.value?.status, await second.value?.text()]).toEqual([503, 'second'])
  await clock.advance(15_000)
  expect(first.value?.status).toBe(200)
  expect(clock.timers).toBe(0)
})

test("'defer' under the key of a live task: 202 with that task’s id", async () => {
  const { queue, second } = await joined({}, { mode: 'defer' })
  expect(second.value?.status).toBe(202)
  const [task] = (await queue.list()).tasks
  expect(second.value?.headers.get('redrive-task-id')).toBe(task?.taskId)
  expect(await second.value?.json()).toMatchObject({ status: 'queued', taskId: task?.taskId })
})

test('S22 a call that joins an enqueued task, for which nobody waits, reads its answer', async () => {
  const { taskId, queue, clock } = await submitted([503, 503, [200, {}, 'done']], { init: post() })
  const answer = watch(queue.fetch(ORDERS, post()))
  await clock.advance(1_000)
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
  expect(answer.error).toBeUndefined()
  expect(await answer.value?.text()).toBe('done')
})

test('a success of its own attempt is its answer, and the task goes on', async () => {
  const { answer: first, queue, clock } = await called([503, [200, {}, 'own']], { init: post() })
  expect(await (await queue.fetch(ORDERS, post())).text()).toBe('own')
  await clock.advance(1_000)
  expect(first.value?.status).toBe(200)
})

test('while its origin is held it is not sent at all and gets what the task gets', async () => {
  const { queue, server, clock, hitsAfter } = await setup({ holdFirstAttempts: true })
  server.reply(503, { 'retry-after': '10' }).reply(200, {}, 'done')
  const first = watch(queue.fetch(ORDERS, post()))
  await clock.settle()
  const second = watch(queue.fetch(ORDERS, post()))
  expect(await hitsAfter(12_000)).toBe(2)
  expect(await Promise.all([first.value?.text(), second.value?.text()])).toEqual(['done', 'done'])
})

test('not sent, and longer than its waitMs: an error says so, typed', async () => {
  const { queue, clock } = await setup({ holdFirstAttempts: true }, [503, { 'retry-after': '10' }])
  const first = watch(queue.fetch(ORDERS, post()))
  await clock.settle()
  const second = watch(queue.fetch(ORDERS, post({ waitMs: 1_000 })))
  await clock.advance(1_000)
  expect(second.error).toMatchObject({ code: 'WAIT_EXCEEDED', message: expect.stringContaining('waitMs 1000') })
  await clock.advance(11_000)
  expect(first.value?.status).toBe(200)
})

test('three at once, none of which was a task before: one task, three answers', async () => {
  const { queue, server, clock } = await setup({}, 503, 503, 503, [200, {}, 'done'])
  const calls = Array.from({ length: 3 }, () => watch(queue.fetch(ORDERS, post())))
  await clock.advance(1_000)
  expect(await Promise.all(calls.map(({ value }) => value?.text()))).toEqual(['done', 'done', 'done'])
  expect(server.hits).toBe(4)
  expect(queue.stats()).toMatchObject({ succeeded: 1, depth: 0 })
})

test('S6 of two different ones at once the second, when it has failed, gets the conflict in place of its answer', async () => {
  const { queue, server, clock } = await setup()
  let isLetGo = false
  const cancel = () => {
    isLetGo = true
  }
  server.reply(503).reply(503, {}, new ReadableStream({ cancel }))
  const first = watch(queue.fetch(ORDERS, post()))
  const second = watch(queue.fetch(ORDERS, post({}, { body: 'milk' })))
  await clock.advance(1_000)
  expect(isLetGo).toBe(true)
  expect(first.value?.status).toBe(200)
  expect(second.error).toBeInstanceOf(IdempotencyConflictError)
  expect((second.error as Error).message).toMatch(/not kept$/)
  expect(queue.stats()).toMatchObject({ succeeded: 1, depth: 0 })
})

test('close answers those who joined, too', async () => {
  const { queue, clock, first, second } = await joined()
  await queue.close({ drainMs: 0 })
  await clock.settle()
  expect([first.state, second.state]).toEqual(['resolved', 'resolved'])
  expect(await Promise.all([first.value?.text(), second.value?.text()])).toEqual(['first', 'first'])
  expect(clock.timers).toBe(0)
})

test('S11 a timer that wakes early ends no waiting: 30 days are longer than any timer', async () => {
  const DAY_MS = 86_400_000
  const days = (count: number) => count * DAY_MS
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const short = { ...clock, after: (ms: number, wake: () => void) => clock.after(Math.min(ms, 2 ** 31 - 1), wake) }
  const policy = { strategy: 'fixed', jitterType: 'NONE', initialDelayMs: days(28), maxAttempts: 2 } as const
  const lasting = { ...policy, totalBudgetMs: days(40), keyTtlMs: days(40) }
  const queue = new RetryQueue({ clock: short, fetch: server.fetch, policy: lasting })
  onTestFinished(() => closeNow(queue, clock))
  await queue.ready
  server.reply(503).reply(503)
  const patient = post({ waitMs: days(30) })
  const first = watch(queue.fetch(ORDERS, patient))
  await clock.settle()
  const second = watch(queue.fetch(ORDERS, patient))
  await clock.advance(days(25))
  expect([first.state, second.state]).toEqual(['pending', 'pending'])
  await clock.advance(days(3))
  expect([first.value?.status, second.value?.status]).toEqual([200, 200])
})

test('an abort while the two requests are compared ends the waiting', async () => {
  withoutDigest()
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  let arrive: (keys: Keys) => void = () => {}
  const slow = new Promise<Keys>((resolve) => {
    arrive = resolve
  })
  const source = async () => assemble(instantiate, { ...chunks, keys: () => slow })
  const queue = new Queue({ clock, fetch: server.fetch, policy: PLAIN_CURVE }, source)
  onTestFinished(() => closeNow(queue as RetryQueue, clock))
  await queue.ready
  server.reply(503).reply(503)
  const controller = new AbortController()
  const first = watch(queue.fetch(ORDERS, post()))
  const second = watch(queue.fetch(ORDERS, post({}, { signal: controller.signal })))
  await clock.settle()
  const left = new Error('left')
  controller.abort(left)
  arrive(await instantiateKeys())
  await clock.settle()
  expect([first.state, second.error]).toEqual(['pending', left])
})

const JSON_TYPE = { 'content-type': 'application/json' }
const SENT = { method: 'POST', body: '{}', headers: { 'idempotency-key': KEY, ...JSON_TYPE } } as const

/** Has calls join the task of the first, each once its own attempt has failed, and then the next attempt answered. */
async function joining(adapter: AdapterName, status: number, first: Way, ...others: readonly Way[]) {
  const { server, queue, api } = await axiosSetup(adapter, { policy: { initialDelayMs: 500 }, breaker: false })
  const dispatcher = new Agent().compose(retryInterceptor(queue))
  const made = (call: Way) =>
    call({ api, queue, dispatcher, url: `${server.url}/` }).then(
      null,
      ({ name, response }) => `${name} ${response?.status} ${response?.data}`,
    )
  for (const _ of [first, ...others]) server.reply(503)
  server.reply(status, JSON_TYPE, '{"n":1}')
  const began = made(first)
  await eventually(() => queue.stats().depth).toBe(1)
  const answers = await Promise.all([began, ...others.map(made)])
  expect(keysOf(server)).toEqual([first, ...others, KEY].map(() => KEY))
  return answers
}

type Ways = { api: AxiosInstance; queue: RetryQueue; dispatcher: Dispatcher; url: string }
type Way = (ways: Ways) => Promise<unknown>

const byAxios =
  (
    config: AxiosRequestConfig = {},
    read = ({ status, data, headers }: AxiosResponse): unknown => [status, data, headers['content-type']],
  ): Way =>
  async ({ api }) =>
    read(await api.post('/', {}, { headers: SENT.headers, ...config }))

const textOf = ({ data }: AxiosResponse) => text(data)

describe.each(ADAPTERS)('S14 Axios, %s adapter: one who joined', (adapter) => {
  const JSON_ANSWER = [200, { n: 1 }, 'application/json']

  test('gets an answer of its own, in the form that it asks for', async () => {
    const answers = await joining(
      adapter,
      200,
      byAxios({ transformResponse: [(json) => `A ${json}`] }),
      byAxios({ transformResponse: [(json) => `B ${json}`] }),
      byAxios({ responseType: 'arraybuffer' }, ({ data }) => [Buffer.isBuffer(data), String(Buffer.from(data))]),
      byAxios({ responseType: 'stream' }, textOf),
      byAxios(),
    )
    const [a, b] = ['A', 'B'].map((who) => [200, `${who} {"n":1}`, 'application/json'])
    expect(answers).toEqual([a, b, [adapter === 'http', '{"n":1}'], '{"n":1}', JSON_ANSWER])
  })

  test('can read what is a stream to the first', async () => {
    const stream = byAxios({ responseType: 'stream' }, textOf)
    expect(await joining(adapter, 200, stream, stream, byAxios())).toEqual(['{"n":1}', '{"n":1}', JSON_ANSWER])
  })

  test('has its own word on the status', async () => {
    const answers = await joining(
      adapter,
      404,
      byAxios(),
      byAxios({ validateStatus: null }),
      byAxios({ responseType: 'text' }),
    )
    const refused = 'AxiosError 404 '
    expect(answers).toEqual([`${refused}[object Object]`, [404, { n: 1 }, 'application/json'], `${refused}{"n":1}`])
  })

  const axios = [byAxios(), JSON_ANSWER] as const
  const fetch: readonly [Way, unknown] = [async ({ queue, url }) => (await queue.fetch(url, SENT)).text(), '{"n":1}']
  const undici: readonly [Way, unknown] = [
    async ({ dispatcher, url }) => (await request(url, { ...SENT, dispatcher })).body.text(),
    '{"n":1}',
  ]

  test.each<[what: string, first: readonly [Way, unknown], second: readonly [Way, unknown]]>([
    ['fetch began', fetch, axios],
    ['Axios began, by fetch', axios, fetch],
    ['undici began', undici, axios],
    ['Axios began, by undici', axios, undici],
  ])('gets what %s', async (_, [first, one], [second, other]) => {
    expect(await joining(adapter, 200, first, second)).toEqual([one, other])
  })

  test.each([
    [200, JSON_ANSWER],
    [404, 'AxiosError 404 [object Object]'],
  ])('a task without a caller gets its %i', async (status, answer) => {
    const enqueue: Way = async ({ queue, url }) => (await queue.enqueue(url, SENT)).deduplicated
    expect(await joining(adapter, status, enqueue, byAxios())).toEqual([false, answer])
  })
})
