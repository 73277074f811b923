// The source of a retry service, over the service's own API: nothing of it is made up but the loopback socket.
import { createHash } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createService, type ServiceOptions } from '../../../js/service.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import type { ServiceSourceOptions } from '../../../js/ui/inspector/service-call.ts'
import { serviceSource } from '../../../js/ui/inspector/service-source.ts'
import type { InspectorError } from '../../../js/ui/inspector/source.ts'
import { onLoopback } from '../../loopback.ts'
import { stub } from '../setup.ts'

async function setup(options: Partial<ServiceOptions> = {}, more: ServiceSourceOptions = {}) {
  const origin = await onLoopback((_, response) => response.writeHead(503).end())
  const service = createService({ store: memoryStore({ everyone: true }), allowLoopback: true, ...options })
  onTestFinished(() => service.close({ drainMs: 0 }))
  await service.ready
  const seen: Request[] = []
  const source = serviceSource({
    url: 'http://localhost',
    async fetch(input, init) {
      const request = new Request(input, init)
      seen.push(request)
      return service.fetch(request)
    },
    ...more,
  })
  const url = `${origin}/orders`
  const post = async (body: object, token?: string): Promise<string> => {
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (token) headers.authorization = `Bearer ${token}`
    const text = JSON.stringify({ targetUrl: url, json: { sku: 1 }, ...body })
    const asked = new Request('http://localhost/retry-tasks', { method: 'POST', headers, body: text })
    return ((await (await service.fetch(asked)).json()) as { taskId: string }).taskId
  }
  const ended = (taskId: string): Promise<unknown> =>
    service.fetch(new Request(`http://localhost/retry-tasks/${taskId}`, { headers: { prefer: 'wait=20' } }))
  const dead = async (count = 1): Promise<string> => {
    const taskId = await post({ policy: { maxAttempts: 1 } })
    await ended(taskId)
    return count > 1 ? dead(count - 1) : taskId
  }
  return { source, service, seen, url, origin, post, ended, dead }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const TOKEN = 'rd_aaaaaaaaaaaaaaaaaaaaaaaaaa'
const READER = { sha256: sha256(TOKEN), tenant: 'acme', name: 'reader', scopes: ['tasks:read'] } as const

test('tasks in pages, newest first, with the tenant as principal and tags as text', async () => {
  const { source, post } = await setup()
  const first = await post({ delayMs: 60_000, tags: { invoice: '2041' } })
  const second = await post({ delayMs: 60_000 })
  const page = await source.list({ limit: 1 })
  expect(page.tasks).toMatchObject([{ taskId: second, status: 'PENDING', principal: null }])
  expect(await source.list({ limit: 1, ...(page.cursor && { cursor: page.cursor }) })).toMatchObject({
    tasks: [{ taskId: first, tags: ['invoice=2041'] }],
  })
  expect((await source.list({ limit: 10, status: 'EXHAUSTED' })).tasks).toEqual([])
})

test('the numbers, the lanes, and what is paused', async () => {
  const { source, post, dead, origin } = await setup()
  await dead()
  await post({ delayMs: 60_000 })
  expect(await source.overview()).toMatchObject({
    depth: 1,
    inFlight: 0,
    deadLetters: 1,
    capacity: 1_000_000,
    succeeded: 0,
    exhausted: 1,
    counts: { PENDING: 1, EXHAUSTED: 1 },
    origins: [{ origin, tenant: null, pending: 1, circuit: 'CLOSED', paused: false }],
  })
  expect(await source.act({ type: 'pause', origin })).toBe('paused')
  const { origins, paused } = await source.overview()
  expect([origins[0]?.paused, paused]).toEqual([true, undefined])
  await source.act({ type: 'pause' })
  expect(await source.overview()).toMatchObject({ paused: true })
  expect(await source.act({ type: 'resume' })).toBe('resumed')
  const after = await source.overview()
  expect([after.origins[0]?.paused, after.paused]).toEqual([false, undefined])
})

test('a task with its attempts and decisions; none of that id is undefined', async () => {
  const { source, dead } = await setup()
  const taskId = await dead()
  expect(await source.task(taskId)).toMatchObject({
    task: { taskId, status: 'EXHAUSTED', reason: 'max_attempts', bodyRef: 'inline' },
    attempts: [{ responseStatus: 503 }],
    decisions: [{ kind: 'queued' }, { kind: 'attempt' }, { kind: 'exhausted' }],
  })
  expect(await source.task('0199a3b4-6c58-7000-8a4f-000000000000')).toBeUndefined()
})

describe('actions', () => {
  test('cancel, due, flush, redrive and purge of one', async () => {
    const { source, post, dead, ended } = await setup()
    expect(await source.act({ type: 'cancel', taskId: await post({ delayMs: 60_000 }) })).toBe('cancelled')
    expect(await source.act({ type: 'due', taskId: await post({ delayMs: 60_000, policy: { maxAttempts: 1 } }) })).toBe(
      'made due',
    )
    expect(await source.act({ type: 'flush' })).toMatch(/^\d+ tasks? made due$/)
    const taskId = await dead()
    expect(await source.act({ type: 'redrive', taskId })).toBe('redriven')
    await ended(taskId)
    expect(await source.act({ type: 'purge', taskId })).toBe('deleted')
    await expect(source.act({ type: 'purge', taskId })).rejects.toThrow(`there is no task '${taskId}' here`)
  })

  test('redrive of all tells how far it is', async () => {
    const { source, dead } = await setup()
    await dead(2)
    const told: (readonly [number, number])[] = []
    const onProgress = (done: number, total: number): void => void told.push([done, total])
    const { signal } = new AbortController()
    expect(await source.act({ type: 'redriveAll', signal, onProgress })).toBe('2 tasks redriven')
    expect(told[0]).toEqual([0, 2])
  })

  test('redrive of all at a rate stops when it is told to', async () => {
    const { source, dead } = await setup()
    await dead(3)
    const stop = new AbortController()
    const said = source.act({
      type: 'redriveAll',
      perSecond: 0.05,
      signal: stop.signal,
      onProgress: (done) => void (done > 0 && stop.abort()),
    })
    expect(await said).toBe('1 task redriven')
  })

  test('purge of all deletes as many as were confirmed, or none', async () => {
    const { source, dead } = await setup()
    await dead(2)
    await expect(source.act({ type: 'purgeAll', count: 1 })).rejects.toThrow(/there are 2 dead letters .* nothing was/)
    expect(await source.act({ type: 'purgeAll', count: 2 })).toBe('2 dead letters deleted')
    expect(await source.overview()).toMatchObject({ deadLetters: 0 })
  })

  test('what cannot be done is said in the words of the service', async () => {
    const { source, dead } = await setup()
    const taskId = await dead()
    await expect(source.act({ type: 'cancel', taskId })).rejects.toThrow(`task ${taskId} has ended: EXHAUSTED`)
  })
})

describe('tokens', () => {
  test('without one it is asked for; with one it is sent, and to that service alone', async () => {
    const { source, seen } = await setup({ tokens: [READER] })
    await expect(source.overview()).rejects.toMatchObject({ needsToken: true })
    source.authorize?.(TOKEN)
    await source.overview()
    const last = seen.at(-1)
    expect(last).toMatchObject({ redirect: 'error', credentials: 'omit' })
    expect(last?.headers.get('authorization')).toBe(`Bearer ${TOKEN}`)
  })

  test('what it may not do is refused with the reason from the first look on', async () => {
    const { source } = await setup({ tokens: [READER] }, { token: TOKEN })
    const overview = await source.overview()
    expect(overview.succeeded).toBeUndefined() // a tenant's counts have none
    const reason = "this needs the scope 'admin', which the token does not have"
    expect(source.can).toMatchObject({ pause: reason, flush: reason, purgeAll: reason, cancel: true })
    await expect(source.act({ type: 'cancel', taskId: '0199a3b4-6c58-7000-8a4f-000000000000' })).rejects.toThrow()
    expect(source.can.cancel).toBe("this needs the scope 'tasks:write', which the token does not have")
  })

  test('another token has a clean record', async () => {
    const token = `rd_${'b'.repeat(26)}`
    const admin = { sha256: sha256(token), tenant: null, name: 'admin', scopes: ['admin'] } as const
    const { source } = await setup({ tokens: [READER, admin] }, { token: TOKEN })
    await source.overview()
    source.authorize?.(token)
    expect(source.can.pause).toBe(true)
    expect(await source.overview()).toMatchObject({ succeeded: 0 })
  })

  test('a pause of the own tenant is one of everything that is seen', async () => {
    const token = { ...READER, scopes: ['admin'] } as const
    const { source } = await setup({ tokens: [token] }, { token: TOKEN })
    await source.act({ type: 'pause' })
    expect(await source.overview()).toMatchObject({ paused: true })
  })
})

test('a service that answers too often says how long to wait', async () => {
  const { source } = await setup({ rate: { perSecond: 1, burst: 2 } })
  await source.overview()
  const error = (await source.overview().catch((error: unknown) => error)) as InspectorError
  expect(error.message).toContain('times a second')
  expect(error.retryAfterMs).toBeGreaterThanOrEqual(1_000)
})

test.each([
  ['nobody', () => Promise.reject(new TypeError('fetch failed')), 'http://localhost does not answer (fetch failed)'],
  ['a page', async () => new Response('<h1>hello</h1>'), 'http://localhost answers, but not as a retry service does'],
  ['a proxy', async () => new Response('<h1>no</h1>', { status: 502 }), 'http://localhost answers 502'],
])('where %s answers, that is said', async (_, fetch, words) => {
  await expect(serviceSource({ url: 'http://localhost/', fetch }).overview()).rejects.toThrow(words)
})

const until = (signal: AbortSignal | null | undefined, end: (reason: unknown) => void) =>
  signal?.addEventListener('abort', () => end(signal.reason))

test.each<[what: string, fetch: typeof fetch]>([
  ['does not answer', (_, init) => new Promise((_, reject) => until(init?.signal, reject))],
  [
    'sends no body',
    async (_, init) =>
      new Response(new ReadableStream({ start: (to) => until(init?.signal, (reason) => to.error(reason)) })),
  ],
])('a service that %s within 30 s is said', async (_what, fetch) => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const answered = expect(serviceSource({ url: 'http://localhost/', fetch }).overview()).rejects.toThrow(
    'http://localhost does not answer (no answer within 30 s)',
  )
  await vi.advanceTimersByTimeAsync(30_000)
  await answered
  expect(vi.getTimerCount()).toBe(0)
})

test.each([
  ['https://shop.test/a/b', undefined, 'https://shop.test'],
  ['about:srcdoc', 'https://shop.test/a/b', 'https://shop.test'],
])('without an address it is the service of the page at %s', (href, baseURI, name) => {
  stub({ location: new URL(href), document: { baseURI } })
  expect(serviceSource().name).toBe(name)
})
