/** What holds a task now: the gates of its origin, and of a stored one whatever this process knows. */

import { expect, test, vi } from 'vitest'
import type { Decision, RetryQueue, RetryQueueOptions } from '../../js/index.ts'
import { Runner } from '../../js/runner/runner.ts'
import { type Process, type World, world } from './durable-setup.ts'
import { enqueued, goOffline, lastOf, POST, type Stage } from './explain-setup.ts'
import { ORDERS, setup } from './setup.ts'

const ORIGIN = new URL(ORDERS).origin

/** A process on a store, and what is around it. */
type Scene = World & Process

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
  runnerOf(queue).core.gates(new Float64Array(numbers))
}

interface Case {
  readonly options?: RetryQueueOptions
  /** Which task is asked about; after what has happened. */
  readonly task: (scene: Scene) => Promise<string>
  /** All of it. */
  readonly data: object
  readonly text: string | RegExp
}

const ordered = { ...POST, redrive: { orderKey: 'a' } }
const paused =
  (scope?: { readonly origin: string }) =>
  (scene: Scene): Promise<string> => {
    scene.queue.pause(scope)
    return enqueued(scene)
  }

const cases: Readonly<Record<string, Case>> = {
  'held with its origin by what a server asked of another': {
    task: async (scene) => {
      scene.server.reply(503, { 'retry-after': '120' })
      await enqueued(scene)
      return enqueued(scene)
    },
    data: { gate: 'lane-held', until: expect.any(Number) },
    text: 'waits for its origin, which asked for a pause in its answer to another request until 00:01:00',
  },
  'a pause of its origin': {
    task: paused({ origin: ORIGIN }),
    data: { gate: 'lane-paused' },
    text: 'waits for resume() of its origin',
  },
  'a pause of everything': { task: paused(), data: { gate: 'paused' }, text: 'waits for resume()' },
  'the limit of its origin': {
    options: { concurrency: 2, concurrencyPerOrigin: 1 },
    task: async (scene) => {
      scene.server.hang()
      await enqueued(scene)
      return enqueued(scene)
    },
    data: { gate: 'lane-limit' },
    text: /./,
  },
  'the limit of all': {
    options: { concurrency: 2, concurrencyPerOrigin: 1 },
    task: async (scene) => {
      scene.server.hang()
      scene.server.hang()
      for (const url of [ORDERS, 'https://other.test/']) await enqueued(scene, POST, url)
      return enqueued(scene, POST, 'https://third.test/')
    },
    data: { gate: 'limit' },
    text: /./,
  },
  'an attempt of its own': {
    task: (scene) => {
      scene.server.hang()
      return enqueued(scene)
    },
    data: { gate: 'in-flight', attemptNumber: 1 },
    text: 'waits for the attempt under way, here or in another process',
  },
  'S16 somebody else is there': {
    options: { principal: 'ann' },
    task: async (scene) => {
      const taskId = await paused()(scene)
      await scene.queue.setPrincipal('ben')
      return taskId
    },
    data: { gate: 'principal' },
    text: 'waits for its principal, since another one is current',
  },
  'S19 behind others of its order': {
    task: async (scene) => {
      scene.server.hang()
      await enqueued(scene, ordered)
      return enqueued(scene, ordered)
    },
    data: { gate: 'behind' },
    text: 'waits for its turn: other tasks of its orderKey come first',
  },
}

const sceneOf = async (options?: RetryQueueOptions): Promise<Scene> => {
  const scene = world()
  return { ...scene, ...(await scene.open(options)) }
}
const waitOf = async ({ queue }: Pick<Stage, 'queue'>, taskId: string): Promise<Decision | undefined> =>
  lastOf(await queue.explain(taskId, { allPrincipals: true }))

test.each(Object.entries(cases))('%s', async (_, { options, task, data, text }) => {
  const scene = await sceneOf(options)
  const waiting = await waitOf(scene, await task(scene))
  const words = text instanceof RegExp ? expect.stringMatching(text) : text
  expect(waiting).toEqual({ at: expect.any(Number), kind: 'waits', text: words, data })
})

test('S9 an origin that is held says until when', async () => {
  const scene = await sceneOf()
  scene.server.reply(503, { 'retry-after': '120' })
  await enqueued(scene)
  const waiting = await waitOf(scene, await enqueued(scene))
  expect(waiting?.data?.until).toBe(scene.clock.now() + 60_000)
})

test('offline, said by a process that did not see it come', async () => {
  const scene = await sceneOf()
  const taskId = await paused()(scene)
  goOffline()
  const second = await scene.open()
  expect(await waitOf(second, taskId)).toMatchObject({ text: 'waits for the network', data: { gate: 'offline' } })
})

test.each<readonly [string, () => Promise<Stage>]>([
  ['in a store', sceneOf],
  ['in memory', setup],
])('a retry budget that is spent: %s', async (_, open) => {
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
  const scene = await sceneOf({ concurrencyPerOrigin: 1 })
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
  const scene = world()
  const first = await scene.open()
  gates(first, 1, 0)
  scene.server.reply(503)
  const failed = await enqueued({ ...scene, ...first })
  const other = await enqueued({ ...scene, ...first })
  const own = lastOf(await first.queue.explain(failed))
  expect(own?.data).toEqual({ gate: 'due', until: scene.clock.now() + 1_000 })
  expect(own?.text).toMatch(
    /^waits for its own delay until 00:00:01, and then its origin's circuit breaker, which is open until 00:0\d:\d\d$/,
  )
  const due = lastOf(await first.queue.explain(other))
  expect(due?.data).toMatchObject({ gate: 'circuit-open' })
  expect(due?.data?.until).toBeGreaterThanOrEqual(scene.clock.now() + 30_000)
  expect(due?.text).toMatch(/^waits for its origin's circuit breaker, which is open until 00:0\d:\d\d$/)
  expect(scene.server.hits).toBe(1)
})

test('a half-open breaker lets one attempt through', async () => {
  const scene = world()
  const first = await scene.open({ policy: { attemptTimeoutMs: 3_600_000 } })
  gates(first, 1, 0)
  scene.server.reply(503)
  await enqueued({ ...scene, ...first })
  await enqueued({ ...scene, ...first })
  scene.server.hang()
  await scene.clock.advance(75_000)
  first.queue.resume()
  await scene.clock.settle()
  const states = await Promise.all((await first.queue.list()).tasks.map(({ taskId }) => first.queue.explain(taskId)))
  const held = states.map((decisions) => lastOf(decisions)?.data?.gate)
  expect(held.sort()).toEqual(['circuit-probing', 'in-flight'])
  expect(states.map((decisions) => lastOf(decisions)?.text)).toContain(
    'waits for the attempt that probes its origin while the circuit breaker is half-open',
  )
})
