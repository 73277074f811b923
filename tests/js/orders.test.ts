/** S19: tasks of one orderKey run one after another, in the order in which they came. */

import { expect, test } from 'vitest'
import type { TaskOptions } from '../../js/index.ts'
import type { ScriptedServer } from '../../js/testing.ts'
import { withMethods, world } from './durable-setup.ts'
import { called, markOf, setup, watch } from './setup.ts'

const at = (path: string) => `https://api.test/${path}`
const ordered = (orderKey: string, more: TaskOptions = {}) => ({ method: 'POST', redrive: { orderKey, ...more } })
const A = ordered('a')

/** The paths that were asked for, in order. */
const paths = (server: ScriptedServer) => server.requests.map(({ url }) => new URL(url).pathname.slice(1))

test('S19 enqueued: each starts when the one before it has ended', async () => {
  const { queue, server, clock, hitsAfter } = await setup({ concurrency: 10 })
  const releases = [server.hang(), server.hang(), server.hang()]
  for (const n of [1, 2, 3]) await queue.enqueue(at(`${n}`), A)
  for (const [i, release] of releases.entries()) {
    expect(await hitsAfter(9_000)).toBe(i + 1)
    release(200)
    await clock.settle()
  }
  expect(paths(server)).toEqual(['1', '2', '3'])
})

test('S19 fetch and enqueue stand in one line', async () => {
  const { queue, server, clock } = await setup({ concurrency: 10 })
  const release = server.hang()
  const first = watch(queue.fetch(at('1'), A))
  await clock.settle()
  await queue.enqueue(at('2'), A)
  const third = watch(queue.fetch(at('3'), A))
  await clock.settle()
  expect(paths(server)).toEqual(['1'])
  release(200)
  await clock.settle()
  expect([first.value?.status, third.value?.status]).toEqual([200, 200])
  expect(paths(server)).toEqual(['1', '2', '3'])
})

test('S19 a dead letter lets the next one go, and goes to the end of the line when it is redriven', async () => {
  const { queue, server, clock } = await setup({ concurrency: 10 })
  server.reply(404)
  const { taskId } = await queue.enqueue(at('1'), A)
  await queue.enqueue(at('2'), A)
  await clock.settle()
  expect(paths(server)).toEqual(['1', '2'])
  const release = server.hang()
  await queue.enqueue(at('3'), A)
  await clock.settle()
  await queue.deadLetters.redrive(taskId)
  await clock.settle()
  expect(paths(server)).toEqual(['1', '2', '3'])
  release(200)
  await clock.settle()
  expect(paths(server)).toEqual(['1', '2', '3', '1'])
})

test('S7 a fetch with an orderKey has no free first attempt: it counts in concurrency', async () => {
  const { queue, server, clock } = await setup({ concurrency: 1 })
  const release = server.hang()
  await queue.enqueue(at('1'), { method: 'POST' })
  await clock.settle()
  const call = watch(queue.fetch(at('2'), A))
  await clock.settle()
  expect([server.hits, call.state]).toEqual([1, 'pending'])
  release(200)
  await clock.settle()
  expect(call.value?.status).toBe(200)
  expect(queue.stats()).toMatchObject({ firstAttemptSucceeded: 0, succeeded: 2 })
})

test('S5 it is sent with its key, also first', async () => {
  const { answer: call, server } = await called([503], { url: at('1'), init: A, forMs: 1_000 })
  expect(call.value?.status).toBe(200)
  const keys = server.requests.map(({ headers }) => headers.get('idempotency-key'))
  expect(keys[0]).toMatch(/^[\da-f-]{36}$/)
  expect(keys[1]).toBe(keys[0])
})

test('a caller waits for its turn no longer than waitMs, and its task is not sent behind its back', async () => {
  const { queue, server, clock } = await setup()
  const release = server.hang()
  await queue.enqueue(at('1'), A)
  await clock.settle()
  const call = watch(queue.fetch(at('2'), ordered('a', { waitMs: 5_000 })))
  await clock.advance(4_999)
  expect(call.state).toBe('pending')
  await clock.advance(2)
  expect(call.error).toMatchObject({ code: 'EXHAUSTED', reason: 'wait_exceeded' })
  expect(markOf(call.error)).toMatchObject({ reason: 'wait_exceeded' })
  release(200)
  await clock.settle()
  expect(paths(server)).toEqual(['1'])
})

test("'defer' has its 202 at once and is sent when its turn comes", async () => {
  const { queue, server, clock } = await setup()
  const release = server.hang()
  await queue.enqueue(at('1'), A)
  await clock.settle()
  expect((await queue.fetch(at('2'), ordered('a', { mode: 'defer' }))).status).toBe(202)
  release(200)
  await clock.settle()
  expect(paths(server)).toEqual(['1', '2'])
})

test('S19 aborted before its turn: never sent', async () => {
  const { queue, server, clock } = await setup()
  const release = server.hang()
  await queue.enqueue(at('1'), A)
  const controller = new AbortController()
  const call = watch(queue.fetch(at('2'), { ...A, signal: controller.signal }))
  await clock.settle()
  controller.abort()
  await clock.settle()
  release(200)
  await clock.settle()
  expect([call.state, paths(server)]).toEqual(['rejected', ['1']])
  expect(queue.stats()).toMatchObject({ succeeded: 1, cancelled: 1, depth: 0 })
})

test('L1 more orders than are kept, twice over, and each in order', async () => {
  const { queue, server, clock } = await setup({ concurrency: 50 })
  const names = Array.from({ length: 600 }, (_, i) => `o${i}`)
  for (const round of [1, 2]) {
    for (const name of names) {
      await queue.enqueue(at(`${name}-${round}-first`), ordered(name))
      await queue.enqueue(at(`${name}-${round}-second`), ordered(name))
    }
    await clock.settle()
  }
  const sent = paths(server)
  expect(sent).toHaveLength(2_400)
  const place = new Map(sent.map((path, i) => [path, i]))
  const late = names.filter((name) => {
    const places = ['1-first', '1-second', '2-first', '2-second'].map((which) => place.get(`${name}-${which}`) ?? -1)
    return places.some((each, i) => i > 0 && each <= (places[i - 1] ?? -1))
  })
  expect(late).toEqual([])
  expect(queue.stats()).toMatchObject({ succeeded: 2_400, depth: 0 })
})

test('S19 an order that has just been let go by all is the same order again', async () => {
  const { queue, server, clock } = await setup({ concurrency: 10 })
  for (let i = 0; i < 256; i++) await queue.enqueue(at(`${i}`), ordered(`o${i}`))
  await clock.settle()
  const release = server.hang()
  await queue.enqueue(at('x'), ordered('new'))
  await queue.enqueue(at('y'), ordered('o7'))
  await queue.enqueue(at('z'), ordered('new'))
  await clock.settle()
  expect(paths(server).slice(256)).toEqual(['x', 'y'])
  release(200)
  await clock.settle()
  expect(paths(server).slice(256)).toEqual(['x', 'y', 'z'])
})

test.each(['memory', 'store'])(
  'S19 a call of an order that is too large to be kept is refused, unsent: %s',
  async (kind) => {
    const it = world()
    const { queue } = await it.open(kind === 'store' ? { maxBodyBytes: 4 } : { maxBodyBytes: 4, durable: false })
    it.server.reply(503)
    await queue.enqueue(at('1'), { ...A, body: 'tea' })
    const refused = { code: 'BODY_TOO_LARGE', message: expect.stringContaining('no orderKey') }
    await expect(queue.fetch(at('2'), { ...A, body: 'coffee' })).rejects.toMatchObject(refused)
    await expect(queue.enqueue(at('2'), { ...A, body: 'coffee' })).rejects.toMatchObject(refused)
    expect((await queue.fetch(at('3'), { method: 'POST', body: 'coffee' })).status).toBe(200)
    await it.clock.advance(60_000)
    expect(paths(it.server)).toEqual(['1', '3', '1'])
  },
)

test.each(['fetch', 'enqueue'] as const)(
  'S19 calls enter a store as they were made, while its first caller makes it a home: fetch, fetch, %s',
  async (last) => {
    const it = world((store) =>
      withMethods(store, { homes: { ...store.homes, holdHome: async () => it.clock.settle() } }),
    )
    const { queue } = await it.open()
    const calls = [queue.fetch(at('1'), A), queue.fetch(at('2'), A), queue[last](at('3'), A)]
    await it.clock.advance(5_000)
    await Promise.all(calls)
    expect(paths(it.server)).toEqual(['1', '2', '3'])
  },
)
