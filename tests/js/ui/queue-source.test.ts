// The source of a live queue gives what the queue's own methods say.
import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../../js/stores/memory.ts'
import { queueSource } from '../../../js/ui/inspector/queue-source.ts'
import type { InspectorEvent } from '../../../js/ui/inspector/source.ts'
import { withMethods } from '../durable-setup.ts'
import { API, NO_GATES, ORDERS, setup } from '../setup.ts'

const POST = { method: 'POST', body: '{}' }

test('a task is what get, attempts and explain say', async () => {
  const { queue, server } = await setup()
  server.reply(503)
  const call = queue.fetch(ORDERS, POST)
  call.catch(() => {})
  const source = queueSource(queue)
  await expect.poll(async () => (await source.list({ limit: 10 })).tasks.length).toBe(1)
  const [task] = (await source.list({ limit: 10 })).tasks
  const taskId = task?.taskId ?? ''
  expect(await source.task(taskId)).toEqual({
    task: await queue.get(taskId),
    attempts: (await queue.attempts(taskId)).attempts,
    decisions: await queue.explain(taskId),
  })
  expect(await source.task('0199a3b4-6c58-7000-8a4f-000000000000')).toBeUndefined()
  expect(await source.overview()).toMatchObject({
    depth: 1,
    counts: { PENDING: 1, IN_FLIGHT: 0, EXHAUSTED: 0 },
    origins: [{ origin: API, pending: 1, inFlight: 0, circuit: 'CLOSED' }],
  })
})

test('events are told as they come, until that is ended', async () => {
  const { queue, server, clock } = await setup(NO_GATES)
  const events: InspectorEvent[] = []
  const end = queueSource(queue).listen?.((event) => events.push(event))
  server.reply(503).reply(200)
  const call = queue.fetch(ORDERS, POST)
  await clock.advance(1_000)
  expect((await call).status).toBe(200)
  expect(events.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    `queued POST ${ORDERS}`,
    `retry POST ${ORDERS}: 503; next in 1s`,
    `attempt POST ${ORDERS}: attempt 2`,
    `succeeded POST ${ORDERS}`,
  ])
  expect(new Set(events.map(({ taskId }) => taskId)).size).toBe(1)
  end?.()
  server.reply(503)
  queue.fetch(ORDERS, POST).catch(() => {})
  await clock.settle()
  expect(events).toHaveLength(4)
})

test.each([
  [false, 'ben', ['queued']],
  [true, undefined, ['queued', 'succeeded']],
])(
  'with allPrincipals %s it is of the principal %s after a change, and events are, too',
  async (allPrincipals, of, kinds) => {
    const { queue, server, clock } = await setup({ principal: 'ann' })
    const source = queueSource(queue, { allPrincipals })
    const heard: string[] = []
    source.listen?.(({ kind, taskId }) => taskId && kind !== 'attempt' && heard.push(kind))
    const answer = server.hang()
    await queue.enqueue(ORDERS, POST)
    await clock.settle()
    await queue.setPrincipal('ben')
    answer(200)
    await clock.settle()
    expect(heard).toEqual(kinds)
    expect(source.principal).toBe(of)
  },
)

test('it is told of changes, until that is ended', async () => {
  const { queue } = await setup()
  let changes = 0
  const end = queueSource(queue).watch?.(() => changes++)
  await queue.enqueue(ORDERS, POST)
  await expect.poll(() => changes).toBeGreaterThan(0)
  end?.()
  const before = changes
  await queue.enqueue(ORDERS, POST)
  expect(changes).toBe(before)
})

describe('actions', () => {
  async function withDead(count: number) {
    const fakes = await setup({ ...NO_GATES, policy: { maxAttempts: 1 } })
    const source = queueSource(fakes.queue)
    for (let n = 0; n < count; n++) {
      fakes.server.reply(503)
      await fakes.queue.enqueue(`${ORDERS}/${n}`, POST)
    }
    await fakes.clock.advance(10_000)
    const { tasks } = await source.list({ limit: 10, status: 'EXHAUSTED' })
    expect(tasks).toHaveLength(count)
    return { ...fakes, source, ids: tasks.map(({ taskId }) => taskId) }
  }

  test('cancel, and what has ended is not cancelled', async () => {
    const { queue, server } = await setup()
    server.reply(503)
    queue.pause()
    const { taskId } = await queue.enqueue(ORDERS, POST)
    const source = queueSource(queue)
    expect(await source.act({ type: 'cancel', taskId })).toBe('cancelled')
    await expect(source.act({ type: 'cancel', taskId })).rejects.toThrow('it has ended already')
  })

  test('redrive and purge of one', async () => {
    const { source, ids } = await withDead(2)
    const [one = '', other = ''] = ids
    expect(await source.act({ type: 'redrive', taskId: one })).toBe('redriven')
    expect(await source.act({ type: 'purge', taskId: other })).toBe('deleted')
    await expect(source.act({ type: 'purge', taskId: other })).rejects.toThrow('it is no dead letter any more')
  })

  test('a key that the server may have forgotten is said to be that, and the risk can be taken', async () => {
    const { source, ids, clock } = await withDead(1)
    const [taskId = ''] = ids
    await clock.advance(2 * 86_400_000)
    await expect(source.act({ type: 'redrive', taskId })).rejects.toMatchObject({
      isKeyExpired: true,
      message: expect.stringContaining('acceptDuplicateRisk'),
    })
    expect(await source.act({ type: 'redrive', taskId, acceptDuplicateRisk: true })).toBe('redriven')
  })

  test('redrive of all, with progress, and none after a stop', async () => {
    const { source } = await withDead(3)
    const told: string[] = []
    const stop = new AbortController()
    const onProgress = (done: number, total: number): void => {
      told.push(`${done} of ${total}`)
      stop.abort()
    }
    expect(await source.act({ type: 'redriveAll', signal: stop.signal, onProgress })).toMatch(/^\d tasks? redriven$/)
    expect(told[0]).toMatch(/^\d of 3$/)
    expect((await source.overview()).deadLetters).toBeGreaterThan(0)
  })

  test('purge of all deletes as many as were confirmed, or none', async () => {
    const { source } = await withDead(2)
    await expect(source.act({ type: 'purgeAll', count: 3 })).rejects.toThrow(
      'there are 2 dead letters now; none was deleted',
    )
    expect(await source.act({ type: 'purgeAll', count: 2 })).toBe('2 dead letters deleted')
  })

  test('pause and resume, of an origin and of all, and what is known of it', async () => {
    const { queue } = await setup()
    await queue.enqueue(ORDERS, POST)
    const source = queueSource(queue)
    await source.act({ type: 'pause', origin: API })
    expect((await source.overview()).origins).toMatchObject([{ origin: API, paused: true }])
    await source.act({ type: 'pause' })
    expect(await source.overview()).toMatchObject({ paused: true })
    await source.act({ type: 'resume' })
    const after = await source.overview()
    expect([after.paused, after.origins[0]?.paused]).toEqual([undefined, undefined])
  })

  test('flush makes due what waits for its curve', async () => {
    const { queue, server, clock } = await setup(NO_GATES)
    server.reply(503).reply(200)
    const call = queue.fetch(ORDERS, POST)
    await clock.settle()
    expect(await queueSource(queue).act({ type: 'flush' })).toBe('1 task made due')
    await clock.settle()
    expect((await call).status).toBe(200)
  })
})

test('a queue that was closed says so', async () => {
  const { queue } = await setup()
  await queue.close()
  await expect(queueSource(queue).overview()).rejects.toThrow('is closed')
})

test('a queue whose store cannot be opened shows its numbers', async () => {
  const store = withMethods(memoryStore(), { turn: () => Promise.reject(new Error('the disk is gone')) })
  const { queue } = await setup({ store, principal: null })
  expect(await queueSource(queue).overview()).toMatchObject({ depth: 0 })
})
