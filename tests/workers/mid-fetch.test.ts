/** An attempt whose object dies under it: the lease keeps others away, then the task goes on. Each test waits for that lease, so all wait at once. */

import { describe, expect, test } from 'vitest'
import { startFlaky } from '../servers/start.mjs'
import { failing, noGates, order, quick, taskOf } from './api.ts'
import { Edge, type EdgeObject } from './harness/edge.ts'

const TASKS = 8
const BLOWS = 2
/** Half of them are told nothing of the work that was done. */
const faults = { ...failing(2, 'reset_after'), latencyMs: [200, 500] } as const
const DEADLINE_MS = 100_000

const blows: readonly (readonly [string, (edge: Edge, object: EdgeObject) => Promise<void>])[] = [
  ['is aborted', (_, object) => object.abort()],
  [
    'dies with its process, by SIGKILL',
    async (edge) => {
      await edge.kill()
      await edge.start()
    },
  ],
]

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`not within ${DEADLINE_MS} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 40))
  }
}

describe.concurrent('an object in the middle of a fetch', () => {
  test.each(blows)(
    'S1 %s: no task is lost, each has one effect under one key',
    { timeout: 2 * DEADLINE_MS },
    async (_, strike) => {
      const server = await startFlaky({ faults })
      await using edge = await Edge.start({ object: noGates })
      const object = edge.object({ origin: new URL(server.url).origin })
      const url = (intent: string): string => `${server.url}/api/orders?intent=${intent}`
      const intents = Array.from({ length: TASKS }, (_, at) => `order-${at}`)
      const calls = intents.map((intent) => ({ url: url(intent), init: order(intent) }))
      const { answers } = await edge.calls(calls, { policy: { ...quick, maxAttempts: 20 }, inlineAttempts: 1 })
      const ids = answers.map(taskOf).sort()

      for (let blow = 0; blow < BLOWS; blow++) {
        const before = await server.report()
        await until('another attempt begins', async () => (await server.report()).attempts > before.attempts)
        if ((await object.list({ status: 'IN_FLIGHT' })).length > 0) await strike(edge, object)
        expect((await object.list()).map(({ taskId }) => taskId)).toEqual(ids)
      }
      await until('all have succeeded', async () => (await object.list({ status: 'SUCCEEDED' })).length === TASKS)

      const report = await server.report()
      await server.close()
      expect(report.intents).toBe(TASKS)
      expect(report.effectsPerIntent).toEqual({ min: 1, max: 1, notOne: [] })
      expect(report.keysPerIntent).toEqual({ min: 1, max: 1, notOne: [] })
    },
  )
})
