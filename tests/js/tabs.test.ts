/** Several tabs of a browser on one queue: who sends what, what the others do meanwhile, and what follows when one is gone. */

import { expect, test } from 'vitest'
import { ORDERS, watch } from './setup.ts'
import { browser } from './tabs-setup.ts'

const POST = { method: 'POST', body: 'tea' } as const

test('one tab leads: the others do not so much as look', async () => {
  const { open, clock, server } = browser()
  const [first, second, third] = [await open(), await open(), await open()]
  const release = server.hang()
  await first.queue.enqueue(ORDERS, POST)
  await clock.settle()
  const looks = () => [second, third].map(({ steps }) => steps.length)
  const before = looks()
  for (let i = 0; i < 20; i++) await first.queue.enqueue(`${ORDERS}/${i}`, POST)
  await clock.advance(1_000)
  expect(first.events.of('succeeded')).toHaveLength(20)
  expect(looks()).toEqual(before)
  release(200)
  await clock.advance(1)
  // once nothing is left each leads in its turn, and finds nothing
  expect(looks()).toEqual(before.map((count) => count + 1))
})

test.each(['closed', 'crashed'])('L3 waiting work of a tab that was %s goes on in another at its time', async (how) => {
  const { open, close, server, hitsAfter } = browser()
  const [first, second] = [await open(), await open()]
  server.reply(503, { 'retry-after': '10' })
  const { taskId } = await first.queue.enqueue(ORDERS, POST)
  expect(await hitsAfter(5_000)).toBe(1)
  if (how === 'closed') await close(first)
  else first.crash()
  expect(await hitsAfter(6_200)).toBe(2)
  expect(second.events.of('resumed')).toMatchObject([{ task: { taskId } }])
  expect(await second.queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
})

test('what a caller waits for is sent by its own tab, whichever tab leads', async () => {
  const { open, clock, server } = browser()
  const [first, second] = [await open(), await open()]
  server.reply(503).reply(200).reply(200, {}, 'yours')
  const answer = watch(second.queue.fetch(ORDERS, POST))
  await first.queue.enqueue(`${ORDERS}/other`, POST)
  await clock.advance(2_000)
  expect(await answer.value?.text()).toBe('yours')
  expect(second.events.of('succeeded')).toHaveLength(1)
  expect(first.events.of('succeeded')).toHaveLength(1)
})

test('a caller whose tab crashes: its task goes on in the leader within a second', async () => {
  const { open, server, hitsAfter } = browser()
  const [, second] = [await open(), await open()]
  server.reply(503, { 'retry-after': '3' })
  watch(second.queue.fetch(ORDERS, POST))
  expect(await hitsAfter(1_000)).toBe(1)
  second.crash()
  expect(await hitsAfter(3_000)).toBe(2)
})

test('an empty queue: no timers, no locks, nothing asked of the store', async () => {
  const { open, clock, server, locks } = browser()
  const tabs = [await open(), await open(), await open()]
  server.reply(503)
  const answer = watch(tabs[1]?.queue.fetch(ORDERS, POST) as Promise<Response>)
  await tabs[0]?.queue.enqueue(`${ORDERS}/2`, POST)
  await clock.advance(120_000)
  expect(answer.value?.status).toBe(200)
  expect(clock.timers).toBe(0)
  expect(locks()).toEqual([])
  const calls = tabs.map((tab) => tab.calls.length)
  await clock.advance(3_600_000)
  expect(tabs.map((tab) => tab.calls.length)).toEqual(calls)
})

test('idle() of a tab that does not lead resolves when the last task is done elsewhere', async () => {
  const { open, clock, server } = browser()
  const [first, second] = [await open(), await open()]
  server.reply(503, { 'retry-after': '5' })
  await first.queue.enqueue(ORDERS, POST)
  await second.queue.enqueue(`${ORDERS}/2`, POST)
  const idle = watch(second.queue.idle())
  await clock.advance(4_000)
  expect(idle.state).toBe('pending')
  await clock.advance(4_000)
  expect(idle.state).toBe('resolved')
})

test('a lease lasts the attempt and the grace, and is not renewed', async () => {
  const { open, clock, server } = browser()
  const tab = await open({ policy: { attemptTimeoutMs: 20_000 } })
  server.hang()
  await tab.queue.enqueue(ORDERS, POST)
  await clock.advance(19_000)
  expect(tab.steps.flatMap(({ claim }) => claim?.leaseMs ?? [])[0]).toBe(95_000)
  expect(tab.steps.flatMap(({ renew }) => renew)).toEqual([])
})

test('an attempt without a time limit is renewed before its lease ends', async () => {
  const { open, clock, server, store, hitsAfter } = browser()
  const tab = await open({ policy: { attemptTimeoutMs: 0 } })
  const release = server.hang()
  const { taskId } = await tab.queue.enqueue(ORDERS, POST)
  expect(await hitsAfter(200_000)).toBe(1)
  release(200)
  await clock.advance(10)
  expect(await store.get(taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
})

test('all that waits is cancelled by another tab: the leader resigns, though it is paused', async () => {
  const { open, clock, locks } = browser()
  const [first, second] = [await open(), await open()]
  first.queue.pause()
  const ids: string[] = []
  for (const n of [1, 2]) ids.push((await first.queue.enqueue(`${ORDERS}/${n}`, POST)).taskId)
  second.queue.pause()
  await clock.advance(1_000)
  const idle = watch(first.queue.idle())
  for (const id of ids) expect(await second.queue.cancel(id)).toBe('cancelled')
  await clock.advance(1_100)
  expect(idle.state).toBe('resolved')
  expect(locks()).toEqual([])
  expect(clock.timers).toBe(0)
})
