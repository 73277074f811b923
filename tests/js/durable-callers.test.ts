/** Callers of stored tasks: what they get, when they stop waiting, and what they learn of other processes. */

import { expect, test, vi } from 'vitest'
import type { TaskStore } from '../../js/api/store.ts'
import { Leadership } from '../../js/durable/leadership.ts'
import { HOME_MS } from '../../js/durable/lease-terms.ts'
import type { StoredState } from '../../js/durable/state.ts'
import { SettledElsewhereError } from '../../js/index.ts'
import { ANSWERED, answer } from '../../js/tasks/callers.ts'
import type { Task } from '../../js/tasks/task.ts'
import { fakeClock } from '../../js/testing.ts'
import { opened, withMethods, world } from './durable-setup.ts'
import { deferred, markOf, ORDERS, watch } from './setup.ts'
import { claimOf } from './store-contract/kit.ts'

const POST = { method: 'POST', body: 'tea' } as const

test('a failure to say that a process is a home is no news once that has been said', async () => {
  const holdHome = vi.fn(async () => {})
  holdHome.mockRejectedValueOnce(new Error('store away'))
  const clock = fakeClock()
  const settings = { credentials: {}, idempotency: { header: 'Idempotency-Key' } }
  const state = { store: { homes: { holdHome } }, runner: { host: { now: clock.now, settings } }, owner: 'own' }
  const leadership = new Leadership(state as unknown as StoredState, () => {})
  await expect(leadership.keepHome(() => true)).rejects.toThrow('store away')
  await clock.advance(HOME_MS)
  await leadership.renewHome()
  await leadership.stayHome()
  expect(holdHome).toHaveBeenCalledTimes(2)
})

/** Claims whatever is due, as another process would whose clock says that the home is gone. */
async function claimAway(store: TaskStore, owner = 'other') {
  for (const home of (await store.homes?.live()) ?? []) await store.homes?.holdHome(home, 0)
  const { claimed } = await store.turn({ owner, settle: [], renew: [], claim: claimOf({ leaseMs: 5_000 }) })
  return claimed
}

const success = { responseStatus: 201, errorMessage: null, startedAt: 0, durationMs: 1, attemptNumber: 2, decision: '' }

test('S22 a task that another process ended while this one was frozen rejects its caller with SettledElsewhereError', async () => {
  const { clock, store, queue } = await opened({}, 503)
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
  const { clock, store, queue, events, hitsAfter } = await opened({}, 503)
  const answer = watch(queue.fetch(ORDERS, { ...POST, redrive: { waitMs: 10_000 } }))
  await clock.settle()
  queue.pause()
  await clock.advance(10_000)
  expect(answer.value?.status).toBe(503)
  expect(markOf(answer.value)?.reason).toBe('wait_exceeded')
  expect(events.names()).toEqual(['queued', 'retry', 'exhausted'])
  expect(await store.counts()).toMatchObject({ pending: 0, exhausted: 1 })
  queue.resume()
  expect(await hitsAfter(60_000)).toBe(1)
})

test('S22 what comes for a caller who was answered already is dropped, and not given: a rejection of Axios would be heard by no one', () => {
  const said: string[] = []
  const last = { answer: { deliver: () => said.push('given'), discard: () => said.push('dropped') } }
  answer({ waiter: ANSWERED, joined: [], last } as unknown as Task, () => undefined)
  expect(said).toEqual(['dropped'])
})

test('S8 an abort by the caller rejects with its reason at once and cancels the stored task', async () => {
  const { server, clock, store, queue, events } = await opened()
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

test('S8 a task that was claimed before its store answered, and whose caller has left, is cancelled with the answer', async () => {
  const disk = deferred()
  const { open, server, clock, store } = world((inner) =>
    withMethods(inner, {
      enqueue: async (tasks) => {
        const enqueued = await inner.enqueue(tasks)
        await disk.promise
        return enqueued
      },
    }),
  )
  const { queue } = await open()
  const controller = new AbortController()
  const call = watch(queue.enqueue(ORDERS, { ...POST, signal: controller.signal }))
  await clock.settle()
  expect((await store.counts()).inFlight).toBe(1)
  controller.abort('left')
  disk.resolve()
  await clock.settle()
  expect(call.error).toBe('left')
  expect(await store.counts()).toMatchObject({ pending: 0, inFlight: 0, cancelled: 1 })
  expect(server.hits).toBe(0)
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
  const { server, clock, store, queue } = await opened()
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
  const { server, queue, events } = await opened({ capacity: 1 })
  queue.pause()
  await queue.enqueue(ORDERS, POST)
  await expect(queue.enqueue(ORDERS, POST)).rejects.toMatchObject({ code: 'QUEUE_FULL' })
  server.reply(503)
  expect((await queue.fetch(ORDERS, POST)).status).toBe(503)
  expect(events.of('degraded')).toMatchObject([{ code: 'storage_full' }])
})

test('S9 one answer holds the tasks of other processes for maxLaneHoldMs, and its own task in full', async () => {
  const { open, server, clock, hitsAfter } = world()
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
  expect(await hitsAfter(3_530_000)).toBe(3)
  await clock.advance(20_000)
  expect(server.requests.at(-1)?.url).toBe(`${ORDERS}/answered`)
})

test('S9 a first attempt that is to be held waits in another process, too, which has had no task of that origin', async () => {
  const { open, server, clock, hitsAfter } = world()
  const options = { holdFirstAttempts: true }
  const a = await open(options)
  const b = await open(options)
  server.reply(429, { 'retry-after': '20' })
  const redrive = { mode: 'defer' } as const
  await a.queue.fetch(ORDERS, { ...POST, redrive })
  await clock.settle()
  const c = await open(options)
  const [inB, inC] = [b, c].map(({ queue }) => watch(queue.fetch(ORDERS, POST)))
  expect(await hitsAfter(19_999)).toBe(1)
  await clock.advance(10_001)
  expect([inB?.value?.status, inC?.value?.status]).toEqual([200, 200])
})

const KEYED = { idempotencyKey: 'order-1', policy: { maxAttempts: 9 } }

test.each([
  ['enqueue', 'aborts'],
  ['enqueue', 'aborts during an attempt'],
  ['enqueue', 'waits no longer'],
  ['enqueue', 'closes'],
  ['defer', 'aborts'],
] as const)(
  'L1 S1 a task of one process that another accepts by %s goes on when its caller %s',
  async (how, leaves) => {
    const { open, close, server, clock, store } = world()
    const [one, other] = [await open(), await open()]
    server.reply(503)
    const controller = new AbortController()
    const answer = watch(
      one.queue.fetch(ORDERS, { ...POST, signal: controller.signal, redrive: { ...KEYED, waitMs: 9_000 } }),
    )
    await clock.settle()
    for (const { queue } of [one, other]) queue.pause()
    const call = { ...POST, redrive: { ...KEYED, ...(how === 'defer' && { mode: how }) } }
    if (how === 'defer') server.reply(503)
    const accepted =
      how === 'defer'
        ? (await other.queue.fetch(ORDERS, call)).status
        : (await other.queue.enqueue(ORDERS, call)).deduplicated
    expect(accepted).toBe(how === 'defer' ? 202 : true)
    if (leaves === 'aborts during an attempt') {
      server.hang()
      one.queue.resume()
      await clock.advance(1_000)
    }
    if (leaves === 'closes') await close(one)
    else if (leaves !== 'waits no longer') controller.abort()
    await clock.advance(10_000)
    expect(answer.state).not.toBe('pending')
    if (leaves === 'waits no longer') expect(markOf(answer.value)?.reason).toBe('wait_exceeded')
    for (const { queue } of leaves === 'closes' ? [other] : [one, other]) queue.resume()
    await clock.advance(40_000)
    expect((await store.list({ limit: 9 })).tasks).toMatchObject([{ status: 'SUCCEEDED' }])
  },
)

test.each([
  ['before-send', 503, undefined],
  ['before-send', 200, undefined],
  ['on-failure', 503, 'o'],
  ['on-failure', 200, 'o'],
] as const)(
  'S6 a fetch under the key of a stored task that has ended is sent: persist %s, after %i, orderKey %s',
  async (persist, status, orderKey) => {
    const { server, clock, queue } = await opened({ persist })
    const of = { idempotencyKey: 'k', policy: { maxAttempts: 2 }, ...(orderKey && { orderKey }) }
    const init = { method: 'POST', body: 'tea', redrive: of }
    if (status === 503) server.reply(503).reply(503)
    const first = watch(queue.fetch(ORDERS, init))
    await clock.advance(20_000)
    const again = watch(queue.fetch(ORDERS, init))
    await clock.advance(20_000)
    expect([first.value?.status, again.value?.status, server.hits]).toEqual([status, 200, status === 503 ? 3 : 2])
  },
)
