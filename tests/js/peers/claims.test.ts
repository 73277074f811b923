/** The words of docs/differences.md and docs/coming-from.md about other libraries, held against the libraries themselves. */

import { readdirSync, readFileSync } from 'node:fs'
import axios, { AxiosError, type InternalAxiosRequestConfig } from 'axios'
import axiosRetry, { exponentialDelay, isNetworkError, isRetryableError } from 'axios-retry'
import { Job, type JobsOptions } from 'bullmq'
import ky, { HTTPError } from 'ky'
import PQueue from 'p-queue'
import pRetry from 'p-retry'
import { type Dispatcher, interceptors, RetryHandler } from 'undici'
import { expect, onTestFinished, test, vi } from 'vitest'
import { wrapFetch } from '../../../js/adapters/fetch.ts'
import { codesOf } from '../../../js/options/first-policy.ts'
import { ORDERS, setup, watch } from '../setup.ts'
import { columns, rowOf } from './readme.ts'

const page = (name: string) => readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), 'utf8')
const STATUSES = Array.from({ length: 200 }, (_, i) => 400 + i)
/** Ky's own timers, of 0 ms. */
const AT_ONCE = { delay: () => 0 }

/** `429, 500 to 599` */
function inWords(codes: readonly number[]): string {
  const runs: [first: number, last: number][] = []
  for (const code of codes.toSorted((a, b) => a - b)) {
    const run = runs.at(-1)
    if (run?.[1] === code - 1) run[1] = code
    else runs.push([code, code])
  }
  const shown = runs.map(([first, last]) =>
    last < first + 2 ? [...new Set([first, last])].join(', ') : `${first} to ${last}`,
  )
  return shown.join(', ')
}

test('the statuses that each retries are those of the page', async () => {
  const isTriedByKy = async (status: number) => {
    let sent = 0
    const fetch = async () => new Response(null, { status: sent++ ? 200 : status, headers: { 'retry-after': '0' } })
    await ky(ORDERS, { fetch, retry: AT_ONCE }).catch((error) => expect(error).toBeInstanceOf(HTTPError))
    return sent > 1
  }
  const byKy = await Promise.all(STATUSES.map(isTriedByKy))
  const dispatch = () => true
  const { retryOpts } = new RetryHandler({ path: '/', method: 'GET' }, { dispatch, handler: {} }) as never
  const { statusCodes } = retryOpts as { readonly statusCodes: readonly number[] }
  const byAxiosRetry = STATUSES.filter((status) => isRetryableError({ response: { status } } as never))
  expect(page('differences')).toContain(
    `| ky ${inWords(STATUSES.filter((_, i) => byKy[i]))}; undici ${inWords(statusCodes)}; axios-retry ${inWords(byAxiosRetry)} | `,
  )
  expect(page('differences')).toContain(`'broad'\`: ${inWords(codesOf('broad'))} | `)
})

const file = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
const manifestOf = (peer: string): { readonly version: string; readonly peerDependencies?: object } =>
  JSON.parse(file(`node_modules/${peer}/package.json`))
/** A library's first attempt is not answered, and the retries that it makes by itself are not either. */
const lost = (seen: { sent: number }) => async () => {
  seen.sent++
  throw new TypeError('fetch failed')
}
/** A call by each, of which none waits. */
const LOST_CALLS: Readonly<Record<'ky' | 'axios-retry' | 'p-retry', (seen: { sent: number }) => Promise<unknown>>> = {
  ky: (seen) => ky(ORDERS, { fetch: lost(seen), retry: AT_ONCE }),
  'axios-retry': (seen) => {
    const adapter = async (config: InternalAxiosRequestConfig) => {
      seen.sent++
      throw new AxiosError('lost', 'ECONNRESET', config)
    }
    const client = axios.create({ adapter })
    axiosRetry(client)
    return client.get(ORDERS)
  },
  'p-retry': (seen) => pRetry(lost(seen), { retries: 1, minTimeout: 0 }),
}
const LIBRARIES = ['ky', 'axios-retry', 'p-retry'] as const

test("the README's table has the versions that are installed", () => {
  const peers = ['ky', 'axios-retry', 'p-retry', 'workbox-background-sync', 'bullmq']
  const own = /^version = "(.+)"$/m.exec(file('Cargo.toml'))?.[1] ?? ''
  const versions = [own, ...peers.map((peer) => manifestOf(peer).version)]
  const short = versions.map((version) => version.split('.', 2).join('.'))
  expect(columns.map((column) => column.split(' ').at(-1))).toEqual(short)
})

test("a POST is repeated by those that the README's table names", async () => {
  const row = rowOf('a POST is repeated')
  const [byKy, byPRetry] = [{ sent: 0 }, { sent: 0 }]
  await expect(ky.post(ORDERS, { fetch: lost(byKy), retry: AT_ONCE })).rejects.toThrow()
  await expect(LOST_CALLS['p-retry'](byPRetry)).rejects.toThrow()
  expect([byKy.sent > 1 ? 'yes' : 'no', byPRetry.sent > 1 ? 'yes' : 'no']).toEqual([row.ky, row['p-retry']])
  const lostPost = { code: 'ECONNRESET', config: { method: 'post' } }
  expect([isNetworkError(lostPost), isRetryableError({ ...lostPost, response: { status: 503 } } as never)]).toEqual([
    true,
    true,
  ])
  expect(row['axios-retry']).toBe('after a lost connection')
  // BullMQ does not see a request: it runs a job again if it has `attempts`, and by default it has none
  const queue = { opts: {}, toKey: () => '', qualifiedName: '', backend: {} }
  const again = async (options: JobsOptions) => {
    const job = new Job(queue as never, 'post', {}, options) as unknown as {
      shouldRetryJob(error: Error): Promise<readonly [boolean, unknown]>
    }
    return (await job.shouldRetryJob(new Error('lost')))[0]
  }
  expect([await again({}), await again({ attempts: 2 })]).toEqual([false, true])
  expect([row.BullMQ, row.redrive]).toEqual(['if asked', 'with a key'])
})

test("ky and axios-retry obey Retry-After, as the README's table says, and p-retry, Workbox and BullMQ see no answer", async () => {
  expect(Object.values(rowOf('obeys `Retry-After`'))).toEqual(['always', 'yes', 'yes', 'no', 'no', 'no'])
  const asked = { response: { headers: { 'retry-after': '7' } } }
  expect(exponentialDelay(0, asked as never)).toBeGreaterThanOrEqual(7_000)
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  let sent = 0
  const fetch = async () => new Response(null, { status: sent++ ? 200 : 503, headers: { 'retry-after': '7' } })
  const answer = ky(ORDERS, { fetch, retry: AT_ONCE, timeout: false })
  await vi.advanceTimersByTimeAsync(6_999)
  expect(sent).toBe(1)
  await vi.advanceTimersByTimeAsync(1)
  expect((await answer).status).toBe(200)
})

test("a server that is down is called no more by those that the README's table names", async () => {
  const CALLS = 40
  const row = rowOf('stops calling a server that is down')
  for (const library of LIBRARIES) {
    const seen = { sent: 0 }
    const call = () => expect(LOST_CALLS[library](seen)).rejects.toThrow()
    for (let i = 0; i < CALLS; i++) await call()
    seen.sent = 0
    for (let i = 0; i < CALLS; i++) await call()
    expect([library, row[library], seen.sent >= CALLS]).toEqual([library, 'no', true])
  }
  const { queue, server, clock } = await setup({ breaker: {}, retryBudget: {} })
  for (let i = 0; i < 1_000; i++) server.fail()
  const calls = (from: number) => Array.from({ length: CALLS }, (_, i) => watch(queue.fetch(`${ORDERS}/${from + i}`)))
  calls(0)
  await clock.advance(8_000)
  const before = server.hits
  const late = calls(CALLS)
  await clock.advance(1_000)
  expect([late.every(({ state }) => state === 'pending'), row.redrive]).toEqual([true, 'yes'])
  expect(server.hits - before).toBeLessThan(CALLS / 10)
})

test("what survives a reload, and what each needs, is as the README's table says", () => {
  const survives = rowOf('survives a reload or crash')
  const needs = rowOf('needs')
  const scripts = (peer: string) =>
    readdirSync(new URL(`../../../node_modules/${peer}/`, import.meta.url), { recursive: true })
      .map(String)
      .filter((name) => /\.m?js$/.test(name) && !name.includes('node_modules'))
      .map((name) => file(`node_modules/${peer}/${name}`))
  // who keeps nothing anywhere has nothing afterwards
  const STORAGE = /indexedDB|localStorage|sessionStorage|\bcaches\.|['"](node:)?(fs|sqlite)\b/
  for (const library of LIBRARIES) {
    expect([library, survives[library], scripts(library).filter((text) => STORAGE.test(text))]).toEqual([
      library,
      'no',
      [],
    ])
  }
  const peersOf = (peer: string) => Object.keys(manifestOf(peer).peerDependencies ?? {})
  expect(LIBRARIES.map(peersOf)).toEqual([[], ['axios'], []])
  expect(LIBRARIES.map((library) => needs[library])).toEqual(['', 'Axios', ''])
  expect(peersOf('bullmq')).toEqual(expect.arrayContaining(['redis', 'ioredis', 'pg']))
  // the cells of redrive: docs/durability.md and its tests. Those of Workbox and BullMQ: workbox.isolated.test.ts and bullmq.slow.test.ts
  expect([needs.BullMQ, survives.redrive, needs.redrive]).toEqual(['Redis or Postgres', 'if asked', ''])
})

test('a refused certificate is final to axios-retry and undici, and retried by ky and a queue', async () => {
  const code = 'DEPTH_ZERO_SELF_SIGNED_CERT'
  const refused = Object.assign(new Error('self-signed certificate'), { code })
  expect(isNetworkError({ code })).toBe(false)
  let [byKy, byUndici] = [0, 0]
  const fetch = async () => {
    byKy++
    throw new TypeError('fetch failed', { cause: refused })
  }
  await expect(ky(ORDERS, { fetch, retry: AT_ONCE })).rejects.toThrow()
  const dispatch: Dispatcher.Dispatch = (_, handler) => {
    byUndici++
    handler.onResponseError?.(undefined as never, refused)
    return true
  }
  const failing = new Promise((resolve) => {
    const handler = { onResponseError: (_: unknown, error: Error) => resolve(error) }
    interceptors.retry()(dispatch)({ path: '/', method: 'GET' }, handler)
  })
  expect(await failing).toBe(refused)
  const { queue, server, clock } = await setup()
  server.fail(new TypeError('fetch failed', { cause: refused }))
  const call = queue.fetch(ORDERS)
  await clock.advance(1_000)
  expect([(await call).status, byKy, byUndici, server.hits]).toEqual([200, 3, 1, 2])
})

test('p-queue waits without an end; limitFirstAttempts for waitMs, which may be as long as all jobs take', async () => {
  const JOBS = 800
  for (const [redrive, late] of [
    [{}, 202],
    [{ waitMs: 600_000 }, 0],
  ] as const) {
    const job = async () => {
      await new Promise<void>((done) => clock.after(100, done))
      return new Response()
    }
    const { queue, clock } = await setup({ concurrency: 2, limitFirstAttempts: true, fetch: job })
    const peer = new PQueue({ concurrency: 2 })
    const ids = Array.from({ length: JOBS }, (_, i) => i)
    const theirs = ids.map(() => watch(peer.add(job)))
    const ours = ids.map((id) => watch(queue.fetch(`${ORDERS}/${id}`, { redrive })))
    await clock.advance(60_000)
    expect(theirs.filter(({ state }) => state === 'resolved')).toHaveLength(JOBS)
    expect(ours.filter(({ state }) => state === 'rejected')).toHaveLength(late)
  }
})

test('p-retry tells onFailedAttempt of the last failure too; a queue tells of it by exhausted', async () => {
  const peer: number[] = []
  const onFailedAttempt = ({ attemptNumber }: { readonly attemptNumber: number }) => void peer.push(attemptNumber)
  const fails = async () => Promise.reject(new Error('down'))
  await expect(pRetry(fails, { retries: 1, minTimeout: 0, onFailedAttempt })).rejects.toThrow('down')
  expect(peer).toEqual([1, 2])
  const { queue, server, clock, events } = await setup({ policy: { maxAttempts: 2 } })
  server.reply(503).reply(503)
  const call = queue.fetch(ORDERS)
  await clock.advance(1_000)
  expect((await call).status).toBe(503)
  expect(events.of('retry').map(({ log }) => log.attemptNumber)).toEqual([1])
  expect(events.of('exhausted')).toMatchObject([{ attempts: 2 }])
})

test.each([
  [0, ['beforeRequest', 'afterResponse 401']],
  [{ methods: [] }, ['beforeRequest', 'afterResponse 401', 'beforeRetry', 'afterResponse 200']],
])(
  'ky on a queue, with retry: %j: its hooks see one attempt, and ky.retry() makes another call',
  async (retry, heard) => {
    const { queue, server, clock } = await setup()
    server.reply(503).reply(401)
    const hooks: string[] = []
    const api = ky.create({
      fetch: wrapFetch(queue),
      retry: typeof retry === 'number' ? retry : { ...retry, ...AT_ONCE },
      timeout: false,
      throwHttpErrors: false,
      hooks: {
        beforeRequest: [() => void hooks.push('beforeRequest')],
        beforeRetry: [() => void hooks.push('beforeRetry')],
        afterResponse: [
          ({ response }) => {
            hooks.push(`afterResponse ${response.status}`)
            return response.status === 401 ? ky.retry() : undefined
          },
        ],
      },
    })
    const call = watch(Promise.resolve(api(ORDERS)))
    await clock.advance(1_000)
    await expect.poll(() => call.state).not.toBe('pending')
    expect(hooks).toEqual(heard)
    expect(server.hits).toBe(heard.length === 2 ? 2 : 3)
  },
)
