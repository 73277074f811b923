/** A redirect that makes a GET of a request has answered it (RFC 9110, section 15.4.4): from then on the GET alone is repeated. */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import axios from 'axios'
import { Agent, interceptors, request } from 'undici'
import { beforeEach, expect, test } from 'vitest'
import { attachToAxios } from '../../js/adapters/axios.ts'
import { retryInterceptor } from '../../js/adapters/undici.ts'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { type MemoryStore, memoryStore } from '../../js/stores/memory.ts'
import { duringTests } from '../during.ts'
import { serving } from '../loopback.ts'
import { withMethods, world } from './durable-setup.ts'
import { NO_GATES } from './setup.ts'

const QUICK = { strategy: 'fixed', initialDelayMs: 1, jitterType: 'NONE', maxAttempts: 3 } as const
const seen: string[] = []
const heads: IncomingHttpHeaders[] = []
type How = 'busy' | 'lost' | 'gone'
/** The ends of the next requests to `/there`; past them it answers 200. */
let there: How[] = []

/** `/go/<status>` redirects to `/there`, with `?away` on another origin. */
const answer = (request: IncomingMessage, response: ServerResponse) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
  seen.push(`${request.method} ${pathname}`)
  heads.push(request.headers)
  request.resume()
  const [, kind, status] = pathname.split('/')
  if (kind === 'go') {
    response.writeHead(Number(status), { location: `${searchParams.has('away') ? other.url : ''}/there` }).end()
  } else end(response, there.shift())
}
const site = duringTests(() => serving(answer))
const other = duringTests(() =>
  serving((request, response) => {
    seen.push(`${request.method} away`)
    request.resume()
    end(response, there.shift())
  }),
)

function end(response: ServerResponse, how: How | undefined): void {
  if (how === 'lost') response.destroy()
  else response.writeHead(how === 'busy' ? 503 : how ? 404 : 200).end('it')
}

beforeEach(() => {
  seen.length = 0
  heads.length = 0
  there = []
})

async function made(options: RetryQueueOptions = {}) {
  const queue = new RetryQueue({ ...NO_GATES, ...options, policy: QUICK, warn: false })
  await queue.ready
  const api = axios.create()
  attachToAxios(api, queue)
  return { queue, api, [Symbol.asyncDispose]: () => queue.close({ drainMs: 0 }) }
}
type Made = Awaited<ReturnType<typeof made>>

const POST = { method: 'POST', body: 'x' }
/** Makes a call; gives its last status, or how its task has ended. */
const WAYS: Readonly<Record<string, (made: Made, to: string) => Promise<unknown>>> = {
  'fetch, enqueued': async ({ queue }, to) => ended(queue, (await queue.enqueue(to, POST)).taskId),
  'fetch, deferred': async ({ queue }, to) =>
    last(queue, await queue.fetch(to, { ...POST, redrive: { mode: 'defer' } })),
  'fetch, awaited': async ({ queue }, to) =>
    queue.fetch(to, POST).then(
      ({ status }) => status,
      () => 'lost',
    ),
  'Axios, awaited': async ({ api }, to) =>
    api.post(to, 'x', { validateStatus: null }).then(
      ({ status }) => status,
      () => 'lost',
    ),
  'Axios, deferred': async ({ api, queue }, to) => {
    const { status, data } = await api.post(to, 'x', { validateStatus: null, redrive: { mode: 'defer' } })
    return status === 202 ? ended(queue, (data as { taskId: string }).taskId) : status
  },
}
async function last(queue: RetryQueue, response: Response): Promise<unknown> {
  return response.status === 202 ? ended(queue, (await response.json()).taskId) : response.status
}
async function ended(queue: RetryQueue, taskId: string): Promise<unknown> {
  return (await queue.result(taskId)).task.status
}

const [GO, GET] = ['POST /go/303', 'GET /there']
const IN_ALL_WAYS = Object.keys(WAYS)

test.each(
  [{ where: 'memory' }, { where: 'a store' }].flatMap(({ where }) =>
    (
      [
        // a first attempt by fetch does not say whether it was a 303: what failed after it is the last word
        ['fetch, awaited', ['busy'], [GO, GET], 503],
        ['fetch, deferred', ['busy'], [GO, GET], 503],
        ['fetch, enqueued', ['busy'], [GO, GET, GET], 'SUCCEEDED'],
        ['fetch, enqueued', ['lost'], [GO, GET, GET], 'SUCCEEDED'],
        ['fetch, enqueued', ['busy', 'lost'], [GO, GET, GET, GET], 'SUCCEEDED'],
        ['fetch, enqueued', ['busy', 'gone'], [GO, GET, GET], 'EXHAUSTED'],
        ['Axios, awaited', ['busy'], [GO, GET, GET], 200],
        ['Axios, awaited', ['lost'], [GO, GET, GET], 200],
        ['Axios, awaited', ['busy', 'busy', 'busy'], [GO, GET, GET, GET], 503],
        ['Axios, deferred', ['busy'], [GO, GET, GET], 'SUCCEEDED'],
        ['Axios, deferred', ['lost', 'busy'], [GO, GET, GET, GET], 'SUCCEEDED'],
      ] as const
    ).map(([way, how, sent, ends]) => ({ where, way, how, sent, ends })),
  ),
)('S8 303 to POST, by $way in $where, whose GET fails: $how', async ({ where, way, how, sent, ends }) => {
  await using it = await made(where === 'memory' ? {} : { store: memoryStore(), principal: 'kim' })
  there = [...how]
  expect(await WAYS[way]?.(it, `${site.url}/go/303`)).toBe(ends)
  expect(seen).toEqual(sent)
})

test.each(IN_ALL_WAYS)(
  'a GET that has failed beyond the origin is not repeated, and neither is its POST: %s',
  async (way) => {
    for (const how of ['busy', 'lost'] as const) {
      await using it = await made()
      there = [how]
      seen.length = 0
      await WAYS[way]?.(it, `${site.url}/go/303?away`).catch(() => {})
      // a first attempt by fetch that is lost does not say that it was redirected
      const isHidden = how === 'lost' && /fetch, (awaited|deferred)/.test(way)
      if (!isHidden) expect(seen.filter((each) => each !== 'GET away')).toEqual([GO])
    }
  },
)

test.each(['fetch, enqueued', 'Axios, awaited', 'Axios, deferred'])(
  'a 307 keeps its method, so the POST is repeated: %s',
  async (way) => {
    await using it = await made()
    there = ['busy']
    await WAYS[way]?.(it, `${site.url}/go/307`)
    expect(seen).toEqual(['POST /go/307', 'POST /there', 'POST /go/307', 'POST /there'])
  },
)

test.each<
  [
    way: string,
    followed: readonly string[],
    send: (made: Made, to: string, headers: Record<string, string>) => Promise<unknown>,
  ]
>([
  ['fetch', [], async ({ queue }, to, headers) => ended(queue, (await queue.enqueue(to, { ...POST, headers })).taskId)],
  // whose own library follows the redirect, and takes the key along
  ['Axios', ['x-order-key'], async ({ api }, to, headers) => api.post(to, 'x', { headers })],
])(
  'the GET that is repeated has neither key nor body, though the length was given: %s',
  async (_way, followed, send) => {
    await using it = await made({ idempotency: { header: 'X-Order-Key' } })
    there = ['busy']
    await send(it, `${site.url}/go/303`, { 'content-length': '1', 'content-type': 'text/plain' })
    expect(seen).toEqual([GO, GET, GET])
    const sent = ['x-order-key', 'content-length', 'content-type']
    expect(heads.map((head) => sent.filter((name) => head[name] !== undefined))).toEqual([sent, followed, []])
  },
)

/** A task whose GET has failed in a process that is gone. `inStore`: what its history says by then of the GET's address. */
async function takenOver(location: string, inStore = (said: unknown): unknown => said) {
  const changed = (store: MemoryStore) =>
    withMethods(store, {
      attempts: async (...asked) => {
        const { attempts } = await store.attempts(...asked)
        return {
          attempts: attempts.map((log) => ({
            ...log,
            data: { ...log.data, seeOther: inStore(log.data?.seeOther) as string },
          })),
        }
      },
    })
  const { open, close, server: scripted, clock, store } = world(changed)
  const first = await open()
  scripted.reply(303, { location }).reply(503)
  const { taskId } = await first.queue.enqueue('https://api.test/orders', POST)
  await clock.advance(0)
  const { attempts } = await store.attempts(taskId, { limit: 10 })
  await close(first)
  const { queue } = await open()
  await clock.advance(60_000)
  return {
    attempts,
    task: await queue.get(taskId),
    sent: scripted.requests.map(({ method, url, body }) => [method, url, body]),
  }
}
const ORDER = ['POST', 'https://api.test/orders', 'x']

test('another process repeats the GET, of which the history says where it goes', async () => {
  const { attempts, task, sent } = await takenOver('/orders/7?view=all')
  const get = ['GET', 'https://api.test/orders/7?view=all', '']
  expect(sent).toEqual([ORDER, get, get])
  expect(task?.status).toBe('SUCCEEDED')
  expect(attempts).toMatchObject([
    { responseStatus: 503, errorMessage: expect.stringContaining('GET'), data: { seeOther: get[1] } },
  ])
})

test.each<[what: string, location: string, inStore?: () => unknown]>([
  ['holds a secret, which no store keeps', '/orders/7?token=sk_live_abcdefghijklmnop0123456789'],
  ['is of another origin', '/orders/7', () => 'https://evil.test/orders/7'],
  ['is no URL', '/orders/7', () => 'https://'],
  ['is gone', '/orders/7', () => undefined],
])('S15 where the address of the GET %s, another process sends nothing', async (_what, location, inStore) => {
  const { attempts, task, sent } = await takenOver(location, inStore)
  expect(sent).toHaveLength(2)
  expect(task).toMatchObject({ status: 'EXHAUSTED', reason: 'not_retryable' })
  expect(JSON.stringify(attempts)).not.toContain('sk_live')
})

test.each([[['busy', 'gone']], [['gone']]] as const)(
  'a dead letter whose request was answered goes back as its GET: %o',
  async (how) => {
    await using it = await made({ store: memoryStore(), principal: 'kim' })
    const { queue } = it
    const gets = how.map(() => GET)
    there = [...how]
    const { taskId } = await queue.enqueue(`${site.url}/go/303`, POST)
    expect((await queue.result(taskId)).task.status).toBe('EXHAUSTED')
    await queue.deadLetters.redrive(taskId)
    expect((await queue.result(taskId)).task.status).toBe('SUCCEEDED')
    expect(seen).toEqual([GO, ...gets, GET])
  },
)

test.each(['busy', 'lost'] as const)('with undici the GET is a request of its own: %s', async (how) => {
  await using it = await made()
  there = [how]
  const dispatcher = new Agent().compose(retryInterceptor(it.queue), interceptors.redirect({ maxRedirections: 3 }))
  const { statusCode, body } = await request(`${site.url}/go/303`, { ...POST, method: 'POST', dispatcher })
  await body.dump()
  expect([statusCode, seen]).toEqual([200, [GO, GET, GET]])
  await dispatcher.destroy()
})

test('what is signed is the GET', async () => {
  const signed: string[] = []
  await using it = await made({
    sign: ({ method, url: to, body }) => {
      signed.push(`${method} ${new URL(to).pathname} ${body.length}`)
      return { signature: 'x' }
    },
  })
  there = ['busy']
  await WAYS['fetch, enqueued']?.(it, `${site.url}/go/303`)
  expect(signed).toEqual(['POST /go/303 1', 'GET /there 0'])
})
