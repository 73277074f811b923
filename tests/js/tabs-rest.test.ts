/** Pages that are put away, tabs of several users, a store that is taken away, and machines that sleep. */

import { expect, test } from 'vitest'
import { RedriveError } from '../../js/api/errors.ts'
import { SettledElsewhereError } from '../../js/api/task-errors.ts'
import { faulty } from './durable-setup.ts'
import { forApi, ORDERS, watch } from './setup.ts'
import { browser, page } from './tabs-setup.ts'
import { trappingAt } from './trapping.ts'

const POST = { method: 'POST', body: 'tea' } as const
const HOUR_MS = 3_600_000

test('a frozen tab keeps nothing: its attempt is given back, and another tab goes on at once', async () => {
  const { open, clock, server, locks } = browser()
  const other = await open()
  const { happens } = page()
  const frozen = await open()
  await other.queue.enqueue(`${ORDERS}/first`, POST)
  await clock.settle()
  server.fail()
  server.hang()
  const answer = watch(frozen.queue.fetch(ORDERS, POST))
  await clock.advance(2_000)
  const hits = server.hits
  happens('freeze')
  await clock.advance(1_000)
  expect(locks().filter((name) => name.startsWith('home'))).toEqual([])
  expect(server.hits).toBe(hits + 1)
  expect(other.events.of('succeeded')).toHaveLength(2)
  happens('resume')
  await clock.advance(5_000)
  expect(answer.error).toBeInstanceOf(SettledElsewhereError)
  expect(answer.error).toMatchObject({ responseStatus: 200 })
})

test.each(['before the page is back', 'after it'])(
  'S3 a claim that was under way when the page was put away, answered %s, is given back unsent',
  async (when) => {
    const { open, clock, store, hitsAfter } = browser()
    const { happens } = page()
    const tab = await open({ credentials: forApi(async () => ({})) })
    const answer = tab.holdUp()
    const { taskId } = await tab.queue.enqueue(ORDERS, POST)
    await clock.settle()
    expect(await store.get(taskId)).toMatchObject({ status: 'IN_FLIGHT' })
    happens('freeze')
    if (when === 'after it') happens('resume')
    answer()
    expect(await hitsAfter()).toBe(0)
    expect(await store.get(taskId)).toMatchObject({ status: 'PENDING', attemptNumber: 0 })
    if (when !== 'after it') happens('resume')
    expect(await hitsAfter(3_100)).toBe(1)
  },
)

test('an attempt that was about to be sent when the page was put away says nothing of the next', async () => {
  const { open, clock, server, hitsAfter } = browser()
  const { happens } = page()
  const given: (() => void)[] = []
  const credentials = () => new Promise<HeadersInit>((resolve) => given.push(() => resolve({})))
  const tab = await open({ credentials: forApi(credentials) })
  server.fail()
  const answer = watch(tab.queue.fetch(ORDERS, POST))
  await clock.advance(1_100)
  expect(given).toHaveLength(1)
  happens('freeze')
  happens('resume')
  // the first question has 5 s, also without an attempt that waits for it
  await clock.advance(5_000)
  expect(given).toHaveLength(2)
  const release = server.hang()
  for (const give of given) give()
  expect(await hitsAfter()).toBe(2)
  release(200)
  await clock.settle()
  expect(answer.value?.status).toBe(200)
})

test('L3 a tab that heard of work while it was put away takes its turn once it is back', async () => {
  const { open, clock, server, locks } = browser()
  const other = await open()
  const { happens } = page()
  const tab = await open()
  server.reply(503, { 'retry-after': '5' })
  await other.queue.enqueue(ORDERS, POST)
  await clock.settle()
  const answer = tab.holdUp()
  happens('freeze')
  await other.queue.enqueue(`${ORDERS}/2`, POST)
  await clock.settle()
  expect(locks()).toHaveLength(1)
  answer()
  await clock.settle()
  happens('resume')
  await clock.advance(1_000)
  other.crash()
  await clock.advance(5_000)
  expect(tab.events.of('succeeded')).not.toEqual([])
  expect(server.hits).toBe(3)
})

test('a caller who calls while the page is put away is a home once it is back', async () => {
  const { open, clock, server, locks } = browser()
  const { happens } = page()
  const tab = await open()
  server.reply(503, { 'retry-after': '10' })
  const answer = tab.holdUp()
  happens('freeze')
  const response = watch(tab.queue.fetch(ORDERS, POST))
  await clock.settle()
  expect(locks()).toEqual([])
  answer()
  await clock.settle()
  happens('resume')
  await clock.settle()
  expect(locks().some((name) => name.startsWith('home'))).toBe(true)
  await clock.advance(12_000)
  expect(response.value?.status).toBe(200)
})

test('a tab of another user neither asks nor waits in a loop', async () => {
  const { open, clock } = browser()
  const one = await open({ principal: 'A' })
  const two = await open({ principal: 'B' })
  await one.queue.enqueue(ORDERS, POST)
  await clock.advance(1_000)
  const before = one.calls.length + two.calls.length
  await clock.advance(HOUR_MS)
  expect(one.calls.length + two.calls.length - before).toBeLessThan(5)
})

/** All that a store is asked. */
const ALL = /^(?!subscribe$)/

test.each(['STORAGE_UNAVAILABLE', 'STORAGE_NEWER'] as const)(
  'a store that cannot be had, %s: new tasks stay in memory, one `degraded`, and are stored again once it can',
  async (code) => {
    const it = faulty(ALL)
    const { open, clock, server, store } = it
    const { queue, events } = await open()
    it.error = new RedriveError(code, 'in vain')
    server.reply(503).reply(503)
    const answer = watch(queue.fetch(ORDERS, POST))
    const allowed = { ...POST, redrive: { allowMemory: true } }
    expect(await queue.enqueue(`${ORDERS}/2`, allowed)).toMatchObject({ durability: 'memory' })
    await clock.advance(5_000)
    expect(answer.value?.status).toBe(200)
    expect(events.of('degraded').map(({ code }) => code)).toEqual(['storage_unavailable'])
    expect(events.of('succeeded')).toHaveLength(2)
    it.error = undefined
    await clock.advance(6_000)
    const { taskId, durability } = await queue.enqueue(`${ORDERS}/3`, POST)
    expect(durability).toBe(store.durability)
    expect(await store.get(taskId)).toBeDefined()
  },
)

test("S18 before-send where the store cannot be had is plain fetch, and retried in the page's memory", async () => {
  const it = faulty(ALL)
  const { open, clock, server } = it
  const { queue, events } = await open({ persist: 'before-send' })
  it.error = new RedriveError('STORAGE_UNAVAILABLE', 'in vain')
  server.reply(503)
  const answer = watch(queue.fetch(ORDERS, POST))
  await clock.advance(2_000)
  expect([answer.value?.status, server.hits]).toEqual([200, 2])
  expect(events.of('degraded').map(({ code }) => code)).toEqual(['storage_unavailable'])
})

test('after a gap a backlog starts at a moment of its own, within two seconds', async () => {
  const starts = new Set<number>()
  for (let seed = 1n; seed <= 5n; seed++) {
    const { open, clock, server } = browser()
    const tab = await open({ seed })
    server.reply(503, { 'retry-after': '600' })
    await tab.queue.enqueue(ORDERS, POST)
    await clock.advance(1_000)
    for (let i = 0; i < 20; i++) await tab.queue.enqueue(`${ORDERS}/${i}`, POST)
    // not in the middle of a turn
    await clock.settle()
    clock.step(HOUR_MS)
    const awake = clock.now()
    // what wakes it is the next timer, or whatever the user does
    await tab.queue.flush()
    await clock.advance(610_000)
    const second = server.requests[1]
    starts.add((second?.at ?? 0) - awake)
    expect(server.maxInFlight).toBeLessThanOrEqual(3)
    expect(tab.events.of('succeeded')).toHaveLength(21)
  }
  expect(starts.size).toBeGreaterThan(1)
})

test('S18 a core that stops keeps no lock: another tab goes on', async () => {
  const { open, clock, server, locks } = browser()
  const { load, trap } = trappingAt('poll')
  const one = await open({}, load)
  const two = await open()
  server.reply(503, { 'retry-after': '5' })
  await one.queue.enqueue(ORDERS, POST)
  await clock.advance(1_000)
  trap()
  one.queue.resume()
  await clock.settle()
  expect(one.events.of('degraded')).toMatchObject([{ code: 'core_unreachable' }])
  await clock.advance(6_000)
  expect(two.events.of('succeeded')).toHaveLength(1)
  expect(locks()).toEqual([])
})
