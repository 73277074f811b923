import { expect, test } from 'vitest'
import type { TaskOptions } from '../../js/index.ts'
import { opened, withMethods, world } from './durable-setup.ts'
import { always, ORDERS, setup, watch } from './setup.ts'

const DEFER = { redrive: { mode: 'defer' } } as const

test.each([200, 204, 301, 400, 404, 409, 422, 500])('a first answer of %i is returned as it is', async (status) => {
  const { queue, events } = await setup({}, [status, { location: 'https://api.test/x', 'x-own': 'yes' }])
  const response = await queue.fetch(ORDERS, { method: 'POST', redirect: 'manual', ...DEFER })
  expect(response.status).toBe(status)
  expect(response.headers.get('x-own')).toBe('yes')
  expect(events.names()).toEqual([])
})

test('after a retryable failure the caller has 202 Accepted at once, naming the task', async () => {
  const { queue, events } = await setup({}, 503)
  const response = await queue.fetch(ORDERS, { method: 'POST', ...DEFER })
  const [queued] = events.of('queued')
  expect(response.status).toBe(202)
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(response.headers.get('redrive-task-id')).toBe(queued?.task.taskId)
  expect(await response.json()).toEqual({
    status: 'queued',
    taskId: queued?.task.taskId,
    traceId: expect.stringMatching(/^[\da-f]{32}$/),
    durability: 'memory',
  })
})

test('the 202 says where the task is kept: in the store, or in memory where the call is not stored', async () => {
  const { open, server } = world((store) => withMethods(store, { durability: 'strict' }))
  const { queue } = await open()
  always(server, 503, 4)
  const told = async (init: RequestInit & { redrive: TaskOptions }) => {
    const response = await queue.fetch(ORDERS, init)
    const { durability } = (await response.json()) as { durability: string }
    return [response.status, response.headers.get('redrive-durability'), durability]
  }
  const redrive = { mode: 'defer', idempotencyKey: 'order-1' } as const
  expect(await told({ method: 'POST', redrive })).toEqual([202, 'strict', 'strict'])
  // one with the task that is stored already
  expect(await told({ method: 'POST', redrive })).toEqual([202, 'strict', 'strict'])
  expect(await told(DEFER)).toEqual([202, 'strict', 'strict'])
  const sensitive = { redrive: { mode: 'defer', sensitive: true } } as const
  expect(await told(sensitive)).toEqual([202, 'memory', 'memory'])
})

test('the 202 carries the caller’s own trace id', async () => {
  const { queue } = await setup({}, 503)
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` }
  const response = await queue.fetch(ORDERS, { method: 'POST', headers, ...DEFER })
  expect(await response.json()).toMatchObject({ traceId })
})

test('the task goes on, however long it takes, and its result can be asked for', async () => {
  const { queue, clock } = await setup({ policy: { maxAttempts: 8, maxDelayMs: 60_000 } }, ...Array(7).fill(503))
  const { taskId } = (await (
    await queue.fetch(ORDERS, { ...DEFER, redrive: { mode: 'defer', waitMs: 1 } })
  ).json()) as {
    taskId: string
  }
  const result = queue.result(taskId)
  await clock.advance(200_000)
  expect(await result).toMatchObject({ responseStatus: 200, task: { status: 'SUCCEEDED', attemptNumber: 8 } })
})

test('an origin that asked to wait gets deferred calls later: 202 without an attempt', async () => {
  const { queue, server, clock, hitsAfter } = await setup({ holdFirstAttempts: true }, [503, { 'retry-after': '10' }])
  await queue.fetch(ORDERS, DEFER)
  const response = watch(queue.fetch(ORDERS, DEFER))
  await clock.settle()
  expect([response.value?.status, server.hits]).toEqual([202, 1])
  expect(await hitsAfter(12_000)).toBe(3)
})

test.for(['memory', 'a store'] as const)(
  'S14 in %s: a task whose first attempt is under way and has no place yet is cancelled with it',
  async (place) => {
    const cancelled: string[] = []
    const aborted: unknown[] = []
    let give = (_: Response) => {}
    // heeds no signal, as some do not
    const fetch = (_: unknown, init?: RequestInit) => {
      init?.signal?.addEventListener('abort', () => aborted.push(init.signal?.reason))
      return new Promise<Response>((resolve) => (give = resolve))
    }
    const { queue, clock } = place === 'memory' ? await setup({ fetch }) : await opened({ fetch })
    queue.pause()
    const response = watch(queue.fetch(ORDERS, { method: 'POST', redrive: { mode: 'defer', waitMs: 200 } }))
    await clock.advance(300)
    const taskId = response.value?.headers.get('redrive-task-id') ?? ''
    expect((await queue.get(taskId))?.status).toBe('PENDING')
    const said = watch(queue.cancel(taskId))
    await clock.settle()
    expect(said.value).toBe('requested')
    expect(aborted).toHaveLength(1)
    expect((await queue.get(taskId))?.status).toBe('CANCELLED')
    give(new Response(new ReadableStream({ cancel: () => void cancelled.push('body') })))
    await clock.settle()
    expect(cancelled).toEqual(['body'])
  },
)
