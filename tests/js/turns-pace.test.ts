/** How often a process asks its store: as often as something may have changed, and never without end. */

import { expect, test } from 'vitest'
import type { TaskStore } from '../../js/api/store.ts'
import { world } from './durable-setup.ts'
import { ORDERS } from './setup.ts'

const POST = { method: 'POST', body: 'tea' } as const
/** Far more than any test here may take; a loop without a pause would not let time go on. */
const ENDLESS = 500

/** A world that counts turns, and whose store fails them while `down`. */
function setup() {
  const seen = { turns: 0, down: false }
  const it = world((store) => {
    const turn: TaskStore['turn'] = async (step) => {
      if (++seen.turns > ENDLESS) return new Promise(() => {})
      if (seen.down) throw new Error('no store')
      return store.turn(step)
    }
    return new Proxy<TaskStore>(store, {
      get(_, name) {
        const value: unknown = name === 'turn' ? turn : Reflect.get(store, name)
        return typeof value === 'function' ? value.bind(store) : value
      },
    })
  })
  return { ...it, seen }
}

test('a store that fails is asked again less and less often, also when a lease is to be renewed', async () => {
  const { open, server, clock, seen } = setup()
  const { queue } = await open()
  const end = server.hang()
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(0)
  seen.down = true
  end(200)
  seen.turns = 0
  await clock.advance(60_000)
  expect(seen.turns).toBeLessThan(30)
  seen.down = false
  await clock.advance(5_000)
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
})

test('a lease that is lost while its attempt does not end is not renewed over and over', async () => {
  const { open, clock, store, seen } = setup()
  // deaf to its signal
  const { queue } = await open({ fetch: () => new Promise(() => {}), policy: { attemptTimeoutMs: 0 } })
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(0)
  await store.purge({ taskId })
  seen.turns = 0
  await clock.advance(60_000)
  expect(seen.turns).toBeLessThan(30)
})
