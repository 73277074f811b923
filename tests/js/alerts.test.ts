/** What is worth paging for. */

import { expect, test } from 'vitest'
import { ORDERS, setup } from './setup.ts'

const ORIGIN = new URL(ORDERS).origin

test('a queue over 80 % of its capacity, told once until it was under 60 %', async () => {
  const { queue, clock, events } = await setup({ capacity: 10 })
  queue.pause()
  const ids: string[] = []
  const fill = async (n: number) => {
    for (let i = 0; i < n; i++) ids.push((await queue.enqueue(`${ORDERS}/${ids.length}`)).taskId)
  }
  await fill(8)
  expect(events.of('alert')).toEqual([])
  await fill(1)
  expect(events.of('alert')).toEqual([
    {
      kind: 'queue_depth',
      message: '9 tasks are held; beyond 10 (capacity) calls are refused',
      value: 9,
      threshold: 8,
    },
  ])
  await queue.cancel(ids[0] ?? '')
  await fill(2)
  expect(events.of('alert')).toHaveLength(1)
  for (const id of ids.splice(1, 6)) await queue.cancel(id)
  await fill(5)
  expect(events.of('alert')).toHaveLength(2)
  await clock.advance(0)
})

test('more than five dead letters in a minute, told once a minute', async () => {
  const { queue, server, clock, events } = await setup({ policy: { maxAttempts: 1 } })
  const die = async (n: number) => {
    for (let i = 0; i < n; i++) {
      server.reply(500)
      await queue.enqueue(ORDERS, { method: 'POST', body: String(i) })
      await clock.advance(0)
    }
  }
  await die(5)
  await clock.advance(60_000)
  await die(5)
  expect(events.of('alert')).toEqual([])
  await die(1)
  expect(events.of('alert')).toMatchObject([{ kind: 'dead_letter_rate', value: 6, threshold: 5 }])
  await die(10)
  expect(events.of('alert')).toHaveLength(1)
  await clock.advance(60_000)
  await die(6)
  expect(events.of('alert')).toHaveLength(2)
})

test('a retry storm: over ten tasks for each success', async () => {
  const { queue, server, events } = await setup({ policy: { initialDelayMs: 3_600_000 } })
  for (let i = 0; i < 19; i++) server.reply(503)
  for (let i = 0; i < 19; i++) void queue.fetch(`${ORDERS}/${i}`, { redrive: { mode: 'defer' } })
  await queue.fetch('https://other.test/')
  expect(events.of('alert')).toEqual([])
  server.reply(503)
  await queue.fetch(`${ORDERS}/19`, { redrive: { mode: 'defer' } })
  await Promise.resolve()
  expect(events.of('alert')).toMatchObject([{ kind: 'retry_storm', value: 20, threshold: 10, origin: ORIGIN }])
})

test('opens the circuit where the option says so', async () => {
  const breaker = { openOnStorm: true, afterMs: 3_600_000 }
  const { queue, server, events, clock } = await setup({ breaker, policy: { initialDelayMs: 3_600_000 } })
  for (let i = 0; i < 20; i++) server.reply(503)
  for (let i = 0; i < 20; i++) void queue.fetch(`${ORDERS}/${i}`, { redrive: { mode: 'defer' } })
  await clock.advance(0)
  expect(events.of('alert')).toMatchObject([{ kind: 'retry_storm' }])
  expect(events.of('circuit')).toEqual([{ origin: ORIGIN, from: 'CLOSED', to: 'OPEN' }])
})
