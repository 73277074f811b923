/** A process that was away for longer than its leases: what it held, others have had meanwhile. */

import { expect, test } from 'vitest'
import { type World, withMethods, world } from './durable-setup.ts'
import { ORDERS } from './setup.ts'

const POST = { method: 'POST', body: 'tea' } as const
const LEASE_MS = 30_000
/** A process that has heard nothing of the store for half a lease does not know whether others could reach it. */
const GRACE_MS = 12_000

/** A world whose first process has its turns held up on demand; the others' are their own. */
function setup(): World & { freeze(): () => void } {
  let thaw: Promise<void> | undefined
  let opened = 0
  const it = world((store) => {
    const own = opened++ === 0
    return withMethods(store, {
      async turn(step) {
        if (own) await thaw
        return store.turn(step)
      },
    })
  })
  return {
    ...it,
    freeze() {
      let go = () => {}
      thaw = new Promise((resolve) => {
        go = resolve
      })
      return () => {
        thaw = undefined
        go()
      }
    },
  }
}

test('S9 a task that is leased to its former runner again starts no second attempt beside the first', async () => {
  const { open, server, clock, freeze } = setup()
  const { queue } = await open({ concurrency: 2, policy: { attemptTimeoutMs: 0 } })
  server.hang()
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(0)
  const thaw = freeze()
  // another takes it up, fails, and goes
  const other = await open({ concurrency: 2, policy: { attemptTimeoutMs: 0 } })
  server.reply(503)
  await clock.advance(LEASE_MS + GRACE_MS + 500)
  expect(server.hits).toBe(2)
  other.queue.pause()
  await clock.advance(5_000)
  thaw()
  await clock.advance(60_000)
  expect(await queue.result(taskId)).toMatchObject({ task: { status: 'SUCCEEDED' } })
  expect(server.hits).toBe(3)
  // no place of its core is lost with it
  const answers = [server.hang(), server.hang()]
  for (const n of [1, 2]) await queue.enqueue(`${ORDERS}/${n}`, POST)
  await clock.advance(1_000)
  expect(server.hits).toBe(5)
  for (const answer of answers) answer(200)
  await clock.advance(1_000)
})

/** A world in which the first process is frozen while it reads the body of what it has claimed: none of its calls comes back until it wakes. */
function frozenReader(): World & { wake(): void } {
  let wake = () => {}
  const asleep = new Promise<void>((resolve) => {
    wake = resolve
  })
  let opened = 0
  let isFrozen = false
  const it = world((store) => {
    if (opened++ > 0) return store
    return withMethods(store, {
      async body(taskId) {
        isFrozen = true
        await asleep
        return store.body(taskId)
      },
      async turn(step) {
        if (isFrozen) await asleep
        return store.turn(step)
      },
    })
  })
  return { ...it, wake }
}

test('S4 a process that wakes after another has delivered what it had claimed does not take the missing body for damage', async () => {
  const { open, clock, store, wake } = frozenReader()
  const frozen = await open()
  const other = await open()
  other.queue.pause()
  const { taskId } = await other.queue.enqueue(ORDERS, POST)
  await clock.advance(5_000)
  expect(await store.get(taskId)).toMatchObject({ status: 'IN_FLIGHT' })
  other.queue.resume()
  await clock.advance(2 * LEASE_MS)
  expect(await store.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
  wake()
  await clock.advance(LEASE_MS)
  expect(frozen.events.of('degraded')).toEqual([])
  expect(frozen.events.of('exhausted')).toEqual([])
  expect(await store.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
})

/** Processes whose store is away for all of them: their turns fail, or are answered once it is back. */
function awayForAll(how: 'fails' | 'hangs'): World & { away(): () => void } {
  let back: Promise<void> | undefined
  const it = world((store) =>
    withMethods(store, {
      async turn(step) {
        if (back && how === 'fails') throw new Error('ECONNREFUSED')
        await back
        return store.turn(step)
      },
    }),
  )
  return {
    ...it,
    away() {
      let go = () => {}
      back = new Promise((resolve) => {
        go = resolve
      })
      return () => {
        back = undefined
        go()
      }
    },
  }
}

test.for([
  ['fails', 40_000],
  ['fails', 600_000],
  ['hangs', 40_000],
] as const)(
  'S9 a wait that a server asked for while the store %s for %i ms, longer than a lease, is kept by all processes',
  async ([how, awayMs]) => {
    const { open, server, clock, away } = awayForAll(how)
    const policy = { maxDelayMs: 3_600_000, attemptTimeoutMs: 0 }
    const options = { concurrency: 8, policy }
    const answers = Array.from({ length: 6 }, () => server.hang())
    const queues = []
    for (const n of [1, 2, 3]) {
      const { queue } = await open(options)
      for (const part of ['a', 'b']) await queue.enqueue(`${ORDERS}/${n}${part}`, POST)
      await clock.advance(500)
      // the next is to have tasks of its own
      queue.pause()
      queues.push(queue)
    }
    for (const queue of queues) queue.resume()
    expect(server.hits).toBe(6)
    const back = away()
    // half of them are answered meanwhile, the others afterwards
    const answer = (some: typeof answers) => some.map((each) => each(429, { 'retry-after': '90' }))
    await clock.advance(2_000)
    answer(answers.slice(0, 3))
    await clock.advance(awayMs)
    back()
    await clock.advance(20_000)
    expect(server.hits).toBe(6)
    answer(answers.slice(3))
    await clock.advance(69_000)
    expect(server.hits).toBe(6)
    await clock.advance(60_000)
    expect(server.hits).toBe(12)
  },
)
