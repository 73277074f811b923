/** The global `fetch`, which goes by the global dispatcher: Node's own, and the one of the package undici. */

import {
  Agent,
  type Dispatcher,
  fetch as fetchOfPackage,
  getGlobalDispatcher,
  interceptors,
  request,
  setGlobalDispatcher,
} from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { retryInterceptor } from '../../../js/adapters/undici.ts'
import type { RetryQueue } from '../../../js/index.ts'
import { agentOf, queueWith, type Reply, replyWith, serve } from './setup.ts'

type Fetch = (url: string, init?: object) => Promise<Response>
const both: readonly (readonly [name: string, fetch: Fetch])[] = [
  ['Node’s own', (url, init) => fetch(url, init)],
  ['undici’s', (url, init) => fetchOfPackage(url, init) as unknown as Promise<Response>],
]

/** Puts a queue behind the global dispatcher until the test ends. */
function installed(queue: RetryQueue, ...further: readonly Dispatcher.DispatcherComposeInterceptor[]): Dispatcher {
  const before = getGlobalDispatcher()
  const agent = new Agent({ connections: 1 })
  const dispatcher = agent.compose(retryInterceptor(queue), ...further)
  setGlobalDispatcher(dispatcher)
  onTestFinished(async () => {
    setGlobalDispatcher(before)
    await agent.destroy()
  })
  return dispatcher
}

test.each(both)('S5 %s: a POST that fails twice is made three times under one key', async (_, fetch) => {
  const server = await serve(503, 'lost')
  installed(queueWith())
  const answer = await fetch(`${server.origin}/orders`, { method: 'POST', body: JSON.stringify({ sku: 'é' }) })
  expect([answer.status, await answer.text()]).toEqual([200, 'answer 3'])
  expect(server.seen.map(({ body }) => Buffer.from(body, 'latin1').toString())).toEqual(Array(3).fill('{"sku":"é"}'))
  expect(new Set(server.seen.map(({ key }) => key)).size).toBe(1)
  expect(server.seen[0]?.key).toMatch(/^[\da-f-]{36}$/)
})

test.each(both)('%s: a form and a blob are sent again as they were', async (name, fetch) => {
  const server = await serve(503, 200, 503)
  installed(queueWith())
  // each fetch takes a form of its own kind
  const isNodes = name === 'Node’s own'
  const form = isNodes ? new FormData() : new (await import('undici')).FormData()
  form.set('sku', 'A-1')
  await fetch(server.origin, { method: 'POST', body: form })
  await fetch(server.origin, { method: 'POST', body: new Blob(['A-1'], { type: 'text/x-order' }) })
  const [first, second, third, fourth] = server.seen
  expect(first?.body).toContain('A-1')
  expect(second?.body).toBe(first?.body)
  expect(second?.headers['content-type']).toBe(first?.headers['content-type'])
  expect([third, fourth].map((each) => [each?.body, each?.headers['content-type']])).toEqual(
    Array(2).fill(['A-1', 'text/x-order']),
  )
})

test.each(both)('%s: a stream of the caller’s passes through, and is sent once', async (_, fetch) => {
  const server = await serve(503)
  const queue = queueWith()
  installed(queue)
  const body = new Blob(['an order']).stream()
  const answer = await fetch(server.origin, { method: 'POST', body, duplex: 'half' })
  expect([answer.status, queue.stats().attempts]).toEqual([503, 0])
  expect(server.seen.map(({ key, body: sent }) => [key, sent])).toEqual([[undefined, 'an order']])
})

test.each(both)('%s: an abort ends the wait for a retry, with its reason', async (_, fetch) => {
  const server = await serve(503)
  const queue = queueWith({ policy: { initialDelayMs: 20_000, maxDelayMs: 20_000 } })
  installed(queue)
  const controller = new AbortController()
  const waits = new Promise((resolve) => queue.on('retry', resolve))
  const answer = fetch(server.origin, { signal: controller.signal })
  await waits
  controller.abort(new Error('the user left'))
  await expect(answer).rejects.toThrow('the user left')
  await queue.idle()
  expect(server.seen).toHaveLength(1)
})

test.each(both)('%s: hops of a redirect are requests of their own, each of which is tried again', async (_, fetch) => {
  const hop: Reply = replyWith(307, { location: '/there' })
  const server = await serve(503, hop, 503)
  installed(queueWith())
  const answer = await fetch(`${server.origin}/here`, { method: 'POST', body: 'an order' })
  expect([answer.status, answer.redirected]).toEqual([200, true])
  expect(server.seen.map(({ path, body }) => [path, body])).toEqual([
    ['/here', 'an order'],
    ['/here', 'an order'],
    ['/there', 'an order'],
    ['/there', 'an order'],
  ])
})

test.each(both)('%s: cookies, packed bodies and long answers come as without it', async (_, fetch) => {
  const { gzipSync } = await import('node:zlib')
  const long = 'an order, '.repeat(100_000)
  const headers = { 'set-cookie': ['a=1', 'b=2'], 'content-encoding': 'gzip' }
  const server = await serve(503, (response) => response.writeHead(200, headers).end(gzipSync(long)))
  installed(queueWith())
  const answer = await fetch(server.origin)
  expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  expect((await answer.text()) === long).toBe(true)
})

test('Node’s own, given a dispatcher of an undici that it does not understand, fails as without the interceptor', async () => {
  const server = await serve()
  const end = (dispatcher: Dispatcher) =>
    fetch(server.origin, { dispatcher } as RequestInit).then(
      ({ status }) => status,
      ({ cause }) => String(cause),
    )
  const agent = new Agent()
  onTestFinished(() => agent.destroy())
  expect(await end(agentOf(queueWith()))).toBe(await end(agent))
})

test('a queue’s own requests are not tried again by the dispatcher that they go by', async () => {
  const server = await serve(...Array(9).fill(503))
  const queue = queueWith({ policy: { maxAttempts: 3 } })
  installed(queue)
  const answer = await queue.fetch(`${server.origin}/fetched`)
  expect([answer.status, await answer.text()]).toEqual([503, 'answer 3'])
  expect(server.seen).toHaveLength(3)
  // a request that is no queue's still is, by the connection that the queue has opened
  await fetch(`${server.origin}/global`)
  expect(server.seen.filter(({ path }) => path === '/global')).toHaveLength(3)
  expect(server.seen[3]?.port).toBe(server.seen[2]?.port)
  const { taskId } = await queue.enqueue(`${server.origin}/enqueued`, {
    method: 'POST',
    body: 'an order',
    redrive: { policy: { maxAttempts: 2 } },
  })
  await queue.result(taskId)
  expect(server.seen.filter(({ path }) => path === '/enqueued')).toHaveLength(2)
})

test('a request that is redirected on a connection of the queue’s own is no request of the queue', async () => {
  // its end comes after its head was heard: by itself, as an event of the connection
  let end = () => {}
  const hop: Reply = (response) => {
    response.writeHead(302, { location: '/there' }).write('moved')
    end = () => response.end()
  }
  const ends: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) =>
    dispatch(options, {
      onRequestStart: (...heard) => handler.onRequestStart?.(...heard),
      onResponseStart(...heard) {
        handler.onResponseStart?.(...heard)
        end()
      },
      onResponseData: (...heard) => handler.onResponseData?.(...heard),
      onResponseEnd: (...heard) => handler.onResponseEnd?.(...heard),
      onResponseError: (...heard) => handler.onResponseError?.(...heard),
    })
  const server = await serve(200, hop, 503)
  // Node's own would have a connection for itself, without HTTP/2
  const queue = queueWith({ fetch: fetchOfPackage as unknown as typeof fetch })
  const dispatcher = installed(queue, ends, interceptors.redirect({ maxRedirections: 1 }))
  await (await queue.fetch(`${server.origin}/fetched`)).text()
  const { statusCode } = await request(`${server.origin}/here`, { dispatcher })
  expect(statusCode).toBe(200)
  expect(server.seen.map(({ path }) => path)).toEqual(['/fetched', '/here', '/there', '/there'])
  expect(new Set(server.seen.slice(0, 3).map(({ port }) => port)).size).toBe(1)
})

test('another queue whose requests go the same way is known once an interceptor was made of it', async () => {
  const server = await serve(...Array(9).fill(503))
  const [ours, other] = [queueWith({ policy: { maxAttempts: 2 } }), queueWith({ policy: { maxAttempts: 2 } })]
  installed(ours)
  retryInterceptor(other)
  await other.fetch(server.origin)
  expect(server.seen).toHaveLength(2)
})

test('interceptors of two queues around each other do not multiply', async () => {
  const server = await serve(...Array(9).fill(503))
  const [inner, outer] = [queueWith({ policy: { maxAttempts: 2 } }), queueWith({ policy: { maxAttempts: 3 } })]
  const agent = new Agent()
  onTestFinished(() => agent.destroy())
  const dispatcher = agent.compose(retryInterceptor(inner), retryInterceptor(outer))
  await fetchOfPackage(server.origin, { dispatcher })
  expect([server.seen.length, inner.stats().attempts, outer.stats().attempts]).toEqual([3, 0, 3])
})
