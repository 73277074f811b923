import { Readable } from 'node:stream'
import { runInNewContext } from 'node:vm'
import axios, { type AxiosInstance } from 'axios'
import { FormData as UndiciForm } from 'undici'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { BodyNotReplayableError, type Sign } from '../../js/index.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { ADAPTERS, eventually, failure, setup } from './axios-setup.ts'
import { window } from './jsdom.ts'

interface NodeFormData {
  append(name: string, value: unknown, options: { knownLength: number; filename: string }): void
  hasKnownLength(): boolean
}

const FILE = Uint8Array.of(0, 255, 10)

function webForm(): FormData {
  const form = new FormData()
  form.set('name', 'Zoë')
  form.set('file', new Blob([FILE]), 'raw.bin')
  return form
}

/** Of another library than the platform's own. */
function libraryForm(): UndiciForm {
  const form = new UndiciForm()
  form.set('name', 'A-1')
  form.set('file', new Blob([FILE], { type: 'image/png' }), 'raw.png')
  return form
}

/** Of the form-data package; its length is known, and it can be sent only once all the same. */
function formWithStream(): unknown {
  const form = axios.toFormData({}) as unknown as NodeFormData
  form.append('file', Readable.from(['abc']), { knownLength: 3, filename: 'a' })
  expect(form.hasKnownLength()).toBe(true)
  return form
}

describe.each(ADAPTERS)('the data of a call, with the %s adapter', (adapter) => {
  test.each<[string, () => unknown, string, string]>([
    ['an object', () => ({ a: 1 }), '{"a":1}', 'application/json'],
    ['a string', () => 'grüße', 'grüße', 'application/x-www-form-urlencoded'],
    ['a Buffer', () => Buffer.from('xbytesx').subarray(1, 6), 'bytes', 'application/x-www-form-urlencoded'],
    ['an ArrayBuffer', () => new TextEncoder().encode('bytes').buffer, 'bytes', 'application/x-www-form-urlencoded'],
    [
      'URLSearchParams',
      () => new URLSearchParams({ a: 'b c' }),
      'a=b+c',
      'application/x-www-form-urlencoded;charset=utf-8',
    ],
  ])('%s is the same on every attempt', async (_, data, text, type) => {
    const { server, api } = await setup(adapter, { answers: [503, 503] })
    await api.post('/', data())
    expect(server.requests.map((request) => String(request.body))).toEqual([text, text, text])
    expect(server.requests.map((request) => request.headers['content-type'])).toEqual([type, type, type])
  })

  test('bytes that the caller changes afterwards are sent as they were', async () => {
    const { server, api } = await setup(adapter)
    const release = server.hang()
    const bytes = Buffer.from('before')
    const call = api.post('/', bytes)
    await eventually(() => server.hits).toBe(1)
    bytes.fill('!')
    release(503)
    await call
    expect(server.requests.map((request) => String(request.body))).toEqual(['before', 'before'])
  })

  test.for<[what: string, send: (api: AxiosInstance) => Promise<unknown>]>([
    ['FormData', (api) => api.post('/', webForm())],
    ['postForm with a Buffer', (api) => api.postForm('/', { name: 'Zoë', file: Buffer.from(FILE), list: [1, 2] })],
  ])('%s has the same bytes and boundary on every attempt', async ([, send]) => {
    const { server, api } = await setup(adapter, { answers: [503, 503] })
    await send(api)
    const [first, ...others] = server.requests
    expect(first?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/)
    for (const part of [Buffer.from(FILE), Buffer.from('Zoë')]) expect(first?.body.includes(part)).toBe(true)
    expect(others).toHaveLength(2)
    for (const other of others) {
      expect(other.headers).toEqual(first?.headers)
      expect(other.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true)
    }
  })

  test('the form of jsdom, where it is the global one, is sent as axios sends it', async () => {
    vi.stubGlobal('FormData', window.FormData)
    onTestFinished(() => void vi.unstubAllGlobals())
    const { server, api } = await setup(adapter)
    const form = () => {
      const data = new window.FormData()
      data.append('name', 'Zoë')
      return data
    }
    // without redrive, for comparison
    await api.post('/', form(), { redrive: false }).catch(() => {})
    server.reply(503)
    await api.post('/', form())
    const sent = server.requests.map(({ headers, body }) => [
      headers['content-type']?.replace(/boundary=.*/, ''),
      String(body).replace(/^--.*$/gm, ''),
    ])
    expect(sent).toEqual([sent[0], sent[0], sent[0]])
  })

  test.each<[string, () => unknown, part: string, type: RegExp]>([
    ['FormData of undici', libraryForm, 'filename="raw.png"', /^multipart\/form-data; boundary=/],
    [
      'an ArrayBuffer of another context',
      () => runInNewContext('new Uint8Array([65, 45, 49]).buffer'),
      'A-1',
      /urlenc/,
    ],
    ['a Blob of jsdom', () => new window.Blob(['A-1'], { type: 'image/png' }), 'A-1', /urlenc|image/],
    ['URLSearchParams of no transform', () => new URLSearchParams('sku=A-1'), 'sku=A-1', /urlenc/],
  ])('%s is sent, and signed, as its bytes', async (_, data, part, type) => {
    const signed: Buffer[] = []
    const sign: Sign = ({ body }) => {
      signed.push(Buffer.from(body))
      return {}
    }
    const { server, api } = await setup(adapter, { sign, answers: [503] })
    await api.request({ method: 'POST', data: data(), transformRequest: [(given) => given] })
    expect(server.requests).toHaveLength(2)
    expect(server.requests.map(({ body }) => body)).toEqual(signed)
    expect(String(signed[0])).toContain(part)
    for (const { headers } of server.requests) expect(headers['content-type']).toMatch(type)
  })

  test('URLSearchParams of no transform have their content type by any method', async () => {
    const { server, api } = await setup(adapter)
    await api.delete('/', { data: new URLSearchParams('a=1'), transformRequest: [(given) => given] })
    expect(server.requests[0]?.headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/)
  })

  test('a body whose bytes are unknown is sent as axios sends it, and refused where they are needed', async () => {
    vi.stubGlobal('FormData', window.FormData)
    onTestFinished(() => void vi.unstubAllGlobals())
    const form = () => new window.FormData()
    const sign = () => ({})
    for (const options of [
      { sign },
      { idempotency: { mode: 'content', scope: 'test' } },
      { store: memoryStore() },
    ] as const) {
      const { server, api } = await setup(adapter, { principal: null, ...options, answers: [503] })
      const error = await failure(api.post('/', form()))
      expect(error).toBeInstanceOf(BodyNotReplayableError)
      expect(error.message).toBe(
        `POST ${server.url}: a body of an unknown kind cannot be kept: make text or an ArrayBuffer of it`,
      )
      expect(server.hits).toBe('store' in options ? 1 : 0)
    }
  })

  test.each([
    ['its own type', { type: 'image/png' }, {}],
    ["the caller's", {}, { 'content-type': 'image/png' }],
  ])('a Blob keeps %s', async (_, options, headers) => {
    const { server, api } = await setup(adapter, { answers: [503] })
    // without redrive, for comparison
    await api.post('/', new Blob(['pixels'], options), { headers, redrive: false }).catch(() => {})
    await api.post('/', new Blob(['pixels'], options), { headers })
    const types = server.requests.map((request) => request.headers['content-type'])
    expect(types).toEqual([types[0], types[0]])
    expect(server.requests.map((request) => String(request.body))).toEqual(['pixels', 'pixels'])
  })

  test.each(['image/png', ''])(
    'a Blob of type "%s" is stored with the content type that it is sent with',
    async (type) => {
      const store = memoryStore()
      const { server, queue, api } = await setup(adapter, { store, principal: null, answers: [503, 503] })
      await api.post('/', new Blob(['pixels'], { type }), { redrive: false }).catch(() => {})
      const { data } = await api.post<{ taskId: string }>('/', new Blob(['pixels'], { type }), {
        redrive: { mode: 'defer', waitMs: 0 },
      })
      const stored = await store.get(data.taskId)
      await queue.result(data.taskId)
      const sent = server.requests.map(({ headers }) => headers['content-type'])
      expect(sent).toEqual(Array(3).fill(stored?.headers['content-type']))
    },
  )

  test.each<[string, () => unknown]>([
    ['a Node stream', () => Readable.from(['once'])],
    ['a web stream', () => new Blob(['once']).stream()],
    ['a form with a stream in it', formWithStream],
  ])('%s is refused before anything is sent', async (_, data) => {
    const { server, queue, api } = await setup(adapter)
    const error = await failure(api.post('/orders?token=1', data()))
    expect(error).toBeInstanceOf(BodyNotReplayableError)
    expect(error.message).toContain(`POST ${server.url}: a stream`)
    expect(error.message).not.toContain('token')
    expect(server.hits).toBe(0)
    expect(queue.stats()).toMatchObject({ attempts: 0, depth: 0 })
  })

  test('a stream goes through with redrive: false', async () => {
    const { server, api } = await setup(adapter, { answers: [503] })
    expect((await failure(api.post('/', Readable.from(['once']), { redrive: false }))).response?.status).toBe(503)
    expect(server.requests.map((request) => String(request.body))).toEqual(['once'])
  })

  test('data over maxBodyBytes is sent once', async () => {
    const { server, queue, api } = await setup(adapter, { maxBodyBytes: 10, answers: [503, 503, 503] })
    expect((await failure(api.post('/', 'x'.repeat(11)))).response?.status).toBe(503)
    expect(server.hits).toBe(1)
    expect(queue.stats().deadLetters).toBe(0)
    await api.post('/', 'x'.repeat(10))
    expect(server.hits).toBe(1 + 3)
  })

  test('a Blob over maxBodyBytes is not copied, and sent once', async () => {
    const { server, api } = await setup(adapter, { maxBodyBytes: 10, answers: [503] })
    const blob = new Blob(['x'.repeat(11)])
    blob.arrayBuffer = () => Promise.reject(new Error('read by the queue'))
    expect((await failure(api.post('/', blob))).response?.status).toBe(503)
    expect(server.hits).toBe(1)
  })
})
