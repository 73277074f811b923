/** `navigator.onLine === false` is a hint (C1): it slows attempts down, and a flush, a new task or any answer overrules it. */

import { describe, expect, test, vi } from 'vitest'
import { opened } from './durable-setup.ts'
import { goOffline } from './explain-setup.ts'
import { type Fakes, ORDERS, setup, submitted, watch } from './setup.ts'

const POST = { method: 'POST', body: 'tea' } as const
type Queues = Pick<Fakes, 'queue' | 'server' | 'clock' | 'hitsAfter'>

const PLACES: readonly (readonly [string, () => Promise<Queues>])[] = [
  ['in memory', setup],
  ['in a store', opened],
]

test.each(PLACES)('%s, a kiosk that is always offline delivers what is enqueued, within 2 s', async (_, make) => {
  goOffline()
  const { queue, server, clock } = await make()
  await queue.enqueue(ORDERS, POST)
  for (let ms = 0; ms < 2_100; ms += 100) await clock.advance(100)
  await queue.enqueue(`${ORDERS}/2`, POST)
  await clock.advance(100)
  expect([server.hits, queue.stats().depth]).toEqual([2, 0])
})

test.each(PLACES)('%s, really offline for hours few attempts are made, and none of them counts', async (_, make) => {
  goOffline()
  const { queue, server, clock } = await make()
  for (let i = 0; i < 500; i++) server.fail()
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(600_000)
  expect(server.hits).toBeGreaterThan(5)
  expect(server.hits).toBeLessThan(30)
  await clock.advance(2 * 3_600_000)
  const task = await queue.get(taskId)
  expect([task?.status, task?.attemptNumber]).toEqual(['PENDING', 0])
})

test.each(PLACES)(
  "%s, a caller's own attempt that is lost offline is given back, and the next one is the first",
  async (_, make) => {
    goOffline()
    const { queue, server, clock } = await make()
    server.fail().fail()
    const call = watch(queue.fetch(ORDERS, POST))
    await clock.advance(1)
    const own = await queue.list()
    await clock.advance(2_000)
    const replayed = await queue.list()
    const [{ taskId = '' } = {}] = own.tasks
    const { attempts } = await queue.attempts(taskId)
    const seen = attempts.map(({ kind, attemptNumber, data }) => [kind, attemptNumber, data?.counted, data?.cause])
    expect([own.tasks[0]?.attemptNumber, replayed.tasks[0]?.attemptNumber]).toEqual([0, 0])
    expect(seen).toEqual([
      ['released', 1, false, 'offline'],
      ['released', 1, false, 'offline'],
    ])
    await clock.advance(10_000)
    expect([call.state, (call.value as Response | undefined)?.status, server.hits]).toEqual(['resolved', 200, 3])
  },
)

test('flush() lets an attempt go, whatever the browser says, and its answer ends the hint', async () => {
  goOffline()
  const { queue, server, clock, hitsAfter } = await setup({}, 'lost')
  for (let i = 0; i < 5; i++) await queue.enqueue(`${ORDERS}/${i}`, POST)
  expect(await hitsAfter(2_100)).toBe(1)
  const before = server.hits
  await queue.flush()
  for (let ms = 0; ms < 3_000; ms += 100) await clock.advance(100)
  expect(server.hits - before).toBe(5)
  expect(queue.stats().depth).toBe(0)
})

test('an awaited call that succeeds overrules it for what waits', async () => {
  goOffline()
  const { queue, clock } = await submitted(['lost'], { options: {}, init: POST, forMs: 5_000 })
  expect(queue.stats().depth).toBe(1)
  expect((await queue.fetch(`${ORDERS}/read`)).status).toBe(200)
  await clock.advance(1_500)
  expect(queue.stats().depth).toBe(0)
})

const SIGNS: readonly (readonly [string, (queues: Queues) => unknown, ms: number])[] = [
  ['nothing happens', () => {}, 2_000],
  [
    'it is online',
    () => {
      vi.stubGlobal('navigator', { onLine: true })
      dispatchEvent(new Event('online'))
    },
    500,
  ],
  ['its page is looked at', () => dispatchEvent(new Event('focus')), 500],
  ['its server answers another', ({ queue }) => queue.fetch(`${ORDERS}/other`), 500],
]

describe.each(PLACES)('an awaited call %s whose browser says that it is offline', (_, make) => {
  test.each(SIGNS)('is tried again once %s', async (_what, happens, ms) => {
    const target = new EventTarget()
    vi.stubGlobal('location', new URL(ORDERS))
    vi.stubGlobal('addEventListener', target.addEventListener.bind(target))
    vi.stubGlobal('removeEventListener', target.removeEventListener.bind(target))
    vi.stubGlobal('dispatchEvent', target.dispatchEvent.bind(target))
    goOffline()
    const queues = await make()
    const { queue, server, clock, hitsAfter } = queues
    server.fail()
    const answer = watch(queue.fetch(ORDERS, POST))
    expect(await hitsAfter(500)).toBe(1)
    await happens(queues)
    for (let at = 500; at < ms + 200; at += 100) await clock.advance(100)
    expect(answer.value?.status).toBe(200)
  })
})
