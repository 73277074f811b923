/** What holds a task now: the gates of its origin, and of a stored one whatever this process knows. */

import { expect, onTestFinished, test, vi } from 'vitest'
import type { Decision, RetryQueue } from '../../js/index.ts'
import { Runner } from '../../js/runner/runner.ts'
import { type Process, type World, world } from './durable-setup.ts'
import { ORDERS, setup } from './setup.ts'

const POST = { method: 'POST', body: 'tea' } as const
const ORIGIN = new URL(ORDERS).origin

const lastOf = (decisions: readonly Decision[]) => decisions.at(-1)

async function enqueued({ queue }: Process, { clock }: World, init: object = POST): Promise<string> {
  const { taskId } = await queue.enqueue(ORDERS, init)
  await clock.settle()
  return taskId
}

/** The queue's runner, as whoever tells the core of gates has it. */
function runnerOf(queue: RetryQueue): Runner {
  const stats = vi.spyOn(Runner.prototype, 'stats')
  queue.stats()
  const [runner] = stats.mock.contexts
  stats.mockRestore()
  if (!runner) throw new Error('the queue has no runner yet')
  return runner as Runner
}

/** A breaker that opens at `failures` for a minute; `tokens`: of the retry budget, 0 for none. */
function gates({ queue }: { readonly queue: RetryQueue }, failures: number, tokens: number): void {
  const numbers = [failures, 0.5, 20, 60_000, 60_000, 60_000, 1, 0, tokens, 0.1, 0.01, 0]
  runnerOf(queue).core.gates(new Float64Array(numbers))
}

test('held with its origin by what a server asked of another', async () => {
  const scene = world()
  const { server, clock } = scene
  const first = await scene.open()
  server.reply(503, { 'retry-after': '120' })
  await enqueued(first, scene)
  const waiting = lastOf(await first.queue.explain(await enqueued(first, scene)))
  expect(waiting?.data).toMatchObject({ gate: 'lane-held' })
  expect(waiting?.data?.until).toBeGreaterThanOrEqual(clock.now() + 120_000)
  expect(waiting?.text).toMatch(/^its origin, which asked everybody to wait until 00:02:0\d$/)
})

test('an open breaker: of what is due, and of what has a wait of its own before', async () => {
  const scene = world()
  const first = await scene.open()
  gates(first, 1, 0)
  scene.server.reply(503)
  const failed = await enqueued(first, scene)
  const other = await enqueued(first, scene)
  const own = lastOf(await first.queue.explain(failed))
  expect(own?.data).toEqual({ gate: 'due', until: scene.clock.now() + 1_000 })
  expect(own?.text).toMatch(
    /^its own wait until 00:00:01, and then its origin's circuit breaker, open until 00:0\d:\d\d$/,
  )
  const due = lastOf(await first.queue.explain(other))
  expect(due?.data).toMatchObject({ gate: 'circuit-open' })
  expect(due?.data?.until).toBeGreaterThanOrEqual(scene.clock.now() + 45_000)
  expect(due?.text).toMatch(/^its origin's circuit breaker, open until 00:0\d:\d\d$/)
  expect(scene.server.hits).toBe(1)
})

test('a half-open breaker lets one attempt through', async () => {
  const scene = world()
  const first = await scene.open({ policy: { attemptTimeoutMs: 3_600_000 } })
  gates(first, 1, 0)
  scene.server.reply(503)
  await enqueued(first, scene)
  await enqueued(first, scene)
  scene.server.hang()
  await scene.clock.advance(75_000)
  first.queue.resume()
  await scene.clock.settle()
  const states = await Promise.all((await first.queue.list()).tasks.map(({ taskId }) => first.queue.explain(taskId)))
  const held = states.map((decisions) => lastOf(decisions)?.data?.gate)
  expect(held.sort()).toEqual(['circuit-probing', 'in-flight'])
  expect(states.map((decisions) => lastOf(decisions)?.text)).toContain(
    'the attempt that tries out its origin: the circuit breaker is half-open',
  )
})

test('a retry budget that is spent', async () => {
  const scene = world()
  const first = await scene.open()
  gates(first, 0, 1)
  scene.server.reply(503).reply(503)
  const taskId = await enqueued(first, scene)
  await scene.clock.advance(10_000)
  const waiting = lastOf(await first.queue.explain(taskId))
  expect(waiting?.data).toMatchObject({ gate: 'retry-budget' })
  expect(waiting?.data?.until).toBeGreaterThan(scene.clock.now())
  expect(waiting?.text).toMatch(/^its origin's retry budget, which is spent: put off until 00:/)
})

test('the one attempt after being offline', async () => {
  const scene = world()
  const first = await scene.open({ concurrencyPerOrigin: 3, policy: { attemptTimeoutMs: 1_000 } })
  scene.server.hang()
  await enqueued(first, scene)
  const { core } = runnerOf(first.queue)
  core.setOnline(scene.clock.now(), false)
  await scene.clock.advance(1_000)
  core.setOnline(scene.clock.now(), true)
  scene.server.hang()
  await enqueued(first, scene)
  const second = await enqueued(first, scene)
  expect(lastOf(await first.queue.explain(second))).toMatchObject({
    text: 'the one attempt that tries out its origin after being offline',
    data: { gate: 'probing' },
  })
})

test.for([
  ['lane-paused', 'resume() of its origin', { origin: ORIGIN }],
  ['paused', 'resume()', undefined],
] as const)('a pause: %s', async ([gate, text, scope]) => {
  const scene = world()
  const first = await scene.open()
  first.queue.pause(scope)
  const taskId = await enqueued(first, scene)
  expect(lastOf(await first.queue.explain(taskId))).toMatchObject({ kind: 'waits', text, data: { gate } })
})

test('limits, and what starts next', async () => {
  const scene = world()
  const first = await scene.open({ concurrency: 2, concurrencyPerOrigin: 1 })
  scene.server.hang()
  scene.server.hang()
  await enqueued(first, scene)
  const second = await enqueued(first, scene)
  expect(lastOf(await first.queue.explain(second))?.data).toEqual({ gate: 'lane-limit' })
  const elsewhere = await first.queue.enqueue('https://other.test/', POST)
  const third = await first.queue.enqueue('https://third.test/', POST)
  await scene.clock.settle()
  expect(lastOf(await first.queue.explain(elsewhere.taskId))).toMatchObject({
    text: 'nothing: an attempt is under way, here or in another process',
    data: { gate: 'in-flight', attemptNumber: 1 },
  })
  expect(lastOf(await first.queue.explain(third.taskId))?.data).toEqual({ gate: 'limit' })
})

test('S16 somebody else is there', async () => {
  const scene = world()
  const first = await scene.open({ principal: 'ann' })
  first.queue.pause()
  const taskId = await enqueued(first, scene)
  await first.queue.setPrincipal('ben')
  expect(lastOf(await first.queue.explain(taskId))).toMatchObject({
    text: 'its principal: somebody else is there',
    data: { gate: 'principal' },
  })
})

test('S19 behind others of its order', async () => {
  const scene = world()
  const first = await scene.open()
  scene.server.hang()
  const ordered = { ...POST, redrive: { orderKey: 'a' } }
  await enqueued(first, scene, ordered)
  const second = await enqueued(first, scene, ordered)
  expect(lastOf(await first.queue.explain(second))).toMatchObject({
    text: 'its turn: others of its orderKey come first',
    data: { gate: 'behind' },
  })
})

test('offline', async () => {
  const scene = world()
  const first = await scene.open()
  first.queue.pause()
  const taskId = await enqueued(first, scene)
  vi.stubGlobal('navigator', { onLine: false })
  onTestFinished(() => void vi.unstubAllGlobals())
  const second = await scene.open()
  expect(lastOf(await second.queue.explain(taskId))).toMatchObject({ text: 'the network', data: { gate: 'offline' } })
})

test('in memory, a retry budget that is spent', async () => {
  const { queue, server, clock } = await setup()
  gates({ queue }, 0, 1)
  server.reply(503).reply(503)
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(10_000)
  const waiting = lastOf(await queue.explain(taskId))
  expect(waiting?.data).toMatchObject({ gate: 'retry-budget' })
  expect(waiting?.text).toMatch(/^its origin's retry budget, which is spent: put off until 00:/)
})
