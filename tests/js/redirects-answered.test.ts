/** A request that a redirect has answered, and an answer that is not the one expected. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import axios from 'axios'
import { beforeEach, expect, test } from 'vitest'
import { attachToAxios } from '../../js/adapters/axios.ts'
import { type RetryPolicy, RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { duringTests } from '../during.ts'
import { serving } from '../loopback.ts'
import { world } from './durable-setup.ts'
import { markOf, NO_GATES, setup } from './setup.ts'

const QUICK = { strategy: 'fixed', initialDelayMs: 1, jitterType: 'NONE', maxAttempts: 3 } as const
const hits: string[] = []
let fails = 0
const page = (response: ServerResponse, type = 'text/html; charset=utf-8') =>
  response.writeHead(200, { 'content-type': type }).end('{}')

/** `/go/<status>` redirects to `/there`, which fails `fails` times, or to `/login`, a page, with `?login`. */
const answer = (request: IncomingMessage, response: ServerResponse) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
  hits.push(`${request.method} ${pathname}`)
  request.resume()
  const [, kind, status] = pathname.split('/')
  if (kind === 'go')
    response.writeHead(Number(status), { location: searchParams.has('login') ? '/login' : '/there' }).end()
  else if (kind === 'login') page(response)
  else if (fails-- > 0) response.writeHead(503).end('busy')
  else page(response, 'application/json')
}
const site = duringTests(() => serving(answer))

beforeEach(() => {
  hits.length = 0
  fails = 0
})

async function real(policy: RetryQueueOptions['policy'] = {}, options: RetryQueueOptions = {}) {
  const queue = new RetryQueue({ ...NO_GATES, ...options, policy: { ...QUICK, ...policy }, warn: false })
  const degraded: string[] = []
  queue.on('degraded', ({ code }) => degraded.push(code))
  await queue.ready
  return { queue, degraded, [Symbol.asyncDispose]: () => queue.close({ drainMs: 0 }) }
}
const POST = { method: 'POST', body: 'x' }

test.each<[status: number, method: string, sent: readonly string[], answer: number]>([
  [303, 'POST', ['POST /go/303', 'GET /there'], 503],
  [302, 'POST', ['POST /go/302', 'GET /there'], 503],
  [303, 'PATCH', ['PATCH /go/303', 'GET /there'], 503],
  // which of a first attempt is not told from a 303
  [307, 'POST', ['POST /go/307', 'POST /there'], 503],
  // to repeat these does no harm, and a GET is one all the way
  [303, 'PUT', ['PUT /go/303', 'GET /there', 'PUT /go/303', 'GET /there'], 200],
  [302, 'GET', ['GET /go/302', 'GET /there', 'GET /go/302', 'GET /there'], 200],
])('S8 a first attempt: %i to %s, whose next hop fails', async (status, method, sent, answered) => {
  await using made = await real()
  fails = 1
  const response = await made.queue.fetch(`${site.url}/go/${status}`, {
    method,
    ...(method === 'GET' ? {} : { body: 'x' }),
  })
  expect([response.status, hits]).toEqual([answered, sent])
  expect(markOf(response)?.reason).toBe(answered === 503 ? 'not_retryable' : undefined)
})

test.each<[status: number, method: string, sent: readonly string[]]>([
  [301, 'POST', ['POST /go/301', 'GET /there', 'GET /there']],
  [303, 'PUT', ['PUT /go/303', 'GET /there', 'GET /there']],
])('S8 a task: %i to %s, whose next hop fails', async (status, method, sent) => {
  await using made = await real()
  fails = 1
  const { taskId } = await made.queue.enqueue(`${site.url}/go/${status}`, { method, body: 'x' })
  const { task } = await made.queue.result(taskId)
  expect([task.status, hits]).toEqual(['SUCCEEDED', sent])
})

test.each<[what: string, method: string, responseURL: string | undefined, sent: number]>([
  ['another address', 'post', 'https://api.test/there', 1],
  ['its own', 'post', 'https://api.test/orders?a=1', 2],
  ['its own, with the user that Chromium leaves in it', 'post', 'https://kim:secret@api.test/orders?a=1', 2],
  ['another address, with a user', 'post', 'https://kim@api.test/there', 1],
  ['none', 'post', '', 2],
  ['another address, of a PUT', 'put', 'https://api.test/there', 2],
])('S8 with XMLHttpRequest, whose answer came from %s', async (_what, method, responseURL, sent) => {
  await using made = await real()
  let calls = 0
  const api = axios.create({
    adapter: async (config) => {
      const status = ++calls === 1 ? 503 : 200
      const response = { status, statusText: '', data: '', headers: {}, config, request: { responseURL } }
      if (status === 200) return response
      throw new axios.AxiosError('busy', 'ERR_BAD_RESPONSE', config, response.request, response)
    },
  })
  attachToAxios(api, made.queue)
  await api.request({ method, url: 'https://api.test/orders?a=1#here', data: 'x' }).catch(() => {})
  expect(calls).toBe(sent)
})

test('a task whose redirect leads to a page counts as delivered, and degraded says so once an origin', async () => {
  await using made = await real()
  for (const path of ['/go/302?login', '/go/303?login', '/go/302', '/login']) {
    await made.queue.result((await made.queue.enqueue(site.url + path, POST)).taskId)
  }
  expect([made.degraded, made.queue.stats().succeeded]).toEqual([['redirected_to_page'], 4])
})

test('a caller who gets the page is told nothing', async () => {
  await using made = await real()
  const response = await made.queue.fetch(`${site.url}/go/302?login`, POST)
  expect([response.url, made.degraded]).toEqual([`${site.url}/login`, []])
})

test.each<[what: string, expected: NonNullable<RetryPolicy['expect']>, path: string, ends: string]>([
  ['the media type', { contentType: 'application/json' }, '/there', 'SUCCEEDED'],
  ['the media type, in other capitals and with parameters', { contentType: 'Text/HTML' }, '/login', 'SUCCEEDED'],
  ['another media type', { contentType: 'application/json' }, '/go/302?login', 'EXHAUSTED'],
  ['the status', { status: [200, 201] }, '/there', 'SUCCEEDED'],
  ['another status', { status: [201] }, '/there', 'EXHAUSTED'],
  ['one of both', { status: [200], contentType: 'text/plain' }, '/there', 'EXHAUSTED'],
  ['nothing', {}, '/there', 'SUCCEEDED'],
])('S8 a task that expects %s', async (_what, expect_, path, ends) => {
  await using made = await real({ expect: expect_ })
  const { taskId } = await made.queue.enqueue(site.url + path, POST)
  const { task, error } = await made.queue.result(taskId)
  expect([task.status, made.degraded]).toEqual([ends, []])
  if (ends === 'EXHAUSTED') {
    expect(task.reason).toBe('not_retryable')
    expect(error?.message).toContain('not what its policy expects')
  }
  const posts = hits.filter((hit) => hit.startsWith('POST'))
  expect(posts).toHaveLength(1)
})

test('a stored task keeps what it expects', async () => {
  const { open, close, server: scripted, clock } = world()
  const first = await open({ policy: { expect: { contentType: 'application/json' } } })
  first.queue.pause()
  const { taskId } = await first.queue.enqueue('https://api.test/orders', POST)
  await close(first)
  scripted.reply(200, { 'content-type': 'text/html' })
  const { queue } = await open()
  await clock.advance(1_000)
  expect(await queue.get(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'not_retryable' })
})

test('a status that is retried is tried again, whatever is expected', async () => {
  await using made = await real({ expect: { status: [200] } })
  fails = 1
  await made.queue.result((await made.queue.enqueue(`${site.url}/there`, POST)).taskId)
  expect([hits.length, made.queue.stats().succeeded]).toEqual([2, 1])
})

test('the answer to a retry goes to its caller, marked, and the server counts as well', async () => {
  const { queue, server: scripted, clock } = await setup({ policy: { expect: { status: [201] } } })
  scripted.reply(503).reply(200, {}, 'a page')
  const answer = queue.fetch('https://api.test/orders', POST)
  await clock.advance(1_000)
  const response = await answer
  expect([response.status, await response.text()]).toEqual([200, 'a page'])
  expect(markOf(response)).toMatchObject({ reason: 'not_retryable' })
})

test.each([
  [{ status: [404] }, /policy\.expect\.status\[0\]: expected a whole number from 200 to 399/],
  [{ status: 200 }, /policy\.expect\.status: expected an array/],
  [{ contentType: 'json' }, /policy\.expect\.contentType: expected a media type/],
  [{ contentType: `a/${'b'.repeat(254)}` }, /contentType: expected a media type .*255 characters at most, got 'a\/bb/],
  [{ contentType: /json/ }, /policy\.expect\.contentType/],
  [{ type: 'text/html' }, /no such option/],
])('an `expect` that is wrong is refused: %o', (given, says) => {
  expect(() => new RetryQueue({ policy: { expect: given as never } })).toThrow(says)
})
