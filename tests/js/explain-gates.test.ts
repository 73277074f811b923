/** What holds a task now: the gates of its origin, and of a stored one whatever this process knows. */

import { expect, test, vi } from 'vitest'
import { OP_GATES } from '../../js/core/codes.ts'
import type { Decision, RetryQueue } from '../../js/index.ts'
import { Runner } from '../../js/runner/runner.ts'
import { opened } from './durable-setup.ts'
import { enqueued, goOffline, KINDS, lastOf, type Stage } from './explain-setup.ts'
import { API } from './setup.ts'

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
  const numbers = [failures === 1 ? 1 : 0.2, 0, 60_000, 60_000, 0, tokens, 0.1, 0.01, 0]
  runnerOf(queue).core.send(OP_GATES, ...numbers)
}

const waitOf = async ({ queue }: Pick<Stage, 'queue'>, taskId: string): Promise<Decision | undefined> =>
  lastOf(await queue.explain(taskId, { allPrincipals: true }))

test('S16 a stored task waits for its user while another one is there', async () => {
  const scene = await opened({ principal: 'ann' })
  scene.queue.pause()
  const taskId = await enqueued(scene)
  await scene.queue.setPrincipal('ben')
  expect(await waitOf(scene, taskId)).toMatchObject({
    text: 'waits for its principal, since another one is current',
    data: { gate: 'principal' },
  })
})

test('a stored task waits for resume() of its origin', async () => {
  const scene = await opened()
  scene.queue.pause({ origin: API })
  expect(await waitOf(scene, await enqueued(scene))).toMatchObject({
    text: 'waits for resume() of its origin',
    data: { gate: 'lane-paused' },
  })
})

test('offline, said by a process that did not see it come', async () => {
  const scene = await opened()
  scene.queue.pause()
  const taskId = await enqueued(scene)
  goOffline()
  scene.server.fail()
  const second = await scene.open()
  expect(await waitOf(second, taskId)).toMatchObject({
    text: expect.stringMatching(/^waits for the network, since the browser says that it is offline; next tried at 00:/),
    data: { gate: 'offline' },
  })
})

test.each(Object.entries(KINDS))('a retry budget that is spent: in %s', async (_, open) => {
  const stage = await open()
  gates(stage, 0, 1)
  stage.server.reply(503).reply(503)
  const taskId = await enqueued(stage)
  await stage.clock.advance(10_000)
  const waiting = await waitOf(stage, taskId)
  expect(waiting?.data).toMatchObject({ gate: 'retry-budget' })
  expect(waiting?.data?.until).toBeGreaterThan(stage.clock.now())
  expect(waiting?.text).toMatch(/^waits for its origin's retry budget, which is spent until 00:/)
})

test('a retry budget that is spent keeps retries back, and says so of no first attempt: in a store', async () => {
  const scene = await opened({ concurrencyPerOrigin: 1 })
  gates(scene, 0, 1)
  scene.server.reply(503).reply(503)
  const failed = await enqueued(scene)
  await scene.clock.advance(10_000)
  scene.server.hang()
  const running = await enqueued(scene)
  const waiting = await enqueued(scene)
  const gateOf = async (taskId: string) => (await waitOf(scene, taskId))?.data?.gate
  expect(await gateOf(failed)).toBe('retry-budget')
  expect(await gateOf(running)).toBe('in-flight')
  expect(await gateOf(waiting)).toBe('lane-limit')
})

test('an open breaker: of what is due, and of what has a wait of its own before', async () => {
  const scene = await opened()
  gates(scene, 1, 0)
  scene.server.reply(503)
  const failed = await enqueued(scene)
  const other = await enqueued(scene)
  const own = lastOf(await scene.queue.explain(failed))
  expect(own?.data).toEqual({ gate: 'due', until: scene.clock.now() + 1_000 })
  expect(own?.text).toMatch(
    /^waits for its own delay until 00:00:01, and then its origin's circuit breaker, which is open until 00:0\d:\d\d$/,
  )
  const due = lastOf(await scene.queue.explain(other))
  expect(due?.data).toMatchObject({ gate: 'circuit-open' })
  expect(due?.data?.until).toBeGreaterThanOrEqual(scene.clock.now() + 30_000)
  expect(due?.text).toMatch(/^waits for its origin's circuit breaker, which is open until 00:0\d:\d\d$/)
  expect(scene.server.hits).toBe(1)
})

test('a half-open breaker lets one attempt through', async () => {
  const scene = await opened({ policy: { attemptTimeoutMs: 3_600_000 } })
  gates(scene, 1, 0)
  scene.server.reply(503)
  await enqueued(scene)
  await enqueued(scene)
  scene.server.hang()
  await scene.clock.advance(75_000)
  scene.queue.resume()
  await scene.clock.settle()
  const states = await Promise.all((await scene.queue.list()).tasks.map(({ taskId }) => scene.queue.explain(taskId)))
  const held = states.map((decisions) => lastOf(decisions)?.data?.gate)
  expect(held.sort()).toEqual(['circuit-probing', 'in-flight'])
  expect(states.map((decisions) => lastOf(decisions)?.text)).toContain(
    'waits for the attempt that probes its origin while the circuit breaker is half-open',
  )
})
