/** `maxAttempts` of a queue's policy is for callers who wait: an outage of 20 s costs no order that was handed over. */

import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { type EnqueueReceipt, presets, RetryQueue, type RetryQueueOptions, type TaskOptions } from '../../js/index.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { always, closeNow, NO_GATES, ORDERS, watch } from './setup.ts'

const OUTAGE_MS = 20_000
const HOUR_MS = 3_600_000
const POST = { method: 'POST', body: 'tea' } as const
const CURVE = { strategy: 'fixed', initialDelayMs: 1_000, jitterType: 'NONE' } as const

/** A queue whose server answers nothing but 503 for 20 s. */
async function away(options: RetryQueueOptions) {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const backAt = clock.now() + OUTAGE_MS
  const fetch: typeof globalThis.fetch = (input, init) => {
    if (clock.now() < backAt) server.reply(503)
    return server.fetch(input, init)
  }
  const open = (more: RetryQueueOptions = {}) => {
    const queue = new RetryQueue({ ...NO_GATES, warn: false, clock, fetch, seed: 1n, ...options, ...more })
    onTestFinished(() => closeNow(queue, clock))
    return queue
  }
  return { clock, server, open }
}

const handOvers: Readonly<Record<string, (queue: RetryQueue, redrive: TaskOptions) => Promise<string>>> = {
  enqueue: async (queue, redrive) => (await queue.enqueue(ORDERS, { ...POST, redrive })).taskId,
  defer: async (queue, redrive) => {
    const response = await queue.fetch(ORDERS, { ...POST, redrive: { ...redrive, mode: 'defer' } })
    return ((await response.json()) as EnqueueReceipt).taskId
  },
}

test.each<[what: string, options: RetryQueueOptions, redrive: TaskOptions, ends: string]>([
  ["the queue's policy", { policy: { ...CURVE, maxAttempts: 4 } }, {}, 'SUCCEEDED'],
  ["the queue's policy, without a curve", { policy: { maxAttempts: 4 } }, {}, 'SUCCEEDED'],
  ['the same, in a call with other words', { policy: { maxAttempts: 4 } }, { policy: CURVE }, 'SUCCEEDED'],
  ['the call', { policy: CURVE }, { policy: { maxAttempts: 4 } }, 'EXHAUSTED'],
  [
    'the call, against the queue',
    { policy: { ...CURVE, maxAttempts: 50 } },
    { policy: { maxAttempts: 4 } },
    'EXHAUSTED',
  ],
  ['a named policy', { policies: [{ ...CURVE, policyId: 'few', maxAttempts: 4 }] }, { policyId: 'few' }, 'EXHAUSTED'],
  [
    'a default that is among the named',
    { policies: [{ ...CURVE, policyId: 'default', maxAttempts: 4 }] },
    {},
    'EXHAUSTED',
  ],
  ['a preset', { policy: presets.grpc }, {}, 'EXHAUSTED'],
])('maxAttempts 4 of %s, to what is handed over', async (_what, options, redrive, ends) => {
  for (const handOver of Object.values(handOvers)) {
    const { clock, open } = await away(options)
    const queue = open()
    await queue.ready
    const taskId = await handOver(queue, redrive)
    await clock.advance(2 * OUTAGE_MS)
    expect((await queue.get(taskId))?.status).toBe(ends)
  }
})

test.each([
  ['in memory', false],
  ['stored', true],
])('a queue that retries nothing (maxAttempts 1) retries nothing that is handed over, %s', async (_where, isStored) => {
  const { clock, server, open } = await away({ policy: { maxAttempts: 1 } })
  const queue = open(isStored ? { store: memoryStore({ clock }), principal: null } : {})
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(2 * OUTAGE_MS)
  expect([server.hits, (await queue.get(taskId))?.status]).toEqual([1, 'EXHAUSTED'])
})

test('an awaited call has the four, and is told', async () => {
  const { clock, server, open } = await away({ policy: { ...CURVE, maxAttempts: 4 } })
  const answer = watch(open().fetch(ORDERS, POST))
  await clock.advance(OUTAGE_MS)
  expect([answer.value?.status, server.hits]).toEqual([503, 4])
})

test('a task whose caller is gone goes on as one that was handed over', async () => {
  const { clock, open } = await away({ policy: { ...CURVE, maxAttempts: 4 } })
  const queue = open()
  await queue.ready
  const controller = new AbortController()
  const call = watch(queue.fetch(ORDERS, { ...POST, signal: controller.signal, redrive: { detach: true } }))
  await clock.advance(1_000)
  controller.abort()
  await clock.advance(2 * OUTAGE_MS)
  expect([call.state, queue.stats().succeeded]).toEqual(['rejected', 1])
})

test('the time is what ends it', async () => {
  const { clock, server, open } = await away({ policy: { maxAttempts: 4, totalBudgetMs: HOUR_MS } })
  always(server, 503, 5_000)
  const queue = open()
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(2 * HOUR_MS)
  expect(await queue.get(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'total_budget' })
})

const guide = readFileSync(new URL('../../docs/coming-from.md', import.meta.url), 'utf8')
const queues = [...guide.matchAll(/new RetryQueue\((\{.*\})\)/g)].map(([, options]) => options ?? '')

test('docs/coming-from.md makes a queue for each library', () => expect(queues).toHaveLength(5))

test.each(queues)('an order that the queue of docs/coming-from.md holds, %s, outlasts 20 s', async (given) => {
  const options: RetryQueueOptions = new Function(`return ${given}`)()
  const { clock, open } = await away({ ...options, durable: false })
  const queue = open()
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(2 * OUTAGE_MS)
  expect((await queue.get(taskId))?.status).toBe('SUCCEEDED')
})
