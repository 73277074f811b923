/** Each attempt of an alarm is a subrequest, of which the platform allows so many: a backlog is worked off in several. */

import { expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { apiDuringTests, atOnce, noGates, order, quick, taskOf } from './api.ts'
import { Edge } from './harness/edge.ts'
import { soon } from './harness/soon.ts'

/** Many times what a run may do; more of them where the long form is asked for, since each is two requests. */
const TASKS = Number(process.env.REDRIVE_RUNS ?? 0) >= 1_000 ? 1_000 : 400
const A_REQUEST = 50

const api = apiDuringTests()
const edges = [noGates, { ...noGates, attemptsPerRun: 7 }, {}].map((object) =>
  duringTests(() => Edge.start({ object })),
)

async function backlog(edge: Edge, count: number, delayMs: number): Promise<readonly string[]> {
  await api.fails(1)
  const ids: string[] = []
  for (let from = 0; from < count; from += A_REQUEST) {
    const calls = Array.from({ length: Math.min(A_REQUEST, count - from) }, (_, at) => {
      const intent = `due-${from + at}`
      return { url: api.orders(intent), init: order(intent) }
    })
    const options = { ...atOnce, policy: { ...quick, initialDelayMs: delayMs } }
    const { answers } = await edge.calls(calls, options)
    ids.push(...answers.map(taskOf))
  }
  return ids
}

test.each([
  { which: 0, count: TASKS, most: 40 },
  { which: 1, count: 60, most: 7 },
  { which: 2, count: 200, most: 40 },
])('$count due tasks drain, at most $most attempts a run', async ({ which, count, most }) => {
  const edge = edges[which] as Edge
  const object = edge.object({ origin: api.url })
  const ids = await backlog(edge, count, count * 5)
  expect(new Set(ids).size).toBe(count)
  await soon(async () => (await object.ask<{ depth: number }>('stats')).depth).toBe(0)

  const { runs, alarms } = await object.look()
  expect(Math.max(...runs.map(({ attempts }) => attempts))).toBe(most)
  expect(runs.reduce((sum, { attempts }) => sum + attempts, 0)).toBe(count)
  expect(alarms.filter(({ threw }) => threw !== null)).toEqual([])
  const report = await api.server.report()
  expect(report).toMatchObject({ intents: count, attempts: 2 * count, keylessWrites: 0 })
  expect(report.effectsPerIntent).toEqual({ min: 1, max: 1, notOne: [] })
  expect(report.keysPerIntent).toEqual({ min: 1, max: 1, notOne: [] })
})

test('when nothing is left to do but to forget what has ended, no alarm stands that would send', async () => {
  const [edge] = edges
  const object = (edge as Edge).object({ origin: api.url })
  const before = (await object.look()).runs.length
  await object.ask('ring')
  await soon(async () => (await object.look()).runs.length).toBe(before + 1)
  const { runs } = await object.look()
  expect(runs.at(-1)).toMatchObject({ attempts: 0, ended: 0 })
  // the oldest of the ended is forgotten in a day
  expect((runs.at(-1)?.nextRunAt ?? Number.POSITIVE_INFINITY) - Date.now()).toBeGreaterThan(3_600_000)
})
