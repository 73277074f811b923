/** How many connections answers hold that no caller reads. Real HTTP on loopback: a connection cannot be faked. */

import { expect, onTestFinished, test } from 'vitest'
import { RetryQueue, type RetryQueueOptions } from '../../../js/index.ts'
import { eventually } from '../eventually.ts'
import { hangs, serve, trickles } from './hanging-server.ts'

/** A queue that tries each task twice, at once. */
function makeQueue(options: RetryQueueOptions = {}): RetryQueue {
  const policy = { policyId: 'default', maxAttempts: 2, initialDelayMs: 10, jitterType: 'NONE' } as const
  const queue = new RetryQueue({ breaker: false, retryBudget: false, concurrency: 3, policy, ...options })
  onTestFinished(() => queue.close({ drainMs: 0 }))
  return queue
}

test.each([
  ['a body that hangs, of a failure', hangs(503)],
  ['a body that trickles, of a success', trickles(200)],
  ['a body that hangs, of a 401', hangs(401)],
])('S7 %s takes a place of `concurrency` until it is let go', async (_, listener) => {
  const server = await serve(listener)
  const queue = makeQueue({ credentials: { [server.url]: () => ({}) } })
  for (let i = 0; i < 12; i++) await queue.enqueue(`${server.url}/${i}`)
  await eventually(() => server.hits).toBeGreaterThanOrEqual(12)
  expect(server.mostAnswers).toBeLessThanOrEqual(3)
  await eventually(() => queue.stats().inFlight).toBe(0)
  await eventually(() => server.answers).toBe(0)
})

test('S7 an answer that hangs is let go at close, not after it', async () => {
  const server = await serve(hangs(503))
  // so many that some hang at any time: where it takes long to enqueue them, the first are tried again before the last
  const queue = makeQueue({ concurrency: 50, policy: { maxAttempts: 100, initialDelayMs: 10, jitterType: 'NONE' } })
  for (let i = 0; i < 50; i++) await queue.enqueue(`${server.url}/${i}`)
  await eventually(() => server.hits).toBeGreaterThanOrEqual(50)
  await queue.close({ drainMs: 0 })
  await eventually(() => server.answers).toBe(0)
})

test('S22 callers who wait hold no connection by an answer that they may still get', async () => {
  const server = await serve(hangs(503))
  const queue = makeQueue({ policy: { maxAttempts: 2, initialDelayMs: 20_000, jitterType: 'NONE' } })
  const calls = Array.from({ length: 20 }, (_, i) => queue.fetch(`${server.url}/${i}`))
  await eventually(() => server.hits).toBe(20)
  await eventually(() => server.answers).toBe(0)
  await queue.close()
  for (const response of await Promise.all(calls)) {
    expect(response.status).toBe(503)
    expect(response.url).toContain(server.url)
    expect(response.headers.get('content-type')).toBe('text/plain')
    await expect(response.text()).rejects.toMatchObject({ code: 'BODY_DROPPED' })
  }
})

test('a redirect whose body hangs takes no second connection', async () => {
  let hits = 0
  const server = await serve((request, response) => {
    hits++
    if (hits === 1) response.writeHead(503).end()
    else if (request.url === '/go') {
      response.writeHead(307, { location: '/there' })
      response.write('moved')
    } else response.writeHead(200).end('arrived')
  })
  const queue = makeQueue({ concurrency: 1 })
  const response = await queue.fetch(`${server.url}/go`)
  expect(await response.text()).toBe('arrived')
  expect(server.mostAnswers).toBe(1)
})

test.each([503, 200])('a short answer of %i leaves its connection to the next attempt', async (status) => {
  const server = await serve((_, response) => response.writeHead(status).end('x'.repeat(10_000)))
  const queue = makeQueue({ concurrency: 1 })
  for (let i = 0; i < 6; i++) await queue.enqueue(`${server.url}/${i}`)
  await queue.idle()
  expect(server.hits).toBe(status === 503 ? 12 : 6)
  // the platform's own fetch takes two as well, in turns
  expect(server.opened).toBeLessThanOrEqual(2)
})

test.each([307, 302])('a redirect of %i that leads nowhere is let go with its body', async (status) => {
  const server = await serve((_, response) => {
    response.writeHead(status, { location: 'http://[' })
    response.write('moved')
  })
  const queue = makeQueue()
  for (let i = 0; i < 12; i++) await queue.enqueue(`${server.url}/${i}`)
  await eventually(() => server.hits).toBeGreaterThanOrEqual(12)
  await eventually(() => queue.stats().inFlight).toBe(0)
  await eventually(() => server.answers).toBe(0)
})

test('an answer whose caller has left a detached call is let go', async () => {
  const answers: (() => void)[] = []
  const server = await serve((request, response) => {
    answers.push(() => hangs(200)(request, response))
  })
  const queue = makeQueue()
  const leaving = new AbortController()
  const init = { method: 'POST', signal: leaving.signal, redrive: { detach: true } }
  const calls = Array.from({ length: 10 }, (_, i) => queue.fetch(`${server.url}/${i}`, init))
  const left = Promise.allSettled(calls)
  await eventually(() => server.hits).toBe(10)
  leaving.abort()
  expect((await left).map(({ status }) => status)).toEqual(calls.map(() => 'rejected'))
  for (const answer of answers) answer()
  await eventually(() => server.answers).toBe(0)
  await queue.idle()
})
