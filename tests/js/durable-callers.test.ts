/** Callers of stored tasks: what they get, when they stop waiting, and what they learn of other processes. */

import { expect, test } from 'vitest'
import type { TaskStore } from '../../js/api/store.ts'
import { SettledElsewhereError } from '../../js/index.ts'
import { world } from './durable-setup.ts'
import { forApi, markOf, ORDERS, watch } from './setup.ts'

const POST = { method: 'POST', body: 'tea' } as const

/** Claims whatever is due, as another process would whose clock says that the home is gone. */
async function claimAway(store: TaskStore, owner = 'other') {
  const claim = {
    limit: 9,
    leaseMs: 5_000,
    total: 9,
    perLane: 9,
    lanes: 'any',
    principal: null,
    skipHomes: [],
  } as const
  const { claimed } = await store.turn({ owner, settle: [], renew: [], claim })
  return claimed
}

const success = { responseStatus: 201, errorMessage: null, startedAt: 0, durationMs: 1, attemptNumber: 2, decision: '' }

test('S22 a task that another process ended while this one was frozen rejects its caller with SettledElsewhereError', async () => {
  const { open, server, clock, store } = world()
  const { queue } = await open()
  server.reply(503)
  const answer = watch(queue.fetch(ORDERS, POST))
  await clock.settle()
  queue.pause()
  await clock.advance(1_000)
  const [theirs] = await claimAway(store)
  expect(theirs?.lease).toBeDefined()
  const { taskId, token } = theirs?.lease ?? { taskId: '', token: 0 }
  const settle = [
    { lease: { taskId, token, forMs: 1 }, log: { taskId, ...success }, next: { kind: 'succeeded' } as const },
  ]
  await store.turn({ owner: 'other', settle, renew: [], claim: null })
  await clock.advance(100)
  expect(answer.error).toBeInstanceOf(SettledElsewhereError)
  expect(answer.error).toMatchObject({ code: 'SETTLED_ELSEWHERE', responseStatus: 201 })
})

test('S8 a caller whose time is up gets its last answer, and the task does not go on behind its back', async () => {
  const { open, server, clock, store } = world()
  const { queue, events } = await open()
  server.reply(503)
  const answer = watch(queue.fetch(ORDERS, { ...POST, redrive: { waitMs: 10_000 } }))
  await clock.settle()
  queue.pause()
  await clock.advance(10_000)
  expect(answer.value?.status).toBe(503)
  expect(markOf(answer.value)?.reason).toBe('wait_exceeded')
  expect(events.names()).toEqual(['queued', 'retry', 'exhausted'])
  expect(await store.counts()).toMatchObject({ pending: 0, exhausted: 1 })
  queue.resume()
  await clock.advance(60_000)
  expect(server.hits).toBe(1)
})

test('a wait that is longer than its caller waits ends the call at once', async () => {
  const { open, server, clock } = world()
  const { queue } = await open()
  server.reply(503, { 'retry-after': '60' })
  const answer = watch(queue.fetch(ORDERS, POST))
  await clock.settle()
  expect(answer.value?.status).toBe(503)
  expect(markOf(answer.value)?.reason).toBe('wait_exceeded')
})

test('S8 an abort by the caller rejects with its reason at once and cancels the stored task', async () => {
  const { open, server, clock, store } = world()
  const { queue, events } = await open()
  const controller = new AbortController()
  server.reply(503)
  const answer = watch(queue.fetch(ORDERS, { ...POST, signal: controller.signal }))
  await clock.settle()
  controller.abort(new Error('changed my mind'))
  await clock.settle()
  expect(answer.error).toMatchObject({ message: 'changed my mind' })
  expect(await store.counts()).toMatchObject({ pending: 0, cancelled: 1 })
  expect(events.names()).toEqual(['queued', 'retry', 'cancelled'])
})

test('S8 cancel of a task in flight aborts it, and what comes of it but a success is CANCELLED', async () => {
  const { open, server, clock, store } = world()
  const { queue, events } = await open()
  server.hang()
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.settle()
  expect(await queue.cancel(taskId)).toBe('requested')
  await clock.settle()
  expect(server.requests[0]?.signal.aborted).toBe(true)
  expect(await store.get(taskId)).toMatchObject({ status: 'CANCELLED' })
  expect(events.names()).toEqual(['queued', 'attempt', 'cancelled'])
  expect(await queue.cancel(taskId)).toBe('gone')
})

test('S8 a cancel in one process aborts the attempt of another', async () => {
  const { open, server, clock, store } = world()
  const a = await open()
  const b = await open()
  server.hang()
  const { taskId } = await a.queue.enqueue(ORDERS, POST)
  await clock.settle()
  expect(await b.queue.cancel(taskId)).toBe('requested')
  await clock.settle()
  expect(server.requests[0]?.signal.aborted).toBe(true)
  expect(await store.get(taskId)).toMatchObject({ status: 'CANCELLED' })
})

test('a live home keeps its tasks: no other process takes what its caller waits for', async () => {
  const { open, server, clock } = world()
  const a = await open()
  const b = await open()
  server.reply(503)
  const answer = watch(a.queue.fetch(ORDERS, POST))
  await clock.settle()
  a.queue.pause()
  await clock.advance(20_000)
  expect(server.hits).toBe(1)
  expect(b.events.names()).toEqual([])
  a.queue.resume()
  await clock.settle()
  expect(answer.value?.status).toBe(200)
})

test('S19 tasks of one orderKey run one after another, over processes', async () => {
  const { open, server, clock } = world()
  const a = await open()
  const b = await open()
  const first = server.hang()
  await a.queue.enqueue(`${ORDERS}/1`, { ...POST, redrive: { orderKey: 'cart' } })
  await b.queue.enqueue(`${ORDERS}/2`, { ...POST, redrive: { orderKey: 'cart' } })
  const third = watch(b.queue.fetch(`${ORDERS}/3`, { ...POST, redrive: { orderKey: 'cart' } }))
  await clock.advance(5_000)
  expect(server.hits).toBe(1)
  first(200)
  await clock.advance(5_000)
  expect(server.requests.map(({ url }) => url.at(-1))).toEqual(['1', '2', '3'])
  expect(server.maxInFlight).toBe(1)
  expect(third.value?.status).toBe(200)
})

test('S6 the same key with another request is refused, and the store is as it was', async () => {
  const { open, store } = world()
  const { queue } = await open()
  queue.pause()
  const redrive = { idempotencyKey: 'order-1' }
  const first = await queue.enqueue(ORDERS, { ...POST, redrive })
  const same = await queue.enqueue(ORDERS, { ...POST, redrive })
  expect(same).toEqual({ ...first, deduplicated: true })
  await expect(queue.enqueue(ORDERS, { method: 'POST', body: 'coffee', redrive })).rejects.toMatchObject({
    code: 'IDEMPOTENCY_CONFLICT',
  })
  expect(await store.counts()).toMatchObject({ pending: 1 })
})

test('S6 a key that another process has stored for another URL is refused, and the text says which slip it was', async () => {
  const { open } = world()
  const [one, other] = [await open(), await open()]
  one.queue.pause()
  other.queue.pause()
  const init = { ...POST, redrive: { idempotencyKey: 'order-1' } }
  const { taskId } = await one.queue.enqueue(ORDERS, init)
  const text = `a request to another URL, task ${taskId}; a key names one request: use one key for each receiver`
  await expect(other.queue.enqueue(`${ORDERS}/2`, init)).rejects.toThrow(text)
  await expect(other.queue.enqueue(ORDERS, { ...init, body: 'coffee' })).rejects.toThrow('another request, task')
})

test('a failed call under a key that waits in the store joins its task', async () => {
  const { open, server, clock, store } = world()
  const { queue } = await open()
  queue.pause()
  const redrive = { idempotencyKey: 'order-1' }
  await queue.enqueue(ORDERS, { ...POST, redrive })
  server.reply(503).reply(201)
  const answer = watch(queue.fetch(ORDERS, { ...POST, redrive }))
  await clock.settle()
  queue.resume()
  await clock.settle()
  expect(answer.value?.status).toBe(201)
  expect(await store.counts()).toMatchObject({ succeeded: 1, pending: 0 })
})

test('S17 a full store refuses the new one with a typed error, and a failed call gets its own answer', async () => {
  const { open, server } = world()
  const { queue, events } = await open({ capacity: 1 })
  queue.pause()
  await queue.enqueue(ORDERS, POST)
  await expect(queue.enqueue(ORDERS, POST)).rejects.toMatchObject({ code: 'QUEUE_FULL' })
  server.reply(503)
  expect((await queue.fetch(ORDERS, POST)).status).toBe(503)
  expect(events.of('degraded')).toMatchObject([{ code: 'storage_full' }])
})

test('L5 close gives back what runs and was handed over, and leaves it in the store', async () => {
  const { open, close, server, clock, store } = world()
  const first = await open()
  server.hang()
  await first.queue.enqueue(ORDERS, POST)
  await clock.settle()
  await close(first)
  expect(await store.counts()).toMatchObject({ pending: 1, inFlight: 0 })
  const { queue } = await open()
  await clock.settle()
  expect(server.hits).toBe(2)
  expect((await queue.list({ status: 'SUCCEEDED' })).tasks).toMatchObject([{ attemptNumber: 1 }])
})

test('L2 what a crashed process had in flight is taken up when its lease has run out', async () => {
  const { open, server, clock, store } = world()
  const paused = await open()
  paused.queue.pause()
  await paused.queue.enqueue(ORDERS, POST)
  expect(await claimAway(store, 'crashed')).toHaveLength(1)
  paused.queue.resume()
  await clock.advance(4_999)
  expect(server.hits).toBe(0)
  await clock.advance(1)
  expect(server.hits).toBe(1)
})

test('S9 Retry-After of a first failure holds the lane for every process', async () => {
  const { open, server, clock } = world()
  const a = await open()
  const b = await open()
  server.reply(429, { 'retry-after': '20' })
  const answer = watch(a.queue.fetch(ORDERS, POST))
  await clock.settle()
  await b.queue.enqueue(ORDERS, POST)
  await clock.advance(19_999)
  expect(server.hits).toBe(1)
  await clock.advance(5_001)
  expect(server.hits).toBe(3)
  expect(answer.value?.status).toBe(200)
})

test('S9 one answer holds the tasks of other processes for maxLaneHoldMs, and its own task in full', async () => {
  const { open, server, clock } = world()
  const a = await open()
  const b = await open()
  server.reply(503, { 'retry-after': '3600' })
  await a.queue.enqueue(`${ORDERS}/answered`, POST)
  await clock.settle()
  await b.queue.enqueue(`${ORDERS}/other`, POST)
  const own = watch(b.queue.fetch(`${ORDERS}/own`, POST))
  await clock.advance(59_999)
  expect(own.value?.status).toBe(200)
  expect(server.requests.map(({ url }) => url)).toEqual([`${ORDERS}/answered`, `${ORDERS}/own`])
  await clock.advance(2_001)
  expect(server.requests.at(-1)?.url).toBe(`${ORDERS}/other`)
  await clock.advance(3_530_000)
  expect(server.hits).toBe(3)
  await clock.advance(20_000)
  expect(server.requests.at(-1)?.url).toBe(`${ORDERS}/answered`)
})

test('S9 a first attempt that is to be held waits in another process, too, which has had no task of that origin', async () => {
  const { open, server, clock } = world()
  const options = { holdFirstAttempts: true }
  const a = await open(options)
  const b = await open(options)
  server.reply(429, { 'retry-after': '20' })
  const redrive = { mode: 'defer' } as const
  await a.queue.fetch(ORDERS, { ...POST, redrive })
  await clock.settle()
  const c = await open(options)
  const [inB, inC] = [b, c].map(({ queue }) => watch(queue.fetch(ORDERS, POST)))
  await clock.advance(19_999)
  expect(server.hits).toBe(1)
  await clock.advance(10_001)
  expect([inB?.value?.status, inC?.value?.status]).toEqual([200, 200])
})

test('S8 401 twice parks the task until setPrincipal or resume', async () => {
  const { open, server, clock, store } = world()
  const asked: boolean[] = []
  const { queue, events } = await open({
    credentials: forApi(({ unauthorized }) => {
      asked.push(unauthorized)
      return { authorization: 'Bearer x' }
    }),
  })
  server.reply(401).reply(401).reply(200)
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(60_000)
  expect(asked).toEqual([false, true])
  expect(events.of('unauthorized')).toHaveLength(1)
  expect(await store.get(taskId)).toMatchObject({ status: 'PENDING', parked: true, attemptNumber: 0 })
  queue.resume()
  await clock.advance(1_000)
  expect(await store.get(taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
})

test('S13 redrive of a stored dead letter keeps key, id and history', async () => {
  const { open, server, clock } = world()
  const { queue } = await open({ policy: { maxAttempts: 1 } })
  server.reply(503)
  const { taskId, idempotencyKey } = await queue.enqueue(ORDERS, POST)
  await clock.settle()
  const exported = JSON.parse(await queue.deadLetters.export()) as { tasks: { taskId: string; attempts: unknown[] }[] }
  expect(exported.tasks).toMatchObject([{ taskId, attempts: [{ responseStatus: 503 }] }])
  expect(await queue.deadLetters.redrive(taskId)).toMatchObject({ taskId, idempotencyKey, status: 'PENDING' })
  await clock.settle()
  expect(server.hits).toBe(2)
  expect(server.requests[1]?.headers.get('idempotency-key')).toBe(idempotencyKey)
  expect((await queue.attempts(taskId)).attempts).toHaveLength(2)
  expect((await queue.explain(taskId)).map(({ kind }) => kind)).toEqual([
    'queued',
    'attempt',
    'exhausted',
    'redriven',
    'attempt',
    'succeeded',
  ])
})

test('idle resolves when nothing waits in the store any more', async () => {
  const { open, server, clock } = world()
  const { queue, events } = await open()
  server.reply(503)
  await queue.enqueue(ORDERS, POST)
  const idle = watch(queue.idle())
  await clock.advance(999)
  expect(idle.state).toBe('pending')
  await clock.advance(1)
  expect(idle.state).toBe('resolved')
  expect(events.names(true).at(-1)).toBe('idle')
  expect(queue.stats()).toMatchObject({ depth: 0, succeeded: 1, inFlight: 0 })
})
