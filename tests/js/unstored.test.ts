/** Tasks that are not stored, beside stored ones of the same queue: orders and holds are those of all. */

import { expect, test } from 'vitest'
import type { RetryQueue, RetryQueueOptions } from '../../js/index.ts'
import { faulty, opened, type World, world } from './durable-setup.ts'
import { API, ORDERS, watch } from './setup.ts'
import { freshPath, openStore } from './sqlite/setup.ts'

const POST = { method: 'POST', body: 'tea' } as const
const A = { orderKey: 'a' } as const
const IN_MEMORY = { redrive: { sensitive: true } } as RequestInit
const MINUTE_MS = 60_000

/** The requests that were sent, in order. */
const sent = ({ server }: World) => server.requests.map(({ url }) => new URL(url).pathname.slice(1))

const unstorable: readonly (readonly [why: string, url: string, init: RequestInit & object, words: RegExp])[] = [
  ['it is sensitive', ORDERS, { ...POST, redrive: { ...A, sensitive: true } } as RequestInit, /sensitive/],
  [
    'its URL holds a secret',
    `${ORDERS}?access_token=t`,
    { ...POST, redrive: A } as RequestInit,
    /'access_token' in its URL looks like a secret/,
  ],
  ['it has a header of no list', ORDERS, { ...POST, headers: { 'x-own': '1' }, redrive: A } as RequestInit, /x-own/],
  ['it is sensitive, and a GET', ORDERS, { redrive: { ...A, sensitive: true } } as RequestInit, /sensitive/],
]

test.each(unstorable)(
  'S19 one of an order that cannot be stored is refused, unsent: %s',
  async (_, url, init, words) => {
    const { queue, events, hitsAfter } = await opened()
    const refused = { code: 'ORDER_NOT_STORED', message: expect.stringMatching(words) }
    await expect(queue.enqueue(url, init)).rejects.toMatchObject(refused)
    await expect(queue.fetch(url, init)).rejects.toMatchObject(refused)
    await expect(queue.fetch(url, init)).rejects.not.toMatchObject({ message: expect.stringContaining('=t') })
    expect(await hitsAfter(MINUTE_MS)).toBe(0)
    expect(events.names()).toEqual([])
    expect((await queue.list()).tasks).toEqual([])
  },
)

test('S19 one of an order is stored whatever its method: a GET overtakes no POST', async () => {
  const it = world()
  const { queue } = await it.open({ concurrency: 10 })
  it.server.reply(503)
  await queue.enqueue(`${API}/1`, { ...POST, redrive: A })
  const answer = watch(queue.fetch(`${API}/2`, { redrive: A }))
  await it.clock.advance(999)
  expect(sent(it)).toEqual(['1'])
  await it.clock.advance(1)
  expect(sent(it)).toEqual(['1', '1', '2'])
  expect(answer.value?.status).toBe(200)
})

const away = Object.assign(new Error('the disk is gone'), { code: 'STORAGE_UNAVAILABLE' })

test.each([
  ['cannot be opened', true],
  ['was open', false],
])('S19 one of an order is refused while a store is away that %s', async (_, fromTheStart) => {
  const it = faulty()
  if (fromTheStart) it.error = away
  const { queue } = await it.open({ allowMemory: true })
  const refused = { code: 'STORAGE_UNAVAILABLE' }
  it.error = away
  // the first of them finds it out, the second knows
  for (const path of ['1', '2']) {
    await expect(queue.enqueue(`${API}/${path}`, { ...POST, redrive: A })).rejects.toMatchObject(refused)
    await expect(queue.fetch(`${API}/${path}`, { ...POST, redrive: A })).rejects.toMatchObject(refused)
  }
  expect((await queue.enqueue(`${API}/3`, POST)).durability).toBe('memory')
  it.error = undefined
  await it.clock.advance(MINUTE_MS)
  expect(sent(it)).toEqual(['3'])
  await queue.enqueue(`${API}/4`, { ...POST, redrive: A })
  await it.clock.settle()
  expect(sent(it)).toEqual(['3', '4'])
})

const HEARD = `${API}/heard`
const AFTER = { 'retry-after': '20' }
const SPENT = { ratelimit: '"all";r=0;t=20' }

/** Ways to hear that the server wants its callers to wait, none of which stores a task. */
const heard: readonly (readonly [
  how: string,
  status: number,
  headers: Record<string, string>,
  hear: (queue: RetryQueue) => unknown,
])[] = [
  ['a task that is not stored', 429, AFTER, (queue) => queue.enqueue(HEARD, IN_MEMORY)],
  ['a first attempt that becomes no stored task', 429, AFTER, (queue) => void watch(queue.fetch(HEARD))],
  ['a first attempt that is given up', 429, AFTER, (queue) => queue.fetch(HEARD, { ...POST, redrive: { waitMs: 1 } })],
  ['a first attempt that succeeds, with nothing left', 200, SPENT, (queue) => queue.fetch(HEARD)],
  ['a first attempt that is refused, with nothing left', 400, SPENT, (queue) => queue.fetch(HEARD, POST)],
]

const kinds = ['memory', 'a file'] as const

test.each(kinds.flatMap((kind) => heard.map(([how, ...row]) => [kind, how, ...row] as const)))(
  'S9 tasks in the store (%s) wait with the lane, in every process, for what is heard by %s',
  async (kind, _, status, headers, hear) => {
    const path = freshPath()
    const it: World = world((store) => (kind === 'memory' ? store : openStore(path, { clock: it.clock })))
    const a = await it.open()
    const b = await it.open()
    it.server.reply(status, headers)
    await hear(a.queue)
    await it.clock.settle()
    expect(sent(it)).toEqual(['heard'])
    await b.queue.enqueue(`${API}/b`, POST)
    await a.queue.enqueue(`${API}/a`, POST)
    await it.clock.advance(19_999)
    expect(sent(it)).toEqual(['heard'])
    await it.clock.advance(10_000)
    expect(sent(it)).toEqual(expect.arrayContaining(['a', 'b']))
  },
)

test.each<[string, RetryQueueOptions, number]>([
  ['as long as it is by default', {}, MINUTE_MS],
  ['as short as it may be', { maxLaneHoldMs: 5_000 }, 5_000],
])('S9 others wait for maxLaneHoldMs at most: %s', async (_, options, holdMs) => {
  const it = world()
  const a = await it.open(options)
  const b = await it.open(options)
  it.server.reply(429, { 'retry-after': '3600' })
  await a.queue.enqueue(`${API}/heard`)
  await it.clock.settle()
  await b.queue.enqueue(`${API}/b`, POST)
  await it.clock.advance(holdMs - 1)
  expect(sent(it)).toEqual(['heard'])
  await it.clock.advance(2)
  expect(sent(it)).toEqual(['heard', 'b'])
})

test('S9 a store that has failed gets a hold as soon as it answers, for the time that is left', async () => {
  const it = faulty(/^turn$/)
  const a = await it.open()
  const b = await it.open({ store: it.store })
  it.error = away
  it.server.reply(429, { 'retry-after': '20' })
  await a.queue.enqueue(`${API}/heard`)
  await it.clock.advance(7_000)
  it.error = undefined
  await it.clock.advance(5_000)
  await b.queue.enqueue(`${API}/b`, POST)
  await it.clock.advance(7_999)
  expect(sent(it)).toEqual(['heard'])
  await it.clock.advance(1)
  expect(sent(it)).toContain('b')
})

test('S9 tasks in the store wait for what is heard by an attempt that another process has taken over', async () => {
  const it = faulty(/^turn$/)
  const a = await it.open({ policy: { attemptTimeoutMs: 60_000 } })
  const answer = it.server.hang()
  await a.queue.enqueue(`${API}/both`, POST)
  await it.clock.settle()
  const b = await it.open({ store: it.store })
  it.error = away
  // the lease, and the grace that a process gives which has asked nothing for half of it (ADR 0088)
  await it.clock.advance(43_000)
  expect(sent(it)).toEqual(['both', 'both'])
  answer(429, { 'retry-after': '20' })
  await it.clock.settle()
  it.error = undefined
  await it.clock.advance(5_000)
  await b.queue.enqueue(`${API}/b`, POST)
  await it.clock.advance(14_999)
  expect(sent(it)).toEqual(['both', 'both'])
  await it.clock.advance(1)
  expect(sent(it)).toContain('b')
})

test('S7 a process counts tasks in memory and stored ones together; other processes count the stored ones only', async () => {
  const it = world()
  const releases = Array.from({ length: 20 }, () => it.server.hang())
  const a = await it.open({ concurrency: 2 })
  for (const n of [1, 2, 3]) {
    await a.queue.enqueue(`${API}/get-${n}`, IN_MEMORY)
    await a.queue.enqueue(`${API}/post-${n}`, POST)
  }
  await it.clock.settle()
  expect(it.server.maxInFlight).toBe(2)
  const stored = () => sent(it).filter((path) => path.startsWith('post')).length
  const ofA = stored()
  const b = await it.open({ concurrency: 2 })
  await it.clock.settle()
  expect(stored()).toBe(2)
  expect(it.server.hits).toBe(2 + 2 - ofA)
  await b.queue.enqueue(`${API}/get-4`, IN_MEMORY)
  await it.clock.settle()
  for (const release of releases) {
    release(200)
    await it.clock.settle()
  }
  await it.clock.advance(MINUTE_MS)
  expect([...sent(it)].sort()).toEqual(['get-1', 'get-2', 'get-3', 'get-4', 'post-1', 'post-2', 'post-3'])
})
