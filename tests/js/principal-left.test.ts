/** A caller whose principal has left waits for nothing: it is told at once, and its task does not go on behind its back. */

import { expect, test } from 'vitest'
import { device, LONG_MS } from './principals-setup.ts'
import { login, ORDERS, watch } from './setup.ts'

const places: readonly [string, object][] = [
  ['stored', {}],
  ['in memory', { sensitive: true }],
]

/** A call of ann’s that was answered with 503 and waits for its next attempt. */
async function between(redrive: object) {
  const { open, server, clock } = device()
  const { queue, events } = await open()
  server.reply(503)
  const call = watch(queue.fetch(ORDERS, { method: 'POST', body: 'of ann', redrive }))
  await clock.settle()
  expect([call.state, server.hits]).toEqual(['pending', 1])
  return { queue, events, server, clock, call }
}

test.each(places)('S8 S22 it has the last answer, and the task has ended: %s', async (_, redrive) => {
  const { queue, events, server, clock, call } = await between(redrive)
  await queue.setPrincipal('ben')
  await clock.settle()
  expect(call.value?.status).toBe(503)
  expect(call.value).toMatchObject({ redrive: { reason: 'wait_exceeded' } })
  expect(events.of('exhausted')).toMatchObject([{ reason: 'wait_exceeded', attempts: 1, responseStatus: 503 }])
  expect(String(events.of('exhausted')[0]?.error)).toContain('another principal')
  await queue.setPrincipal('ann')
  await clock.advance(LONG_MS)
  expect(server.hits).toBe(1)
  expect(await queue.deadLetters.list()).toMatchObject({ tasks: [{ status: 'EXHAUSTED' }] })
})

test.each(places.flatMap(([where, redrive]) => [200, 502].map((status) => [status, where, redrive] as const)))(
  'an attempt under way is the last, and its answer the caller’s: %i, %s',
  async (status, _, redrive) => {
    const { queue, server, clock, call } = await between(redrive)
    const answer = server.hang()
    await clock.advance(1_500)
    expect(server.hits).toBe(2)
    await queue.setPrincipal('ben')
    await clock.settle()
    expect(call.state).toBe('pending')
    answer(status)
    await clock.settle()
    expect(call.value?.status).toBe(status)
  },
)

test.each(places)('so is a first attempt: %s', async (_, redrive) => {
  const { open, server, clock } = device()
  const { queue } = await open()
  const answer = server.hang()
  const call = watch(queue.fetch(ORDERS, { method: 'POST', body: 'of ann', redrive }))
  await clock.settle()
  await queue.setPrincipal('ben')
  answer(503)
  await clock.settle()
  await clock.advance(1_000)
  expect([call.value?.status, server.hits]).toEqual([503, 1])
})

test.each(places)('who is back at once has not left, as an effect that React runs twice: %s', async (_, redrive) => {
  const { queue, server, clock, call } = await between(redrive)
  void queue.setPrincipal(null)
  await queue.setPrincipal('ann')
  await clock.advance(LONG_MS)
  expect([call.value?.status, server.hits]).toEqual([200, 2])
})

test.each(places)('a caller that has set waitMs waits that long for its principal: %s', async (_, redrive) => {
  const { queue, server, clock, call } = await between({ ...redrive, waitMs: 2 * LONG_MS })
  await queue.setPrincipal('ben')
  await clock.advance(LONG_MS)
  expect([call.state, server.hits]).toEqual(['pending', 1])
  await queue.setPrincipal('ann')
  await clock.advance(1_000)
  expect(call.value?.status).toBe(200)
})

test.each(places)('while another logs in it is not known yet: %s', async (_, redrive) => {
  const { queue, server, clock, call } = await between(redrive)
  const { during, end } = login()
  const switched = watch(queue.setPrincipal('ben', { during }))
  await clock.advance(5_000)
  expect(call.state).toBe('pending')
  end(new Error('wrong password'))
  await clock.advance(2_000)
  expect([switched.state, call.value?.status, server.hits]).toEqual(['rejected', 200, 2])
  server.reply(503)
  const next = watch(queue.fetch(ORDERS, { method: 'POST', body: 'of ann', redrive }))
  await clock.settle()
  await queue.setPrincipal('ben', { during: async () => {} })
  await clock.settle()
  expect(next.value?.status).toBe(503)
})

test.each(places)('what was handed over waits until its principal is back: %s', async (_, redrive) => {
  const { open, server, clock, hitsAfter } = device()
  const { queue } = await open()
  server.reply(503)
  const init = { method: 'POST', body: 'of ann', redrive: { ...redrive, mode: 'defer' } } as const
  const call = watch(queue.fetch(ORDERS, init))
  await clock.settle()
  expect(call.value?.status).toBe(202)
  await queue.setPrincipal('ben')
  expect(await hitsAfter(LONG_MS)).toBe(1)
  await queue.setPrincipal('ann')
  expect(await hitsAfter(LONG_MS)).toBe(2)
})

test.each(places)('purge leaves nothing that could be put back, nor its request: %s', async (_, redrive) => {
  const { open, server, clock, hitsAfter } = device()
  const { queue } = await open()
  server.reply(503).reply(503).reply(200).reply(503)
  const once = { ...redrive, policy: { maxAttempts: 1 } }
  const told = watch(queue.fetch(ORDERS, { method: 'POST', body: 'of ann', redrive: once }))
  await clock.settle()
  const dead = await queue.enqueue(ORDERS, { method: 'POST', body: 'of ann', redrive: once })
  await clock.advance(1_000)
  await queue.enqueue(ORDERS, { method: 'POST', body: 'of ann', redrive })
  await clock.advance(1_000)
  await queue.enqueue(ORDERS, { method: 'POST', body: 'of ann', redrive })
  await clock.advance(100)
  expect([told.value?.status, server.hits]).toEqual([503, 4])
  expect((await queue.list()).tasks.map(({ status }) => status)).toContain('PENDING')
  await queue.setPrincipal('ben', { purge: true })
  expect(await queue.list({ allPrincipals: true })).toEqual({ tasks: [] })
  expect(await queue.deadLetters.list({ allPrincipals: true })).toEqual({ tasks: [] })
  await queue.setPrincipal('ann')
  await expect(queue.deadLetters.redrive(dead.taskId)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
  expect(await hitsAfter(LONG_MS)).toBe(4)
})
