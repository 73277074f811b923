import { expect, test } from 'vitest'
import { scriptedServer } from '../../js/testing.ts'
import { always, called, ORDERS, setup, throwing, watch } from './setup.ts'

test('per task: queued, retry and attempt in turn, and one end', async () => {
  const { events } = await called([503, 503, 503], { forMs: 7_000 })
  expect(events.names()).toEqual(['queued', ...Array(3).fill(['retry', 'attempt']).flat(), 'succeeded'])
  expect(events.of('attempt').map(({ context }) => context.attemptNumber)).toEqual([2, 3, 4])
  expect(events.of('retry').map(({ delayMs }) => delayMs)).toEqual([1_000, 2_000, 4_000])
})

test.each<[name: string, statuses: number[]]>([
  ['succeeded', [503, 200]],
  ['exhausted', [503, 404]],
])('%s is told before the caller’s promise settles', async (name, statuses) => {
  const { queue, server, clock, events } = await setup()
  for (const status of statuses) server.reply(status)
  const answer = queue.fetch(ORDERS).then(() => events.note('answered'))
  await clock.advance(1_000)
  await answer
  expect(events.names().slice(-2)).toEqual([name, 'answered'])
})

test('queued is told before a deferring caller has its 202', async () => {
  const { queue, events } = await setup({}, 503)
  await queue.fetch(ORDERS, { redrive: { mode: 'defer' } })
  events.note('answered')
  expect(events.names()).toEqual(['queued', 'retry', 'answered'])
})

test('each event carries the task as it then was', async () => {
  const { queue, server, clock, events } = await setup({ policy: { maxAttempts: 3 } })
  always(server, 503)
  const answer = queue.fetch(ORDERS)
  await clock.advance(3_000)
  await answer
  expect(events.of('queued')[0]?.task).toMatchObject({ status: 'PENDING', attemptNumber: 1 })
  expect(events.of('attempt')[0]?.task).toMatchObject({ status: 'IN_FLIGHT', attemptNumber: 2, nextAttemptAt: null })
  expect(events.of('retry')[0]).toMatchObject({
    task: { status: 'PENDING', attemptNumber: 1, nextAttemptAt: clock.now() - 2_000 },
    log: { attemptNumber: 1, responseStatus: 503 },
  })
  expect(events.of('retry')[1]).toMatchObject({
    task: { status: 'PENDING', attemptNumber: 2, nextAttemptAt: clock.now() },
    log: { attemptNumber: 2, responseStatus: 503 },
  })
  expect(events.of('exhausted')[0]).toMatchObject({
    attempts: 3,
    responseStatus: 503,
    error: {
      name: 'ExhaustedError',
      message: expect.stringMatching(/after 3 attempts.*answered with 503.*max_attempts/),
    },
  })
  expect(events.of('exhausted')[0]?.task).toMatchObject({
    status: 'EXHAUSTED',
    attemptNumber: 3,
    reason: 'max_attempts',
  })
})

test('succeeded carries a response of its own: reading it takes nothing from the caller', async () => {
  const { answer, events } = await called([503, [200, {}, 'done']], { forMs: 1_000 })
  expect(await events.of('succeeded')[0]?.response?.text()).toBe('done')
  expect(await answer.value?.text()).toBe('done')
})

test('idle is told when the last task has ended', async () => {
  const { queue, server, clock, events } = await setup({ concurrency: 2 })
  const first = server.hang()
  const second = server.hang()
  await queue.enqueue(ORDERS)
  await queue.enqueue(ORDERS)
  await clock.settle()
  first(200)
  await clock.settle()
  expect(events.names(true)).not.toContain('idle')
  second(200)
  await clock.settle()
  expect(events.names(true).slice(-2)).toEqual(['succeeded', 'idle'])
})

test('what on returned takes the listener back, and none of the same function', async () => {
  const { queue, clock } = await setup()
  let told = 0
  const listener = () => told++
  const off = queue.on('succeeded', listener)
  const other = queue.on('succeeded', listener)
  for (const ends of [[off, off], [other], []]) {
    await queue.enqueue(ORDERS)
    await clock.settle()
    for (const end of ends) end()
  }
  expect(told).toBe(3)
})

test.each<[what: string, listener: () => unknown]>([
  ['throws', throwing(new Error('boom'))],
  ['rejects', () => Promise.reject(new Error('boom'))],
])('a listener that %s is reported once and breaks nothing', async (_what, listener) => {
  const { queue, server, clock, events } = await setup()
  for (const name of ['queued', 'attempt', 'retry', 'succeeded', 'exhausted', 'cancelled', 'idle'] as const) {
    queue.on(name, listener)
  }
  server.reply(503).reply(503)
  const answer = queue.fetch(ORDERS)
  await clock.advance(3_000)
  expect((await answer).status).toBe(200)
  expect(events.of('degraded')).toMatchObject([{ code: 'hook_threw', message: expect.stringContaining('boom') }])
})

test('a listener of degraded that throws is kept out of the way too', async () => {
  const { queue, server, clock } = await setup({ capacity: 1 })
  let told = 0
  queue.on('degraded', () => {
    told++
    throw new Error('boom')
  })
  always(server, 503, 4)
  await queue.fetch(ORDERS, { redrive: { mode: 'defer' } })
  expect((await queue.fetch(ORDERS)).status).toBe(503)
  await clock.settle()
  expect(told).toBeGreaterThan(0)
})

test('a listener may use the queue: cancel from queued ends the task', async () => {
  const { queue, server, clock, events } = await setup()
  queue.on('queued', ({ task }) => void queue.cancel(task.taskId))
  server.reply(503)
  const answer = watch(queue.fetch(ORDERS))
  await clock.advance(10_000)
  expect(answer.state).toBe('rejected')
  expect(events.names()).toEqual(['queued', 'retry', 'cancelled'])
  expect(server.hits).toBe(1)
})

test('a listener may close the queue', async () => {
  const { queue, server, clock } = await setup()
  queue.on('queued', () => void queue.close())
  server.reply(503)
  const answer = watch(queue.fetch(ORDERS))
  await clock.settle()
  expect(answer.value?.status).toBe(503)
  expect(clock.timers).toBe(0)
})

test('on refuses what is no function', async () => {
  const { queue } = await setup()
  expect(() => queue.on('idle', 'x' as never)).toThrow(TypeError)
})

test.each<[what: string, give: (response: Response) => Promise<unknown>]>([
  ['has read its answer, to log it', async (response) => response.text().then(() => response)],
  ['gives what no copy can be made of', async ({ status, headers }) => ({ status, headers })],
])('a fetch that %s does not stop the queue for those who listen', async (_what, give) => {
  const server = scriptedServer()
  const fetch = (async (...request: Parameters<typeof server.fetch>) => give(await server.fetch(...request))) as never
  const { queue, clock, events } = await setup({ fetch })
  server.reply(503, {}, 'busy').reply(200, {}, 'one').reply(200, {}, 'two')
  for (const body of ['a', 'b']) await queue.enqueue(ORDERS, { method: 'POST', body })
  await clock.advance(10_000)
  expect(events.of('succeeded').map(({ response }) => response)).toEqual([null, null])
  expect(events.of('degraded')).toEqual([])
})
