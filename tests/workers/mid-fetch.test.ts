/** An attempt whose object dies under it: the next instance takes it back, and the task goes on under its key. */

import { afterEach, beforeEach, expect, test } from 'vitest'
import { apiDuringTests, atOnce, noGates, order, quick, taskOf } from './api.ts'
import { Edge, type EdgeObject } from './harness/edge.ts'
import { soon } from './harness/soon.ts'

const TASKS = 12
const BLOWS = 3

const api = apiDuringTests()
let edge: Edge
let object: EdgeObject

beforeEach(async () => {
  edge = await Edge.start({ object: noGates })
  object = edge.object({ origin: new URL(api.url).origin })
})
afterEach(() => edge[Symbol.asyncDispose]())

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
    const intents = Array.from({ length: TASKS }, (_, at) => `order-${at}`)
    const calls = intents.map((intent) => ({ url: api.orders(intent), init: order(intent) }))
    const { answers } = await edge.calls(calls, { ...atOnce, policy: { ...quick, maxAttempts: 20 } })
    const ids = answers.map(taskOf).sort()

    for (let blow = 0; blow < BLOWS; blow++) {
      await soon(async () => (await api.server.report()).outcomes.open ?? 0).toBeGreaterThan(0)
      await strike()
      expect((await object.list()).map(({ taskId }) => taskId)).toEqual(ids)
    }
    await soon(async () => (await object.list({ status: 'SUCCEEDED' })).length).toBe(TASKS)

    const report = await api.server.report()
    expect(report.outcomes.caller_gone, 'attempts that lost their object').toBeGreaterThanOrEqual(BLOWS)
    expect(report.intents).toBe(TASKS)
    expect(report.effectsPerIntent).toEqual({ min: 1, max: 1, notOne: [] })
    expect(report.keysPerIntent).toEqual({ min: 1, max: 1, notOne: [] })
  },
)
