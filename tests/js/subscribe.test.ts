/** `subscribe` and `snapshot`: who shows tasks hears of each change, and of those that other tabs and processes make. */

import { symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { TaskStore } from '../../js/api/store.ts'
import { RetryQueue, type TaskChange } from '../../js/index.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { world } from './durable-setup.ts'
import { closeNow, NO_GATES, ORDERS, setup } from './setup.ts'
import { freshPath, openStore } from './sqlite/setup.ts'
import { claiming, succeeded, taskOf } from './sqlite/words.ts'
import { browser, page } from './tabs-setup.ts'

const POST = { method: 'POST', body: 'x' } as const

/** Notes what is told. */
function listen(queue: RetryQueue, options: Parameters<RetryQueue['subscribe']>[1] = {}) {
  const told: TaskChange[] = []
  const stop = queue.subscribe((change) => told.push(change), options)
  return { told, stop, ids: () => told.flatMap(({ taskIds }) => taskIds) }
}

test('each change of a task in memory is told, with its id: new, started, waiting again, ended', async () => {
  const { queue, server, clock } = await setup()
  const { told, stop } = listen(queue)
  server.reply(503).reply(200)
  const { taskId } = await queue.enqueue(ORDERS, POST)
  const statuses: unknown[] = []
  for (const ms of [0, 1_000]) {
    await clock.advance(ms)
    expect(told.length).toBeGreaterThan(0)
    expect(told.every(({ taskIds, others }) => taskIds.length === 1 && taskIds[0] === taskId && !others)).toBe(true)
    told.length = 0
    statuses.push((await queue.get(taskId))?.status)
  }
  expect(statuses).toEqual(['PENDING', 'SUCCEEDED'])
  stop()
  await queue.enqueue(ORDERS, POST)
  await clock.advance(1)
  expect(told).toEqual([])
})

test('what changes together is told once', async () => {
  const { queue, clock } = await setup()
  queue.pause()
  await Promise.all(Array.from({ length: 20 }, () => queue.enqueue(ORDERS, POST)))
  await clock.settle()
  const { told, ids } = listen(queue)
  const { tasks } = await queue.list()
  for (const { taskId } of tasks) void queue.cancel(taskId)
  await clock.settle()
  expect([told.length < 5, new Set(ids()).size]).toEqual([true, 20])
})

test.for(['cancel', 'redrive', 'purge', 'purgeAll'] as const)('%s is told', async (what) => {
  for (const where of ['memory', 'a store']) {
    const { queue, server, clock } = await opened(where)
    const isDead = what !== 'cancel'
    if (isDead) server.reply(400)
    else queue.pause()
    const { taskId } = await queue.enqueue(ORDERS, POST)
    await clock.advance(1)
    queue.pause()
    const { told, ids } = listen(queue)
    if (what === 'cancel') await queue.cancel(taskId)
    else if (what === 'purgeAll') await queue.deadLetters.purgeAll()
    else await queue.deadLetters[what](taskId)
    await clock.settle()
    expect(ids().includes(taskId) || told.some(({ others }) => others), where).toBe(true)
  }
})

test('a queue hears what another queue of its store does, by id where that is known, unless it asks for its own alone', async () => {
  const { open, clock, server } = world()
  const [here, there] = [await open(), await open()]
  here.queue.pause()
  const own = listen(here.queue, { scope: 'queue' })
  const all = listen(here.queue)
  const release = server.hang()
  const { taskId } = await there.queue.enqueue(ORDERS, POST)
  await clock.settle()
  expect(all.told.some(({ others }) => others)).toBe(true)
  expect((await here.queue.list({ active: true })).tasks).toMatchObject([{ taskId, status: 'IN_FLIGHT' }])
  expect(all.ids()).toContain(taskId)
  all.told.length = 0
  release(200)
  await clock.settle()
  expect(all.ids()).toContain(taskId)
  expect((await here.queue.list({ active: true })).tasks).toEqual([])
  expect(own.told).toEqual([])
})

test('tabs hear of each other at once, and no tab looks into the store for it', async () => {
  const { open, clock, server } = browser()
  const [first, second] = [await open(), await open()]
  server.hang()
  server.hang()
  await first.queue.enqueue(ORDERS, POST)
  await clock.settle()
  const { told } = listen(second.queue)
  await clock.settle()
  told.length = 0
  const before = second.steps.length
  const { taskId } = await first.queue.enqueue(`${ORDERS}/2`, POST)
  await clock.settle()
  expect(told.length).toBeGreaterThan(0)
  expect(await second.queue.get(taskId)).toMatchObject({ status: 'IN_FLIGHT' })
  await clock.advance(1_000)
  expect(second.steps.length).toBe(before)
})

test('a page that comes back from where no hint reached it is told to look', async () => {
  const { happens } = page()
  const { open, clock } = browser()
  const { queue } = await open()
  await clock.settle()
  const { told } = listen(queue)
  happens('freeze')
  await clock.settle()
  told.length = 0
  happens('resume')
  await clock.settle()
  expect(told).toContainEqual({ taskIds: [], others: true })
})

test('another user of the same page sees other tasks: that is told', async () => {
  const { open, clock } = world()
  const { queue } = await open({ principal: 'ann' })
  queue.pause()
  await queue.enqueue(ORDERS, POST)
  await clock.settle()
  const { told } = listen(queue)
  await queue.setPrincipal('ben')
  await clock.settle()
  expect(told.some(({ others }) => others)).toBe(true)
  expect([(await queue.list()).tasks, queue.snapshot().depth]).toEqual([[], 0])
})

test('another process on a SQLite file is heard within a second, by the look that an idle queue takes anyway', async () => {
  const { queue, clock, store } = await withFile()
  const { told } = listen(queue)
  const own = listen(queue, { scope: 'queue' })
  queue.pause()
  await clock.advance(10_000)
  told.length = 0
  await store.enqueue([taskOf(1)])
  await clock.advance(1_000)
  expect(told).toContainEqual({ taskIds: [], others: true })
  const { claimed } = await store.turn(claiming(1, 'other'))
  told.length = 0
  await clock.advance(1_000)
  expect(told).toContainEqual({ taskIds: [], others: true })
  await store.turn({ owner: 'other', settle: claimed.map(({ lease }) => succeeded(lease)), renew: [], claim: null })
  told.length = 0
  await clock.advance(1_000)
  expect(told).toContainEqual({ taskIds: [], others: true })
  told.length = 0
  await clock.advance(300_000)
  expect([told, own.told]).toEqual([[], []])
})

test('L1 a queue that tells of changes misses none of the work that another process brings', async () => {
  const { queue, clock, store, server } = await withFile()
  listen(queue)
  server.reply(503, { 'retry-after': '2' }).reply(200).reply(200)
  await queue.enqueue(ORDERS, POST)
  await clock.advance(1_500)
  await store.enqueue([taskOf(1)])
  await clock.advance(5_000)
  expect(server.hits).toBe(3)
})

test('a snapshot is one object until a task changes, here or elsewhere, and then tells of it', async () => {
  const { open, clock, server } = world()
  const [here, there] = [await open(), await open()]
  const { snapshot, subscribe } = here.queue
  const first = snapshot()
  expect([first.depth, snapshot() === first]).toEqual([0, true])
  const seen: number[] = []
  subscribe(() => seen.push(snapshot().depth))
  await clock.advance(60_000)
  expect(snapshot()).toBe(first)
  server.reply(503)
  await there.queue.enqueue(ORDERS, POST)
  await clock.advance(1)
  const second = snapshot()
  expect([second.depth, snapshot() === second, second === first]).toEqual([1, true, false])
  expect(seen.at(-1)).toBe(1)
  server.reply(200)
  await clock.advance(5_000)
  expect([snapshot().depth, seen.at(-1)]).toEqual([0, 0])
})

test('S22 a listener that throws is told of and stops nothing; the same function twice is two listeners', async () => {
  const { queue, events, clock } = await setup()
  let calls = 0
  const listener = () => {
    calls++
    throw new Error('no such element')
  }
  const stop = queue.subscribe(listener)
  queue.subscribe(listener)
  queue.pause()
  await queue.enqueue(ORDERS, POST)
  await clock.settle()
  expect(calls).toBe(2)
  expect(events.of('degraded').map(({ code }) => code)).toContain('hook_threw')
  stop()
  await queue.enqueue(ORDERS, POST)
  await clock.settle()
  expect(calls).toBe(3)
})

test('subscribe to nothing, or to a scope there is not, is refused by name', async () => {
  const { queue } = await setup()
  expect(() => queue.subscribe(undefined as never)).toThrow(/^subscribe: expected a function/)
  expect(() => queue.subscribe(() => {}, { scope: 'tab' } as never)).toThrow(/^subscribe\.scope: expected 'queue'/)
  await queue.close()
  expect(queue.subscribe(() => {})).toBeTypeOf('function')
  expect(queue.snapshot().depth).toBe(0)
})

async function opened(where: string) {
  if (where === 'memory') return setup()
  const { open, server, clock } = world()
  return { ...(await open()), server, clock }
}

/** A queue on a file, and a store on the same file that it does not hear, as one of another process. */
async function withFile() {
  const clock = fakeClock()
  const path = freshPath()
  const server = scriptedServer({ clock })
  const given = { clock, fetch: server.fetch, seed: 1n, principal: null, ...NO_GATES }
  const queue = new RetryQueue({ ...given, store: sqliteStore({ path, clock }) })
  onTestFinished(() => closeNow(queue, clock))
  await queue.ready
  const link = join(dirname(path), 'same.db')
  writeFileSync(path, '', { flag: 'a' })
  symlinkSync(path, link)
  const store: TaskStore = openStore(link, { clock })
  return { queue, clock, server, store }
}
