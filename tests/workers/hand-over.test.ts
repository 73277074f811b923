/** What takes longer than the request goes to an object, with all that is known of it, and is sent from there. */

import { expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { apiDuringTests, atOnce, noGates, order, patient, quick, taskOf } from './api.ts'
import { Edge } from './harness/edge.ts'
import { reaches, soon } from './harness/soon.ts'

const api = apiDuringTests()

const edge = duringTests(() => Edge.start({ object: noGates, token: 'Bearer of-the-object' }))

const object = (where: { readonly principal?: string; readonly shard?: number } = {}) =>
  edge.object({ origin: api.url, ...where })

test('S5 a call that goes on failing is answered with 202 and the id of its task, which keeps its key', async () => {
  await api.fails(3, 'reset_after')
  const answer = await edge.call(api.orders('accepted'), order('accepted'), { ...patient, inlineAttempts: 2 })
  expect(answer).toMatchObject({ status: 202, redirected: false })
  const { status, taskId, traceId, durability } = JSON.parse(answer.body)
  expect([status, durability]).toEqual(['queued', 'replicated'])
  expect(answer.headers['redrive-durability']).toBe('replicated')
  expect(answer.headers['redrive-task-id']).toBe(taskId)
  expect(traceId).toMatch(/^[0-9a-f]{32}$/)
  expect((await object().get(taskId))?.taskId).toBe(taskId)
  await reaches(object(), taskId, 'SUCCEEDED')
  const saw = await api.saw('accepted')
  expect(saw).toMatchObject({ attempts: 4, effects: 1 })
  expect(saw?.keys).toEqual([(await object().get(taskId))?.idempotencyKey])
})

test('flush makes the alarm due: what waits for its own curve is sent', async () => {
  await api.fails(1)
  const policy = { ...quick, initialDelayMs: 3_600_000 }
  const taskId = taskOf(await edge.call(api.orders('flushed'), order('flushed'), { ...atOnce, policy }))
  expect(await object().ask('flush')).toBe(1)
  await reaches(object(), taskId, 'SUCCEEDED')
})

test('meta and tags go along, and the object finds the task by them', async () => {
  await api.fails(3)
  const init = { ...order('labelled'), redrive: { meta: { order: 17 }, tags: ['eu', 'order'] } }
  const taskId = taskOf(await edge.call(api.orders('labelled'), init, { ...patient, inlineAttempts: 2 }))
  const labelled = { taskId, meta: { order: 17 }, tags: ['eu', 'order'] }
  expect(await object().list({ tags: ['order', 'eu'] })).toMatchObject([labelled])
  await reaches(object(), taskId, 'SUCCEEDED')
  expect(await object().get(taskId)).toMatchObject(labelled)
  expect(await object().list({ tags: 'eu', active: true })).toEqual([])
})

test('attempts are counted and logged on from those in the Worker', async () => {
  await api.fails(3)
  const { body } = await edge.call(api.orders('counted'), order('counted'), { ...patient, inlineAttempts: 2 })
  const taskId = taskOf({ body })
  await reaches(object(), taskId, 'SUCCEEDED')
  const { attempts } = await object().attempts(taskId)
  expect(attempts.map(({ attemptNumber, responseStatus }) => [attemptNumber, responseStatus])).toEqual([
    [1, 503],
    [2, 503],
    [3, 503],
    [4, 200],
  ])
  const story = await object().explain(taskId)
  const texts = story.map(({ text }) => text)
  expect(texts.indexOf('moved to its object')).toBeGreaterThan(texts.indexOf('attempt 2 was sent'))
  expect(texts.indexOf('moved to its object')).toBeLessThan(texts.indexOf('attempt 3 was sent'))
  const kinds = story.map(({ kind }) => kind)
  expect(kinds.filter((kind) => kind === 'attempt' || kind === 'retry').length).toBeGreaterThanOrEqual(4)
  expect(kinds.at(-1)).toBe('succeeded')
})

test('S8 the attempts of the Worker count: a task whose last one failed there is not handed over', async () => {
  await api.fails(9)
  const policy = { ...quick, maxAttempts: 2 }
  const answer = await edge.call(api.orders('spent'), order('spent'), { ...patient, policy, inlineAttempts: 5 })
  expect(answer.status).toBe(503)
  expect(await api.saw('spent')).toMatchObject({ attempts: 2 })
})

test('S8 over Worker and object no more attempts are made than the policy says', async () => {
  await api.fails(99)
  const policy = { ...quick, maxAttempts: 4 }
  const { body } = await edge.call(api.orders('four'), order('four'), { ...patient, policy, inlineAttempts: 2 })
  await reaches(object(), taskOf({ body }), 'EXHAUSTED')
  expect(await object().get(taskOf({ body }))).toMatchObject({ reason: 'max_attempts', attemptNumber: 4 })
  expect(await api.saw('four')).toMatchObject({ attempts: 4, effects: 0 })
})

test('S9 what the server asked for is kept over the hand-over', async () => {
  await api.fails(1, 'unavailable_retry_after')
  await api.server.configure({ retryAfterS: 2 })
  const { body } = await edge.call(api.orders('patience'), order('patience'), { ...patient, inlineMs: 100 })
  await reaches(object(), taskOf({ body }), 'SUCCEEDED')
  const report = await api.server.report()
  expect(report.retryAfter).toMatchObject({ sent: 1, undercut: 0 })
})

test('each principal has an object of its own', async () => {
  await api.fails(1)
  const answer = await edge.call(api.orders('ann'), order('ann'), { ...atOnce, principal: 'ann' })
  await reaches(object({ principal: 'ann' }), taskOf(answer), 'SUCCEEDED')
  expect(await object({ principal: 'ann' }).get(taskOf(answer))).toMatchObject({ principal: 'ann' })
  expect(await object({ principal: 'ben' }).list()).toEqual([])
  expect((await object().list()).map(({ taskId }) => taskId)).not.toContain(taskOf(answer))
})

test('with shards a task is in exactly one of them, and each of them sends', async () => {
  await api.fails(1)
  const intents = Array.from({ length: 16 }, (_, at) => `shard-${at}`)
  const calls = intents.map((intent) => ({ url: api.orders(intent), init: order(intent) }))
  const { answers } = await edge.calls(calls, { ...atOnce, shards: 4, principal: 'sharded' })
  const ids = answers.map(taskOf)
  const shards = [0, 1, 2, 3].map((shard) => object({ principal: 'sharded', shard }))
  const kept = await Promise.all(shards.map((shard) => shard.list()))
  expect(
    kept
      .flat()
      .map(({ taskId }) => taskId)
      .sort(),
  ).toEqual([...ids].sort())
  expect(kept.filter((tasks) => tasks.length > 0).length).toBeGreaterThan(1)
  await soon(async () => (await api.server.report()).effectsPerIntent).toEqual({ min: 1, max: 1, notOne: [] })
})

test('a task can be cancelled in its object, and a dead letter put back', async () => {
  await api.fails(3)
  const slow = { ...atOnce, policy: { ...quick, initialDelayMs: 60_000 } }
  const cancelled = taskOf(await edge.call(api.orders('cancelled'), order('cancelled'), slow))
  expect(await object().ask('cancel', cancelled)).toBe('cancelled')
  expect(await object().get(cancelled)).toMatchObject({ status: 'CANCELLED' })

  const policy = { ...quick, maxAttempts: 2 }
  const dead = taskOf(await edge.call(api.orders('dead'), order('dead'), { ...patient, policy, inlineAttempts: 1 }))
  await reaches(object(), dead, 'EXHAUSTED')
  const told = (await object().look()).dead.filter((words) => words.includes(dead))
  expect(told, 'once').toEqual([expect.stringContaining('the last answered with 503 (max_attempts)')])
  await api.fails(0)
  await object().ask('redrive', dead)
  await reaches(object(), dead, 'SUCCEEDED')
  expect(await api.saw('dead')).toMatchObject({ attempts: 3, effects: 1 })
  expect((await api.saw('dead'))?.keys).toHaveLength(1)
})

test('S22 calls of one request with the same key are handed over as one task, and each is told so', async () => {
  await api.fails(9)
  const init = { ...order('twins'), redrive: { idempotencyKey: 'of-both' } }
  const call = { url: api.orders('twins'), init }
  const policy = { ...quick, initialDelayMs: 300 }
  const { answers } = await edge.calls([call, call], { ...patient, policy, inlineAttempts: 2 })
  expect(answers).toMatchObject([{ status: 202 }, { status: 202 }])
  const [one, other] = answers.map(taskOf)
  expect(one).toBe(other)
  await api.fails(0)
  await reaches(object(), one as string, 'SUCCEEDED')
  expect(await api.saw('twins')).toMatchObject({ effects: 1 })
})

test('S14 a call whose key is that of a dead letter has its own answer: nothing more comes of that task', async () => {
  await api.fails(99)
  const init = { ...order('buried'), redrive: { idempotencyKey: 'of-a-dead-letter' } }
  const options = { ...atOnce, policy: { ...quick, maxAttempts: 2 }, principal: 'buried' }
  const dead = taskOf(await edge.call(api.orders('buried'), init, options))
  const buried = object({ principal: 'buried' })
  await reaches(buried, dead, 'EXHAUSTED')
  expect((await edge.call(api.orders('buried'), init, options)).status).toBe(503)
  expect((await buried.list()).map(({ taskId, status }) => [taskId, status])).toEqual([[dead, 'EXHAUSTED']])
  expect(await api.saw('buried')).toMatchObject({ attempts: 3 })
})
