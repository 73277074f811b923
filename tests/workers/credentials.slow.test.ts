/** Secrets are not handed over: the object asks for its own, and shows them to nobody but the origin. */

import { expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { atOnce, noGates, patient, quick, taskOf } from './api.ts'
import { Edge } from './harness/edge.ts'
import { reaches, soon } from './harness/soon.ts'
import { originDuringTests } from './origin.ts'

const origin = originDuringTests()
const elsewhere = originDuringTests()

const edge = duringTests(() => Edge.start({ object: noGates, token: 'Bearer of-the-object' }))
const bare = duringTests(() => Edge.start({ object: noGates, token: null }))

const post = { method: 'POST', headers: { authorization: 'Bearer of-the-caller' }, body: '{}' }

/** A task whose credentials were refused twice, in an origin that takes them from now on. */
async function parked(path: string, principal: string | null) {
  origin.answers = { [path]: [[503], [401], [401], [200]] }
  const object = edge.object({ origin: origin.url, principal })
  const options = principal === null ? atOnce : { ...atOnce, principal }
  const taskId = taskOf(await edge.call(`${origin.url}${path}`, post, options))
  await soon(async () => (await object.explain(taskId)).map(({ kind }) => kind)).toContain('parked')
  expect(origin.seen).toHaveLength(3)
  return { object, taskId }
}

test("the Worker's attempts carry the caller's credentials, the object's those that it asked for", async () => {
  origin.answers = { '/mine': [[503], [503], [200]] }
  const answer = await edge.call(`${origin.url}/mine`, post, { ...patient, inlineAttempts: 2 })
  await reaches(edge.object({ origin: origin.url }), taskOf(answer), 'SUCCEEDED')
  expect(origin.seen.map(({ authorization }) => authorization)).toEqual([
    'Bearer of-the-caller',
    'Bearer of-the-caller',
    'Bearer of-the-object',
  ])
})

test("a 401 to the caller's own attempt is mended in the Worker where the call asks for it; a second one is the caller's", async () => {
  origin.answers = { '/mended': [[401], [200]], '/refused': [[401], [401], [200]] }
  const asking = { ...post, redrive: { credentials: 'on-401' } }
  const options = { ...patient, token: 'Bearer fresh' }
  expect((await edge.call(`${origin.url}/mended`, asking, options)).status).toBe(200)
  expect((await edge.call(`${origin.url}/refused`, asking, options)).status).toBe(401)
  const both = ['Bearer of-the-caller', 'Bearer fresh']
  expect(origin.seen.map(({ authorization }) => authorization)).toEqual([...both, ...both])
})

test('a task whose credentials nobody supplies is not sent without them', async () => {
  origin.answers = { '/nobody': [[503], [200]] }
  const object = bare.object({ origin: origin.url })
  const answer = await bare.call(`${origin.url}/nobody`, post, atOnce)
  const taskId = taskOf(answer)
  await soon(async () => (await object.explain(taskId)).map(({ kind }) => kind)).toContain('parked')
  expect(await object.get(taskId)).toMatchObject({
    status: 'PENDING',
    attemptNumber: 1,
    withheldHeaders: ['authorization'],
  })
  expect(origin.seen).toHaveLength(1)
  const { degraded, alarmAt } = await object.look()
  expect((alarmAt ?? 0) - Date.now(), 'a deployment may bring them, and no call after it').toBeLessThanOrEqual(600_000)
  const report = degraded.find(({ code }) => code === 'credentials_missing')
  expect(report?.message).toContain("it waits for resume() on the object's stub, or the next deployment")
})

test('a parked task whose time is over is told as a dead letter', async () => {
  origin.answers = { '/parked': [[503]] }
  const init = { ...post, redrive: { expiresAt: Date.now() + 3_000 } }
  const taskId = taskOf(await bare.call(`${origin.url}/parked`, init, atOnce))
  const told = async () => (await bare.object({ origin: origin.url }).look()).dead
  await soon(told).toEqual([expect.stringContaining(`It is kept as dead letter ${taskId}`)])
})

test('S15 a retry follows a redirect within its origin, and none to another: credentials stay at home', async () => {
  origin.answers = {
    '/hop': [[503], [307, { location: '/landed' }]],
    '/away': [[503], [307, { location: `${elsewhere.url}/stolen` }]],
  }
  const object = edge.object({ origin: origin.url })
  const hop = taskOf(await edge.call(`${origin.url}/hop`, post, atOnce))
  await reaches(object, hop, 'SUCCEEDED')
  expect(origin.seen.find(({ path }) => path === '/landed')?.authorization).toBe('Bearer of-the-object')

  const away = taskOf(
    await edge.call(
      `${origin.url}/away`,
      { ...post, redirect: 'follow' },
      { ...atOnce, policy: { ...quick, maxAttempts: 2 } },
    ),
  )
  await soon(async () => (await object.get(away))?.status).not.toBe('PENDING')
  expect(elsewhere.seen, 'not asked at all, though the call says follow').toEqual([])
})

test('a first attempt that is redirected to another origin takes its made key along, as workerd does', async () => {
  origin.answers = { '/moved': [[307, { location: `${elsewhere.url}/there` }]] }
  const answer = await edge.call(`${origin.url}/moved`, post, { policy: quick })
  expect(answer.status).toBe(200)
  const key = origin.seen.find(({ path }) => path === '/moved')?.key
  expect(key).toBeDefined()
  expect(elsewhere.seen.map((seen) => seen.key)).toEqual([key])
})

test('after a 401 the object is asked again, and the attempt is not counted', async () => {
  origin.answers = { '/expired': [[503], [401], [200]] }
  const object = edge.object({ origin: origin.url })
  const taskId = taskOf(await edge.call(`${origin.url}/expired`, post, atOnce))
  await reaches(object, taskId, 'SUCCEEDED')
  expect(await object.get(taskId)).toMatchObject({ attemptNumber: 2 })
})

test('S1 a task that was parked goes on when the object is told to resume', async () => {
  const { object, taskId } = await parked('/resumed', null)
  expect(await object.ask('resume')).toBe(1)
  await reaches(object, taskId, 'SUCCEEDED')
})

test('S1 a task that was parked goes on when its object begins anew, of whichever principal it is', async () => {
  const { object, taskId } = await parked('/anew', 'ann')
  await object.abort()
  await object.ask('stats')
  await reaches(object, taskId, 'SUCCEEDED')
})

test('a parked task of a principal is explained by an object that has just begun as by the one before it', async () => {
  const later = { ...atOnce, principal: 'ben', policy: { ...quick, initialDelayMs: 60_000 } }
  origin.answers = { '/explained': [[503]] }
  const taskId = taskOf(await edge.call(`${origin.url}/explained`, post, later))
  const object = edge.object({ origin: origin.url, principal: 'ben' })
  const gate = async () => (await object.explain(taskId)).at(-1)
  const before = await gate()
  await object.abort()
  expect((await gate())?.kind).toBe(before?.kind)
  expect(JSON.stringify(await gate())).not.toContain('principal')
})

test('a trace that the caller is in goes on in the object', async () => {
  origin.answers = { '/traced': [[503], [503], [200]] }
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
  const answer = await edge.call(
    `${origin.url}/traced`,
    { method: 'POST', headers, body: '{}' },
    { ...patient, inlineAttempts: 2 },
  )
  expect(JSON.parse(answer.body).traceId).toBe(traceId)
  await reaches(edge.object({ origin: origin.url }), taskOf(answer), 'SUCCEEDED')
  expect(origin.seen.map(({ traceparent }) => traceparent?.split('-')[1])).toEqual([traceId, traceId, traceId])
})
