/** S1: the 202 comes after the disk; from then on a task outlives whatever happens to the process and to its object. */

import { afterEach, beforeEach, expect, test } from 'vitest'
import { apiDuringTests, atOnce, noGates, order, quick, taskOf } from './api.ts'
import { Edge, type EdgeObject } from './harness/edge.ts'
import { reaches, soon } from './harness/soon.ts'

const TASKS = 40

const api = apiDuringTests()
let edge: Edge
let object: EdgeObject

beforeEach(async () => {
  edge = await Edge.start({ object: noGates })
  object = edge.object({ origin: api.url })
})
afterEach(() => edge[Symbol.asyncDispose]())

const intentsOf = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `order-${at}`)

async function handOver(count: number, policy: Readonly<Record<string, unknown>> = quick): Promise<readonly string[]> {
  const calls = intentsOf(count).map((intent) => ({ url: api.orders(intent), init: order(intent) }))
  const { answers } = await edge.calls(calls, { ...atOnce, policy })
  expect(answers.map(({ status }) => status)).toEqual(calls.map(() => 202))
  return answers.map(taskOf)
}

/** Every intent took effect once, under one key. */
const oneEach = async (count: number): Promise<void> => {
  await soon(async () => (await api.server.report()).effectsPerIntent.min).toBe(1)
  const { effectsPerIntent, keysPerIntent, intents } = await api.server.report()
  expect(intents).toBe(count)
  expect(effectsPerIntent).toEqual({ min: 1, max: 1, notOne: [] })
  expect(keysPerIntent).toEqual({ min: 1, max: 1, notOne: [] })
}

test('S1 all that was answered with 202 is there after the process was killed at that moment, and is delivered', async () => {
  await api.fails(1)
  const ids = await handOver(TASKS, { ...quick, initialDelayMs: 1_500 })
  await edge.kill()
  await edge.start()
  const kept = (await object.list()).map(({ taskId }) => taskId)
  expect(kept).toEqual([...ids].sort())
  for (const taskId of ids) await reaches(object, taskId, 'SUCCEEDED')
  await oneEach(TASKS)
})

test('L3 after a restart the alarm that stood rings by itself: nobody has to call', async () => {
  await api.fails(1)
  await handOver(5, { ...quick, initialDelayMs: 500 })
  await edge.kill()
  await edge.start()
  await oneEach(5)
})

test('S1 an object that is thrown out of memory between two attempts goes on', async () => {
  await api.fails(2)
  const [taskId] = await handOver(1, { ...quick, initialDelayMs: 700 })
  const { bornAt } = await object.look()
  await object.evict()
  await reaches(object, taskId as string, 'SUCCEEDED')
  expect((await object.look()).bornAt).toBeGreaterThan(bornAt)
  expect(await api.saw('order-0')).toMatchObject({ attempts: 3, effects: 1 })
  await oneEach(1)
})

test('S1 an object aborted while it takes tasks has those that were answered with 202', async () => {
  await api.fails(1)
  const accepted: string[] = []
  const waves = Array.from({ length: 8 }, async (_, wave) => {
    const intents = [0, 1, 2, 3].map((at) => `wave-${wave}-${at}`)
    const calls = intents.map((intent) => ({ url: api.orders(intent), init: order(intent) }))
    const { answers } = await edge.calls(calls, { ...atOnce, policy: { ...quick, initialDelayMs: 60_000 } })
    for (const answer of answers) if (answer.status === 202) accepted.push(taskOf(answer))
  })
  const blows = (async () => {
    for (let blow = 0; blow < 10; blow++) await object.abort()
  })()
  await Promise.all([...waves, blows])
  const kept = new Set((await object.list()).map(({ taskId }) => taskId))
  expect(accepted.length).toBeGreaterThan(0)
  expect(accepted.filter((taskId) => !kept.has(taskId))).toEqual([])
})

const IN_FLIGHT = 12
const BLOWS = 3
const blows: readonly (readonly [string, () => Promise<void>])[] = [
  ['is aborted', () => object.abort()],
  [
    'dies with its process (SIGKILL)',
    async () => {
      await edge.kill()
      await edge.start()
    },
  ],
]

test.each(blows)(
  'S1 an object that %s in the middle of a fetch: no task is lost, each has one effect under one key',
  async (_, strike) => {
    // each is told nothing of the work that was done, twice
    await api.fails(2, 'reset_after')
    await api.server.configure({ latencyMs: [200, 500] })
    const intents = Array.from({ length: IN_FLIGHT }, (_, at) => `order-${at}`)
    const calls = intents.map((intent) => ({ url: api.orders(intent), init: order(intent) }))
    const { answers } = await edge.calls(calls, { ...atOnce, policy: { ...quick, maxAttempts: 20 } })
    const ids = answers.map(taskOf).sort()

    for (let blow = 0; blow < BLOWS; blow++) {
      await soon(async () => (await api.server.report()).outcomes.open ?? 0).toBeGreaterThan(0)
      await strike()
      expect((await object.list()).map(({ taskId }) => taskId)).toEqual(ids)
    }
    await soon(async () => (await object.list({ status: 'SUCCEEDED' })).length).toBe(IN_FLIGHT)

    const report = await api.server.report()
    expect(report.outcomes.caller_gone, 'attempts that lost their object').toBeGreaterThanOrEqual(BLOWS)
    await oneEach(IN_FLIGHT)
  },
)
