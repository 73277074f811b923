/** How often a process asks its store: as often as something may have changed, and never without end. */

import { expect, test } from 'vitest'
import { TurnSchedule } from '../../js/durable/turn-schedule.ts'
import { opened, withMethods, world } from './durable-setup.ts'
import { ORDERS } from './setup.ts'

const POST = { method: 'POST', body: 'tea' } as const
test('attempts that end one after another are settled by one turn of a store that gathers them', async () => {
  const settled: number[] = []
  const gathering: (() => void)[] = []
  const isGathering = { yes: false }
  const { open, server, clock } = world((store) =>
    withMethods(store, {
      gather: () => (isGathering.yes ? new Promise((resolve) => gathering.push(resolve)) : Promise.resolve()),
      turn: (step) => {
        if (step.settle.length > 0) settled.push(step.settle.length)
        return store.turn(step)
      },
    }),
  )
  const { queue } = await open()
  const ends = [server.hang(), server.hang(), server.hang()]
  const tasks = await Promise.all(ends.map(() => queue.enqueue(ORDERS, POST)))
  await clock.advance(0)
  isGathering.yes = true
  for (const end of ends) {
    end(200)
    await clock.advance(0)
  }
  expect([settled, gathering.length]).toEqual([[], 1])
  isGathering.yes = false
  gathering[0]?.()
  await clock.advance(0)
  expect(settled).toEqual([3])
  for (const { taskId } of tasks) expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
})

test('a queue that is closed while its store gathers makes no turn any more', async () => {
  const gathering: (() => void)[] = []
  const seen = { turns: 0, gathers: false }
  const { open, clock, close } = world((store) =>
    withMethods(store, {
      gather: () => (seen.gathers ? new Promise((resolve) => gathering.push(resolve)) : Promise.resolve()),
      turn: (step) => {
        seen.turns++
        return store.turn(step)
      },
    }),
  )
  const process = await open()
  await clock.advance(0)
  seen.gathers = true
  await process.queue.enqueue(ORDERS, POST)
  await clock.advance(0)
  seen.turns = 0
  const closing = close(process)
  await clock.advance(10_000)
  for (const end of gathering) end()
  await closing
  expect([gathering.length, seen.turns]).toEqual([1, 0])
})

test('what is due in a store that answers late is asked for at its time, not later by the wait for the last answer', async () => {
  const late = { answerMs: 0, claims: [] as number[] }
  const { open, server, clock, hitsAfter } = world((store) =>
    withMethods(store, {
      turn: async (step) => {
        const askedAt = clock.now()
        const turn = await store.turn(step)
        for (const { dueAt = Number.NaN } of turn.claimed) late.claims.push(askedAt - dueAt)
        if (late.answerMs > 0) await new Promise<void>((resolve) => clock.after(late.answerMs, resolve))
        return turn
      },
    }),
  )
  const { queue } = await open()
  late.answerMs = 200
  server.reply(503).reply(200)
  await queue.enqueue(ORDERS, POST)
  await clock.advance(2_000)
  late.answerMs = 0
  expect(await hitsAfter(2_000)).toBe(2)
  expect(late.claims).toEqual([0, 0])
})

test('a store that took minutes to answer is asked again at once: its silence was no sleep of the machine', () => {
  const now = 200_000
  const host = { now: () => now, draw: () => 2 ** 31 }
  const runner = { core: { call: () => 1 }, host, lanes: {}, guard: (ask: () => unknown) => ask() }
  const schedule = new TurnSchedule(runner as never)
  const turn = { now: 80_000, nextInMs: 1_000, claimed: [], blockedByLimit: false }
  schedule.planNext(turn as never, {} as never, now - 120_000, Number.POSITIVE_INFINITY, undefined)
  schedule.afterGap(now)
  expect(schedule.claimAt).toBe(now)
})

const TASKS = 50
/** The first look, and one that finds nothing any more. */
const BESIDES = 5

test('a backlog costs one turn an attempt: it settles the last and claims the next', async () => {
  const { clock, store, server, queue } = await opened({ concurrency: 1 })
  queue.pause()
  for (let i = 0; i < TASKS; i++) await queue.enqueue(`${ORDERS}/${i}`, { method: 'POST' })
  await clock.settle()
  let turns = 0
  const { turn } = store
  store.turn = (step) => {
    turns++
    return turn.call(store, step)
  }
  queue.resume()
  for (let looks = 0; looks < TASKS; looks++) await clock.settle()
  expect(server.hits).toBe(TASKS)
  expect(turns).toBeLessThanOrEqual(TASKS + BESIDES)
})

test('a store whose gather fails is a store that fails: it is asked again, and no promise is left rejected', async () => {
  const seen = { fails: false }
  const { open, server, clock } = world((store) =>
    withMethods(store, { gather: () => (seen.fails ? Promise.reject(new Error('no room')) : Promise.resolve()) }),
  )
  const { queue } = await open()
  const words: string[] = []
  queue.on('degraded', ({ message }) => words.push(message))
  server.reply(200)
  seen.fails = true
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(1000)
  expect(words).toEqual([expect.stringContaining('no room')])
  seen.fails = false
  await clock.advance(60_000)
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
})
