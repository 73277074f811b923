/**
 * Cases of axios-retry's own tests, in our words, with Axios. Where we differ on purpose, the name says so; docs/differences.md says
 * why.
 */

import { AxiosError } from 'axios'
import { expect, test } from 'vitest'
import type { RetryContext, RetryNotice } from '../../../js/index.ts'
import { failure, setup } from '../axios-setup.ts'

/** Three retries, as is its default. */
const RETRIES = { maxAttempts: 4 } as const
const BROAD = { retryableStatusCodes: 'broad' } as const

test('a success is passed on', async () => {
  const { server, api } = await setup('http')
  expect((await api.get('/')).status).toBe(200)
  expect(server.hits).toBe(1)
})

test('a lost connection is tried again; transformRequest runs once', async () => {
  const { server, api } = await setup('http')
  let runs = 0
  server.reset()
  await api.post(
    '/',
    { tea: 1 },
    {
      transformRequest: [
        (data) => {
          runs++
          return JSON.stringify(data)
        },
      ],
    },
  )
  expect([server.hits, runs]).toEqual([2, 1])
})

test('no retries at all, and more errors than retries', async () => {
  const { server, api } = await setup('http', { policy: RETRIES })
  server.reset()
  await failure(api.get('/', { redrive: { policy: { maxAttempts: 1 } } }))
  expect(server.hits).toBe(1)
  for (let i = 0; i < 5; i++) server.reset()
  const error = await failure(api.get('/', { redrive: { policy: { strategy: 'fixed', initialDelayMs: 1 } } }))
  expect([error.code, server.hits]).toEqual(['ECONNRESET', 5])
})

test('retryCondition is shouldRetry: of the client, of the call, and one that gives a promise', async () => {
  const { server, api } = await setup('http', { shouldRetry: ({ error }) => Promise.resolve(error === undefined) })
  server.reset()
  await failure(api.get('/'))
  expect(server.hits).toBe(1)
  server.reply(404)
  expect((await api.get('/')).status).toBe(200)
  server.reply(404)
  await failure(api.get('/', { redrive: { shouldRetry: () => false } }))
  expect(server.hits).toBe(4)
})

test.each(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])('%s with a 5xx is tried again', async (method) => {
  const { server, api } = await setup('http', { policy: BROAD })
  server.reply(500)
  await api.request({ method, url: '/' })
  expect(server.hits).toBe(2)
})

test('on purpose: POST and PATCH too, under one key', async () => {
  for (const method of ['POST', 'PATCH']) {
    const { server, api } = await setup('http', { policy: BROAD })
    server.reply(500)
    await api.request({ method, url: '/' })
    expect(server.hits).toBe(2)
  }
})

test('an error without a config, and one of a request that was aborted, is not tried again', async () => {
  for (const error of [new Error('of an interceptor'), new AxiosError('canceled', 'ERR_CANCELED')]) {
    let hits = 0
    const adapter = () => {
      hits++
      return Promise.reject(error)
    }
    const { api } = await setup('http', {}, { adapter } as object)
    expect(await failure(api.get('/'))).toMatchObject({ message: error.message })
    expect(hits).toBe(1)
  }
})

test('on purpose: a timeout is tried again, also of a request that is not idempotent', async () => {
  let hits = 0
  const adapter = () => {
    hits++
    return Promise.reject(new AxiosError('timeout of 5ms exceeded', 'ECONNABORTED'))
  }
  const { api } = await setup('http', {}, { adapter } as object)
  await failure(api.post('/', {}))
  expect(hits).toBe(3)
})

test('retryDelay is delay; Retry-After is heeded whatever it says', async () => {
  const asked: number[] = []
  const delay = ({ attemptNumber }: RetryContext) => {
    asked.push(attemptNumber)
    return 1
  }
  const { server, api } = await setup('http', { delay })
  server.reset().reset()
  await api.get('/')
  expect(asked).toEqual([1, 2])
  server.reply(503, { 'retry-after': '1' })
  const began = performance.now()
  await api.get('/')
  expect(performance.now() - began).toBeGreaterThanOrEqual(995)
})

test('onRetry: once for each retry, of the call; on purpose it is not waited for, and decides nothing', async () => {
  const heard: RetryNotice[] = []
  const { server, api, queue } = await setup('http')
  queue.on('retry', (retry) => heard.push(retry))
  server.reset().reply(503)
  const onRetry = async (retry: RetryNotice) => {
    heard.push(retry)
  }
  await api.get('/', { redrive: { onRetry } })
  expect(heard.map(({ status, log }) => [log.attemptNumber, status])).toEqual([
    [1, null],
    [1, null],
    [2, 503],
    [2, 503],
  ])
})

test('onMaxRetryTimesExceeded is on(exhausted)', async () => {
  const { server, api, queue } = await setup('http')
  const heard: string[] = []
  queue.on('exhausted', ({ reason }) => heard.push(reason))
  server.reset().reset().reset()
  await failure(api.get('/'))
  expect(heard).toEqual(['max_attempts'])
})

test('on purpose: an answer that validateResponse would refuse is tried again by its status alone', async () => {
  const { server, api } = await setup('http', { policy: { retryableStatusCodes: [200] } })
  server.reply(200)
  server.reply(201)
  expect((await api.get('/')).status).toBe(201)
  expect(server.hits).toBe(2)
})

test('detaching it leaves the client as it was', async () => {
  const { server, api, detach } = await setup('http')
  detach()
  server.reply(503)
  expect((await failure(api.get('/'))).response?.status).toBe(503)
  expect(server.hits).toBe(1)
})
