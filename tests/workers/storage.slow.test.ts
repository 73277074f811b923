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
  object = edge.object({ origin: api.url })
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

test('an onRun that rejects is reported, and the run goes on', async () => {
  await api.fails(1)
  await object.ask('breaks', { calls: ['onRun'], times: 1 })
  const taskId = taskOf(await edge.call(api.orders('rejected'), order('rejected'), atOnce))
  await reaches(object, taskId, 'SUCCEEDED')
  const reported = { message: expect.stringContaining('onRun threw') }
  await soon(async () => (await object.look()).degraded).toMatchObject([reported])
})

/** Nobody asks the object meanwhile, since each question looks after the alarm. */
const sent = (intent: string, attempts: number) =>
  soon(async () => (await api.saw(intent))?.attempts).toBeGreaterThanOrEqual(attempts)

test('S1 a 202 stands for a task and its alarm: one that was refused is set before the caller hears of it', async () => {
  await api.fails(1)
  await object.ask('breaks', { calls: ['setAlarm'], times: 2 })
  const policy = { ...quick, initialDelayMs: 1_500 }
  const answer = await edge.call(api.orders('unset'), order('unset'), { ...atOnce, policy })
  expect(answer.status).toBe(202)
  expect((await object.look()).alarmAt).not.toBe(null)
  await sent('unset', 2)
  await reaches(object, taskOf(answer), 'SUCCEEDED')
  expect(await api.saw('unset')).toMatchObject({ attempts: 2, effects: 1 })
})

test('S1 where no alarm can be set the caller has its own answer, and nothing is sent behind its back', async () => {
  await api.fails(1)
  await object.ask('breaks', { calls: ['setAlarm'] })
  const { answers, degraded } = await edge.calls([{ url: api.orders('never'), init: order('never') }], atOnce)
  expect(answers).toMatchObject([{ status: 503 }])
  expect(degraded).toMatchObject([{ code: 'storage_unavailable' }])
  await object.ask('breaks', { calls: [] })
  await soon(async () => (await object.list()).map(({ status }) => status)).toEqual(['CANCELLED'])
  expect(await api.saw('never')).toMatchObject({ attempts: 1 })
})

test('storage that fails as an object begins is said to the one who asks, and not taken for an empty one', async () => {
  await api.fails(9)
  const later = { ...atOnce, policy: { ...quick, initialDelayMs: 60_000 } }
  for (const after of [0, 1, 2, 3]) {
    const principal = `opened-${after}`
    const begun = edge.object({ origin: api.url, principal })
    const taskId = taskOf(await edge.call(api.orders(principal), order(principal), { ...later, principal }))
    await begun.abort()
    await begun.look()
    await begun.ask('breaks', { calls: ['transactionSync'], after, times: 1 })
    const status = async () => (await begun.get(taskId))?.status
    expect(await status().catch(() => 'PENDING'), `after ${after}`).toBe('PENDING')
    expect(await status()).toBe('PENDING')
    expect(await begun.list()).toHaveLength(1)
    expect(await begun.ask('cancel', taskId)).toBe('cancelled')
  }
})
