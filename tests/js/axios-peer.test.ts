/** What goes wrong with axios-retry, shown beside the same call through a queue. */

import { Readable } from 'node:stream'
import axios, { type AxiosInstance } from 'axios'
import axiosRetry from 'axios-retry'
import { describe, expect, test } from 'vitest'
import { BodyNotReplayableError } from '../../js/index.ts'
import type { AxiosServer } from './axios-server.ts'
import { failure, keysOf, setup, startServer } from './axios-setup.ts'

async function peer(options: Parameters<typeof axiosRetry>[1]): Promise<{ server: AxiosServer; api: AxiosInstance }> {
  const server = await startServer()
  const api = axios.create({ adapter: 'http', baseURL: server.url })
  axiosRetry(api, { retries: 2, ...options })
  return { server, api }
}

describe('a POST whose answer is lost', () => {
  test('axios-retry, told to retry it, repeats it with nothing for the server to know it by', async () => {
    const { server, api } = await peer({ retryCondition: () => true })
    server.reset()
    await api.post('/orders', { sku: 'a' })
    expect(keysOf(server)).toEqual([undefined, undefined])
  })

  test('ours carries the same key', async () => {
    const { server, api } = await setup('http')
    server.reset()
    await api.post('/orders', { sku: 'a' })
    const [first, second] = keysOf(server)
    expect(first).toBeTruthy()
    expect(second).toBe(first)
  })
})

describe('a stream as body', () => {
  test('axios-retry sends it empty the second time', async () => {
    const { server, api } = await peer({ retryCondition: () => true })
    server.reply(503)
    await api.put('/file', Readable.from(['precious'])).catch(() => {})
    expect(server.requests.map((request) => String(request.body))).toEqual(['precious', ''])
  })

  test('ours refuses it before anything is sent', async () => {
    const { server, api } = await setup('http')
    expect(await failure(api.put('/file', Readable.from(['precious'])))).toBeInstanceOf(BodyNotReplayableError)
    expect(server.hits).toBe(0)
  })
})

describe('Retry-After: 3000000', () => {
  const headers = { 'retry-after': '3000000' }

  test('axios-retry tries again at once: the delay overflows a timer', async () => {
    const { server, api } = await peer({ retryDelay: axiosRetry.exponentialDelay })
    server.reply(503, headers)
    const before = Date.now()
    expect((await api.get('/')).status).toBe(200)
    expect(Date.now() - before).toBeLessThan(5_000)
    expect(server.hits).toBe(2)
  })

  test('ours gives the answer to the caller, who would have to wait for 34 days', async () => {
    const { server, api } = await setup('http')
    server.reply(503, headers)
    expect((await failure(api.get('/'))).redrive).toMatchObject({ reason: 'retry_after_too_long' })
    expect(server.hits).toBe(1)
  })
})
