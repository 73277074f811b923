import { expect, test } from 'vitest'
import { bare, ORDERS, setup, watch } from './setup.ts'

const A = 'https://a.test/'
const B = 'https://b.test/'

test('S8 while paused nothing starts; resume lets it go', async () => {
  const { queue, hitsAfter } = await setup()
  queue.pause()
  await queue.enqueue(A)
  await queue.enqueue(B)
  expect(await hitsAfter(60_000)).toBe(0)
  queue.resume()
  expect(await hitsAfter()).toBe(2)
})

test('a pause does not hold back a caller’s own first attempt', async () => {
  const { queue } = await setup()
  queue.pause()
  expect((await queue.fetch(ORDERS)).status).toBe(200)
})

test('a pause of one origin leaves the others alone', async () => {
  const { queue, server, clock } = await setup()
  queue.pause({ origin: 'https://a.test' })
  await queue.enqueue(A)
  await queue.enqueue(B)
  await clock.settle()
  expect(server.requests.map(({ url }) => url)).toEqual([B])
  queue.resume({ origin: 'https://a.test' })
  await clock.settle()
  expect(server.requests.map(({ url }) => url)).toEqual([B, A])
})

test('what is in flight when the pause begins ends as usual', async () => {
  const { queue, server, clock } = await setup()
  const release = server.hang()
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.settle()
  queue.pause()
  release(200)
  await clock.settle()
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
})

test('a caller does not wait for the end of a pause longer than waitMs', async () => {
  const { queue, clock } = await setup({}, 503)
  queue.pause()
  const answer = watch(queue.fetch(ORDERS, { redrive: { waitMs: 5_000 } }))
  await clock.advance(5_001)
  expect(answer.value?.status).toBe(503)
  expect(clock.timers).toBe(0)
})

test.each<[what: string, pauses: ({ origin: string } | undefined)[], resumes: ({ origin: string } | undefined)[]]>([
  ['a pause of everything', [undefined], [undefined]],
  ['a pause of the origin', [{ origin: 'https://a.test' }], [{ origin: 'https://a.test' }]],
  ['a pause of the origin by a resume of everything', [{ origin: 'https://a.test' }], [undefined]],
])('%s counts from before the core is here, and can be undone', async (_what, pauses, resumes) => {
  for (const [undone, hits] of [
    [[], 0],
    [resumes, 1],
  ] as const) {
    const { queue, hitsAfter } = bare()
    for (const scope of pauses) queue.pause(scope)
    for (const scope of undone) queue.resume(scope)
    await queue.enqueue(A)
    expect(await hitsAfter()).toBe(hits)
  }
})

test('resume of everything undoes every pause once the core is here, too', async () => {
  const { queue, hitsAfter } = await setup()
  queue.pause({ origin: 'https://a.test' })
  queue.resume()
  await queue.enqueue(A)
  expect(await hitsAfter()).toBe(1)
})

test.each(['not a url', 'mailto:x@y', ''])('pause refuses the origin %j', async (origin) => {
  const { queue } = await setup()
  expect(() => queue.pause({ origin })).toThrow(RangeError)
})

test('flush makes what waits for its own curve due now', async () => {
  const { queue, clock, hitsAfter } = await setup({ policy: { initialDelayMs: 30_000 } }, 503, 503)
  await queue.enqueue(A)
  await queue.enqueue(B)
  await clock.settle()
  expect(await queue.flush()).toBe(2)
  expect(await hitsAfter()).toBe(4)
  expect(await queue.flush()).toBe(0)
})

test('idle resolves at once when nothing runs, else when the last call and task have ended', async () => {
  const { queue, server, clock, events } = await setup()
  await queue.idle()
  server.reply(503)
  const answer = queue.fetch(ORDERS)
  const idle = watch(queue.idle())
  await clock.advance(999)
  expect(idle.state).toBe('pending')
  await clock.advance(1)
  await answer
  await clock.settle()
  expect(idle.state).toBe('resolved')
  expect(events.names(true).filter((name) => name === 'idle')).toEqual(['idle'])
})

test('idle waits for a first attempt too', async () => {
  const { queue, server, clock } = await setup()
  const release = server.hang()
  const answer = queue.fetch(ORDERS)
  const idle = watch(queue.idle())
  await clock.settle()
  expect(idle.state).toBe('pending')
  release(200)
  await answer
  await clock.settle()
  expect(idle.state).toBe('resolved')
})

test('idle waits for a first attempt whose caller detached and left', async () => {
  const { queue, server, clock } = await setup()
  const release = server.hang()
  const controller = new AbortController()
  const answer = watch(queue.fetch(ORDERS, { signal: controller.signal, redrive: { detach: true } }))
  await clock.settle()
  controller.abort()
  const idle = watch(queue.idle())
  await clock.settle()
  expect([answer.state, idle.state]).toEqual(['rejected', 'pending'])
  release(503)
  await clock.advance(1_000)
  expect(idle.state).toBe('resolved')
  expect(queue.stats()).toMatchObject({ succeeded: 1 })
})

test('stats counts what waits, runs and ended, by origin too', async () => {
  const { queue, server, clock } = await setup({ capacity: 77 })
  const now = clock.now()
  server.reply(200).reply(503, { 'retry-after': '10' }).hang()
  await queue.fetch(A)
  await queue.enqueue(A)
  await queue.enqueue(B)
  await clock.settle()
  expect(queue.stats()).toEqual({
    capacity: 77,
    depth: 2,
    inFlight: 1,
    deadLetters: 0,
    firstAttemptSucceeded: 1,
    succeeded: 0,
    exhausted: 0,
    cancelled: 0,
    attempts: 3,
    nextAttemptAt: expect.any(Number),
    unusableRetryAfter: 0,
    origins: {
      'https://a.test': {
        depth: 1,
        inFlight: 0,
        circuit: 'CLOSED',
        heldUntilAt: now + 10_000,
        shutUntilAt: null,
        retryBudget: Number.POSITIVE_INFINITY,
        gate: 'lane-held',
        gateUntilAt: now + 10_000,
      },
      'https://b.test': {
        depth: 1,
        inFlight: 1,
        circuit: 'CLOSED',
        heldUntilAt: null,
        shutUntilAt: null,
        retryBudget: Number.POSITIVE_INFINITY,
      },
    },
  })
  expect(queue.stats().nextAttemptAt).toBeGreaterThanOrEqual(now + 10_000)
})

test('stats before anything failed needs no core', () => {
  const { queue } = bare({ preload: 'never' })
  expect(queue.stats()).toEqual({
    capacity: 10_000,
    depth: 0,
    inFlight: 0,
    deadLetters: 0,
    firstAttemptSucceeded: 0,
    succeeded: 0,
    exhausted: 0,
    cancelled: 0,
    attempts: 0,
    nextAttemptAt: null,
    unusableRetryAfter: 0,
    origins: {},
  })
})
