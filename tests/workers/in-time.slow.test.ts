/** Whatever befalls a call in a Worker, its caller has an answer in time, and what may not be stored is not. */

import { afterAll, describe, expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { atOnce, noGates, patient, quick, taskOf } from './api.ts'
import { type Answer, type Answers, Edge } from './harness/edge.ts'
import { reaches, soon } from './harness/soon.ts'
import { type Origin, startOrigin } from './origin.ts'

/** Longer than any of these callers was let wait, and less than they waited for nothing. */
const IN_TIME_MS = 12_000

const origins: Origin[] = []

const edge = duringTests(() => Edge.start({ object: noGates }))
afterAll(async () => {
  await Promise.all(origins.map((origin) => origin.close()))
})

/** One for each test: what one origin asks for, all requests of a Worker keep to. */
async function listening(answers: Origin['answers']): Promise<Origin> {
  const origin = await startOrigin(answers)
  origins.push(origin)
  return origin
}

async function inTime(asked: Promise<Answers>): Promise<Answers> {
  let alarm: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    alarm = setTimeout(() => reject(new Error(`no answer in ${IN_TIME_MS} ms`)), IN_TIME_MS)
  })
  try {
    return await Promise.race([asked, late])
  } finally {
    clearTimeout(alarm)
  }
}

const post = (redrive: Readonly<Record<string, unknown>> = {}, body = '{}') => ({ method: 'POST', body, redrive })
const waits = (initialDelayMs: number) => ({ ...patient, policy: { ...quick, initialDelayMs } })
const paths = ({ seen }: Origin): readonly string[] => seen.map(({ path }) => path)
/** Which of its calls the object has. */
const kept = async ({ url }: Origin): Promise<readonly string[]> =>
  (await edge.object({ origin: url }).list()).map(({ targetUrl }) => new URL(targetUrl).pathname).sort()

describe.concurrent('each by itself', () => {
  test.each([
    ['what is sensitive', { sensitive: true }],
    ["what its caller waits for with mode 'await'", { mode: 'await' }],
  ])(
    'S12 beside a call whose server asked to wait another is sent at once and not stored, whatever is used up: %s',
    async (_, redrive) => {
      const origin = await listening({ '/open': [[200, {}, 4_500]], '/limited': [[429, { 'retry-after': '2' }]] })
      const calls = [
        { url: `${origin.url}/open`, init: post({ mode: 'await' }) },
        { url: `${origin.url}/limited`, init: post() },
        { url: `${origin.url}/held`, init: post(redrive, 'not for any disk'), after: 1 },
      ]
      const { answers } = await inTime(edge.calls(calls, { ...patient, subrequests: 1 }))
      expect(answers.map(({ status }) => status)).toEqual([200, 202, 200])
      expect(paths(origin).filter((path) => path === '/held')).toHaveLength(1)
      expect(await kept(origin)).toEqual(['/limited'])
    },
  )

  test('S22 a 401 that new credentials do not mend is the answer of its caller', async () => {
    const origin = await listening({ '/refused': [[503], [401]] })
    const calls = [{ url: `${origin.url}/refused`, init: post() }]
    const { answers } = await inTime(edge.calls(calls, { ...patient, token: 'Bearer of-nobody' }))
    expect(answers).toMatchObject([{ status: 401 }])
    expect(await kept(origin)).toEqual([])
  })

  test('S22 a 429 of one call leaves no other of its request without an answer: both are handed over', async () => {
    const origin = await listening({ '/fails': [[503]], '/limited': [[429, { 'retry-after': '3600' }, 150]] })
    const calls = ['/fails', '/limited'].map((path) => ({ url: `${origin.url}${path}`, init: post() }))
    const { answers } = await inTime(edge.calls(calls, { ...waits(1_000), inlineMs: 3_000 }))
    expect(answers.map(({ status }) => status)).toEqual([202, 202])
    expect(await kept(origin)).toEqual(['/fails', '/limited'])
    expect(paths(origin)).toHaveLength(2)
  })

  test("S22 with mode 'await' a call whose lane another one holds has the last answer it was given", async () => {
    const origin = await listening({ '/fails': [[503]], '/limited': [[429, { 'retry-after': '3600' }, 150]] })
    const calls = [
      { url: `${origin.url}/fails`, init: post({ mode: 'await' }) },
      { url: `${origin.url}/limited`, init: post() },
    ]
    const { answers } = await inTime(edge.calls(calls, { ...waits(1_000), inlineMs: 3_000 }))
    expect(answers.map(({ status }) => status)).toEqual([503, 202])
  })

  test('S1 with detach a caller who leaves has its task tried on, and handed over', async () => {
    const origin = await listening({ '/left': [[503], [503], [200]] })
    const calls = [{ url: `${origin.url}/left`, init: post({ detach: true }), abortMs: 300 }]
    const { answers } = await inTime(edge.calls(calls, { ...waits(800), inlineAttempts: 2 }))
    expect(answers[0]?.error?.name).toBe('TimeoutError')
    expect(origin.seen, 'it left before the second attempt').toHaveLength(1)
    await soon(() => origin.seen.length).toBe(3)
    expect(new Set(origin.seen.map(({ key }) => key)).size).toBe(1)
    await soon(async () => (await edge.object({ origin: origin.url }).list()).map(({ status }) => status)).toEqual([
      'SUCCEEDED',
    ])
  })

  test('without detach a caller who leaves ends its call', async () => {
    const origin = await listening({ '/ended': [[503, {}, 600]], '/open': [[200, {}, 1_500]] })
    const calls = [
      { url: `${origin.url}/ended`, init: post(), abortMs: 300 },
      { url: `${origin.url}/open`, init: post() },
    ]
    const { answers } = await inTime(edge.calls(calls, waits(400)))
    expect(answers).toMatchObject([{ error: { name: 'TimeoutError' } }, { status: 200 }])
    // each once: two calls that are made at once may arrive in either order
    expect(paths(origin).toSorted()).toEqual(['/ended', '/open'])
    expect(await kept(origin)).toEqual([])
  })

  test('an object that does not answer costs its caller seconds: the answer is what the server said', async () => {
    const origin = await listening({ '/unheard': [[503]] })
    const calls = [{ url: `${origin.url}/unheard`, init: post() }]
    const { answers, degraded } = await inTime(edge.calls(calls, atOnce, 'SILENT'))
    expect(answers).toMatchObject([{ status: 503 }])
    expect(degraded).toMatchObject([{ code: 'storage_unavailable' }])
  })

  test('waitMs of a call is how long it waits in the Worker', async () => {
    const origin = await listening({ '/short': [[503], [200]] })
    const calls = [{ url: `${origin.url}/short`, init: post({ waitMs: 100 }) }]
    const { answers } = await inTime(edge.calls(calls, { ...waits(2_000), inlineMs: 8_000 }))
    expect(answers).toMatchObject([{ status: 202 }])
    expect(origin.seen, 'when it was answered').toHaveLength(1)
    await reaches(edge.object({ origin: origin.url }), taskOf(answers[0] as Answer), 'SUCCEEDED')
  })
})

test('a caller who leaves while its call moves hears of it, and nothing is sent after that', async () => {
  const origin = await listening({ '/moved': [[503], [200]] })
  const at = (path: string) => `${origin.url}${path}`
  const calls = [
    { url: at('/moved'), init: post(), abortMs: 500 },
    { url: at('/ordered'), init: post({ orderKey: 'one' }), abortMs: 500 },
    { url: at('/enqueued'), init: post(), abortMs: 500, as: 'enqueue' },
    { url: at('/enqueued-for'), init: post({ waitMs: 500 }), as: 'enqueue' },
  ] as const
  const { answers } = await inTime(edge.calls(calls, atOnce, 'LATE'))
  const left = { error: { name: 'TimeoutError' } }
  expect(answers).toMatchObject([left, left, left, { error: { code: 'WAIT_EXCEEDED' } }])
  const object = edge.object({ queue: 'LATE', origin: origin.url })
  await soon(async () => (await object.list()).map(({ status }) => status)).toEqual(Array(4).fill('CANCELLED'))
  expect(paths(origin)).toEqual(['/moved'])
})

test('a task whose move was said to have failed is cancelled, although its object was killed meanwhile', async () => {
  const origin = await listening({ '/lost': [[503], [200]] })
  const calls = [{ url: `${origin.url}/lost`, init: post() }]
  const { answers } = await inTime(edge.calls(calls, { ...atOnce, ...waits(2_000) }, 'LOSSY'))
  expect(answers).toMatchObject([{ status: 503 }])
  const object = edge.object({ queue: 'LOSSY', origin: origin.url })
  await soon(async () => (await object.list()).map(({ status }) => status)).toEqual(['CANCELLED'])
  expect(origin.seen).toHaveLength(1)
})

test.each([{ mode: 'await' }, { sensitive: true }])(
  'a call that may not move has its own answer, where one with its key moves: %o',
  async (redrive) => {
    const origin = await listening({ '/twins': [[503]] })
    const calls = [{}, redrive].map((more) => {
      return { url: `${origin.url}/twins`, init: post({ idempotencyKey: 'of-both', ...more }) }
    })
    const { answers } = await inTime(edge.calls(calls, { ...waits(300), inlineAttempts: 2 }))
    expect(answers.map(({ status }) => status)).toEqual([202, 503])
  },
)
