import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import axios from 'axios'
import { describe, expect, test } from 'vitest'
import { BodyNotReplayableError } from '../../js/index.ts'
import { ADAPTERS, eventually, failure, setup } from './axios-setup.ts'

interface NodeFormData {
  append(name: string, value: unknown, options: { knownLength: number; filename: string }): void
  hasKnownLength(): boolean
}

const HERE = fileURLToPath(import.meta.url)

function webForm(): FormData {
  const form = new FormData()
  form.set('name', 'Zoë')
  form.set('file', new Blob([Uint8Array.of(0, 255, 10)]), 'raw.bin')
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
    const { server, api } = await setup(adapter)
    server.reply(503).reply(503)
    await api.post('/', data())
    expect(server.requests.map((request) => String(request.body))).toEqual([text, text, text])
    expect(server.requests.map((request) => request.headers['content-type'])).toEqual([type, type, type])
  })

  test('no data at all', async () => {
    const { server, api } = await setup(adapter)
    server.reply(503)
    await api.delete('/orders/1')
    expect(server.requests.map((request) => request.body.length)).toEqual([0, 0])
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

  test('FormData has the same bytes and boundary on every attempt', async () => {
    const { server, api } = await setup(adapter)
    server.reply(503).reply(503)
    await api.post('/', webForm())
    const [first, ...others] = server.requests
    const type = first?.headers['content-type'] ?? ''
    expect(type).toMatch(/^multipart\/form-data; boundary=/)
    const read = await new Response(new Uint8Array(first?.body ?? []), { headers: { 'content-type': type } }).formData()
    expect(read.get('name')).toBe('Zoë')
    expect(new Uint8Array(await (read.get('file') as File).arrayBuffer())).toEqual(Uint8Array.of(0, 255, 10))
    for (const other of others) {
      expect(other.headers['content-type']).toBe(type)
      expect(other.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true)
    }
  })

  test('postForm with a Buffer has the same bytes on every attempt', async () => {
    const { server, api } = await setup(adapter)
    server.reply(503).reply(503)
    await api.postForm('/', { name: 'a', file: Buffer.from([0, 255, 10]), list: [1, 2] })
    const [first, ...others] = server.requests
    expect(first?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/)
    expect(first?.body.includes(Buffer.from([0, 255, 10]))).toBe(true)
    for (const other of others) {
      expect(other.headers).toEqual(first?.headers)
      expect(other.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true)
    }
  })

  test.each([
    ['its own type', { type: 'image/png' }, {}],
    ["the caller's", {}, { 'content-type': 'image/png' }],
  ])('a Blob keeps %s', async (_, options, headers) => {
    const { server, api } = await setup(adapter)
    server.reply(503)
    // without redrive, for comparison
    await api.post('/', new Blob(['pixels'], options), { headers, redrive: false }).catch(() => {})
    await api.post('/', new Blob(['pixels'], options), { headers })
    const types = server.requests.map((request) => request.headers['content-type'])
    expect(types).toEqual([types[0], types[0]])
    expect(server.requests.map((request) => String(request.body))).toEqual(['pixels', 'pixels'])
  })

  test.each<[string, () => unknown]>([
    ['a Node stream', () => Readable.from(['once'])],
    ['a web stream', () => new Blob(['once']).stream()],
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
    const { server, api } = await setup(adapter)
    server.reply(503)
    expect((await failure(api.post('/', Readable.from(['once']), { redrive: false }))).response?.status).toBe(503)
    expect(server.requests.map((request) => String(request.body))).toEqual(['once'])
  })

  test('a file stream in postForm is refused, even with a known length', async () => {
    const { server, api } = await setup(adapter)
    const file = createReadStream(HERE)
    expect(await failure(api.postForm('/', { file }))).toBeInstanceOf(BodyNotReplayableError)
    // the form-data package
    const form = axios.toFormData({}) as unknown as NodeFormData
    form.append('file', Readable.from(['abc']), { knownLength: 3, filename: 'a' })
    expect(form.hasKnownLength()).toBe(true)
    expect(await failure(api.post('/', form))).toBeInstanceOf(BodyNotReplayableError)
    expect(server.hits).toBe(0)
    file.destroy()
  })

  test('data over maxBodyBytes is sent once', async () => {
    const { server, queue, api } = await setup(adapter, { maxBodyBytes: 10 })
    server.reply(503).reply(503).reply(503)
    expect((await failure(api.post('/', 'x'.repeat(11)))).response?.status).toBe(503)
    expect(server.hits).toBe(1)
    expect(queue.stats().deadLetters).toBe(0)
    await api.post('/', 'x'.repeat(10))
    expect(server.hits).toBe(1 + 3)
  })

  test('a Blob over maxBodyBytes is not copied, and sent once', async () => {
    const { server, api } = await setup(adapter, { maxBodyBytes: 10 })
    server.reply(503)
    const blob = new Blob(['x'.repeat(11)])
    blob.arrayBuffer = () => Promise.reject(new Error('read by the queue'))
    expect((await failure(api.post('/', blob))).response?.status).toBe(503)
    expect(server.hits).toBe(1)
  })
})
