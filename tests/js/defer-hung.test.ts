/** A deferred call to a server that is slow to answer: its caller has a 202 soon, the attempt goes on, and its answer counts. */
import axios from 'axios'
import { describe, expect, onTestFinished, test } from 'vitest'
import { attachToAxios } from '../../js/adapters/axios.ts'
import type { TaskOptions } from '../../js/index.ts'
import { RetryQueue } from '../../js/queue/queue.ts'
import { opened, world } from './durable-setup.ts'
import { NO_GATES, ORDERS, setup, watch } from './setup.ts'

const post = (redrive: TaskOptions = {}) =>
  ({ method: 'POST', body: 'A-1', redrive: { mode: 'defer', ...redrive } }) as const
const keys = (requests: readonly { readonly headers: Headers }[]) =>
  new Set(requests.map(({ headers }) => headers.get('idempotency-key'))).size

const places = [
  ['in memory', setup],
  ['in a store', opened],
] as const

/** A deferred call whose server has said nothing by its 202. */
async function hung(make: typeof setup | typeof opened) {
  const fakes = await make()
  const release = fakes.server.hang()
  const { headers } = await at(fakes.clock, 2_000, fakes.queue.fetch(ORDERS, post()))
  return { ...fakes, release, taskId: headers.get('redrive-task-id') ?? '' }
}

describe.each(places)('%s', (_, make) => {
  test('a hung server costs the caller of a deferred call 2 s, and not the time limit of the attempt', async () => {
    const { queue, server, clock } = await make()
    server.hang()
    const response = watch(queue.fetch(ORDERS, post()))
    await clock.advance(1_999)
    expect(response.state).toBe('pending')
    await clock.advance(1)
    expect(response.value?.status).toBe(202)
    expect(server.requests[0]?.signal.aborted, 'the attempt goes on').toBe(false)
  })

  test('an answer within that time is the caller’s own', async () => {
    const { queue, server, clock } = await make()
    const release = server.hang()
    const response = watch(queue.fetch(ORDERS, post()))
    await clock.advance(1_900)
    release(201)
    await clock.advance(1)
    expect(response.value?.status).toBe(201)
    expect(queue.stats()).toMatchObject({ depth: 0, attempts: 1 })
  })

  test('S22 the late answer settles the task: the request goes out once', async () => {
    const { queue, server, clock, events, release, taskId } = await hung(make)
    const result = watch(queue.result(taskId))
    await clock.advance(5_000)
    release(201)
    await clock.advance(100)
    expect(result.value).toMatchObject({ responseStatus: 201, task: { status: 'SUCCEEDED', attemptNumber: 1 } })
    expect([server.hits, queue.stats().attempts]).toEqual([1, 1])
    expect(events.names()).toEqual(['queued', 'succeeded'])
  })

  test('S5 an attempt that fails late is retried under the same key', async () => {
    const { queue, server, clock, release, taskId } = await hung(make)
    await clock.advance(3_000)
    release(503)
    await clock.advance(2_000)
    expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 2 })
    expect([server.hits, keys(server.requests)]).toEqual([2, 1])
    const { attempts } = await queue.attempts(taskId)
    expect(attempts.map(({ responseStatus, durationMs }) => [responseStatus, durationMs])).toEqual([
      [503, 5_000],
      [200, 0],
    ])
  })

  test('S9 what a late answer asks of all callers holds them back while its task has no place yet', async () => {
    const { queue, server, clock, hitsAfter } = await make()
    queue.concurrency = 1
    server.reply(503)
    const running = server.hang()
    const late = server.hang()
    await queue.enqueue(ORDERS, { method: 'POST', body: 'A-1' })
    await clock.advance(3_000)
    expect(server.hits, 'the one that has the place').toBe(2)
    await at(clock, 2_000, queue.fetch(ORDERS, post()))
    await queue.enqueue(ORDERS, { method: 'POST', body: 'A-3', redrive: { priority: 1 } })
    late(429, { 'retry-after': '20' })
    await clock.advance(1_000)
    running(200)
    expect(await hitsAfter(18_500)).toBe(3)
    expect(await hitsAfter(60_000)).toBe(5)
  })

  test('S22 a late success settles a task that has no place, and close() waits for it', async () => {
    const { queue, server, clock, events } = await make()
    const [first, second] = [server.hang(), server.hang()]
    queue.pause()
    const { headers } = await at(clock, 2_000, queue.fetch(ORDERS, post()))
    await at(clock, 2_000, queue.fetch(ORDERS, post()))
    first(201)
    await clock.advance(100)
    const taskId = headers.get('redrive-task-id') ?? ''
    expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
    expect((await queue.attempts(taskId)).attempts).toMatchObject([{ attemptNumber: 1, responseStatus: 201 }])
    const closed = watch(queue.close())
    await clock.advance(1_000)
    expect(closed.state).toBe('pending')
    second(200)
    await clock.advance(100)
    expect([closed.state, server.hits]).toEqual(['resolved', 2])
    expect(events.names()).toEqual(['queued', 'queued', 'succeeded', 'succeeded'])
  })

  test('S5 a late failure waits for the place of its task', async () => {
    const { queue, server, clock } = await make()
    const release = server.hang()
    queue.pause()
    const { headers } = await at(clock, 2_000, queue.fetch(ORDERS, post()))
    release(503)
    await clock.advance(100)
    queue.resume()
    await clock.advance(2_000)
    const { attempts } = await queue.attempts(headers.get('redrive-task-id') ?? '')
    expect(attempts.map(({ responseStatus }) => responseStatus)).toEqual([503, 200])
    expect(server.hits).toBe(2)
  })

  test('one that never answers ends at its own time limit, and is retried', async () => {
    const { queue, server, clock } = await make()
    server.hang()
    await at(clock, 2_000, queue.fetch(ORDERS, post()))
    await clock.advance(8_100)
    expect(server.requests[0]?.signal.aborted).toBe(true)
    await clock.advance(2_000)
    expect([server.hits, keys(server.requests)]).toEqual([2, 1])
    expect(queue.stats()).toMatchObject({ depth: 0, succeeded: 1 })
  })

  test('waitMs says how long; 0 asks the server and does not wait for it', async () => {
    const { queue, server, clock } = await make()
    server.hang()
    server.hang()
    const [soon, later] = [post({ waitMs: 0 }), post({ waitMs: 4_000 })].map((init) => watch(queue.fetch(ORDERS, init)))
    await clock.advance(1)
    expect([soon?.value?.status, later?.state]).toEqual([202, 'pending'])
    await clock.advance(4_000)
    expect(later?.value?.status).toBe(202)
    expect(server.hits).toBe(2)
  })

  test('a caller who aborts after the 202 ends nothing; before it, the attempt', async () => {
    const { queue, server, clock } = await make()
    const [early, late] = [new AbortController(), new AbortController()]
    server.hang()
    const release = server.hang()
    const first = watch(queue.fetch(ORDERS, { ...post(), signal: early.signal }))
    const second = watch(queue.fetch(ORDERS, { ...post(), signal: late.signal }))
    await clock.advance(1_000)
    early.abort(new Error('left'))
    await clock.advance(1_000)
    expect(first.error).toMatchObject({ message: 'left' })
    expect(server.requests[0]?.signal.aborted).toBe(true)
    late.abort()
    expect(second.value?.status).toBe(202)
    release(200)
    await clock.advance(100)
    expect(queue.stats()).toMatchObject({ succeeded: 1, depth: 0 })
    expect(server.hits).toBe(2)
  })

  test('cancelled, the attempt under way is aborted and no other follows', async () => {
    const { queue, server, clock, taskId } = await hung(make)
    await clock.advance(100)
    await queue.cancel(taskId)
    await clock.advance(60_000)
    expect(server.requests[0]?.signal.aborted).toBe(true)
    expect(await queue.get(taskId)).toMatchObject({ status: 'CANCELLED' })
    expect(server.hits).toBe(1)
  })
})

test('S1 the process dies during the attempt: another sends it again under the same key', async () => {
  const { open, close, server, clock } = world()
  const first = await open()
  server.hang()
  const response = await at(clock, 2_000, first.queue.fetch(ORDERS, post()))
  expect(response.status).toBe(202)
  await clock.advance(100)
  await close(first)
  const { queue } = await open()
  await clock.advance(60_000)
  expect([server.hits, keys(server.requests)]).toEqual([2, 1])
  expect((await queue.list()).tasks).toMatchObject([{ status: 'SUCCEEDED' }])
})

test('S5 other processes of the store leave the task to the one whose attempt is under way', async () => {
  const { open, server, clock, hitsAfter } = world()
  const first = await open()
  await open()
  const release = server.hang()
  await at(clock, 2_000, first.queue.fetch(ORDERS, post()))
  expect(await hitsAfter(6_000)).toBe(1)
  release(200)
  await clock.advance(100)
  expect((await first.queue.list()).tasks).toMatchObject([{ status: 'SUCCEEDED', attemptNumber: 1 }])
})

test('S5 close() waits for an attempt that becomes a task meanwhile', async () => {
  const { open, server, clock, hitsAfter } = world()
  const { queue } = await open()
  const release = server.hang()
  const response = watch(queue.fetch(ORDERS, post()))
  await clock.advance(1_000)
  const closed = watch(queue.close())
  await clock.advance(2_000)
  expect([response.value?.status, closed.state]).toEqual([202, 'pending'])
  release(200)
  await clock.advance(100)
  expect(closed.state).toBe('resolved')
  await open()
  expect(await hitsAfter(60_000)).toBe(1)
})

test('S1 two calls of one key are one task: what the second attempt brings is dropped', async () => {
  const dropped: number[] = []
  const give: ((response: Response) => void)[] = []
  const { clock, queue } = await opened({ fetch: () => new Promise<Response>((resolve) => give.push(resolve)) })
  const calls = [1, 2].map(() => queue.fetch(ORDERS, post({ idempotencyKey: 'order-1' })))
  const ids = (await at(clock, 2_000, Promise.all(calls))).map(({ headers }) => headers.get('redrive-task-id'))
  expect(new Set(ids).size).toBe(1)
  for (const [i, answer] of give.entries()) {
    answer(new Response(new ReadableStream({ cancel: () => void dropped.push(i) })))
    await clock.advance(1_000)
  }
  expect(dropped).toEqual([0, 1])
})

test('stored before it is sent, a call to a hung server has its 202 as soon', async () => {
  const { server, clock, queue } = await opened({ persist: 'before-send' })
  const release = server.hang()
  const response = watch(queue.fetch(ORDERS, post()))
  await clock.advance(1_900)
  expect([response.state, server.hits]).toEqual(['pending', 1])
  await clock.advance(200)
  expect(response.value?.status).toBe(202)
  release(200)
  await clock.advance(100)
  expect((await queue.list()).tasks).toMatchObject([{ status: 'SUCCEEDED', attemptNumber: 1 }])
})

test('Axios: the 202 comes as soon, and the late answer counts', async () => {
  const { queue, clock } = await setup()
  let answer = (_: unknown): void => {}
  let hits = 0
  const api = axios.create({
    adapter: (config) => {
      hits++
      return new Promise((resolve) => {
        answer = (data) => resolve({ data, status: 200, statusText: 'OK', headers: {}, config })
      })
    },
  })
  attachToAxios(api, queue)
  const response = await at(clock, 2_000, api.post(ORDERS, 'A-1', { redrive: { mode: 'defer' } }))
  expect(response.status).toBe(202)
  answer('late')
  await clock.advance(100)
  expect(hits).toBe(1)
  expect(queue.stats()).toMatchObject({ succeeded: 1, depth: 0 })
})

test('a call that a full queue cannot keep waits for its answer', async () => {
  const { queue, server, clock } = await setup({ capacity: 1 }, 503)
  await queue.fetch(ORDERS, post())
  queue.pause()
  const release = server.hang()
  const response = watch(queue.fetch(ORDERS, post()))
  await clock.advance(3_000)
  expect(response.state).toBe('pending')
  release(201)
  await clock.advance(1)
  expect(response.value?.status).toBe(201)
})

test('without the core the caller waits for the server', async () => {
  const { clock, server } = await setup()
  const queue = new RetryQueue({ clock, fetch: server.fetch, ...NO_GATES, warn: false }, async () => {
    throw new Error('the chunk is not there')
  })
  onTestFinished(() => queue.close({ drainMs: 0 }))
  const release = server.hang()
  const response = watch(queue.fetch(ORDERS, post()))
  await clock.advance(3_000)
  expect(response.state).toBe('pending')
  release(200)
  await clock.advance(1)
  expect(response.value?.status).toBe(200)
})

async function at<T>(clock: { advance(ms: number): Promise<unknown> }, ms: number, work: Promise<T>): Promise<T> {
  await clock.advance(ms)
  return work
}
