/** A signature is made by what sends the attempt, the Worker or its object, and neither hands it over nor stores it. */

import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import type { QueueStats } from '../../js/index.ts'
import { duringTests } from '../during.ts'
import { noGates, patient, taskOf } from './api.ts'
import { Edge } from './harness/edge.ts'
import { reaches, soon } from './harness/soon.ts'
import { originDuringTests, type Seen } from './origin.ts'

const OF_THE_WORKER = 'of-the-worker'
const OF_THE_OBJECT = 'of-the-object'
const BODY = '{"type":"order.paid"}'
const post = { method: 'POST', headers: { 'webhook-id': 'msg_1' }, body: BODY }
const kept = { sanitize: { persistHeaders: ['webhook-id'] } }

const origin = originDuringTests()

const edge = duringTests(() => Edge.start({ object: { ...noGates, ...kept }, secret: OF_THE_OBJECT }))

/** The secret that an attempt is signed with, and the moment that its signature is of. */
function signedBy({ headers }: Seen): { readonly secret: string | undefined; readonly at: number } {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers
  const secret = [OF_THE_WORKER, OF_THE_OBJECT].find(
    (each) => signature === `v1,${createHmac('sha256', each).update(`${id}.${timestamp}.${BODY}`).digest('base64')}`,
  )
  return { secret, at: Number(timestamp) }
}

test('S12 each attempt is signed anew where it is made, and no signature is stored', async () => {
  origin.answers = { '/hook': [[503], [503], [503], [200]] }
  const options = { ...patient, ...kept, inlineAttempts: 2, secret: OF_THE_WORKER }
  const taskId = taskOf(await edge.call(`${origin.url}/hook`, post, options))
  await reaches(edge.object({ origin: origin.url }), taskId, 'SUCCEEDED')
  const signed = origin.seen.map(signedBy)
  expect(signed.map(({ secret }) => secret)).toEqual([OF_THE_WORKER, OF_THE_WORKER, OF_THE_OBJECT, OF_THE_OBJECT])
  expect(new Set(signed.map(({ at }) => at)).size).toBe(signed.length)
  const stored = edge.files().map(({ bytes }) => Buffer.from(bytes).toString('latin1'))
  expect(stored.some((text) => text.includes('msg_1'))).toBe(true)
  for (const { headers } of origin.seen) {
    const signature = String(headers['webhook-signature'])
    expect(stored.some((text) => text.includes(signature))).toBe(false)
  }
})

test('what is enqueued is signed by the object alone', async () => {
  const call = { url: `${origin.url}/enqueued`, init: post, as: 'enqueue' } as const
  const { answers } = await edge.calls([call], { ...patient, ...kept, secret: OF_THE_WORKER })
  await reaches(edge.object({ origin: origin.url }), answers[0]?.receipt?.taskId as string, 'SUCCEEDED')
  expect(origin.seen.map((seen) => signedBy(seen).secret)).toEqual([OF_THE_OBJECT])
})

test('a signature that cannot be made is the caller’s in the Worker; nothing is sent or handed over', async () => {
  const answer = await edge.call(`${origin.url}/unsigned`, post, { ...patient, ...kept, secret: '' })
  expect(answer.error?.message).toBeTruthy()
  expect(origin.seen).toEqual([])
  expect(
    (await edge.object({ origin: origin.url }).list()).some(({ targetUrl }) => targetUrl.endsWith('/unsigned')),
  ).toBe(false)
})

test('S12 an object that cannot sign leaves what its Worker signs, and sends it once it is deployed with the secret', async () => {
  const object = { ...noGates, ...kept }
  await using unsigned = await Edge.start({ object })
  origin.answers = { '/later': [[503], [200]] }
  const options = { ...patient, ...kept, inlineAttempts: 1, secret: OF_THE_WORKER }
  const taskId = taskOf(await unsigned.call(`${origin.url}/later`, post, options))
  const gate = async () => {
    const decisions = await unsigned.object({ origin: origin.url }).explain(taskId)
    return decisions.at(-1)?.data?.gate
  }
  await soon(gate).toBe('needs')
  expect(origin.seen.map((seen) => signedBy(seen).secret)).toEqual([OF_THE_WORKER])
  await unsigned.kill()
  await unsigned.start({ object, secret: OF_THE_OBJECT })
  await reaches(unsigned.object({ origin: origin.url }), taskId, 'SUCCEEDED')
  expect(origin.seen.map((seen) => signedBy(seen).secret)).toEqual([OF_THE_WORKER, OF_THE_OBJECT])
})

test('S12 an object that would send the key under another header leaves the task, and sends it once it has the same', async () => {
  const idempotency = { header: 'webhook-id' }
  await using edgeOfTwo = await Edge.start({ object: noGates })
  const object = edgeOfTwo.object({ origin: origin.url })
  origin.answers = { '/keyed': [[503], [200]] }
  const keyed = (idempotencyKey: string) => ({ method: 'POST', body: BODY, redrive: { idempotencyKey } })
  const options = { ...patient, inlineAttempts: 1, idempotency }
  const taskId = taskOf(await edgeOfTwo.call(`${origin.url}/keyed`, keyed('msg_1'), options))
  await soon(async () => (await object.ask<QueueStats>('stats')).lacking).toEqual(['header webhook-id'])
  expect((await object.explain(taskId)).at(-1)?.text).toContain("a queue with `idempotency: { header: 'webhook-id' }`")
  await edgeOfTwo.kill()
  await edgeOfTwo.start({ object: { ...noGates, idempotency } })
  // a new task rings at once; without one the object looks every 30 s
  await edgeOfTwo.calls([{ url: `${origin.url}/new`, init: keyed('msg_2'), as: 'enqueue' }], options)
  await reaches(edgeOfTwo.object({ origin: origin.url }), taskId, 'SUCCEEDED')
  const keys = origin.seen.map(({ headers }) => headers['webhook-id'])
  expect(keys.filter((key) => key === 'msg_1')).toHaveLength(2)
  expect(keys).not.toContain(undefined)
})
