import { expect, test } from 'vitest'
import { memoryStore } from '../../js/stores/memory.ts'
import { fakeClock } from '../../js/testing.ts'
import { bare, ORDERS } from './setup.ts'

const call = { method: 'POST', body: 'one', redrive: { idempotencyKey: 'order-1' } } as const

/** A queue with a store, whose awaited call under `order-1` was given up: its server has asked for a longer wait than its caller has. */
async function setup(more: { readonly allowMemory?: boolean } = {}) {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const { queue, server } = bare({ clock, store, principal: 'ben', warn: false, ...more }, [
    503,
    { 'retry-after': '120' },
  ])
  await queue.ready
  const given = queue.fetch(ORDERS, { ...call, redrive: { ...call.redrive, waitMs: 5_000 } })
  await clock.advance(10)
  expect((await given).status).toBe(503)
  await clock.advance(130_000)
  return { clock, server, store, queue }
}

test.each([{}, { allowMemory: true }])(
  'S3 S6 an order that was given up for its caller is stored once it is handed over, with %o',
  async (more) => {
    const { clock, server, store, queue } = await setup(more)
    server.reply(200)
    const receipt = await queue.enqueue(ORDERS, call)
    expect(receipt).toMatchObject({ durability: 'memory', deduplicated: false, idempotencyKey: 'order-1' })
    await clock.advance(1_000)
    expect(await store.get(receipt.taskId)).toMatchObject({ status: 'SUCCEEDED' })
    expect(server.hits).toBe(2)
  },
)

test('its dead letter is gone then: put back, it would be a second task of one key', async () => {
  const { clock, server, queue } = await setup()
  const [dead] = (await queue.list()).tasks
  server.reply(200)
  await queue.enqueue(ORDERS, call)
  await clock.advance(1_000)
  expect(queue.stats().deadLetters).toBe(0)
  await expect(queue.deadLetters.redrive(dead?.taskId ?? '')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
})

test('another request under its key is still a conflict', async () => {
  const { queue } = await setup()
  await expect(queue.enqueue(ORDERS, { ...call, body: 'two' })).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
})
