/** How often a queue goes to its store. */

import { expect, test } from 'vitest'
import { world } from './durable-setup.ts'
import { ORDERS } from './setup.ts'

const TASKS = 50
/** The first look, and one that finds nothing any more. */
const BESIDES = 5

test('a backlog costs one turn an attempt: it settles the last and claims the next', async () => {
  const { open, clock, store, server } = world()
  const { queue } = await open({ concurrency: 1 })
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
