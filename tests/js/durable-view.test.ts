/** What a queue with a store tells of itself: when it is idle, its numbers, and its events about what it puts back. */

import { expect, test } from 'vitest'
import { memoryStore } from '../../js/stores/memory.ts'
import { fakeClock } from '../../js/testing.ts'
import { opened, world } from './durable-setup.ts'
import { bare, closeNow, ORDERS, watch } from './setup.ts'

const POST = { method: 'POST', body: 'tea' } as const
const { origin } = new URL(ORDERS)

test('idle of a queue that was just made waits for what an earlier process has left', async () => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const former = bare({ clock, store, principal: null }).queue
  former.pause()
  await former.enqueue(ORDERS, POST)
  await closeNow(former, clock)
  const { queue, server } = bare({ clock, store, principal: null })
  const respond = server.hang()
  const idle = watch(queue.idle())
  await clock.advance(100)
  expect(idle.state).toBe('pending')
  respond(200)
  await clock.settle()
  expect(idle.state).toBe('resolved')
})

test('a task of a paused origin keeps the queue from being idle', async () => {
  const { clock, server, queue, events } = await opened()
  queue.pause({ origin })
  await queue.enqueue(ORDERS, POST)
  await clock.settle()
  const idle = watch(queue.idle())
  await clock.advance(10_000)
  expect(idle.state).toBe('pending')
  expect(events.names(true)).not.toContain('idle')
  queue.resume({ origin })
  await clock.settle()
  expect([idle.state, server.hits]).toEqual(['resolved', 1])
})

test('idle callers are let go by close, whatever stays in the store', async () => {
  const { open, clock, close } = world()
  const process = await open()
  process.queue.pause()
  await process.queue.enqueue(ORDERS, POST)
  const idle = watch(process.queue.idle())
  await clock.settle()
  expect(idle.state).toBe('pending')
  await close(process)
  await clock.settle()
  expect(idle.state).toBe('resolved')
})

test('stats show what purge and redrive have done as soon as they have', async () => {
  const { clock, queue } = await opened({}, 400, 400)
  await queue.enqueue(ORDERS, POST)
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.settle()
  expect(queue.stats()).toMatchObject({ deadLetters: 2, depth: 0 })
  queue.pause()
  await queue.deadLetters.redrive(taskId)
  expect(queue.stats()).toMatchObject({ deadLetters: 1, depth: 1 })
  await queue.deadLetters.purgeAll()
  expect(queue.stats()).toMatchObject({ deadLetters: 0, depth: 1 })
})

test('a redriven task is queued once more, and not resumed, in the process that put it back', async () => {
  const { clock, queue, events } = await opened({}, 400)
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.settle()
  await queue.deadLetters.redrive(taskId)
  await clock.settle()
  const life = ['queued', 'attempt']
  expect(events.names()).toEqual([...life, 'exhausted', ...life, 'succeeded'])
  expect(events.of('queued')[1]?.task).toMatchObject({ taskId, attemptNumber: 0, status: 'PENDING' })
})

test('a task that is taken up shows that it has a body', async () => {
  const { open, clock, close } = world()
  const former = await open()
  former.queue.pause()
  await former.queue.enqueue(ORDERS, POST)
  await close(former)
  const { events } = await open()
  await clock.settle()
  expect(events.of('resumed')[0]?.task.bodyRef).toBe('inline')
  expect(events.of('attempt')[0]?.task.bodyRef).toBe('inline')
})

test('a caller who waits again after a while is at home again', async () => {
  const { clock, server, store, queue } = await opened({}, 503)
  const first = watch(queue.fetch(ORDERS, POST))
  await clock.advance(1_000)
  expect(first.state).toBe('resolved')
  await clock.advance(60_000)
  expect(await store.homes.live()).toEqual([])
  server.reply(503)
  const second = watch(queue.fetch(ORDERS, POST))
  await clock.advance(999)
  expect(second.state).toBe('pending')
  expect(await store.homes.live()).toHaveLength(1)
})

test('a stored dead letter that goes back ends at `expiresAt`, though its budget was over first', async () => {
  const { store, clock, queue } = await opened({}, 400)
  const expiresAt = clock.now() + 90_000
  const redrive = { expiresAt, policy: { totalBudgetMs: 60_000 } }
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', redrive })
  await clock.advance(50_000)
  await queue.deadLetters.redrive(taskId)
  expect(await store.get(taskId)).toMatchObject({ deadlineAt: expiresAt, deadlineReason: 'expired' })
})
