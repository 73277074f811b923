/** The words of docs/differences.md and docs/coming-from.md about other libraries, held against the libraries themselves. */

import { readFileSync } from 'node:fs'
import { exponentialDelay, isNetworkError, isRetryableError } from 'axios-retry'
import ky, { HTTPError } from 'ky'
import PQueue from 'p-queue'
import pRetry from 'p-retry'
import { type Dispatcher, interceptors, RetryHandler } from 'undici'
import { expect, onTestFinished, test, vi } from 'vitest'
import { wrapFetch } from '../../../js/adapters/fetch.ts'
import { codesOf } from '../../../js/options/first-policy.ts'
import { ORDERS, setup, watch } from '../setup.ts'

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

const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
const rowOf = (name: string) =>
  new RegExp(`^\\| ${name} \\|(.*)\\|$`, 'm')
    .exec(readme)?.[1]
    ?.split('|')
    .map((cell) => cell.trim())

test("the README's table has the versions that are installed, and who repeats a POST", async () => {
  const peers = ['ky', 'axios-retry', 'p-retry', 'workbox-background-sync', 'bullmq']
  const file = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
  const own = /^version = "(.+)"$/m.exec(file('Cargo.toml'))?.[1] ?? ''
  const all = [own, ...peers.map((peer) => JSON.parse(file(`node_modules/${peer}/package.json`)).version as string)]
  expect(rowOf('version')).toEqual(all.map((version) => version.split('.', 2).join('.')))

  const sent = { ky: 0, 'p-retry': 0 }
  const lost = (peer: keyof typeof sent) => async () => {
    sent[peer]++
    throw new TypeError('fetch failed')
  }
  await expect(ky.post(ORDERS, { fetch: lost('ky'), retry: AT_ONCE })).rejects.toThrow()
  await expect(pRetry(lost('p-retry'), { retries: 1, minTimeout: 0 })).rejects.toThrow()
  const lostPost = { code: 'ECONNRESET', config: { method: 'post' } }
  const [, byKy, byAxiosRetry, byPRetry] = rowOf('a POST is repeated') ?? []
  expect([sent.ky > 1 ? 'yes' : 'no', sent['p-retry'] > 1 ? 'yes' : 'no']).toEqual([byKy, byPRetry])
  expect([isNetworkError(lostPost), isRetryableError({ ...lostPost, response: { status: 503 } } as never)]).toEqual([
    true,
    true,
  ])
  expect(byAxiosRetry).toBe('after a lost connection')
})

test("ky and axios-retry obey Retry-After, as the README's table says, and p-retry and Workbox see no answer", async () => {
  expect(rowOf('obeys `Retry-After`')).toEqual(['always', 'yes', 'yes', 'no', 'no', 'no'])
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
