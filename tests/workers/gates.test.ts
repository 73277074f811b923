/** An object has the gates of any queue: an origin that is down is asked now and then, and what waits goes out when it is well. */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiDuringTests, atOnce, order, quick, taskOf } from './api.ts'
import { Edge, type EdgeObject } from './harness/edge.ts'
import { reaches, soon } from './harness/soon.ts'
import { Origin } from './origin.ts'

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

test('L6 while an origin is down a new task makes no run', async () => {
  await api.fails(1_000)
  await using down = await Edge.start({ object: { breaker: { openMs: 60_000, maxOpenMs: 60_000 } } })
  const waiting = down.object({ origin: new URL(api.url).origin })
  const calls = (kind: string, count: number) =>
    Array.from({ length: count }, (_, at) => ({ url: api.orders(`${kind}-${at}`), init: order(`${kind}-${at}`) }))
  await down.calls(calls('opens', MOST_BEFORE_OPEN + 1), { ...atOnce, subrequests: 100 })
  const restsFor = async () => ((await waiting.look()).alarmAt ?? 0) - Date.now()
  await soon(restsFor).toBeGreaterThan(10_000)

  const { length } = (await waiting.look()).runs
  for (const call of calls('waits', 20))
    expect((await down.calls([call], atOnce)).answers).toMatchObject([{ status: 202 }])
  await soon(restsFor).toBeGreaterThan(10_000)
  expect((await waiting.look()).runs.length - length).toBeLessThanOrEqual(1)
})

test('S9 what the server asked of one task is kept by the others of its origin', async () => {
  await using origin = new Origin()
  origin.answers = { '/other': [[503], [200]], '/limited': [[429, { 'retry-after': '2' }], [200]] }
  await origin.listen()
  const post = { method: 'POST', body: '{}' }
  const asked = edge.object({ origin: origin.url })
  const other = await edge.call(`${origin.url}/other`, post, { ...atOnce, policy: { ...quick, initialDelayMs: 600 } })
  const startedAt = performance.now()
  expect((await edge.call(`${origin.url}/limited`, post, atOnce)).status).toBe(202)
  await soon(() => origin.seen.filter(({ path }) => path === '/other').length).toBe(2)
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2_000)
  await reaches(asked, taskOf(other), 'SUCCEEDED')
})
