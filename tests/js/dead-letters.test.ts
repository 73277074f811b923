import { expect, test } from 'vitest'
import type { RetryQueueOptions } from '../../js/index.ts'
import { always, type Fakes, ORDERS, setup, watch } from './setup.ts'

/** A queue that holds `count` dead letters, refused with 404. */
async function withDead(count: number, options: RetryQueueOptions = {}): Promise<Fakes & { readonly ids: string[] }> {
  const fakes = await setup(options)
  always(fakes.server, 404, count)
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    ids.push((await fakes.queue.enqueue(`${ORDERS}/${i}`, { method: 'POST', body: `body ${i}` })).taskId)
    await fakes.clock.settle()
  }
  return { ...fakes, ids }
}

test('S13 what was given up is among the dead letters, and nothing else is', async () => {
  const { queue, server, clock, ids } = await withDead(1)
  await queue.enqueue(ORDERS)
  server.reply(200)
  await clock.settle()
  const { tasks } = await queue.deadLetters.list()
  expect(tasks.map(({ taskId, status }) => [taskId, status])).toEqual([[ids[0], 'EXHAUSTED']])
  expect(queue.stats().deadLetters).toBe(1)
})

test('they come in pages', async () => {
  const { queue, ids } = await withDead(5)
  const first = await queue.deadLetters.list({ limit: 3 })
  const second = await queue.deadLetters.list({ limit: 3, ...(first.cursor ? { cursor: first.cursor } : {}) })
  expect([...first.tasks, ...second.tasks].map(({ taskId }) => taskId)).toEqual(ids)
  expect(second.cursor).toBeUndefined()
})

test('S13 redrive puts one back with its id, key, body and history, attempts counted anew', async () => {
  const { queue, server, clock, events, ids } = await withDead(1)
  const [id = ''] = ids
  const task = await queue.deadLetters.redrive(id)
  expect(task).toMatchObject({ taskId: id, status: 'PENDING', attemptNumber: 0 })
  expect(task).not.toHaveProperty('reason')
  await clock.settle()
  const [before, after] = server.requests
  expect(after?.headers.get('idempotency-key')).toBe(before?.headers.get('idempotency-key'))
  expect(after?.body).toBe('body 0')
  expect(await queue.get(id)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
  expect((await queue.attempts(id)).attempts.map(({ responseStatus }) => responseStatus)).toEqual([404, 200])
  expect((await queue.deadLetters.list()).tasks).toEqual([])
  expect(events.names()).toEqual(['queued', 'attempt', 'exhausted', 'queued', 'attempt', 'succeeded'])
})

test('an abort of the signal the call once had does not touch the redriven task', async () => {
  const { queue, clock } = await setup({ policy: { maxAttempts: 2 } }, 503, 503)
  const controller = new AbortController()
  const answer = queue.fetch(ORDERS, { signal: controller.signal })
  await clock.advance(1_000)
  const { redrive } = (await answer) as Response & { redrive: { taskId: string } }
  controller.abort()
  await queue.deadLetters.redrive(redrive.taskId)
  await clock.settle()
  expect(await queue.get(redrive.taskId)).toMatchObject({ status: 'SUCCEEDED' })
})

test('S14 redrive of one that is not among them is TASK_NOT_FOUND', async () => {
  const { queue, ids } = await withDead(1)
  const [id = ''] = ids
  await queue.deadLetters.redrive(id)
  await expect(queue.deadLetters.redrive(id)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
  await expect(queue.deadLetters.redrive('nobody')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
})

test('past keyTtlMs a redrive needs acceptDuplicateRisk', async () => {
  const { queue, clock, ids } = await withDead(1, { policy: { keyTtlMs: 60_000 } })
  const [id = ''] = ids
  await clock.advance(60_001)
  await expect(queue.deadLetters.redrive(id)).rejects.toMatchObject({ code: 'KEY_EXPIRED' })
  expect((await queue.deadLetters.list()).tasks).toHaveLength(1)
  await queue.deadLetters.redrive(id, { acceptDuplicateRisk: true })
  await clock.settle()
  expect(await queue.get(id)).toMatchObject({ status: 'SUCCEEDED' })
})

test('one that goes back ends when its key is too old, and says so', async () => {
  const { queue, server, clock, ids } = await withDead(1, { policy: { keyTtlMs: 60_000, maxAttempts: 100 } })
  const [id = ''] = ids
  await clock.advance(30_000)
  always(server, 503, 100)
  await queue.deadLetters.redrive(id)
  await clock.advance(60_000)
  expect(await queue.get(id)).toMatchObject({ status: 'EXHAUSTED', reason: 'key_expired' })
})

test('S13 enqueued again under a key that is too old it stays one, and the error names what may be done', async () => {
  const { queue, server, clock } = await setup({ policy: { maxAttempts: 1, keyTtlMs: 60_000 } })
  const init = { method: 'POST', redrive: { idempotencyKey: 'order-1' } } as const
  server.reply(503)
  const { taskId } = await queue.enqueue(ORDERS, init)
  await clock.advance(60_001)
  const message = expect.stringMatching(`^task ${taskId}: .*redrive.taskId, { acceptDuplicateRisk: true }. accepts`)
  await expect(queue.enqueue(ORDERS, init)).rejects.toMatchObject({ code: 'KEY_EXPIRED', message })
})

test('S17 dead letters take room: a full queue says how many they are, and a redrive moves within', async () => {
  const { queue, clock, ids } = await withDead(2, { capacity: 3 })
  queue.pause()
  await queue.enqueue(ORDERS)
  const full = {
    code: 'QUEUE_FULL',
    message: expect.stringMatching(/holds 3 tasks .* 2 of them dead letters; redrive or purge/),
  }
  await expect(queue.enqueue(ORDERS)).rejects.toMatchObject(full)
  await queue.deadLetters.redrive(ids[0] ?? '')
  await expect(queue.enqueue(ORDERS)).rejects.toMatchObject({ message: expect.stringContaining('1 of them') })
  await queue.deadLetters.purge(ids[1] ?? '')
  await queue.enqueue(ORDERS)
  queue.resume()
  await clock.settle()
  expect(queue.stats()).toMatchObject({ depth: 0, deadLetters: 0, succeeded: 3 })
})

test('S17 an outage that all accepted tasks are given up in deletes none; what is too much was refused', async () => {
  const { queue, server, clock, events } = await setup({ capacity: 4_000, policy: { totalBudgetMs: 500 } })
  always(server, 503, 5_000)
  const asked = Array.from({ length: 5_000 }, (_, i) => queue.enqueue(`${ORDERS}/${i}`).catch(({ code }) => code))
  await clock.advance(60_000)
  const refused = (await Promise.all(asked)).filter((answer) => answer === 'QUEUE_FULL')
  expect(refused).toHaveLength(1_000)
  expect(queue.stats()).toMatchObject({ depth: 0, deadLetters: 4_000, exhausted: 4_000 })
  expect(events.of('degraded')).toEqual([])
})

test('redriveAll puts all back and tells how far it is', async () => {
  const { queue, clock, ids } = await withDead(3)
  const progress: [number, number][] = []
  const count = await queue.deadLetters.redriveAll({ onProgress: (done, total) => progress.push([done, total]) })
  await clock.settle()
  expect(count).toBe(3)
  expect(progress).toEqual([
    [1, 3],
    [2, 3],
    [3, 3],
  ])
  for (const id of ids) expect(await queue.get(id)).toMatchObject({ status: 'SUCCEEDED' })
})

test('redriveAll with perSecond spreads them', async () => {
  const { queue, server, clock } = await withDead(4)
  const from = clock.now()
  const done = watch(queue.deadLetters.redriveAll({ perSecond: 2 }))
  await clock.advance(1_499)
  expect(done.state).toBe('pending')
  await clock.advance(1)
  expect(done.value).toBe(4)
  expect(server.requests.slice(4).map(({ at }) => at - from)).toEqual([0, 500, 1_000, 1_500])
  expect(clock.timers).toBe(0)
})

test('redriveAll stops at an abort; what went back stays', async () => {
  const { queue, clock } = await withDead(4)
  const controller = new AbortController()
  const done = watch(queue.deadLetters.redriveAll({ perSecond: 1, signal: controller.signal }))
  await clock.advance(1_500)
  controller.abort()
  await clock.settle()
  expect(done.value).toBe(2)
  expect((await queue.deadLetters.list()).tasks).toHaveLength(2)
  expect(clock.timers).toBe(0)
})

test('redriveAll hears an abort from its own progress at once', async () => {
  const { queue, clock } = await withDead(3)
  const controller = new AbortController()
  const onProgress = () => controller.abort()
  const done = watch(queue.deadLetters.redriveAll({ perSecond: 1, signal: controller.signal, onProgress }))
  await clock.settle()
  expect(done.value).toBe(1)
  expect(clock.timers).toBe(0)
})

test('redriveAll leaves those whose key is too old, unless told otherwise', async () => {
  const { queue, clock } = await withDead(2, { policy: { keyTtlMs: 60_000 } })
  await clock.advance(60_001)
  expect(await queue.deadLetters.redriveAll()).toBe(0)
  expect(await queue.deadLetters.redriveAll({ acceptDuplicateRisk: true })).toBe(2)
})

test('close ends a redriveAll in progress and leaves no timer', async () => {
  const { queue, clock } = await withDead(3)
  const done = watch(queue.deadLetters.redriveAll({ perSecond: 1 }))
  await clock.settle()
  await queue.close()
  await clock.settle()
  expect(done.state).not.toBe('pending')
  expect(clock.timers).toBe(0)
})

test('purge deletes one, or all, and says how many', async () => {
  const { queue, ids } = await withDead(3)
  const [, second = ''] = ids
  expect(await queue.deadLetters.purge(second)).toBe(1)
  expect(await queue.deadLetters.purge(second)).toBe(0)
  expect(await queue.get(second)).toBeUndefined()
  expect(await queue.deadLetters.purgeAll()).toBe(2)
  expect(await queue.deadLetters.purgeAll()).toBe(0)
  expect(queue.stats()).toMatchObject({ deadLetters: 0, exhausted: 3 })
})

test('before anything failed there are none', async () => {
  const { queue } = await setup({ preload: 'never' })
  expect(await queue.deadLetters.list()).toEqual({ tasks: [] })
  expect(await queue.deadLetters.redriveAll()).toBe(0)
  expect(await queue.deadLetters.purgeAll()).toBe(0)
})
