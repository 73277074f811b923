/** A queue with a store: what waits is in the store, and what was accepted outlives the queue that took it. */

import { expect, test } from 'vitest'
import { opened, world } from './durable-setup.ts'
import { forApi, ORDERS, watch } from './setup.ts'

const POST = { method: 'POST', body: 'tea' } as const

test('S1 what was enqueued is delivered by the next process', async () => {
  const { open, close, server, hitsAfter } = world()
  const first = await open()
  first.queue.pause()
  const receipt = await first.queue.enqueue(ORDERS, POST)
  expect(receipt).toMatchObject({ durability: 'memory', deduplicated: false })
  await close(first)
  expect(server.hits).toBe(0)

  const { queue, events } = await open()
  expect(await hitsAfter()).toBe(1)
  expect(server.requests[0]?.body).toBe('tea')
  expect(server.requests[0]?.headers.get('idempotency-key')).toBe(receipt.idempotencyKey)
  expect(events.names()).toEqual(['resumed', 'attempt', 'succeeded'])
  expect(await queue.get(receipt.taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
})

test('the caller of a first attempt that failed gets the answer of the retry, which the store has granted', async () => {
  const { clock, store, queue, events, hitsAfter } = await opened({}, 503, 201)
  const answer = watch(queue.fetch(ORDERS, POST))
  await clock.settle()
  expect(await store.counts()).toMatchObject({ pending: 1 })
  expect(await hitsAfter(999)).toBe(1)
  await clock.advance(1)
  expect(answer.value?.status).toBe(201)
  expect(events.names()).toEqual(['queued', 'retry', 'attempt', 'succeeded'])
  expect(await store.counts()).toMatchObject({ pending: 0, inFlight: 0, succeeded: 1 })
})

test('before-send: the first attempt is a stored one, and its caller gets its answer', async () => {
  const { server, store, queue, events } = await opened({ persist: 'before-send' })
  const response = await queue.fetch(ORDERS, POST)
  expect([response.status, server.hits]).toEqual([200, 1])
  expect(events.names()).toEqual(['queued', 'attempt', 'succeeded'])
  expect(await store.counts()).toMatchObject({ succeeded: 1 })
})

test('S12 a header that may not be stored is sent while its caller lives, and asked of credentials afterwards', async () => {
  const { open, close, server, store, hitsAfter } = world()
  const first = await open()
  server.reply(503)
  const secret = { ...POST, headers: { authorization: 'Bearer s3cr3t-of-ann' } }
  const { taskId } = (await (await first.queue.fetch(ORDERS, { ...secret, redrive: { mode: 'defer' } })).json()) as {
    taskId: string
  }
  expect(await store.get(taskId)).toMatchObject({
    headers: { 'content-type': expect.any(String) },
    withheldHeaders: ['authorization'],
  })
  await close(first)

  const without = await open()
  expect(await hitsAfter(60_000)).toBe(1)
  expect(without.events.of('degraded')).toMatchObject([{ code: 'credentials_missing' }])
  await close(without)

  await open({ credentials: forApi(() => ({ authorization: 'Bearer fresh' })) })
  expect(await hitsAfter(1_000)).toBe(2)
  expect(server.requests[1]?.headers.get('authorization')).toBe('Bearer fresh')
})

test('S3 a lease shorter than asked for is renewed in its own time, so no other process takes the task during its attempt', async () => {
  const { open, server, hitsAfter } = world((store) => {
    const turn = store.turn.bind(store)
    store.turn = (step) => turn({ ...step, claim: step.claim && { ...step.claim, leaseMs: 3_000 } })
    return store
  })
  const first = await open()
  await open()
  const answer = server.hang()
  await first.queue.enqueue(ORDERS, POST)
  expect(await hitsAfter(9_000)).toBe(1)
  answer(200)
  expect(await hitsAfter(9_000)).toBe(1)
})
