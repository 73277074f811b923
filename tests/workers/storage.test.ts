/** An alarm that fails is tried again by the platform six times, then forgotten. So none may fail, whatever its storage does. */

import { afterEach, beforeEach, expect, test } from 'vitest'
import { apiDuringTests, atOnce, noGates, order, quick, taskOf } from './api.ts'
import { Edge, type EdgeObject, type Story } from './harness/edge.ts'
import { reaches, soon } from './harness/soon.ts'

/** One more than the platform would repeat. */
const ALARMS = 7

const api = apiDuringTests()
let edge: Edge
let object: EdgeObject

beforeEach(async () => {
  edge = await Edge.start({ object: noGates })
  object = edge.object({ origin: new URL(api.url).origin })
})
afterEach(() => edge[Symbol.asyncDispose]())

/** Waits for this many alarms, each rung as soon as it stands. */
async function alarms(count: number): Promise<Story['alarms']> {
  await soon(async () => {
    await object.ask('hurry')
    return (await object.look()).alarms.length
  }).toBeGreaterThanOrEqual(count)
  return (await object.look()).alarms.slice(0, count)
}

const broken: readonly { readonly call: string; readonly after: number; readonly times?: number }[] = [
  { call: 'exec', after: 0 },
  { call: 'exec', after: 3 },
  { call: 'exec', after: 12 },
  { call: 'exec', after: 30 },
  { call: 'transactionSync', after: 0 },
  { call: 'transactionSync', after: 1 },
  { call: 'sync', after: 0 },
  { call: 'getAlarm', after: 0 },
  { call: 'setAlarm', after: 0, times: 4 },
]

test.each(broken)(
  'S1 storage.$call fails after $after calls in seven alarms in a row: an alarm still stands, and the task ends',
  async ({ call, after, times }) => {
    await api.fails(2)
    const policy = { ...quick, initialDelayMs: 400 }
    const taskId = taskOf(await edge.call(api.orders('stubborn'), order('stubborn'), { ...atOnce, policy }))
    await object.ask('breaks', { calls: [call], alarms: ALARMS, after, ...(times ? { times } : {}) })
    const rung = await alarms(ALARMS)
    expect(rung.map(({ threw }) => threw)).toEqual(rung.map(() => null))
    const status = async () => (await object.get(taskId))?.status
    if ((await status()) !== 'SUCCEEDED') expect(rung.at(-1)?.stands, 'after the seventh').toBe(true)
    await soon(async () => {
      await object.ask('hurry')
      return status()
    }).toBe('SUCCEEDED')
    const saw = await api.saw('stubborn')
    expect(saw).toMatchObject({ effects: 1 })
    expect(saw?.keys).toHaveLength(1)
  },
)

test('S1 an alarm that could not be set with its task is set by whoever calls next', async () => {
  await api.fails(1)
  await object.ask('breaks', { calls: ['setAlarm'], times: 2 })
  const policy = { ...quick, initialDelayMs: 300 }
  const answer = await edge.call(api.orders('unset'), order('unset'), { ...atOnce, policy })
  expect(answer.status).toBe(202)
  await object.ask('stats')
  expect((await object.look()).alarmAt).not.toBe(null)
  await reaches(object, taskOf(answer), 'SUCCEEDED')
  expect(await api.saw('unset')).toMatchObject({ attempts: 2, effects: 1 })
})

test('a run that failed says so to onRun', async () => {
  await api.fails(1)
  await edge.call(api.orders('told'), order('told'), { ...atOnce, policy: { ...quick, initialDelayMs: 200 } })
  await object.ask('breaks', { calls: ['exec'], alarms: 1, after: 0 })
  await soon(async () => (await object.look()).runs.length).toBeGreaterThan(0)
  const [first] = (await object.look()).runs
  expect(first?.error).toContain('the test lets storage.exec fail')
  expect(first?.nextRunAt).toBeGreaterThan(0)
})
