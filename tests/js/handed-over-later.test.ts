/** A call that failed for its caller, who then hands the same request over under its key: the task that it became goes on. */

import { expect, test } from 'vitest'
import { withMethods, world } from './durable-setup.ts'
import { always, ORDERS, setup, watch } from './setup.ts'

const POST = { method: 'POST', body: 'tea', redrive: { idempotencyKey: 'evt_1' } } as const

const ENDS = [
  ['wait_exceeded', { waitMs: 1_400 }, 2],
  ['max_attempts', { policy: { maxAttempts: 2 } }, 2],
] as const

test.each(ENDS)(
  'S1 enqueued after its caller was told %s, in memory: it is delivered under its key',
  async (reason, more, failures) => {
    const { queue, server, clock } = await setup()
    always(server, 503, failures)
    const answer = watch(queue.fetch(ORDERS, { ...POST, redrive: { ...POST.redrive, ...more } }))
    await clock.advance(30_000)
    expect(answer.value?.redrive).toMatchObject({ reason })
    const receipt = await queue.enqueue(ORDERS, POST)
    expect(receipt).toMatchObject({ taskId: answer.value?.redrive?.taskId, deduplicated: true })
    await clock.advance(3_600_000)
    expect((await queue.get(receipt.taskId))?.status).toBe('SUCCEEDED')
    expect(new Set(server.requests.map(({ headers }) => headers.get('idempotency-key')))).toEqual(new Set(['evt_1']))
  },
)

test.each(ENDS)(
  'S1 enqueued after its caller was told %s, stored: it is delivered under its key',
  async (reason, more, failures) => {
    const { open, server, clock } = world()
    const [{ queue }, other] = [await open(), await open()]
    always(server, 503, failures)
    const answer = watch(queue.fetch(ORDERS, { ...POST, redrive: { ...POST.redrive, ...more } }))
    await clock.advance(30_000)
    expect(answer.value?.redrive).toMatchObject({ reason })
    // two at once, from two processes: one task
    const [receipt, same] = await Promise.all([queue.enqueue(ORDERS, POST), other.queue.enqueue(ORDERS, POST)])
    expect([receipt.taskId, receipt.deduplicated]).toEqual([same.taskId, true])
    await clock.advance(3_600_000)
    expect((await queue.get(receipt.taskId))?.status).toBe('SUCCEEDED')
    expect(new Set(server.requests.map(({ headers }) => headers.get('idempotency-key')))).toEqual(new Set(['evt_1']))
  },
)

const LEAVES = [
  ['waits no longer', 'enqueue', 'memory'],
  ['waits no longer', 'enqueue', 'store'],
  ['waits no longer', 'defer', 'memory'],
  ['waits no longer', 'defer', 'store'],
  ['has aborted', 'enqueue', 'memory'],
  ['has aborted', 'enqueue', 'store'],
  ['has aborted', 'defer', 'memory'],
  ['has aborted', 'defer', 'store'],
] as const

test.each(LEAVES)('S1 what joins a call whose caller %s is handed over for good: %s, %s', async (how, door, place) => {
  const { queue, server, clock } = place === 'memory' ? await setup() : await stored()
  always(server, 503, 3)
  const controller = new AbortController()
  const redrive = { ...POST.redrive, waitMs: 2_500 }
  const first = watch(queue.fetch(ORDERS, { ...POST, signal: controller.signal, redrive }))
  await clock.advance(200)
  const handed = watch<unknown>(
    door === 'enqueue'
      ? queue.enqueue(ORDERS, POST)
      : queue.fetch(ORDERS, { ...POST, redrive: { ...POST.redrive, mode: 'defer' } }),
  )
  await clock.advance(200)
  expect(handed.state).toBe('resolved')
  if (how === 'has aborted') controller.abort()
  await clock.advance(5_000)
  expect(first.state).toBe(how === 'has aborted' ? 'rejected' : 'resolved')
  await clock.advance(3_600_000)
  const { tasks } = await queue.list()
  expect(tasks.map(({ status }) => status)).toEqual(['SUCCEEDED'])
  expect(new Set(server.requests.map(({ headers }) => headers.get('idempotency-key')))).toEqual(new Set(['evt_1']))
})

async function stored() {
  const { open, server, clock } = world()
  return { ...(await open()), server, clock }
}

test('S1 enqueued in the next process, after its own had closed with the caller still waiting', async () => {
  const { open, close, server, clock } = world()
  const first = await open()
  always(server, 503, 1)
  const answer = watch(first.queue.fetch(ORDERS, POST))
  await clock.advance(100)
  await close(first)
  expect(answer.value?.redrive).toMatchObject({ reason: 'closed' })
  const { queue } = await open()
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(60_000)
  expect((await queue.get(taskId))?.status).toBe('SUCCEEDED')
})

test('one that cannot be put back when its caller has left is reported, with what to do', async () => {
  const redrive = async () => {
    throw new Error('disk on fire')
  }
  const { open, server, clock } = world((store) => withMethods(store, { redrive }))
  const { queue, events } = await open()
  always(server, 503, 9)
  watch(queue.fetch(ORDERS, { ...POST, redrive: { ...POST.redrive, waitMs: 2_500 } }))
  await clock.advance(200)
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(5_000)
  const [said] = events.of('degraded')
  expect(said).toMatchObject({ code: 'storage_unavailable' })
  expect(said?.message).toBe(
    `task ${taskId}, which was handed over, stays a dead letter (disk on fire): put it back with deadLetters.redrive(taskId)`,
  )
})
