/** What goes on while a page is put away, or its queue closed: nothing is taken up that nobody would let go of, and nothing is sent twice. */

import { expect, test } from 'vitest'
import type { TaskStore } from '../../js/api/store.ts'
import { RetryQueue } from '../../js/index.ts'
import { withMethods } from './durable-setup.ts'
import { forApi, ORDERS, watch } from './setup.ts'
import { browser, page } from './tabs-setup.ts'

const POST = { method: 'POST', body: 'tea' } as const

test('L3 what is enqueued while a page is put away takes no lock, and another tab delivers it', async () => {
  const { open, clock, server, locks } = browser()
  const other = await open()
  const { happens } = page()
  const away = await open()
  happens('freeze')
  const first = away.queue.enqueue(ORDERS, POST)
  await first
  await clock.settle()
  await away.queue.enqueue(`${ORDERS}/second`, POST)
  await clock.advance(1_000)
  expect(other.events.of('succeeded')).toHaveLength(2)
  expect(server.hits).toBe(2)
  expect(locks()).toEqual([])
})

test('what is enqueued while the only page is put away is delivered once it is back', async () => {
  const { open, clock, server, locks, hitsAfter } = browser()
  const { happens } = page()
  const tab = await open()
  happens('freeze')
  await tab.queue.enqueue(ORDERS, POST)
  await clock.advance(1_000)
  expect(locks()).toEqual([])
  expect(server.hits).toBe(0)
  happens('resume')
  expect(await hitsAfter(2_100)).toBe(1)
})

test('a caller whose first attempt fails while its page is put away: no home, and its answer once it is back', async () => {
  const { open, clock, server, locks } = browser()
  const { happens } = page()
  const tab = await open()
  const fail = server.hang()
  const answer = watch(tab.queue.fetch(ORDERS, POST))
  await clock.settle()
  happens('freeze')
  await clock.settle()
  fail(503)
  await clock.advance(5_000)
  expect(locks()).toEqual([])
  happens('resume')
  await clock.advance(5_000)
  expect(answer.value?.status).toBe(200)
})

test.for([
  ['may be', {}],
  ['must not be', { idempotency: false }],
] as const)(
  'S3 S8 hooks that answer for an attempt given back meanwhile send nothing, the next goes out: %s repeated',
  async ([, options]) => {
    const { open, clock, hitsAfter } = browser()
    const { happens } = page()
    const given: ((headers: Record<string, string>) => void)[] = []
    const credentials = () => new Promise<Record<string, string>>((resolve) => given.push(resolve))
    const tab = await open({ ...options, credentials: forApi(credentials) })
    const { taskId } = await tab.queue.enqueue(ORDERS, { ...POST, headers: { authorization: 'old' } })
    await clock.settle()
    happens('freeze')
    await clock.settle()
    happens('resume')
    // the first question has 5 s, also without an attempt that waits for it
    await clock.advance(5_000)
    expect(given).toHaveLength(2)
    for (const give of given) give({ authorization: 'new' })
    expect(await hitsAfter(1_000)).toBe(1)
    expect(await tab.queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
  },
)

test.each(['its page is put away', 'its queue is closed'])(
  'S8 what must not be repeated, and is under way when %s, is not sent again',
  async (what) => {
    const { open, close, clock, server, hitsAfter } = browser()
    const other = await open()
    const { happens } = page()
    const tab = await open({ idempotency: false })
    other.queue.pause()
    server.hang()
    const answer = watch(tab.queue.fetch(ORDERS, { ...POST, redrive: { orderKey: 'one' } }))
    expect(await hitsAfter(1_000)).toBe(1)
    if (what === 'its queue is closed') await close(tab)
    else happens('freeze')
    other.queue.resume()
    await clock.advance(1_000)
    const { tasks } = await other.queue.list()
    expect(tasks).toMatchObject([{ status: 'EXHAUSTED', reason: 'outcome_unknown', attemptNumber: 1 }])
    happens('resume')
    await clock.advance(200_000)
    expect([answer.state, server.hits]).toEqual(['rejected', 1])
  },
)

test('L3 a queue that is closed while its store is opened takes up nothing, and names no principal again', async () => {
  const { clock, server, store } = browser()
  const saying: (() => void)[] = []
  const taken: string[] = []
  const slow = withMethods(store, {
    principals: {
      current: async () => ({ principal: undefined }),
      switchTo: () => new Promise((resolve) => saying.push(resolve)),
      logIn: async () => {},
    },
    leader: { want: () => taken.push('leader'), resign: () => {} },
    subscribe: () => {
      taken.push('hints')
      return () => {}
    },
  } satisfies Partial<TaskStore>)
  const queue = new RetryQueue({ clock, fetch: server.fetch, store: slow, principal: 'A' })
  const ready = queue.ready
  await expect.poll(() => saying).toHaveLength(1)
  const closed = queue.close()
  await clock.advance(3_000)
  await closed
  for (const say of saying) say()
  await ready
  await clock.settle()
  expect(taken).toEqual([])
})

test('result() needs no hint', async () => {
  const { open, clock, server } = browser()
  const [first, deaf] = [await open(), await open({ isDeaf: true })]
  server.reply(503, { 'retry-after': '2' }).reply(201)
  const { taskId } = await first.queue.enqueue(ORDERS, POST)
  await clock.settle()
  const result = watch(deaf.queue.result(taskId))
  await clock.advance(20_000)
  expect(result.value).toMatchObject({ responseStatus: 201 })
})

test('S22 a call that joins a task of another tab learns of its end without a hint', async () => {
  const { open, clock, server } = browser()
  const [first, deaf] = [await open(), await open({ isDeaf: true })]
  server.reply(503, { 'retry-after': '15' }).reply(503)
  const redrive = { idempotencyKey: 'one', waitMs: 100_000 }
  await first.queue.enqueue(ORDERS, { ...POST, redrive })
  await clock.settle()
  const answer = watch(deaf.queue.fetch(ORDERS, { ...POST, redrive }))
  await clock.advance(40_000)
  expect(answer.error).toMatchObject({ code: 'SETTLED_ELSEWHERE', responseStatus: 200 })
})

test('a page with nothing to give back asks nothing of its store when it is put away', async () => {
  const { open, clock } = browser()
  const { happens } = page()
  const tab = await open()
  const before = tab.calls.length
  happens('pagehide')
  happens('freeze')
  await clock.advance(1_000)
  expect(new Set(tab.calls.slice(before))).toEqual(new Set(['suspend']))
})
