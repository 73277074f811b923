/** A store that fails, answers late, or takes a lease away: nobody spins, nobody hangs, nobody is told the wrong thing. */

import { expect, test } from 'vitest'
import { RECORD_SCHEMA, type TaskStore } from '../../js/api/store.ts'
import { type World, withMethods, world } from './durable-setup.ts'
import { forApi, markOf, ORDERS, watch } from './setup.ts'

const POST = { method: 'POST', body: 'tea' } as const
const MINUTE_MS = 60_000
/** Turns without a pause between them never let the clock move: past this many the store does not answer any more. */
const SPUN = 1_000

interface Outage extends World {
  readonly turns: () => number
  fail(failing: boolean): void
}

/** A world whose store counts its turns and rejects them while it is told to. */
function setup(own: (store: TaskStore) => Partial<TaskStore> = () => ({})): Outage {
  let turns = 0
  let failing = false
  const it = world((store) =>
    withMethods(store, {
      async turn(step) {
        if (++turns > SPUN) return new Promise(() => {})
        if (failing) throw new Error('the disk is gone')
        return store.turn(step)
      },
      ...own(store),
    }),
  )
  return {
    ...it,
    turns: () => turns,
    fail(now) {
      failing = now
    },
  }
}

test('a store that fails for longer than a lease lasts is asked now and then, and settles once it answers', async () => {
  const { open, server, clock, store, turns, fail } = setup()
  const { queue } = await open()
  const answer = server.hang()
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(0)
  fail(true)
  answer(200)
  const before = turns()
  await clock.advance(MINUTE_MS)
  expect(turns() - before).toBeLessThan(30)
  fail(false)
  await clock.advance(10_000)
  expect(await store.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
})

test('turns that fail show in stats, in receipts and in degraded, each time that they begin to', async () => {
  const { open, clock, fail, server } = setup()
  const { queue, events } = await open()
  const codes = () => events.of('degraded').map(({ code }) => code)
  expect(queue.stats()).not.toHaveProperty('storeFailingSinceAt')
  for (const outage of [1, 2]) {
    fail(true)
    expect(await queue.enqueue(ORDERS, POST)).not.toHaveProperty('isStalled')
    await clock.advance(10)
    const failingSinceAt = queue.stats().storeFailingSinceAt
    expect(failingSinceAt).toBeGreaterThan(clock.now() - 20)
    await clock.advance(20_000)
    expect(queue.stats().storeFailingSinceAt).toBe(failingSinceAt)
    expect(await queue.enqueue(ORDERS, POST)).toMatchObject({ isStalled: true, durability: 'memory' })
    expect(codes()).toEqual(Array.from({ length: outage }, () => 'storage_unavailable'))
    fail(false)
    server.reply(200).reply(200)
    await clock.advance(MINUTE_MS)
    expect(queue.stats()).toMatchObject({ depth: 0 })
    expect(queue.stats()).not.toHaveProperty('storeFailingSinceAt')
  }
})

test('a lease that was lost while its attempt cannot end is not renewed over and over', async () => {
  let asked = 0
  const { open, clock, store, turns } = setup()
  const credentials = () => {
    asked++
    return new Promise<HeadersInit>(() => {})
  }
  const { queue } = await open({ credentials: forApi(credentials) })
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(0)
  expect(asked).toBe(1)
  await store.purge({ taskId })
  const before = turns()
  queue.pause()
  clock.step(20_000)
  await clock.advance(4_000)
  expect(turns() - before).toBeLessThan(10)
})

test('S22 a task that is claimed before its enqueue is answered gives its caller its own response', async () => {
  const { open, server, clock } = setup((store) => ({
    async enqueue(tasks) {
      const answer = await store.enqueue(tasks)
      await new Promise<void>((resolve) => clock.after(100, resolve))
      return answer
    },
  }))
  const { queue, events } = await open({ persist: 'before-send' })
  server.reply(201)
  const answer = watch(queue.fetch(ORDERS, POST))
  await clock.advance(MINUTE_MS)
  expect([answer.value?.status, server.hits]).toEqual([201, 1])
  expect(events.names()).toEqual(['queued', 'attempt', 'succeeded'])
})

test('S22 a task that is claimed after the answer of its enqueue was lost gives its caller its own response', async () => {
  let lost = 0
  const { open, server, clock } = setup((store) => ({
    async enqueue(tasks) {
      const answer = await store.enqueue(tasks)
      if (lost++ === 0) throw new Error('the line is gone')
      return answer
    },
  }))
  const { queue } = await open({ persist: 'before-send' })
  const respond = server.hang()
  const answer = watch(queue.fetch(ORDERS, POST))
  await clock.advance(1_000)
  respond(201)
  await clock.advance(MINUTE_MS)
  expect([answer.value?.status, server.hits]).toEqual([201, 1])
})

test('S1 a task that no enqueue has said is stored is not sent by this process', async () => {
  const { open, server, clock, store } = setup((own) => ({
    async enqueue(tasks) {
      await own.enqueue(tasks)
      throw new Error('the line is gone')
    },
  }))
  const { queue } = await open()
  const receipt = watch(queue.enqueue(ORDERS, POST))
  await clock.advance(MINUTE_MS)
  expect(receipt.error).toMatchObject({ code: 'NOT_DURABLE', reason: 'storage_unavailable' })
  expect(server.hits).toBe(0)
  expect(await store.counts()).toMatchObject({ pending: 0, inFlight: 0, cancelled: 1 })
})

test('a caller whose time runs out while its task is parked gets the last answer', async () => {
  const { open, server, clock, store } = setup()
  const credentials = () => ({ authorization: 'Bearer stale' })
  const { queue } = await open({ credentials: forApi(credentials) })
  server.reply(503).reply(401)
  const respond = server.hang()
  const answer = watch(queue.fetch(ORDERS, { ...POST, redrive: { waitMs: 5_000 } }))
  await clock.advance(4_900)
  respond(401)
  await clock.advance(2_000)
  expect(answer.value?.status).toBe(401)
  expect(markOf(answer.value)?.reason).toBe('wait_exceeded')
  expect(await store.counts()).toMatchObject({ pending: 0, exhausted: 1 })
})

test('S18 a caller whose time is up is not kept waiting for a store that does not answer, nor is its task tried again', async () => {
  const { open, server, clock, store, fail } = setup()
  const { queue } = await open()
  server.reply(503)
  const respond = server.hang()
  const answer = watch(queue.fetch(ORDERS, { ...POST, redrive: { waitMs: 10_000 } }))
  await clock.advance(1_000)
  fail(true)
  respond(503)
  await clock.advance(15_000)
  expect(answer.value?.status).toBe(503)
  fail(false)
  await clock.advance(MINUTE_MS)
  expect(server.hits).toBe(2)
  expect(await store.counts()).toMatchObject({ pending: 0, exhausted: 1 })
})

test('result of a task whose caller gave up while another process has it says how it ended', async () => {
  const { open, server, clock, store } = setup()
  const { queue } = await open()
  server.reply(503)
  const answer = watch(queue.fetch(ORDERS, { ...POST, redrive: { waitMs: 5_000 } }))
  await clock.settle()
  const { tasks } = await queue.list()
  const outcome = watch(queue.result(tasks[0]?.taskId ?? ''))
  queue.pause()
  await clock.advance(2_000)
  const claim = { limit: 1, leaseMs: MINUTE_MS, total: 9, perLane: 9, lanes: 'any', principal: null } as const
  for (const home of (await store.homes?.live()) ?? []) await store.homes?.holdHome(home, 0)
  const { claimed } = await store.turn({ owner: 'o', settle: [], renew: [], claim: { ...claim, skipHomes: [] } })
  const lease = claimed[0]?.lease ?? { taskId: '', token: 0, forMs: 0 }
  await clock.advance(4_000)
  expect(answer.value?.status).toBe(503)
  const log = { taskId: lease.taskId, attemptNumber: 2, startedAt: 0, durationMs: 1, decision: '' }
  const sent = { ...log, responseStatus: 200, errorMessage: null }
  await store.turn({ owner: 'o', settle: [{ lease, log: sent, next: { kind: 'succeeded' } }], renew: [], claim: null })
  await clock.advance(MINUTE_MS)
  expect(outcome.value).toMatchObject({ responseStatus: 200, task: { status: 'SUCCEEDED' } })
})

test('L5 what a claim brings while the queue closes is given back, its attempt too', async () => {
  const held: (() => void)[] = []
  let slow = false
  const { open, clock, store, server, close } = setup((own) => ({
    async turn(step) {
      const turn = await own.turn(step)
      if (slow && turn.claimed.length > 0) await new Promise<void>((resolve) => held.push(resolve))
      return turn
    },
    body: () => new Promise(() => {}),
  }))
  const producer = await open()
  const { queue } = await open()
  for (const each of [producer.queue, queue]) each.pause()
  const { taskId } = await producer.queue.enqueue(ORDERS, POST)
  await close(producer)
  slow = true
  queue.resume()
  await clock.settle()
  expect(await store.get(taskId)).toMatchObject({ status: 'IN_FLIGHT' })
  const closed = watch(queue.close())
  for (const answer of held) answer()
  await clock.settle()
  expect(closed.state).toBe('resolved')
  expect(await store.get(taskId)).toMatchObject({ status: 'PENDING', attemptNumber: 0 })
  expect(server.hits).toBe(0)
})

test('S20 an ended record that no task can be made of costs the others of its turn nothing', async () => {
  const { open, clock, store, server } = setup()
  const producer = await open()
  producer.queue.pause()
  const { taskId } = await producer.queue.enqueue(ORDERS, POST)
  const { tasks } = await store.list({ limit: 1 })
  const [sound] = tasks
  expect(sound).toBeDefined()
  if (!sound) return
  const policy = { policyId: 'broken', maxAttempts: -1 }
  const broken = {
    ...sound,
    schema: RECORD_SCHEMA + 1,
    taskId: `${taskId.slice(0, -4)}ffff`,
    idempotencyKey: 'other',
    policy,
  }
  await store.enqueue([{ ...broken, deadlineInMs: 10, dueInMs: MINUTE_MS }])
  await clock.advance(20)
  producer.queue.resume()
  await clock.advance(100)
  expect(server.hits).toBe(1)
  expect(await store.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
  expect(producer.events.of('degraded')).toMatchObject([{ code: 'unreadable_record' }])
})

test('S8 a task that is kept although no answer to its enqueue came is sent, also where a claim had brought it', async () => {
  const { open, server, clock } = setup((store) => ({
    async enqueue(tasks) {
      await store.enqueue(tasks)
      throw new Error('the answer was lost')
    },
  }))
  const { queue } = await open({ policy: { maxAttempts: 1 } })
  const call = watch(queue.enqueue(ORDERS, { ...POST, redrive: { idempotencyKey: 'order-1' } }))
  await clock.settle()
  await queue.flush()
  await clock.advance(MINUTE_MS)
  expect(call.error).toMatchObject({ reason: 'storage_unavailable' })
  expect(server.hits).toBe(1)
})
