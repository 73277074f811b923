/** One user leaves, another comes: what the first has queued is sent as the first again, once, or not at all. */

import { expect, test } from 'vitest'
import type { TaskStore } from '../../js/api/store.ts'
import type { RetryQueueOptions } from '../../js/index.ts'
import { DAY_MS, device, LONG_MS } from './principals-setup.ts'
import { forApi, ORDERS, watch } from './setup.ts'

const POST = { method: 'POST', body: 'of ann' } as const
/** A test looks at the tasks of a principal who has left, too. */
const ALL = { allPrincipals: true } as const

const HOOKS = ['credentials', 'beforeAttempt'] as const

test.each(HOOKS)('S16 a switch while %s is asked: the attempt is given back unsent', async (hook) => {
  const { open, clock, hitsAfter } = device()
  const answers: ((answer: never) => void)[] = []
  const asked = () => new Promise<never>((resolve) => answers.push(resolve))
  const { queue } = await open({ [hook]: hook === 'credentials' ? forApi(asked) : asked })
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.settle()
  expect(answers).toHaveLength(1)
  await queue.setPrincipal('ben')
  answers[0]?.({ authorization: 'Bearer of-ann' } as never)
  expect(await hitsAfter(LONG_MS)).toBe(0)
  expect(await queue.get(taskId, ALL)).toMatchObject({ status: 'PENDING', attemptNumber: 0 })
  await queue.setPrincipal('ann')
  await clock.settle()
  answers[1]?.({} as never)
  expect(await hitsAfter()).toBe(1)
  expect(await queue.get(taskId, ALL)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
})

test('S16 a switch while a claim is under way: what it brings is given back unsent', async () => {
  const { open, clock, store, hitsAfter } = device()
  let answer: () => void = () => {}
  const slow: TaskStore = {
    ...store,
    async turn(step) {
      const turn = await store.turn(step)
      if (turn.claimed.length > 0)
        await new Promise<void>((resolve) => {
          answer = resolve
        })
      return turn
    },
  }
  const { queue } = await open({ store: slow })
  await queue.enqueue(ORDERS, POST)
  await clock.settle()
  expect(await store.counts()).toMatchObject({ inFlight: 1 })
  const switched = queue.setPrincipal('ben')
  answer()
  await switched
  expect(await hitsAfter(LONG_MS)).toBe(0)
  expect(await store.counts()).toMatchObject({ pending: 1, inFlight: 0 })
  void queue.setPrincipal('ann')
  await clock.settle()
  answer()
  expect(await hitsAfter()).toBe(1)
})

test('S22 a caller does not wait for its user for ever: it gets its last answer, and the task ends', async () => {
  const { open, server, clock, store, hitsAfter } = device()
  const { queue } = await open()
  server.reply(503)
  const answer = watch(queue.fetch(ORDERS, { ...POST, redrive: { waitMs: 5_000 } }))
  await clock.settle()
  await queue.setPrincipal('ben')
  await clock.advance(5_001)
  expect(answer.value?.status).toBe(503)
  expect(await store.counts()).toMatchObject({ pending: 0, exhausted: 1 })
  await queue.setPrincipal('ann')
  expect(await hitsAfter(LONG_MS)).toBe(1)
})

test.each([
  ['in the store', POST],
  ['in memory', { ...POST, redrive: { sensitive: true } }],
])('S16 a first attempt that fails after the switch leaves a task of who has made the call: %s', async (_, init) => {
  const { open, server, clock, hitsAfter } = device()
  const { queue } = await open()
  const answers = server.hang()
  const answer = watch(
    queue.fetch(ORDERS, { ...init, redrive: { ...('redrive' in init && init.redrive), waitMs: DAY_MS } }),
  )
  await clock.settle()
  await queue.setPrincipal('ben')
  answers(503)
  expect(await hitsAfter(LONG_MS)).toBe(1)
  expect((await queue.list(ALL)).tasks).toMatchObject([{ status: 'PENDING', principal: 'ann' }])
  await queue.setPrincipal('ann')
  await clock.advance(LONG_MS)
  expect([answer.value?.status, server.hits]).toEqual([200, 2])
})

test('S16 an enqueue under way at the switch is of who has called', async () => {
  const { open, clock } = device()
  const { queue } = await open()
  queue.pause()
  const enqueued = queue.enqueue(ORDERS, { method: 'POST', body: new Blob(['of ann']) })
  await queue.setPrincipal('ben')
  await clock.settle()
  expect(await queue.get((await enqueued).taskId, ALL)).toMatchObject({ principal: 'ann' })
})

test('S8 what is in flight at the switch may still succeed, and is not repeated where it fails', async () => {
  const { open, server, clock, hitsAfter } = device()
  const { queue } = await open()
  const [succeed, fail] = [server.hang(), server.hang()]
  const first = await queue.enqueue(`${ORDERS}/1`, POST)
  const second = await queue.enqueue(`${ORDERS}/2`, POST)
  await clock.settle()
  await queue.setPrincipal('ben')
  succeed(200)
  fail(503)
  expect(await hitsAfter(LONG_MS)).toBe(2)
  expect(await queue.get(first.taskId, ALL)).toMatchObject({ status: 'SUCCEEDED' })
  expect(await queue.get(second.taskId, ALL)).toMatchObject({ status: 'PENDING', attemptNumber: 1 })
})

test('S2 purge deletes what waits, aborts what runs, and counts both', async () => {
  const { open, server, clock, store, hitsAfter } = device()
  const { queue, events } = await open({ concurrency: 1 })
  server.hang()
  await queue.enqueue(`${ORDERS}/1`, POST)
  await clock.settle()
  const waits = await queue.enqueue(`${ORDERS}/2`, POST)
  await queue.setPrincipal('ben', { purge: true })
  await clock.settle()
  expect(server.requests[0]?.signal.aborted).toBe(true)
  expect(await queue.get(waits.taskId, ALL)).toBeUndefined()
  expect(await store.counts()).toMatchObject({ pending: 0, inFlight: 0, purged: 2, bytes: 0 })
  await queue.setPrincipal('ann')
  expect(await hitsAfter(LONG_MS)).toBe(1)
  expect(events.names()).not.toContain('retry')
})

test('S22 purge answers callers who wait', async () => {
  const { open, server, clock, hitsAfter } = device()
  const { queue } = await open()
  server.reply(503).reply(503)
  const stored = watch(queue.fetch(ORDERS, POST))
  const inMemory = watch(queue.fetch(ORDERS))
  await clock.settle()
  await queue.setPrincipal('ben', { purge: true })
  await clock.settle()
  for (const { state } of [stored, inMemory]) expect(state).not.toBe('pending')
  expect(await hitsAfter(LONG_MS)).toBe(2)
})

test.each<[string, RetryQueueOptions]>([
  ['stored', {}],
  ['in memory', { durable: false }],
])('S16 an order is one user’s: nobody waits behind the tasks of another, %s', async (_, options) => {
  const { open, server, clock } = device()
  const { queue } = await open(options)
  queue.pause()
  const redrive = { orderKey: 'cart' }
  await queue.enqueue(ORDERS, { ...POST, redrive })
  await queue.setPrincipal('ben')
  queue.resume()
  await queue.enqueue(ORDERS, { method: 'POST', body: 'of ben', redrive })
  await clock.advance(LONG_MS)
  expect(server.requests.map(({ body }) => body)).toEqual(['of ben'])
})

test.each([
  ['in the store', {}],
  ['in memory', { sensitive: true }],
])('a first attempt that fails after its user was purged leaves no task: %s', async (_, redrive) => {
  const { open, server, clock, store } = device()
  const { queue } = await open()
  const answers = server.hang()
  const answer = watch(queue.fetch(ORDERS, { ...POST, redrive }))
  await clock.settle()
  await queue.setPrincipal('ben', { purge: true })
  answers(503)
  await clock.settle()
  expect(answer.value?.status).toBe(503)
  expect(await store.counts()).toMatchObject({ pending: 0 })
  expect((await queue.list(ALL)).tasks).toEqual([])
})

test('a purge leaves what others have queued', async () => {
  const { open, server, clock, store } = device()
  const { queue } = await open()
  queue.pause()
  await queue.enqueue(ORDERS, POST)
  await queue.setPrincipal('ben')
  await queue.enqueue(ORDERS, { method: 'POST', body: 'of ben' })
  await queue.setPrincipal('ann', { purge: true })
  expect(await store.counts()).toMatchObject({ pending: 1, purged: 1 })
  queue.resume()
  await clock.advance(LONG_MS)
  expect(server.requests.map(({ body }) => body)).toEqual(['of ann'])
})

test('S16 a call never gets the answer to another user’s call of the same key', async () => {
  const { open, server, clock } = device()
  const { queue } = await open()
  server.reply(503)
  const init = { ...POST, redrive: { idempotencyKey: 'order-17', sensitive: true, waitMs: DAY_MS } }
  const ann = watch(queue.fetch(ORDERS, init))
  await clock.settle()
  await queue.setPrincipal('ben')
  server.reply(503).reply(200, {}, 'for ben')
  const ben = watch(queue.fetch(ORDERS, init))
  await clock.advance(LONG_MS)
  expect(await ben.value?.text()).toBe('for ben')
  expect(ann.state).toBe('pending')
})

const AGAIN = [
  ['setPrincipal()', (queue: { setPrincipal(who: string): Promise<void> }) => queue.setPrincipal('ann')],
  ['resume()', async (queue: { resume(): void }) => queue.resume()],
] as const

test.each(AGAIN)('S8 a task whose credentials nobody supplies is parked until %s', async (_, goOn) => {
  const { open, close, hitsAfter } = device()
  const first = await open()
  first.queue.pause()
  const { taskId } = await first.queue.enqueue(ORDERS, { ...POST, headers: { authorization: 'Bearer of-ann' } })
  await close(first.queue)
  let headers: Record<string, string> = {}
  const { queue, events } = await open({ credentials: forApi(() => headers) })
  expect(await hitsAfter(LONG_MS)).toBe(0)
  expect(events.of('degraded')).toMatchObject([{ code: 'credentials_missing' }])
  headers = { authorization: 'Bearer fresh' }
  await goOn(queue)
  expect(await hitsAfter(LONG_MS)).toBe(1)
  expect(await queue.get(taskId, ALL)).toMatchObject({ status: 'SUCCEEDED' })
})

test('S16 the return of one user lets nothing go that another has parked', async () => {
  const { open, server, clock, store } = device()
  const { queue } = await open({ credentials: forApi(() => ({ authorization: 'Bearer of-ann' })) })
  server.reply(401).reply(401)
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(LONG_MS)
  await queue.setPrincipal('ben')
  await clock.advance(LONG_MS)
  expect(await store.get(taskId)).toMatchObject({ status: 'PENDING', parked: true })
  expect(server.hits).toBe(2)
})
