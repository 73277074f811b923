/** One alarm's part of a queue's work, on virtual time; the object around it runs in a real workerd, in tests/workers. */

import { expect, onTestFinished, test } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import { AlarmClock } from '../../../js/cloudflare/alarm-clock.ts'
import { AlarmRun, type Work } from '../../../js/cloudflare/alarm-run.ts'
import { RetryQueue, type RetryQueueOptions } from '../../../js/index.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { fakeClock, scriptedServer } from '../../../js/testing.ts'
import { withMethods } from '../durable-setup.ts'
import { closeNow, NO_GATES, ORDERS, PLAIN_CURVE } from '../setup.ts'

interface Setup {
  readonly options?: RetryQueueOptions
  readonly wrap?: (store: TaskStore) => TaskStore
  readonly refuses?: ConstructorParameters<typeof AlarmRun>[2]
}

/** A queue whose timers run only during alarms, on a store that others put tasks into. */
async function setup({ options = {}, wrap = (store) => store, refuses }: Setup = {}) {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const server = scriptedServer({ clock })
  const alarmClock = new AlarmClock(clock)
  const run = new AlarmRun(wrap(store), clock, refuses)
  const shared = { fetch: server.fetch, principal: null, ...NO_GATES, seed: 7n, ...options }
  const policy = { ...PLAIN_CURVE, ...options.policy }
  const queue = new RetryQueue({ ...shared, policy, clock: alarmClock, store: run.store, preload: 'never' })
  const producer = new RetryQueue({ ...shared, policy, clock, store, seed: 8n })
  producer.pause()
  onTestFinished(() => closeNow(producer, clock))
  const work = async (most: number, forMs = 60_000): Promise<Work> => {
    alarmClock.start()
    const done = run.work(most, forMs, () => queue.ready)
    let result: { readonly work: Work } | undefined
    const ended = done.then((work) => {
      result = { work }
    })
    for (let ms = 0; !result && ms < 300_000; ms += 10) await clock.advance(10)
    await ended
    alarmClock.stop()
    return (result as unknown as { readonly work: Work }).work
  }
  return { clock, alarmClock, store, run, server, queue, producer, work }
}

const post = { method: 'POST', body: 'tea' }

test('makes no attempt between shifts, and keeps no timer running', async () => {
  const { clock, alarmClock, server, producer, work } = await setup()
  await work(10)
  await producer.enqueue(ORDERS, post)
  await clock.advance(60_000)
  expect(server.hits).toBe(0)
  expect(alarmClock.nextAt()).toBeNull()
  expect(await work(10)).toEqual({ attempts: 1, ended: 1, isUsedUp: false })
})

test('ends a run when nothing is due any more, and leaves what waits to the next', async () => {
  const { clock, server, producer, store, work } = await setup()
  server.reply(503).reply(200)
  await producer.enqueue(ORDERS, post)
  expect(await work(10)).toEqual({ attempts: 1, ended: 0, isUsedUp: false })
  expect(server.hits).toBe(1)
  await clock.advance(1_000)
  expect(await work(10)).toEqual({ attempts: 1, ended: 1, isUsedUp: false })
  expect(await store.counts()).toMatchObject({ pending: 0, succeeded: 1 })
})

test('makes no more attempts than a run has, whatever is due', async () => {
  const { server, producer, work, store } = await setup({ options: { concurrency: 3 } })
  for (let n = 0; n < 25; n++) await producer.enqueue(`${ORDERS}/${n}`, post)
  expect(await work(10)).toEqual({ attempts: 10, ended: 10, isUsedUp: true })
  expect(server.hits).toBe(10)
  expect(await work(10)).toEqual({ attempts: 10, ended: 10, isUsedUp: true })
  expect(await work(10)).toEqual({ attempts: 5, ended: 5, isUsedUp: false })
  expect(await store.counts()).toMatchObject({ pending: 0, inFlight: 0, succeeded: 25 })
})

test('takes up what comes while a run is on', async () => {
  const { server, queue, producer, work } = await setup()
  let more = 3
  queue.on('succeeded', () => {
    if (more-- > 0) void producer.enqueue(`${ORDERS}/${more}`, post)
  })
  const answer = server.hang()
  await producer.enqueue(ORDERS, post)
  const working = work(10)
  await producer.enqueue(`${ORDERS}/late`, post)
  answer(200)
  expect(await working).toMatchObject({ attempts: 5, ended: 5 })
})

test('says when the store fails, and goes on with the next run', async () => {
  let fails = 0
  const { clock, alarmClock, server, producer, work, store } = await setup({
    wrap: (inner) =>
      withMethods(inner, {
        turn: async (step) => {
          if (fails-- > 0) throw new Error('disk I/O error')
          return inner.turn(step)
        },
      }),
  })
  expect(await work(10)).toMatchObject({ attempts: 0 })
  await producer.enqueue(ORDERS, post)
  fails = 6
  expect(await work(10)).toMatchObject({ attempts: 0, error: new Error('disk I/O error') })
  // the queue leaves a store alone that has failed, and says for how long
  while (fails > 0) {
    await clock.advance((alarmClock.nextAt() ?? 0) - clock.now())
    await work(10)
  }
  await clock.advance((alarmClock.nextAt() ?? 0) - clock.now())
  await work(10)
  expect(await store.counts()).toMatchObject({ pending: 0, succeeded: 1 })
  expect(server.hits).toBe(1)
})

test('opens a store in a later run that could not be opened in the first', async () => {
  let fails = 1
  const { clock, server, producer, work } = await setup({
    wrap: (inner) =>
      withMethods(inner, {
        unpark: async (filter) => {
          if (fails-- > 0) throw new Error('disk I/O error')
          return (await inner.unpark?.(filter)) ?? 0
        },
      }),
  })
  await producer.enqueue(ORDERS, post)
  const first = await work(10)
  await clock.advance(1_000)
  const second = await work(10)
  expect(first.attempts + second.attempts).toBe(1)
  expect(server.hits).toBe(1)
})

test('S8 a breaker that is open holds tasks back, and says until when', async () => {
  const breaker = { fairShare: 1, afterMs: 0, openMs: 5_000, maxOpenMs: 5_000 }
  const { clock, alarmClock, server, producer, work } = await setup({ options: { breaker } })
  server.reply(503).reply(503)
  await producer.enqueue(ORDERS, post)
  await producer.enqueue(`${ORDERS}/2`, post)
  await work(1)
  expect(await work(10)).toMatchObject({ attempts: 0, isUsedUp: false })
  expect(server.hits).toBe(1)
  expect((alarmClock.nextAt() ?? 0) - clock.now()).toBeGreaterThan(1_000)
})

test('L6 lanes that a breaker keeps shut are known by name for as long as it is open', async () => {
  const breaker = { fairShare: 1, afterMs: 0, openMs: 5_000, maxOpenMs: 5_000 }
  const { clock, alarmClock, server, run, store, producer, work } = await setup({ options: { breaker } })
  server.reply(503)
  await producer.enqueue(ORDERS, post)
  await producer.enqueue(`${ORDERS}/2`, post)
  expect(run.shut).toEqual([])
  await work(1)
  await work(10)
  expect(run.shut).toHaveLength(1)
  expect(run.shut[0]).toContain(new URL(ORDERS).origin)
  while ((await store.counts()).succeeded < 2) {
    await clock.advance(Math.max(0, (alarmClock.nextAt() ?? 0) - clock.now()))
    await work(10)
  }
  expect(run.shut).toEqual([])
})

test('S16 what is not to be sent from here is parked, and the rest goes out', async () => {
  const { clock, server, producer, work, store } = await setup({
    refuses: ({ targetUrl }) => (targetUrl.startsWith('https://evil.test/') ? 'not of this object' : undefined),
  })
  const { taskId } = await producer.enqueue('https://evil.test/orders', post)
  for (let n = 0; n < 5; n++) await producer.enqueue(`${ORDERS}/${n}`, post)
  expect(await work(10)).toEqual({ attempts: 5, ended: 5, isUsedUp: false })
  await clock.advance(60_000)
  expect(await work(10)).toEqual({ attempts: 0, ended: 0, isUsedUp: false })
  expect(server.requests.every(({ url }) => url.startsWith(ORDERS))).toBe(true)
  expect(await store.get(taskId)).toMatchObject({ status: 'PENDING', parked: true, attemptNumber: 0 })
  expect((await store.history?.(taskId))?.at(-1)).toMatchObject({
    kind: 'parked',
    decision: expect.stringMatching(/not of this object/),
  })
})

test('S16 tasks of a principal whom the object is not for are put aside without being claimed by the queue', async () => {
  const { server, run, producer, work, store } = await setup({
    refuses: ({ principal }) => (principal === null ? undefined : 'not of this object'),
  })
  await producer.setPrincipal('ben')
  const { taskId } = await producer.enqueue(ORDERS, post)
  await run.putAside(['ben'])
  expect(await store.get(taskId)).toMatchObject({ status: 'PENDING', parked: true, attemptNumber: 0 })
  expect(await work(10)).toEqual({ attempts: 0, ended: 0, isUsedUp: false })
  expect(server.hits).toBe(0)
})
