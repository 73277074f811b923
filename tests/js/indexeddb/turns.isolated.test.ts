/** What a queue asks of its page's database for each turn. */

import { expect, onTestFinished, test } from 'vitest'
import { RetryQueue } from '../../../js/index.ts'
import { withMethods } from '../durable-setup.ts'
import { NO_GATES } from '../setup.ts'
import { asked, freshName, openStore } from './setup.ts'

const ORDERS = 'https://api.test/orders'

/** A queue on a database of its own, which counts its turns and the times it asks for counters. */
async function setup() {
  const store = openStore(freshName())
  const calls = { turns: 0, counts: 0 }
  const counted = withMethods(store, {
    turn(step) {
      calls.turns++
      return store.turn(step)
    },
    counts() {
      calls.counts++
      return store.counts()
    },
  })
  const fetch = async () => new Response(null, { status: 200 })
  const queue = new RetryQueue({ store: counted, fetch, principal: null, ...NO_GATES })
  onTestFinished(() => queue.close({ drainMs: 0 }))
  await queue.ready
  const run = async () => {
    await queue.enqueue(ORDERS, { method: 'POST' })
    await queue.idle()
  }
  await run() // from now on the database is known, and what is kept for a full quota is written
  return { queue, calls, run }
}

test('a turn is one transaction, also for the numbers that a queue shows after it', async () => {
  const { queue, calls, run } = await setup()
  const before = { ...calls }
  const { transactions } = await asked(run)
  const turns = calls.turns - before.turns
  expect(turns).toBeGreaterThan(0)
  expect({ transactions, counts: calls.counts }).toEqual({ transactions: 1 + turns, counts: before.counts }) // 1: the enqueue
  expect(queue.stats()).toMatchObject({ depth: 0 })
})
