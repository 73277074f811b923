/** The store of a service as its metrics see it. */

import { expect, test } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import { watchedStore } from '../../../js/service/watched-store.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import { claimOf, newTask } from '../store-contract/kit.ts'

const UNHEARD = { storeCalled: () => {}, claimed: () => {}, untold: () => {} }
const STEP = { owner: 'one', settle: [], renew: [] }

/** One for everyone, of which nothing is heard unless `watch` is given. */
function setup(watch: Parameters<typeof watchedStore>[1] = UNHEARD, more: Partial<TaskStore> = {}) {
  const clock = fakeClock()
  const store = Object.assign(memoryStore({ clock, everyone: true }), more)
  return { clock, store, watched: watchedStore(store, watch, clock) }
}

test('it says how long after its own wait each task was claimed, and nothing of a turn that had no room', async () => {
  const seen: (readonly number[])[] = []
  const calls: string[] = []
  const ends: number[] = []
  const watch = {
    storeCalled: (call: string) => void calls.push(call),
    claimed: (lateMs: readonly number[]) => void seen.push(lateMs),
    untold: (count: number) => void ends.push(count),
  }
  const { clock, watched: store } = setup(watch)
  await store.enqueue([newTask(1, { dueInMs: 50 }), newTask(2, { dueInMs: 57 }), newTask(3, { dueInMs: 90 })])
  clock.step(57)
  for (const claim of [null, claimOf(), claimOf()]) await store.turn({ ...STEP, claim })
  expect(seen).toEqual([[7, 0], []])
  expect(calls).toEqual(['enqueue', 'turn', 'turn', 'turn'])
  expect(ends).toEqual([0, 0, 0])
})

test('it has no homes: no caller waits in the queue of a service', () => {
  const { store, watched } = setup()
  expect([store.homes === undefined, watched.homes]).toEqual([false, undefined])
})

test.for([
  ['holds up the process', () => Promise.resolve(), 16],
  ['does not', undefined, 32],
] as const)(
  'where a turn %s, it claims up to so many at once, and the next one is due at once',
  async ([, gather, most]) => {
    const { watched } = setup(UNHEARD, gather && { gather })
    await watched.enqueue(Array.from({ length: 50 }, (_, n) => newTask(n)))
    const { claimed, nextInMs } = await watched.turn({ ...STEP, claim: claimOf({ limit: 40 }) })
    expect([claimed.length, nextInMs]).toEqual([most, 0])
  },
)

test('of many tasks the lanes are looked at once in a second, and turns between show them as they were', async () => {
  const { clock, store, watched } = setup()
  const brief: boolean[] = []
  const { turn } = store
  store.turn = (step) => {
    brief.push(step.isBrief === true)
    return turn.call(store, step)
  }
  const next = () => watched.turn({ ...STEP, claim: claimOf({ limit: 1 }) })
  await watched.enqueue(Array.from({ length: 999 }, (_, n) => newTask(n)))
  await next()
  await watched.enqueue([newTask(1_000)])
  const { lanes } = await next()
  expect([(await next()).lanes, brief]).toEqual([lanes, [false, false, true]])
  await clock.advance(1_000)
  expect((await next()).lanes).not.toEqual(lanes)
  expect(brief).toEqual([false, false, true, false])
})

test('once closed it stays so, whatever still runs of a request', async () => {
  const { watched } = setup()
  const { list, counts, registry, pauses } = watched
  expect(await list({ limit: 1 })).toEqual({ tasks: [] })
  await watched.close()
  for (const call of [list({ limit: 1 }), counts(), registry.read({ prefix: '' }), pauses.list()]) {
    await expect(call).rejects.toMatchObject({ code: 'QUEUE_CLOSED' })
  }
  await watched.close()
})
