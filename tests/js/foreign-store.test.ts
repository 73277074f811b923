/** A store of somebody else's: what the contract asks at least, and nothing of what may be absent or is not understood. */

import { expect, test } from 'vitest'
import type { NewTask, Settlement, StoredTask, TaskStore } from '../../js/api/store.ts'
import type { MemoryStore } from '../../js/stores/memory.ts'
import { world } from './durable-setup.ts'
import { forApi, ORDERS, watch } from './setup.ts'

const POST = { method: 'POST', body: 'tea' } as const

function pick<T extends object>(value: T, names: string): T {
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.split(' ').includes(name))) as T
}

const BOTH =
  'taskId idempotencyKey fingerprint method targetUrl headers withheldHeaders requestInit lane principal policy ' +
  'attemptNumber phase previousDelayMs priority orderKey home schema'
const taken = (task: NewTask) => pick(task, `${BOTH} body deadlineInMs dueInMs`)
const given = (task: StoredTask) => pick(task, `${BOTH} status reason createdAt dueAt refunds bodyBytes`)
const settled = ({ lease, log, holdLaneForMs = 0, next }: Settlement): Settlement => {
  return { lease, log, holdLaneForMs, next: pick(next, 'kind delayMs reason refund') }
}

function foreign(store: MemoryStore): TaskStore {
  return {
    durability: 'relaxed',
    idleCheckMs: 1_000,
    enqueue: (tasks) => store.enqueue(tasks.map(taken)),
    turn: async ({ owner, settle, renew, claim }) => {
      const plain = claim && pick(claim, 'limit leaseMs total perLane lanes principal skipHomes')
      const turn = await store.turn({ owner, settle: settle.map(settled), renew, claim: plain })
      const claimed = turn.claimed.map(({ task, lease }) => ({ task: given(task), lease }))
      return {
        ...pick(turn, 'now settled renewed lanes nextInMs blockedByLimit'),
        claimed,
        ended: turn.ended.map(given),
      }
    },
    cancel: (taskId) => store.cancel(taskId),
    redrive: (taskIds, options) => store.redrive(taskIds, pick(options, 'spacingMs acceptDuplicateRisk')),
    flush: (lane) => store.flush(lane),
    body: (taskId) => store.body(taskId),
    find: (key) => store.find(key),
    get: async (taskId) => {
      const task = await store.get(taskId)
      return task && given(task)
    },
    list: async (filter) => {
      const { tasks, ...rest } = await store.list(filter)
      return { tasks: tasks.map(given), ...rest }
    },
    attempts: (taskId, page) => store.attempts(taskId, page),
    counts: () => store.counts(),
    purge: (filter) => store.purge(filter),
    purgeAll: () => store.purgeAll(),
    close: () => store.close(),
  }
}

test('a failed call is tried again, and what is left is taken up by the next process', async () => {
  const { open, close, server, clock, hitsAfter } = world(foreign)
  const first = await open()
  server.reply(503).reply(201)
  const answer = watch(first.queue.fetch(ORDERS, POST))
  await clock.advance(1_000)
  expect(answer.value?.status).toBe(201)
  first.queue.pause()
  expect(await first.queue.enqueue(ORDERS, POST)).toMatchObject({ durability: 'relaxed' })
  await close(first)
  const { queue, events } = await open()
  expect(await hitsAfter()).toBe(3)
  expect(events.names()).toEqual(['resumed', 'attempt', 'succeeded'])
  expect(queue.stats()).toMatchObject({ depth: 0, succeeded: 1 })
})

test('S8 a refused credential does not burn attempts where the store cannot park', async () => {
  const { open, server, clock } = world(foreign)
  const { queue } = await open({ credentials: forApi(() => ({ authorization: 'Bearer x' })) })
  for (let i = 0; i < 9; i++) server.reply(401)
  await queue.enqueue(ORDERS, POST)
  await clock.advance(50_000)
  expect(server.hits).toBeLessThanOrEqual(3)
})

test('S13 S16 dead letters, redrive and principals', async () => {
  const { open, server, clock, hitsAfter } = world(foreign)
  const { queue } = await open({ principal: 'ann', policy: { maxAttempts: 1 } })
  server.reply(503)
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.settle()
  expect(await queue.get(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'max_attempts' })
  await queue.setPrincipal('ben')
  await queue.deadLetters.redrive(taskId, { allPrincipals: true })
  expect(await hitsAfter(5_000)).toBe(1)
  await queue.setPrincipal('ann')
  await clock.advance(1_000)
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
})
