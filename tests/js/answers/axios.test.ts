/** Answers to retries by Axios: their bodies are streamed, so that one that another attempt replaces is not read to its end. xhr is run in a browser. */

import { Agent } from 'node:http'
import type { Readable } from 'node:stream'
import axios, { type AxiosInstance, type ResponseType } from 'axios'
import { describe, expect, onTestFinished, test } from 'vitest'
import { attachToAxios } from '../../../js/adapters/axios.ts'
import { RetryQueue } from '../../../js/index.ts'
import { fakeClock } from '../../../js/testing.ts'
import { ADAPTERS, failure, QUICK, setup } from '../axios-setup.ts'
import { eventually } from '../eventually.ts'
import { NO_GATES, watch } from '../setup.ts'
import { hangs, serve } from './hanging-server.ts'

/** A body with a mark of its order at its head, letters of two bytes and all bytes there are. */
const BYTES = Buffer.concat([Buffer.from('\ufeff{"a":"ä€"}'), Buffer.from('x'.repeat(100_000))])

/** The answer as it can be compared, whatever holds its bytes. */
async function comparable(data: unknown): Promise<unknown> {
  if (data instanceof Blob) return ['Blob', data.type, Buffer.from(await data.arrayBuffer()).toString('hex')]
  if (data instanceof ArrayBuffer) return ['ArrayBuffer', Buffer.from(data).toString('hex')]
  if (Buffer.isBuffer(data)) return ['Buffer', data.toString('hex')]
  if (typeof data === 'object' && data !== null && Symbol.asyncIterator in data) {
    const parts: Uint8Array[] = []
    for await (const part of data as AsyncIterable<Uint8Array>) parts.push(part)
    return [data instanceof ReadableStream ? 'ReadableStream' : 'Readable', Buffer.concat(parts).toString('hex')]
  }
  return data
}

describe.each(ADAPTERS)('with the %s adapter', (adapter) => {
  const types: (ResponseType | undefined)[] = [undefined, 'text', 'json', 'arraybuffer', 'stream']
  if (adapter === 'fetch') types.push('blob')

  test.each(types)('a retry gives a success and a failure as axios does: responseType %s', async (responseType) => {
    const { server, api } = await setup(adapter)
    const headers = { 'content-type': 'application/json' }
    const config = { ...(responseType ? { responseType } : {}) }
    server.reply(200, headers, BYTES)
    const plain = await api.get('/', { ...config, redrive: false })
    server.reply(503).reply(200, headers, BYTES)
    const retried = await api.get('/', config)
    expect(await comparable(retried.data)).toEqual(await comparable(plain.data))
    expect(retried.config.responseType).toBe(plain.config.responseType)

    server.reply(400, headers, BYTES)
    const plainError = await failure(api.get('/', { ...config, redrive: false }))
    server.reply(503).reply(400, headers, BYTES)
    const error = await failure(api.get('/', config))
    expect(await comparable(error.response?.data)).toEqual(await comparable(plainError.response?.data))
    expect([error.name, error.message, error.code]).toEqual([plainError.name, plainError.message, plainError.code])
    expect(error.redrive).toMatchObject({ reason: 'not_retryable' })
  })

  test.each(types)(
    'a retry that is answered without a body gives what axios does: responseType %s',
    async (responseType) => {
      const { server, api } = await setup(adapter)
      const config = { ...(responseType ? { responseType } : {}) }
      server.reply(204).reply(503).reply(204)
      const plain = await api.get('/', { ...config, redrive: false })
      expect(await comparable((await api.get('/', config)).data)).toEqual(await comparable(plain.data))
    },
  )

  test('maxContentLength is axios’ own to hold', async () => {
    const { server, api } = await setup(adapter, {}, { maxContentLength: 50_000 })
    server.reply(503).reply(200, {}, BYTES)
    expect((await failure(api.get('/'))).message).toContain('maxContentLength')
  })

  test('the body of a success is held to axios’ timeout', async () => {
    const { api, hits } = await hanging(adapter, 200, { timeout: 300 })
    const error = await failure(api.get('/'))
    expect([error.name, error.code]).toEqual(['AxiosError', adapter === 'http' ? 'ECONNABORTED' : 'ETIMEDOUT'])
    expect(hits()).toBe(3)
  })

  test('S7 a failure whose body hangs ends with its time, and so does its connection', async () => {
    const { api, hits, server, queue } = await hanging(adapter, 503)
    expect((await api.get('/', { redrive: { mode: 'defer' } })).status).toBe(202)
    await queue.idle()
    expect(hits()).toBe(3)
    await eventually(() => server.answers).toBe(0)
  })

  test.each([503, 404])('L5 a call whose retry is answered %i without end settles with that', async (status) => {
    const clock = fakeClock()
    const policy = { attemptTimeoutMs: 3_000, maxAttempts: 2 }
    const { server, api, queue } = await setup(adapter, { clock, policy })
    server.reply(503).dribble(status)
    const call = watch(failure(api.post('/orders', 'A-1')))
    await eventually(() => clock.advance(1).then(() => server.hits)).toBe(2)
    // its headers have come by then: without them there is no status
    await eventually(() => server.dribbled).toBeGreaterThan(3)
    await eventually(() => clock.advance(1_000).then(() => call.state)).toBe('resolved')
    const response = call.value?.response
    expect(response?.status).toBe(status)
    expect(response?.data).toMatch(/^x+$/)
    await eventually(() => server.inFlight).toBe(0)
    expect(queue.stats()).toMatchObject({ depth: 0, inFlight: 0 })
  })

  const answers = ([[200], [503], [503, 200], [503, 503]] as const).flatMap((statuses) =>
    (['before it is read', 'once a part of it was read', 'while more of it is waited for'] as const).map(
      (when) => [statuses, when] as const,
    ),
  )
  test.each(answers)(
    'the stream of the last answer of %j, let go %s, closes its connection',
    async (statuses, when) => {
      let hits = 0
      const server = await serve((request, response) => hangs(statuses[hits++] ?? 500)(request, response))
      const queue = new RetryQueue({ ...NO_GATES, policy: { ...QUICK, maxAttempts: statuses.length } })
      onTestFinished(() => queue.close({ drainMs: 0 }))
      const api = axios.create({ adapter, baseURL: server.url, responseType: 'stream', validateStatus: () => true })
      attachToAxios(api, queue)
      const { status, data } = await api.get<Stream>('/')
      expect(status).toBe(statuses.at(-1))
      const { read, leave } = readerOf(data)
      if (when !== 'before it is read') expect(String(Buffer.from((await read()).value ?? []))).toBe('and then')
      const waiting = when === 'while more of it is waited for' ? read().catch(() => {}) : undefined
      await leave()
      await waiting
      await eventually(() => server.answers).toBe(0)
      expect(hits).toBe(statuses.length)
    },
  )

  test.each([200, 503])(
    'a stream of a %i that is read to its end leaves its connection to the next call',
    async (status) => {
      // short: what is left of a long one that no caller gets is not read
      const body = BYTES.subarray(0, 5_000)
      const server = await serve((_, response) => response.writeHead(status).end(body))
      const queue = new RetryQueue({ ...NO_GATES, policy: { ...QUICK, maxAttempts: 2 } })
      onTestFinished(() => queue.close({ drainMs: 0 }))
      const httpAgent = new Agent({ keepAlive: true })
      onTestFinished(() => httpAgent.destroy())
      const validateStatus = () => true
      const api = axios.create({ adapter, baseURL: server.url, responseType: 'stream', validateStatus, httpAgent })
      attachToAxios(api, queue)
      for (let i = 0; i < 5; i++) {
        const { data } = await api.get('/')
        expect((await comparable(data)) as string[]).toContain(body.toString('hex'))
      }
      // the platform's own fetch takes two as well, in turns
      expect(server.opened).toBeLessThanOrEqual(2)
    },
  )

  test('S22 a caller whose wait ends between two attempts gets the status, and what was there', async () => {
    const { api, queue, hits } = await hanging(adapter, 503, {}, 20_000)
    const call = failure(api.get('/'))
    await eventually(hits).toBe(2)
    await eventually(() => queue.stats().inFlight).toBe(0)
    await queue.close()
    const { response } = await call
    expect(response?.status).toBe(503)
    expect(response?.data).toBe('and then')
  })
})

type Stream = Readable | ReadableStream<Uint8Array>

/** Reads a stream, and lets it go as its users do. */
function readerOf(data: Stream): { read(): Promise<{ value?: Uint8Array | undefined }>; leave(): unknown } {
  if ('destroy' in data) {
    const parts = data[Symbol.asyncIterator]()
    return { read: () => parts.next(), leave: () => data.destroy() }
  }
  const reader = data.getReader()
  return { read: () => reader.read(), leave: () => reader.cancel() }
}

/** Its first attempt is answered 503 at once, and all others with a body that hangs. */
async function hanging(adapter: string, status: number, config: object = {}, lastMs = 1) {
  let hits = 0
  const server = await serve((request, response) => {
    hits++
    if (hits === 1) response.writeHead(503).end()
    else hangs(status)(request, response)
  })
  const policy = {
    strategy: 'table',
    delaysMs: [1, lastMs],
    maxDelayMs: 30_000,
    jitterType: 'NONE',
    maxAttempts: 3,
    // its attempts count for what is deferred, too
    policyId: 'three attempts',
  } as const
  const queue = new RetryQueue({ ...NO_GATES, policy })
  onTestFinished(() => queue.close({ drainMs: 0 }))
  const api: AxiosInstance = axios.create({ adapter, baseURL: server.url, ...config })
  attachToAxios(api, queue)
  return { server, queue, api, hits: () => hits }
}
