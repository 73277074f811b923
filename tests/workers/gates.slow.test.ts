/** An object has the gates of any queue: an origin that is down is asked now and then, and what waits goes out when it is well. */

import { expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { apiDuringTests, atOnce, order, quick, taskOf } from './api.ts'
import { type Answer, Edge, type EdgeObject } from './harness/edge.ts'
import { reaches, soon } from './harness/soon.ts'
import { startOrigin } from './origin.ts'

const TASKS = 50
/**
 * Three failures in a row begin the ramp, while as many as may run are on their way. From then on one attempt runs at a time, with a
 * pause of 250 ms at least between two, until 2.5 s without a success open the circuit.
 */
const MOST_BEFORE_OPEN = 3 + 3 + 2_500 / 250

const api = apiDuringTests()

const edge = duringTests(() => Edge.start({ object: {} }))
const object = (): EdgeObject => edge.object({ origin: api.url })

const calls = (kind: string, count: number) =>
  Array.from({ length: count }, (_, at) => ({ url: api.orders(`${kind}-${at}`), init: order(`${kind}-${at}`) }))
const patience = { policy: { ...quick, maxAttempts: 100 }, inlineAttempts: 1 }

test('L6 what waits for an origin that is down goes out when it is well, no more at once than may', async () => {
  await api.fails(1_000)
  const { answers } = await edge.calls(calls('task', TASKS), patience)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
  await soon(async () => (await object().look()).runs.length).toBeGreaterThan(0)

  await api.fails(0)
  await soon(async () => (await object().ask<{ depth: number }>('stats')).depth).toBe(0)
  const report = await api.server.report()
  expect(report.effectsPerIntent).toEqual({ min: 1, max: 1, notOne: [] })
  expect(report.inFlight.queueMax, 'S7').toBeLessThanOrEqual(3)
})

test('L6 an origin that is down is not asked by every task; neither asking the object nor a new task makes a run', async () => {
  await api.fails(1_000)
  // open for longer than this test lasts: a probe would be a run of its own
  await using down = await Edge.start({ object: { breaker: { openMs: 120_000, maxOpenMs: 120_000 } } })
  const waiting = down.object({ origin: api.url })
  await down.calls(calls('opens', TASKS), patience)
  const restsFor = async () => ((await waiting.look()).alarmAt ?? 0) - Date.now()
  await soon(restsFor).toBeGreaterThan(10_000)

  const { length } = (await waiting.look()).runs
  for (let asked = 0; asked < 20; asked++) await waiting.ask('stats')
  const asked = (await waiting.look()).runs
  expect(asked.length - length).toBeLessThanOrEqual(1)
  expect(asked.reduce((sum, { attempts }) => sum + attempts, 0)).toBeLessThanOrEqual(MOST_BEFORE_OPEN)

  for (const call of calls('waits', 20))
    expect((await down.calls([call], atOnce)).answers).toMatchObject([{ status: 202 }])
  await soon(restsFor).toBeGreaterThan(10_000)
  expect((await waiting.look()).runs.length - asked.length).toBeLessThanOrEqual(1)
})

test('S9 what the server asked of one task is kept by the others of its origin', async () => {
  await using origin = await startOrigin({
    '/other': [[503], [200]],
    '/limited': [[429, { 'retry-after': '2' }], [200]],
  })
  const post = { method: 'POST', body: '{}' }
  const asked = edge.object({ origin: origin.url })
  // in one request: from here, the second could come when the first is due already
  const both = [
    { url: `${origin.url}/other`, init: post },
    { url: `${origin.url}/limited`, init: post, after: 0 },
  ]
  const startedAt = performance.now()
  const { answers } = await edge.calls(both, { ...atOnce, policy: { ...quick, initialDelayMs: 1_000 } })
  expect(answers.map(({ status }) => status)).toEqual([202, 202])
  await soon(() => origin.seen.filter(({ path }) => path === '/other').length).toBe(2)
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2_000)
  await reaches(asked, taskOf(answers[0] as Answer), 'SUCCEEDED')
})

test('S8 a retry of a call that its Worker has to answer waits for the circuit, and is answered once the server is back', async () => {
  const failures = 8
  await using origin = await startOrigin({
    '/down': [[503, {}, 100]],
    '/waits': [...Array(failures).fill([503]), [200]],
  })
  // one after another for longer than a circuit waits for a success; those that it keeps back fail at once
  const down = Array.from({ length: 40 }, (_, at) => ({
    url: `${origin.url}/down`,
    init: { redrive: { policy: { maxAttempts: 1 }, waitMs: 100 } },
    ...(at > 0 && { after: at - 1 }),
  }))
  const policy = { ...quick, initialDelayMs: 400, maxAttempts: 20 }
  const calls = [...down, { url: `${origin.url}/waits` }]
  const { answers } = await edge.calls(calls, { policy, inlineAttempts: 20, subrequests: 200 })
  expect(answers.map(({ error }) => error?.code)).toContain('CIRCUIT_OPEN')
  expect(answers.at(-1)).toMatchObject({ status: 200 })
  expect(origin.seen.filter(({ path }) => path === '/waits')).toHaveLength(failures + 1)
})
