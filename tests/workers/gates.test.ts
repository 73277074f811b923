/** An object has the gates of any queue: an origin that is down is asked now and then, and what waits goes out when it is well. */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiDuringTests, order, quick } from './api.ts'
import { Edge, type EdgeObject } from './harness/edge.ts'
import { soon } from './harness/soon.ts'

const TASKS = 50
/** Five in a row open the circuit; as many as are in flight then may be on their way. */
const MOST_BEFORE_OPEN = 5 + 3

const api = apiDuringTests()
let edge: Edge
let object: EdgeObject

beforeAll(async () => {
  edge = await Edge.start({ object: {} })
  object = edge.object({ origin: new URL(api.url).origin })
})
afterAll(() => edge?.[Symbol.asyncDispose]())

test('L6 an origin that is down is not asked by every task, and asking the object makes no run', async () => {
  await api.fails(1_000)
  const calls = Array.from({ length: TASKS }, (_, at) => ({ url: api.orders(`task-${at}`), init: order(`task-${at}`) }))
  const policy = { ...quick, maxAttempts: 100 }
  const { answers } = await edge.calls(calls, { policy, inlineAttempts: 1 })
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
  await soon(async () => (await object.look()).runs.length).toBeGreaterThan(0)

  const { length } = (await object.look()).runs
  for (let asked = 0; asked < 20; asked++) await object.ask('stats')
  const { runs } = await object.look()
  expect(runs.length - length).toBeLessThanOrEqual(1)
  expect(runs.reduce((sum, { attempts }) => sum + attempts, 0)).toBeLessThanOrEqual(MOST_BEFORE_OPEN + 1)

  await api.fails(0)
  await soon(async () => (await object.ask<{ depth: number }>('stats')).depth).toBe(0)
  const report = await api.server.report()
  expect(report.effectsPerIntent).toEqual({ min: 1, max: 1, notOne: [] })
  expect(report.inFlight.queueMax, 'S7').toBeLessThanOrEqual(3)
})
