/** A header that is not stored, and that no `credentials` give, is in one process alone: for as long as it lives, it sends the task. */

import { expect, test } from 'vitest'
import { world } from './durable-setup.ts'
import { ORDERS } from './setup.ts'
import { browser } from './tabs-setup.ts'

const POST = { method: 'POST', body: 'tea', headers: { authorization: 'Bearer 1' } } as const
const TASKS = [1, 2, 3, 4, 5, 6]

test.each(['enqueue', 'defer'] as const)(
  'L3 what was handed over by %s with a header of its own is not taken, and parked, by a process without it',
  async (how) => {
    const { open, clock, server } = world()
    const [sender, other] = [await open(), await open()]
    for (const _ of TASKS) server.reply(503)
    for (const n of TASKS) {
      if (how === 'enqueue') await sender.queue.enqueue(`${ORDERS}/${n}`, POST)
      else await sender.queue.fetch(`${ORDERS}/${n}`, { ...POST, redrive: { mode: 'defer' } })
    }
    await clock.advance(120_000)
    expect(sender.events.of('succeeded')).toHaveLength(TASKS.length)
    expect(new Set(server.requests.map(({ headers }) => headers.get('authorization')))).toEqual(new Set(['Bearer 1']))
    expect(other.events.of('degraded')).toEqual([])
  },
)

test('S12 once that process is gone, another one parks the task and says what it lacks', async () => {
  const { open, close, clock, server } = world()
  const [sender, other] = [await open(), await open()]
  server.reply(503, { 'retry-after': '10' })
  await sender.queue.enqueue(ORDERS, POST)
  await clock.advance(1_000)
  await close(sender)
  await clock.advance(60_000)
  expect([server.hits, other.events.of('degraded')]).toMatchObject([1, [{ code: 'credentials_missing' }]])
})

test('L3 a tab that does not lead sends what it alone has the headers of', async () => {
  const { open, clock, server } = browser()
  const [leader, second] = [await open(), await open()]
  server.hang()
  await leader.queue.enqueue(`${ORDERS}/other`, { method: 'POST' })
  await clock.settle()
  server.reply(503)
  await second.queue.enqueue(ORDERS, POST)
  await clock.advance(30_000)
  expect(
    server.requests.filter(({ url }) => url === ORDERS).map(({ headers }) => headers.get('authorization')),
  ).toEqual(['Bearer 1', 'Bearer 1'])
  expect(leader.events.of('degraded')).toEqual([])
})
