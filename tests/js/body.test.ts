import { openAsBlob, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import axios from 'axios'
import { expect, test } from 'vitest'
import { attachToAxios } from '../../js/adapters/axios.ts'
import { BodyNotReplayableError, type RetryQueue } from '../../js/index.ts'
import { markOf, ORDERS, setup } from './setup.ts'
import { freshPath } from './sqlite/setup.ts'

interface Sent {
  readonly bytes: Uint8Array
  readonly type: string | null
  readonly headers: Headers
}

/** What fetch itself makes of its arguments. */
async function read(input: RequestInfo | URL, init?: RequestInit): Promise<Sent> {
  const request = new Request(input, init)
  const bytes = new Uint8Array(await request.arrayBuffer())
  return { bytes, type: request.headers.get('content-type'), headers: request.headers }
}

/** A queue whose server keeps every byte and fails twice. */
async function setupBytes(options: Parameters<typeof setup>[0] = {}) {
  const sent: Sent[] = []
  const fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
    sent.push(await read(input, init))
    return new Response(null, { status: sent.length < 3 ? 503 : 200 })
  }
  return { ...(await setup({ ...options, fetch })), sent }
}

const buffer = () => Uint8Array.from({ length: 256 }, (_, i) => i).buffer
const form = () => {
  const data = new FormData()
  data.append('name', 'Zoë')
  data.append('file', new Blob([buffer()], { type: 'image/png' }), 'dot.png')
  return data
}

const kinds: readonly [what: string, body: () => BodyInit, headers?: Record<string, string>][] = [
  ['nothing', () => null as unknown as BodyInit],
  ['an empty string', () => ''],
  ['a string', () => 'Zoë ☕ \ud800'],
  ['a string with a type of its own', () => '{"a":1}', { 'content-type': 'application/json' }],
  ['URLSearchParams', () => new URLSearchParams({ a: '1', b: 'ü&' })],
  ['an ArrayBuffer', buffer],
  ['a typed array', () => new Uint8Array(buffer())],
  ['a view of a part', () => new Uint8Array(buffer(), 10, 20)],
  ['a view of wider elements', () => new Uint16Array(buffer(), 2, 4)],
  ['a DataView', () => new DataView(buffer(), 5, 7)],
  ['a Blob', () => new Blob([buffer()], { type: 'image/png' })],
  ['a Blob without a type', () => new Blob([buffer()])],
]

test.each(kinds)('S5 %s is sent alike on every attempt, as fetch would send it', async (_what, body, headers) => {
  const { queue, clock, sent } = await setupBytes()
  const init = { method: 'POST', body: body(), ...(headers ? { headers } : {}) }
  const expected = await read(ORDERS, { ...init, body: body() })
  const answer = queue.fetch(ORDERS, init)
  await clock.advance(3_000)
  expect((await answer).status).toBe(200)
  expect(sent).toHaveLength(3)
  for (const { bytes, type } of sent) {
    expect(bytes).toEqual(expected.bytes)
    expect(type).toBe(expected.type)
  }
})

test('FormData with a file is sent alike on every attempt, boundary included', async () => {
  const { queue, clock, sent } = await setupBytes()
  const answer = queue.fetch(ORDERS, { method: 'POST', body: form() })
  await clock.advance(3_000)
  await answer
  const [first, second, third] = sent
  expect(second?.bytes).toEqual(first?.bytes)
  expect(third?.bytes).toEqual(first?.bytes)
  expect(new Set(sent.map(({ type }) => type)).size).toBe(1)
  const headers = { 'content-type': third?.type ?? '' }
  const arrived = await new Response(third?.bytes as Uint8Array<ArrayBuffer>, { headers }).formData()
  expect(arrived.get('name')).toBe('Zoë')
  const file = arrived.get('file') as File
  expect([file.name, file.type, new Uint8Array(await file.arrayBuffer())]).toEqual([
    'dot.png',
    'image/png',
    new Uint8Array(buffer()),
  ])
})

test.each<[what: string, make: () => Request]>([
  ['text', () => new Request(ORDERS, { method: 'POST', body: 'text', headers: { 'x-own': 'a' } })],
  ['bytes', () => new Request(ORDERS, { method: 'PUT', body: buffer(), headers: { 'x-own': 'a' } })],
  ['form', () => new Request(ORDERS, { method: 'POST', body: form(), headers: { 'x-own': 'a' } })],
])('a Request with a body (%s) is read once and sent alike on every attempt', async (_what, make) => {
  const { queue, clock, sent } = await setupBytes()
  const request = make()
  const answer = queue.fetch(request)
  await clock.advance(3_000)
  await answer
  expect(request.bodyUsed).toBe(true)
  const [first] = sent
  expect(first?.bytes.length).toBeGreaterThan(0)
  for (const { bytes, type, headers } of sent) {
    expect(bytes).toEqual(first?.bytes)
    expect(type).toBe(request.headers.get('content-type'))
    expect(headers.get('x-own')).toBe('a')
  }
})

test('init wins over a Request, as in fetch', async () => {
  const { queue, sent, clock } = await setupBytes()
  const request = new Request(ORDERS, { method: 'POST', body: 'old', headers: { 'x-own': 'old' } })
  const answer = queue.fetch(request, { method: 'PUT', body: 'new', headers: { 'x-own': 'new' } })
  await clock.advance(3_000)
  await answer
  for (const { bytes, headers } of sent) {
    expect(new TextDecoder().decode(bytes)).toBe('new')
    expect(headers.get('x-own')).toBe('new')
  }
})

test.each<[what: string, body: (bytes: Uint8Array<ArrayBuffer>) => BodyInit]>([
  ['an ArrayBuffer', (bytes) => bytes.buffer],
  ['a typed array', (bytes) => bytes],
  ['a DataView', (bytes) => new DataView(bytes.buffer)],
  ['a Blob', (bytes) => new Blob([bytes])],
])('S5 what the caller does to %s, headers or init after the call changes no attempt', async (_what, body) => {
  const { queue, clock, sent } = await setupBytes()
  const bytes = new Uint8Array([1, 2, 3])
  const headers = new Headers({ 'x-own': 'before' })
  const init = { method: 'POST', body: body(bytes), headers }
  const answer = queue.fetch(ORDERS, init)
  bytes.fill(9)
  headers.set('x-own', 'after')
  init.method = 'DELETE'
  await clock.advance(3_000)
  await answer
  for (const each of sent) {
    expect(each.bytes).toEqual(new Uint8Array([1, 2, 3]))
    expect(each.headers.get('x-own')).toBe('before')
  }
})

test('S5 nor what it does to URLSearchParams or FormData', async () => {
  const { queue, clock, sent } = await setupBytes()
  const params = new URLSearchParams({ a: 'before' })
  const data = new FormData()
  data.append('a', 'before')
  const answers = [
    queue.fetch(ORDERS, { method: 'POST', body: params }),
    queue.fetch(ORDERS, { method: 'POST', body: data }),
  ]
  params.set('a', 'after')
  data.set('a', 'after')
  await clock.advance(3_000)
  await Promise.all(answers)
  for (const { bytes } of sent) {
    expect(new TextDecoder().decode(bytes)).toContain('before')
    expect(new TextDecoder().decode(bytes)).not.toContain('after')
  }
})

test('S5 the caller’s headers object gets no key put into it', async () => {
  const { queue } = await setup()
  const headers = new Headers({ 'x-own': 'a' })
  await queue.fetch(ORDERS, { method: 'POST', headers })
  expect([...headers.keys()]).toEqual(['x-own'])
})

async function* chunks() {
  yield new TextEncoder().encode('chunk')
}

const streams: readonly [what: string, body: () => BodyInit][] = [
  ['a ReadableStream', () => new Blob(['x']).stream()],
  ['an async iterable', () => chunks() as unknown as BodyInit],
]

test.each(streams)('%s is refused before anything is sent, and stays unread', async (_what, make) => {
  const { queue, events, hitsAfter } = await setup()
  const body = make()
  const init = { method: 'POST', body, duplex: 'half' } as RequestInit
  await expect(queue.fetch(ORDERS, init)).rejects.toBeInstanceOf(BodyNotReplayableError)
  await expect(queue.enqueue(ORDERS, init)).rejects.toMatchObject({ code: 'BODY_NOT_REPLAYABLE' })
  expect(await hitsAfter()).toBe(0)
  expect(events.names()).toEqual([])
  if (body instanceof ReadableStream) expect(body.locked).toBe(false)
})

test.each(streams)('%s laid over a Request is refused as well', async (_what, make) => {
  const { queue, hitsAfter } = await setup()
  const init = { method: 'POST', body: make(), duplex: 'half' } as RequestInit
  await expect(queue.fetch(new Request(ORDERS), init)).rejects.toBeInstanceOf(BodyNotReplayableError)
  expect(await hitsAfter()).toBe(0)
})

test('a stream with redrive: false is plain fetch', async () => {
  const { queue, sent } = await setupBytes()
  const init = { method: 'POST', body: new Blob(['x']).stream(), duplex: 'half', redrive: false } as const
  expect((await queue.fetch(ORDERS, init)).status).toBe(503)
  expect(sent).toHaveLength(1)
})

test.each<[what: string, body: () => BodyInit]>([
  ['a string', () => 'x'.repeat(101)],
  ['a short string of long characters', () => '☕'.repeat(34)],
  ['bytes', () => new Uint8Array(101)],
  ['a Blob', () => new Blob(['x'.repeat(101)])],
])('%s over maxBodyBytes is sent once, whole, and its answer is the caller’s', async (_what, body) => {
  const { queue, clock, sent, events } = await setupBytes({ maxBodyBytes: 100 })
  const answer = queue.fetch(ORDERS, { method: 'POST', body: body() })
  await clock.settle()
  expect((await answer).status).toBe(503)
  expect(markOf(await answer)).toEqual({ reason: 'body_too_large' })
  expect(sent.map(({ bytes }) => bytes)).toEqual([(await read(ORDERS, { method: 'POST', body: body() })).bytes])
  expect(queue.stats().attempts).toBe(1)
  expect(events.names()).toEqual(['degraded'])
  expect(events.of('degraded')).toMatchObject([{ code: 'body_too_large' }])
})

test.each<[what: string, body: () => BodyInit]>([
  ['a string', () => 'x'.repeat(100)],
  ['bytes', () => new Uint8Array(100)],
])('%s of exactly maxBodyBytes is tried again', async (_what, body) => {
  const { queue, clock, sent } = await setupBytes({ maxBodyBytes: 100 })
  const answer = queue.fetch(ORDERS, { method: 'POST', body: body() })
  await clock.advance(3_000)
  expect((await answer).status).toBe(200)
  expect(sent).toHaveLength(3)
})

const viaAxios = (queue: RetryQueue, body: BodyInit) => {
  const api = axios.create({ adapter: 'fetch' })
  attachToAxios(api, queue)
  return api.post(ORDERS, body)
}

test.each<[what: string, send: (queue: RetryQueue, file: File) => Promise<unknown>]>([
  ['fetch', (queue, body) => queue.fetch(ORDERS, { method: 'POST', body })],
  ['enqueue', (queue, body) => queue.enqueue(ORDERS, { method: 'POST', body })],
  ['Axios', viaAxios],
])('the error of a file that was changed, or deleted, since it was picked names it: %s', async (_, send) => {
  for (const change of [(path: string) => writeFileSync(path, 'longer than it was'), rmSync]) {
    const { queue, server } = await setup()
    const path = freshPath()
    writeFileSync(path, 'as picked')
    const file = new File([await openAsBlob(path)], 'report.pdf')
    change(path)
    const error = await send(queue, file).then(String, (thrown: DOMException) => thrown)
    expect(error).toMatchObject({
      name: 'NotReadableError',
      message: expect.stringMatching(/'report\.pdf' .*changed.*pick it again/),
      cause: { name: 'NotReadableError' },
    })
    expect(`${error}`).not.toContain(dirname(path))
    expect(server.hits).toBe(0)
  }
})

test('the error of another body that cannot be read is its own', async () => {
  const { queue } = await setup()
  const path = freshPath()
  writeFileSync(path, 'as picked')
  const blob = await openAsBlob(path)
  rmSync(path)
  const words = 'The blob could not be read'
  await expect(queue.fetch(ORDERS, { method: 'POST', body: blob })).rejects.toThrow(words)
  const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('broken')) })
  const request = new Request(ORDERS, { method: 'POST', body: broken, duplex: 'half' } as RequestInit)
  await expect(queue.fetch(request)).rejects.toThrow('broken')
})
