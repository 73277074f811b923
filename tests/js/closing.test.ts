/** What becomes of calls and stored tasks when their queue closes: who was told that it failed sees no late effect, and what was handed over goes on. */

import { describe, expect, test } from 'vitest'
import type { TaskStore } from '../../js/api/store.ts'
import { opened, type World, withMethods, world } from './durable-setup.ts'
import { called, deferred, markOf, ORDERS, setup, watch } from './setup.ts'

const POST = { method: 'POST', body: 'tea' } as const
const DEFER = { ...POST, redrive: { mode: 'defer' } } as const

/** Hours later, with another process on the same store: how many requests it sent. */
async function sentLater({ open, clock, server }: World): Promise<number> {
  const before = server.hits
  await open()
  await clock.advance(3_600_000)
  return server.hits - before
}

/** A call whose first attempt has failed, and whose retry runs while the queue closes. */
async function closingInRetry() {
  const all = await opened()
  const { queue, server, clock } = all
  server.reply(503)
  const answer = watch(queue.fetch(ORDERS, POST))
  await clock.settle()
  const release = server.hang()
  await clock.advance(1_000)
  const closed = watch(queue.close())
  await clock.settle()
  expect(closed.state).toBe('pending')
  return { ...all, all, answer, closed, release }
}

describe('a caller who waits for a retry', () => {
  test('S22 gets its last answer at once, and its task ends with it', async () => {
    const all = await opened({}, 503)
    const { queue, clock, store } = all
    const answer = watch(queue.fetch(ORDERS, POST))
    await clock.settle()
    expect(await store.counts()).toMatchObject({ pending: 1 })
    const closed = watch(queue.close())
    await clock.settle()
    expect(closed.state).toBe('resolved')
    expect(answer.value?.status).toBe(503)
    expect(markOf(answer.value)?.reason).toBe('closed')
    expect(await store.counts()).toMatchObject({ pending: 0, exhausted: 1 })
    expect(await sentLater(all)).toBe(0)
  })

  test('S22 also where it was never sent: it learns that the queue closed', async () => {
    const all = await opened({ persist: 'before-send' })
    const { queue, clock } = all
    queue.pause()
    const answer = watch(queue.fetch(ORDERS, POST))
    await clock.settle()
    await queue.close()
    expect(answer.error).toMatchObject({ code: 'QUEUE_CLOSED' })
    expect(await sentLater(all)).toBe(0)
  })

  test('S22 in memory too, before what is in flight has ended', async () => {
    const { answer, queue, server, clock } = await called([503])
    server.hang()
    await queue.enqueue(`${ORDERS}/2`)
    await clock.settle()
    const closed = watch(queue.close())
    await clock.settle()
    expect(closed.state).toBe('pending')
    expect([answer.value?.status, markOf(answer.value)?.reason]).toEqual([503, 'closed'])
    await clock.advance(5_000)
    expect(closed.state).toBe('resolved')
  })

  test.each<[what: string, status: number | undefined, told: unknown[], counts: object, later: number]>([
    ['runs gets the answer of it', 201, [201, undefined], { succeeded: 1 }, 0],
    ['fails while the queue closes is told so, and no other follows', 502, [502, 'closed'], { pending: 0 }, 0],
    ['hangs waits no longer than drainMs', undefined, [503, 'closed'], { pending: 0, inFlight: 0 }, 0],
  ])('L5 S22 whose retry %s', async (_, status, told, counts, later) => {
    const { clock, store, all, answer, closed, release } = await closingInRetry()
    if (status) release(status)
    else await clock.advance(4_999)
    if (!status) expect(closed.state).toBe('pending')
    await clock.advance(status ? 0 : 1)
    expect(closed.state).toBe('resolved')
    expect([answer.value?.status, markOf(answer.value)?.reason]).toEqual(told)
    expect(await store.counts()).toMatchObject(counts)
    expect(await sentLater(all)).toBe(later)
  })
})

describe('a caller whose first attempt runs', () => {
  test.each([
    ['gets the answer of it, and the queue closes then', 5_000, 3_000, 'pending'],
    ['L5 keeps the queue open for drainMs at most, and goes on alone', 700, 700, 'resolved'],
  ])('%s', async (_, drainMs, answeredMs, state) => {
    const { queue, server, clock, store } = await opened()
    const release = server.hang()
    const answer = watch(queue.fetch(ORDERS, POST))
    await clock.settle()
    const closed = watch(queue.close({ drainMs }))
    await clock.advance(answeredMs)
    expect(closed.state).toBe(state)
    release(503)
    await clock.settle()
    expect(closed.state).toBe('resolved')
    expect([answer.value?.status, markOf(answer.value)?.reason]).toEqual([503, 'closed'])
    expect(await store.counts()).toMatchObject({ pending: 0 })
  })
})

test('a call whose body is still being read is not sent', async () => {
  const { queue, server, clock } = await setup()
  const answer = watch(queue.fetch(ORDERS, { method: 'POST', body: new Blob(['tea']) }))
  await queue.close()
  await clock.settle()
  expect(answer.error).toMatchObject({ code: 'QUEUE_CLOSED' })
  expect(server.hits).toBe(0)
})

describe('what was handed over', () => {
  test('S8 and leased before its receipt, which comes after the close, is given back', async () => {
    const { promise, resolve } = deferred()
    const enqueue: TaskStore['enqueue'] = async (tasks) => {
      const said = await all.store.enqueue(tasks)
      await promise
      return said
    }
    const all = world((store) => withMethods(store, { enqueue }))
    const { queue } = await all.open({ policy: { maxAttempts: 1 } })
    const receipt = watch(queue.enqueue(ORDERS, POST))
    await all.clock.settle()
    await queue.flush()
    await all.clock.settle()
    expect(await all.store.counts()).toMatchObject({ inFlight: 1 })
    await queue.close()
    resolve()
    await all.clock.settle()
    expect(receipt.state).toBe('resolved')
    expect(await sentLater(all)).toBe(1)
  })

  test('S1 by a deferred call whose first attempt fails meanwhile is stored, and its caller told so', async () => {
    const all = await opened()
    const { queue, server, clock, store } = all
    const release = server.hang()
    const answer = watch(queue.fetch(ORDERS, DEFER))
    await clock.advance(500)
    const closed = watch(queue.close())
    await clock.settle()
    release(503)
    await clock.settle()
    expect([answer.value?.status, closed.state]).toEqual([202, 'resolved'])
    expect(await store.counts()).toMatchObject({ pending: 1 })
    expect(await sentLater(all)).toBe(1)
  })

  test('S1 S5 by a deferred call whose first attempt hangs is stored after its 2 s', async () => {
    const all = await opened()
    const { queue, server, clock } = all
    server.hang()
    const answer = watch(queue.fetch(ORDERS, DEFER))
    await clock.advance(500)
    const closed = watch(queue.close())
    await clock.advance(1_500)
    expect(answer.value?.status).toBe(202)
    await clock.advance(3_500)
    expect(closed.state).toBe('resolved')
    expect(await sentLater(all)).toBe(1)
    expect(new Set(server.requests.map(({ headers }) => headers.get('idempotency-key'))).size).toBe(1)
  })

  test('in memory is not said to be kept: its caller gets the answer of its own attempt', async () => {
    const { queue, server, clock } = await setup()
    const release = server.hang()
    const answer = watch(queue.fetch(ORDERS, DEFER))
    await clock.advance(500)
    const closed = watch(queue.close())
    await clock.settle()
    release(503)
    await clock.settle()
    expect([answer.value?.status, markOf(answer.value)?.reason]).toEqual([503, 'closed'])
    expect(closed.state).toBe('resolved')
  })

  test.each([
    ['S1 that joins a call that waits', 'stays in the store', 'a store', 'call'],
    ['S1 that another caller, who was sent as well, has joined', 'goes on without that one', 'a store', 'task'],
    ['S22 that a caller has joined', 'is not kept', 'memory', 'task'],
  ])('%s, under one key, %s (%s), and the caller is told that the queue has closed', async (_, __, where, first) => {
    const all = where === 'memory' ? undefined : await opened()
    const { queue, server, clock } = all ?? (await setup())
    const init = { ...POST, redrive: { idempotencyKey: 'order-1' } }
    const enqueue = async () =>
      expect(await queue.enqueue(ORDERS, init)).toMatchObject({ deduplicated: first === 'call' })
    if (first === 'task') queue.pause()
    if (first === 'task') await enqueue()
    server.reply(503)
    const answer = watch(queue.fetch(ORDERS, init))
    await clock.settle()
    if (first === 'call') await enqueue()
    await queue.close()
    expect([answer.value?.status, markOf(answer.value)?.reason]).toEqual([503, 'closed'])
    if (all) expect(await sentLater(all)).toBe(1)
  })
})
