/** A Worker whose server is down: what may leave is handed over unsent, and who has to wait for an answer fails at once. */
import { expect, test, vi } from 'vitest'
import type { NewTask } from '../../../js/api/store.ts'
import type { WorkerFetchOptions } from '../../../js/cloudflare/worker-options.ts'
import { workerFetch } from '../../../js/cloudflare.ts'
import { CircuitOpenError } from '../../../js/index.ts'
import { fakeClock, scriptedServer } from '../../../js/testing.ts'
import { watch } from '../setup.ts'

vi.mock('cloudflare:workers', () => ({ DurableObject: class {} }))
vi.mock('../../../js/core/static.ts', () => import('../../../js/core/file.ts'))
vi.mock('../../../js/core/keys-static.ts', async () => {
  const { instantiateKeys } = await import('../../../js/core/keys-file.ts')
  return { instantiateKeys }
})

const OPEN_MS = 6_250
/** So many failures open it. */
const MOST = 500
let origins = 0

/** A Worker's requests, each with a fetch of its own, to an origin that no other test calls. */
function setup(options: Partial<WorkerFetchOptions> = {}, answer: object = { outcome: 'stored' }) {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const url = `https://${++origins}.circuit.test/orders`
  const taken: NewTask[] = []
  const stub = {
    enqueue: async ([task]: readonly NewTask[]) => {
      if (!task) return []
      taken.push(task)
      return [{ taskId: task.taskId, ...answer }]
    },
    cancel: async () => 'gone',
    verify: async () => undefined,
    holdLane: async () => {},
  }
  const queue = { idFromName: (name: string) => ({ name }), get: () => stub }
  const ctx = { waitUntil: () => {} }
  // gates are shared by their rules, and so is the clock of the first queue that has them
  const own = { clock, fetch: server.fetch, seed: 1n, maxLaneHoldMs: 60_000 + origins, ...options }
  const call = (init?: RequestInit & { redrive?: object }, more: Partial<WorkerFetchOptions> = {}) =>
    workerFetch({ queue, ctx, ...own, ...more })(url, init)
  /** Calls that are not tried again, until one is not sent any more. */
  const open = async (more: Partial<WorkerFetchOptions> = {}, takesMs = 10) => {
    for (let i = 0; i < MOST; i++) {
      const { hits } = server
      const end = server.hang()
      // it may not wait for the circuit
      const called = watch(call({ redrive: { policy: { maxAttempts: 1 }, waitMs: 50 } }, more))
      await clock.advance(takesMs)
      end(503)
      await clock.advance(0)
      if (server.hits > hits) continue
      // the answer that was not asked for
      await server.fetch(url)
      return called.error
    }
    return undefined
  }
  return { clock, server, taken, call, open }
}

const POST = { method: 'POST', body: 'tea' } as const

test('S8 a call that has to be answered here, and may not wait for the circuit, fails at once, and nothing is sent', async () => {
  const { open, call, server, clock } = setup()
  expect(await open()).toBeInstanceOf(CircuitOpenError)
  const { hits } = server
  const failed = await call({ ...POST, redrive: { mode: 'await', waitMs: 100 } }).catch((error) => error)
  expect(failed).toMatchObject({ code: 'CIRCUIT_OPEN' })
  expect(failed.until).toBeGreaterThan(clock.now())
  expect(failed.message).toMatch(/^POST https:.* was not sent: .*retryBudget: false/)
  expect(server.hits).toBe(hits)
})

test('S8 calls that have to be answered here wait for the circuit, and are answered once the server is back', async () => {
  const { open, call, server, clock } = setup()
  await open()
  const { hits } = server
  const calls = Array.from({ length: 8 }, () => watch(call({ ...POST, redrive: { mode: 'await' } })))
  await clock.advance(0)
  expect(server.hits).toBe(hits)
  for (let ms = 0; ms < 9_000; ms += 250) await clock.advance(250)
  expect(calls.map(({ value }) => value?.status)).toEqual(calls.map(() => 200))
})

test('S8 of calls that waited for the circuit each answer lets in two more, and those that left take no turn', async () => {
  const { open, call, server, clock } = setup()
  await open()
  const { hits } = server
  const caller = new AbortController()
  const wait = (signal: AbortSignal | null) => watch(call({ ...POST, signal, redrive: { mode: 'await' } }))
  const left = Array.from({ length: 20 }, () => wait(caller.signal))
  const calls = Array.from({ length: 40 }, () => wait(null))
  await clock.advance(0)
  caller.abort(new Error('left'))
  await clock.advance(0)
  expect(left.every(({ state }) => state === 'rejected')).toBe(true)
  const answers = calls.map(() => server.hang())
  const rounds: number[] = []
  let answered = 0
  for (let round = 0; round < 100 && answered < calls.length; round++) {
    for (let ms = 0; ms < 250; ms += 50) await clock.advance(50)
    const came = server.hits - hits - answered
    for (let i = 0; i < came; i++) answers[answered++]?.(200)
    await clock.advance(0)
    if (came > 0) rounds.push(came)
  }
  expect(rounds[0]).toBe(1)
  expect(Math.max(...rounds.map((came, i) => came / (rounds[i - 1] ?? 1)))).toBeLessThanOrEqual(3)
  expect(calls.map(({ value }) => value?.status)).toEqual(calls.map(() => 200))
})

test('S8 a retry of a call that has to be answered here waits for the circuit, and is not sent before', async () => {
  const { open, call, server, clock } = setup()
  const end = server.hang()
  const later = (initialDelayMs: number) => ({ redrive: { policy: { initialDelayMs, jitterType: 'NONE' } } }) as const
  const failsWhileOpen = watch(call(later(10)))
  await clock.advance(0)
  server.reply(503)
  const failedBefore = watch(call(later(2_600)))
  const { until } = (await open({}, 40)) as CircuitOpenError
  end(503)
  const { hits } = server
  await clock.advance((until ?? 0) - clock.now() - 1)
  expect(server.hits).toBe(hits)
  await clock.advance(1_000)
  expect([failsWhileOpen.value?.status, failedBefore.value?.status]).toEqual([200, 200])
  expect(server.hits).toBe(hits + 2)
})

test('a retry that would wait for the circuit beyond its waitMs is none: the last answer is given at once', async () => {
  const { open, call, server, clock } = setup()
  const end = server.hang()
  const called = watch(call({ redrive: { waitMs: 2_600 } }))
  await clock.advance(0)
  await open({}, 40)
  const { hits } = server
  end(503)
  await clock.advance(0)
  expect(called.value?.status).toBe(503)
  await clock.advance(OPEN_MS)
  expect(server.hits).toBe(hits)
})

test.each(['its waitMs is over', 'its caller leaves'])(
  'a retry waits for another to try the server out until %s',
  async (why) => {
    const { open, call, server, clock } = setup()
    const startedAt = clock.now()
    const end = server.hang()
    const caller = new AbortController()
    const called = watch(call({ signal: caller.signal, redrive: { waitMs: 5_000 } }))
    await clock.advance(0)
    const { until } = (await open({}, 40)) as CircuitOpenError
    await clock.advance((until ?? 0) - clock.now())
    server.hang()
    watch(call())
    await clock.advance(0)
    const { hits } = server
    end(503)
    await clock.advance(startedAt + 4_900 - clock.now())
    expect(called.state).toBe('pending')
    if (why === 'its caller leaves') {
      caller.abort()
      await clock.advance(0)
      expect(called.error).toMatchObject({ name: 'AbortError' })
    } else {
      await clock.advance(150)
      expect(called.value?.status).toBe(503)
    }
    await clock.advance(OPEN_MS)
    expect(server.hits).toBe(hits)
  },
)

test('S9 a retry of a call that has to be answered here waits as long as its server has asked another', async () => {
  const { call, server, clock } = setup()
  const end = server.hang()
  const called = watch(call())
  await clock.advance(0)
  server.reply(503, { 'retry-after': '4' })
  await call({ redrive: { policy: { maxAttempts: 1 } } })
  end(503)
  await clock.advance(3_999)
  expect(server.hits).toBe(2)
  await clock.advance(1_100)
  expect(called.value?.status).toBe(200)
})

test('L6 a retry of a call that has to be answered here waits for its token', async () => {
  const { call, server, clock } = setup({ retryBudget: { capacity: 1, perSuccess: 0, perSecond: 1 } })
  server.reply(503).reply(503)
  const policy = { initialDelayMs: 100, jitterType: 'NONE' } as const
  const calls = [watch(call({ redrive: { policy } })), watch(call({ redrive: { policy } }))]
  await clock.advance(1_000)
  expect(calls.map(({ state }) => state)).toEqual(['resolved', 'pending'])
  await clock.advance(1_000)
  expect(calls.map(({ value }) => value?.status)).toEqual([200, 200])
})

test('S8 a call that may leave is handed over unsent, and answered 202', async () => {
  const { open, call, server, taken } = setup()
  await open()
  const { hits } = server
  const response = await call(POST)
  expect(response.status).toBe(202)
  expect(taken).toMatchObject([{ method: 'POST', attemptNumber: 0 }])
  expect(response.headers.get('redrive-task-id')).toBe(taken[0]?.taskId)
  expect(server.hits).toBe(hits)
})

test('one that cannot be stored fails, and both its error and onDegraded say why', async () => {
  const reports: unknown[] = []
  const { open, call, taken } = setup({ onDegraded: (report) => reports.push(report) })
  await open()
  const failed = await call({ ...POST, headers: { 'x-tenant': 'ann' } }).catch((error) => error)
  expect(failed).toBeInstanceOf(CircuitOpenError)
  expect(failed.message).toMatch(/could not move to its object either/)
  expect(String(failed.cause)).toContain('x-tenant')
  expect(reports).toMatchObject([{ code: 'headers_withheld', message: expect.stringContaining('x-tenant') }])
  expect(taken).toEqual([])
})

test('one whose key is that of a task that has ended is told so', async () => {
  const { open, call, server } = setup({}, { taskId: 'dead', outcome: 'duplicate', hasEnded: true })
  await open()
  const { hits } = server
  const failed = await call({ ...POST, redrive: { idempotencyKey: 'of-a-dead-letter' } }).catch((error) => error)
  expect(failed).toMatchObject({ code: 'TASK_ENDED' })
  expect(server.hits).toBe(hits)
})

test('half-open one call goes to see; one whose client leaves makes room for the next', async () => {
  const { open, call, server, clock, taken } = setup()
  await open()
  await clock.advance(OPEN_MS)
  const { hits } = server
  server.hang()
  const client = new AbortController()
  const probe = watch(call({ signal: client.signal }))
  await clock.advance(0)
  expect(server.hits).toBe(hits + 1)
  expect((await call(POST)).status).toBe(202)
  expect(taken).toHaveLength(1)
  client.abort()
  await clock.advance(0)
  expect(probe.error).toMatchObject({ name: 'AbortError' })
  expect((await call()).status).toBe(200)
})

test('clients that leave say nothing of the server', async () => {
  const { call, server, clock } = setup()
  server.reply(503)
  await call({ redrive: { policy: { maxAttempts: 1 } } })
  for (let i = 0; i < 100; i++) {
    server.hang()
    const client = new AbortController()
    const left = call({ signal: client.signal }).catch(() => {})
    await clock.advance(0)
    client.abort()
    await left
  }
  expect((await call()).status).toBe(200)
})

test('with retryBudget: false nothing is turned away', async () => {
  const { open, server } = setup({ retryBudget: false })
  expect(await open()).toBeUndefined()
  expect(server.hits).toBe(MOST)
})

test('failures count whose request has a clock that is behind that of the gates', async () => {
  const { clock, server, call, open } = setup()
  server.reply(503)
  const first = watch(call({ redrive: { policy: { maxAttempts: 1 } } }))
  await clock.advance(10)
  expect(first.value?.status).toBe(503)
  const behind = Object.assign(Object.create(clock), { now: () => clock.now() - 1 })
  // open after 13, in doubt until the 31st
  expect(await open({ clock: behind }, 200)).toBeInstanceOf(CircuitOpenError)
  expect(server.hits).toBe(32)
})

test('S9 a retry in a Worker comes some time after the moment that its server named: other requests may have got the same one', async () => {
  const { call, server, clock } = setup()
  server.reply(429, { 'retry-after': '10' })
  const called = watch(call({ redrive: { mode: 'await' } }))
  await clock.advance(10_000)
  expect(server.hits).toBe(1)
  await clock.advance(1_000)
  expect(called.value?.status).toBe(200)
})
