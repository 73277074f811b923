/** How an answer flows to its reader: at the reader's pace, and no further than it is wanted. */

import type { ServerResponse } from 'node:http'
import { createServer } from 'node:http2'
import { Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { type Dispatcher, H2CClient, interceptors, request, stream } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { retryInterceptor } from '../../../js/adapters/undici.ts'
import { fakeClock } from '../../../js/testing.ts'
import { listening } from '../../loopback.ts'
import { eventually } from '../eventually.ts'
import { agentOf, between, queueWith, replyWith, serve, UNHURRIED } from './setup.ts'

const LONG = 'an order, '.repeat(400_000)

/** An answer that begins with `text` and does not end, and whether its connection has. */
function withoutEnd(status: number, text: string) {
  const answer = {
    isClosed: false,
    reply(response: ServerResponse) {
      response.on('close', () => {
        answer.isClosed = true
      })
      response.writeHead(status).write(text)
    },
  }
  return answer
}

test('a long answer waits for a slow reader, and comes whole', async () => {
  const [part, total] = [Buffer.alloc(100_000), 40_000_000]
  let written = 0
  const server = await serve(503, (response) => {
    const write = (): void => {
      if (written === total) return void response.end()
      written += part.length
      if (response.write(part)) setImmediate(write)
      else response.once('drain', write)
    }
    response.writeHead(200)
    write()
  })
  const { body } = await request(server.origin, { dispatcher: agentOf(queueWith()) })
  // until the buffers of both sockets are full
  for (let before = -1; before !== written; ) {
    before = written
    for (let i = 0; i < 100; i++) await turn()
  }
  expect(written).toBeLessThan(total)
  expect((await body.bytes()).length).toBe(total)
})

test('what streams an answer to its end gets the last one alone', async () => {
  const server = await serve(replyWith(503, {}, 'not this'), replyWith(200, { 'x-a': 'b' }, 'this'))
  const chunks: string[] = []
  const statuses: number[] = []
  await stream(server.origin, { method: 'GET', dispatcher: agentOf(queueWith()) }, ({ statusCode }) => {
    statuses.push(statusCode)
    return new Writable({
      write(chunk, _, done) {
        chunks.push(String(chunk))
        done()
      },
    })
  })
  expect([statuses, chunks.join('')]).toEqual([[200], 'this'])
})

test('the connection of a failure is used for the next attempt', async () => {
  const server = await serve(replyWith(503, {}, 'a few words'), replyWith(503, {}, 'more'))
  const queue = queueWith({ policy: UNHURRIED })
  await queue.ready
  await request(server.origin, { dispatcher: agentOf(queue) })
  expect(new Set(server.seen.map(({ port }) => port)).size).toBe(1)
  expect(server.seen).toHaveLength(3)
})

test('a failure without an end is let go of before the next attempt', async () => {
  const endless = withoutEnd(503, LONG)
  const server = await serve(endless.reply)
  const { statusCode } = await request(server.origin, { dispatcher: agentOf(queueWith()) })
  expect(statusCode).toBe(200)
  await eventually(() => endless.isClosed).toBe(true)
})

test('the body of a last answer that was let go of says so', async () => {
  const endless = withoutEnd(503, LONG)
  const server = await serve(endless.reply)
  const queue = queueWith({ policy: { initialDelayMs: 20_000, maxDelayMs: 20_000 } })
  const answer = request(server.origin, { dispatcher: agentOf(queue) })
  await eventually(() => endless.isClosed).toBe(true)
  await queue.close()
  const { statusCode, body } = await answer
  expect(statusCode).toBe(503)
  await expect(body.text()).rejects.toMatchObject({ code: 'BODY_DROPPED' })
})

test('the body of a last answer that has come whole is there, also when its call waited meanwhile', async () => {
  const server = await serve(replyWith(503, {}, 'why'))
  const queue = queueWith({ policy: { initialDelayMs: 20_000, maxDelayMs: 20_000 } })
  const waits = new Promise((resolve) => queue.on('retry', resolve))
  const answer = request(server.origin, { dispatcher: agentOf(queue) })
  await waits
  await queue.close()
  const { statusCode, body } = await answer
  expect([statusCode, await body.text()]).toEqual([503, 'why'])
})

test('an answer that breaks off is the caller’s, from there on', async () => {
  const server = await serve(503, (response) => {
    response.writeHead(200, { 'content-length': 100 }).write('half', () => response.destroy())
  })
  const { statusCode, body } = await request(server.origin, { dispatcher: agentOf(queueWith()) })
  expect(statusCode).toBe(200)
  await expect(body.text()).rejects.toThrow()
  expect(server.seen).toHaveLength(2)
})

test('S22 an abort while the answer is read ends its connection', async () => {
  const endless = withoutEnd(200, 'the beginning')
  const { server, dispatcher } = await between([503, endless.reply])
  const controller = new AbortController()
  const { body } = await request(server.origin, { dispatcher, signal: controller.signal })
  const text = body.text()
  controller.abort(new Error('the user left'))
  await expect(text).rejects.toThrow('the user left')
  await eventually(() => endless.isClosed).toBe(true)
})

test('an abort while an attempt is under way ends it and its call', async () => {
  const { server, queue, dispatcher } = await between([503, 'silence'])
  const controller = new AbortController()
  const answer = request(server.origin, { dispatcher, signal: controller.signal })
  answer.catch(() => {})
  await eventually(() => server.seen.length).toBe(2)
  controller.abort(new Error('the user left'))
  await expect(answer).rejects.toThrow('the user left')
  await queue.idle()
  expect(server.seen).toHaveLength(2)
})

test('what is aborted before it was sent is not sent', async () => {
  const { server, dispatcher } = await between([])
  const signal = AbortSignal.abort(new Error('the user left'))
  await expect(request(server.origin, { dispatcher, signal })).rejects.toThrow('the user left')
  expect(server.seen).toEqual([])
})

test('headersTimeout of a request limits each attempt, with undici’s own error', async () => {
  const { server, dispatcher } = await between(['silence', 'silence'], { policy: { maxAttempts: 2 } })
  const answer = request(server.origin, { dispatcher, headersTimeout: 20 })
  await expect(answer).rejects.toMatchObject({ code: 'UND_ERR_HEADERS_TIMEOUT' })
  expect(server.seen).toHaveLength(2)
})

test('attemptTimeoutMs limits each attempt of a request that sets none', async () => {
  const clock = fakeClock()
  const { server, dispatcher } = await between(['silence'], { clock, policy: { attemptTimeoutMs: 20 } })
  const answer = request(server.origin, { dispatcher })
  await eventually(() => server.seen.length).toBe(1)
  await clock.advance(20)
  await eventually(() => clock.advance(1).then(() => server.seen.length)).toBe(2)
  expect((await answer).statusCode).toBe(200)
})

test('interim answers are told, and the last one is the answer', async () => {
  const server = await serve((response) => {
    response.writeEarlyHints({ link: '</a>; rel=preload' })
    response.writeHead(503).end()
  })
  const told: number[] = []
  const { statusCode } = await request(server.origin, {
    dispatcher: agentOf(queueWith()),
    onInfo: ({ statusCode: status }) => told.push(status),
  })
  expect([statusCode, told]).toEqual([200, [103]])
})

test('HEAD, 204 and 304 have no body, and end', async () => {
  const { server, dispatcher } = await between([503, 200, 503, 204, 503, 304])
  const statuses: number[] = []
  for (const method of ['HEAD', 'GET', 'GET'] as const) {
    const { statusCode, body } = await request(server.origin, { method, dispatcher })
    statuses.push(statusCode)
    expect(await body.text()).toBe('')
  }
  expect(statuses).toEqual([200, 204, 304])
})

test('trailers come at the end', async () => {
  const server = await serve(503, (response) => {
    response.writeHead(200, { trailer: 'x-sum' })
    response.write('a')
    response.addTrailers({ 'x-sum': '1' })
    response.end()
  })
  const { body, trailers } = await request(server.origin, { dispatcher: agentOf(queueWith()) })
  await body.text()
  expect(trailers).toEqual({ 'x-sum': '1' })
})

test('undici’s own interceptors go around it: redirect, decompress, responseError, cache', async () => {
  const server = await serve(503, replyWith(302, { location: '/there' }), 503, 503, 503, 400)
  const { redirect, decompress, responseError, cache } = interceptors
  const further: Dispatcher.DispatcherComposeInterceptor[] = [redirect({ maxRedirections: 3 }), decompress(), cache()]
  const dispatcher = agentOf(queueWith(), {}, ...further)
  const { statusCode, body } = await request(`${server.origin}/here`, { dispatcher })
  expect([statusCode, await body.text()]).toEqual([400, 'answer 6'])
  expect(server.seen.map(({ path }) => path)).toEqual(['/here', '/here', '/there', '/there', '/there', '/there'])
  const strict = agentOf(queueWith(), {}, responseError())
  const other = await serve(503, 404)
  await expect(request(other.origin, { dispatcher: strict })).rejects.toMatchObject({ statusCode: 404 })
})

test('over HTTP/2 as over HTTP/1.1', async () => {
  const seen: unknown[] = []
  const total = 8_000_000
  const server = createServer()
  server.on('stream', (peer, headers) => {
    seen.push(headers['idempotency-key'])
    peer.respond({ ':status': seen.length === 1 ? 503 : 200 })
    peer.end(seen.length === 1 ? 'down' : Buffer.alloc(total))
  })
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', (session) => sessions.add(session))
  const client = new H2CClient(await listening(server))
  onTestFinished(async () => {
    await client.destroy()
    for (const session of sessions) session.destroy()
  })
  const dispatcher = client.compose(retryInterceptor(queueWith()))
  const { statusCode, body } = await dispatcher.request({ path: '/', method: 'POST', body: 'an order' })
  expect(statusCode).toBe(200)
  expect((await body.bytes()).length).toBe(total)
  expect(seen).toEqual([expect.stringMatching(/^[\da-f-]{36}$/), seen[0]])
})

test('a reader that throws ends the request', async () => {
  const server = await serve(503, replyWith(200, {}, LONG))
  const ended = new Promise((resolve) => {
    agentOf(queueWith()).dispatch(
      { origin: server.origin, path: '/', method: 'GET' },
      {
        onResponseData() {
          throw new Error('a mistake of the reader')
        },
        onResponseError: (_, error) => resolve(error),
      },
    )
  })
  expect(await ended).toMatchObject({ message: 'a mistake of the reader' })
})

test('a handler with nothing in it is one', async () => {
  const { server, queue, dispatcher } = await between([503])
  dispatcher.dispatch({ origin: server.origin, path: '/', method: 'GET' }, {})
  await eventually(() => server.seen.length).toBe(2)
  await queue.idle()
})
