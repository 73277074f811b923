import { expect, test } from 'vitest'
import { QueueClosedError, RetryQueue } from '../../js/index.ts'
import { scriptedServer } from '../../js/testing.ts'
import { bare, forApi, ORDERS, setup, submitted, watch } from './setup.ts'

test('close lets what is in flight end, and starts nothing more', async () => {
  const { queue, server, clock, events } = await setup({ concurrency: 1 })
  const release = server.hang()
  await queue.enqueue(ORDERS)
  await queue.enqueue(ORDERS)
  await clock.settle()
  const closed = watch(queue.close())
  await clock.settle()
  expect(closed.state).toBe('pending')
  release(200)
  await clock.settle()
  expect([closed.state, server.hits]).toEqual(['resolved', 1])
  expect(events.names()).toEqual(['queued', 'attempt', 'queued', 'succeeded', 'cancelled'])
  expect(clock.timers).toBe(0)
})

test.each([0, 100, undefined])(
  'L5 close ends within drainMs %o, by default 5 s, aborting what hangs',
  async (drainMs) => {
    const { queue, server, clock } = await setup({}, 'hangs')
    const { taskId } = await queue.enqueue(ORDERS)
    const result = watch(queue.result(taskId))
    await clock.settle()
    const closed = watch(queue.close(drainMs === undefined ? {} : { drainMs }))
    await clock.advance((drainMs ?? 5_000) - 1)
    if (drainMs !== 0) expect(closed.state).toBe('pending')
    await clock.advance(1)
    await clock.settle()
    expect(closed.state).toBe('resolved')
    expect(server.requests[0]?.signal.aborted).toBe(true)
    expect(result.value).toMatchObject({ task: { status: 'CANCELLED' }, error: { code: 'CANCELLED' } })
    expect(clock.timers).toBe(0)
  },
)

test.each([-1, Number.NaN, '5', 1.5])('close refuses drainMs %o and stays open', async (drainMs) => {
  const { queue } = await setup()
  await expect(queue.close({ drainMs: drainMs as number })).rejects.toThrow(/drainMs/)
  expect((await queue.fetch(ORDERS)).status).toBe(200)
})

test('S22 close gives callers who wait their last answer, or their own last error', async () => {
  const { queue, server, clock } = await setup()
  const lost = new TypeError('fetch failed')
  server.reply(503, {}, 'busy').fail(lost)
  const [answered, failed] = [watch(queue.fetch(ORDERS)), watch(queue.fetch(ORDERS))]
  await clock.settle()
  await queue.close()
  await clock.settle()
  expect([answered.value?.status, await answered.value?.text()]).toEqual([503, 'busy'])
  expect(failed.error).toBe(lost)
})

test('enqueued tasks that wait end CANCELLED, and their results say so', async () => {
  const { queue, clock } = await setup()
  queue.pause()
  const { taskId } = await queue.enqueue(ORDERS)
  const result = watch(queue.result(taskId))
  await clock.settle()
  await queue.close()
  await clock.settle()
  expect(result.value).toMatchObject({ task: { taskId, status: 'CANCELLED' }, responseStatus: null })
})

test('an attempt whose credentials are still asked for is not sent after close', async () => {
  let give: (headers: HeadersInit) => void = () => {}
  const { queue, server, clock } = await setup({
    credentials: forApi(() => new Promise((resolve) => (give = resolve))),
  })
  await queue.enqueue(ORDERS)
  await clock.settle()
  const closed = watch(queue.close())
  await clock.settle()
  give({})
  await clock.settle()
  expect([closed.state, server.hits]).toEqual(['resolved', 0])
  expect(clock.timers).toBe(0)
})

test('closing twice is closing once', async () => {
  const { queue, clock } = await submitted(['hangs'])
  const closed: string[] = []
  const first = queue.close({ drainMs: 1_000 }).then(() => closed.push('first'))
  // the first close says how long to drain
  const second = queue.close({ drainMs: 1 }).then(() => closed.push('second'))
  await clock.advance(999)
  expect(closed).toEqual([])
  await clock.advance(1)
  await Promise.all([first, second])
  await queue.close()
})

test('a queue that never failed closes without ever loading the core', async () => {
  const { queue } = bare()
  await queue.fetch(ORDERS)
  await queue.close()
  await expect(queue.fetch(ORDERS)).rejects.toBeInstanceOf(QueueClosedError)
})

test('close before the core is here: calls waiting for it are settled', async () => {
  const { queue } = bare({}, 503)
  const answer = queue.fetch(ORDERS)
  const enqueued = queue.enqueue(ORDERS).catch((error: unknown) => error)
  await Promise.resolve()
  await queue.close()
  expect((await answer).status).toBe(503)
  expect(await enqueued).toBeInstanceOf(QueueClosedError)
})

test('await using closes at the end of the block', async () => {
  const { clock } = await setup()
  let outside: RetryQueue
  {
    await using queue = new RetryQueue({ clock, fetch: scriptedServer({ clock }).fetch })
    outside = queue
    expect((await queue.fetch(ORDERS)).status).toBe(200)
  }
  await expect(outside.fetch(ORDERS)).rejects.toBeInstanceOf(QueueClosedError)
})

test('stats after close still tell what was done', async () => {
  const { queue, clock } = await setup()
  await queue.enqueue(ORDERS)
  await queue.fetch(ORDERS)
  await clock.settle()
  await queue.close()
  expect(queue.stats()).toMatchObject({ succeeded: 1, firstAttemptSucceeded: 1, attempts: 2, depth: 0, inFlight: 0 })
})
