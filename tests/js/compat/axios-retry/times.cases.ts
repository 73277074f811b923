/** Waits and time limits. Only the least time is measured: a machine may be busy. */

import { expect } from 'vitest'
import { afterResets, always, attach, type Cases, failed } from './subject.ts'

/** The times between the requests that a server has seen, in milliseconds. */
const pauses = (requests: readonly { readonly at: number }[]): number[] =>
  requests.slice(1).map(({ at }, i) => at - (requests[i]?.at ?? at))

/** A timer may be a little early. */
const EARLY_MS = 5

export const times: Cases = {
  'retryDelay is asked for each retry, with its number and the error': async (subject) => {
    const asked: unknown[] = []
    const { server, api } = await attach(subject, {
      retryCondition: always,
      retryDelay: (count, { response }) => asked.push([count, response?.status]) * 0,
    })
    server.reply(500).reply(404).reply(400)
    await api.get('/')
    expect(asked).toEqual([
      [1, 500],
      [2, 404],
      [3, 400],
    ])
  },

  'it waits for as long as retryDelay says': async (subject) => {
    const { server, api } = await afterResets(3, subject, { retryDelay: subject.linearDelay(40) })
    await api.get('/')
    for (const [i, ms] of pauses(server.requests).entries()) expect(ms).toBeGreaterThanOrEqual(40 * (i + 1) - EARLY_MS)
    expect(server.hits).toBe(4)
  },

  'no number, and a negative one, is no wait': async (subject) => {
    for (const ms of [undefined, Number.NaN, -1_000]) {
      const { server, api } = await afterResets(1, subject, { retryDelay: () => ms as number })
      await api.get('/')
      expect(server.hits).toBe(2)
    }
  },

  '`Retry-After` is waited for where no retryDelay is given': async (subject) => {
    const { server, api } = await attach(subject)
    server.reply(503, { 'retry-after': '1' })
    await api.get('/')
    expect(pauses(server.requests)[0]).toBeGreaterThanOrEqual(1_000 - EARLY_MS)
  },

  'a retryDelay of one’s own is not lengthened by `Retry-After`': async (subject) => {
    const { server, api } = await attach(subject, { retryDelay: () => 1 })
    server.reply(503, { 'retry-after': '3600' })
    await api.get('/', { timeout: 60_000 })
    expect(server.hits).toBe(2)
  },

  '`Retry-After: 3000000` is no wait at all': async (subject) => {
    const { server, api } = await attach(subject)
    server.reply(503, { 'retry-after': '3000000' })
    expect((await api.get('/')).status).toBe(200)
    expect(server.hits).toBe(2)
  },

  'a timeout is not tried again': async (subject) => {
    const { server, api } = await attach(subject)
    server.hang()
    expect(await failed(api.get('/', { timeout: 500 }))).toMatchObject({ code: 'ECONNABORTED', retryCount: 0 })
    expect(server.hits).toBe(1)
  },

  'a timeout may be tried again, each attempt with all of it, where shouldResetTimeout is true': async (subject) => {
    const { server, api } = await attach(subject, { retryCondition: always, shouldResetTimeout: true })
    server.hang()
    server.hang()
    const { status, config } = await api.get('/', { timeout: 500 })
    expect([status, server.hits, config.timeout]).toEqual([200, 3, 500])
  },

  '`timeout` is of all attempts: what is left is the next one’s': async (subject) => {
    const left: (number | undefined)[] = []
    const { api } = await afterResets(2, subject, {
      retryDelay: () => 10,
      onRetry: (_count, _error, { timeout }) => void left.push(timeout),
    })
    await api.get('/', { timeout: 60_000 })
    const [first = 0, second = 0] = left
    expect(first).toBeLessThanOrEqual(59_990)
    expect(second).toBeLessThanOrEqual(first - 10)
    expect(second).toBeGreaterThan(0)
  },

  'a retry that would come after the `timeout` is not made': async (subject) => {
    const told: number[] = []
    const { server, api } = await afterResets(1, subject, {
      retryDelay: () => 60_000,
      onRetry: (count) => void told.push(count),
      onMaxRetryTimesExceeded: () => void told.push(-1),
    })
    const error = await failed(api.get('/', { timeout: 60_000 }))
    expect(error).toMatchObject({ code: 'ECONNRESET', retryCount: 1 })
    expect([server.hits, told]).toEqual([1, []])
  },

  'the config says when its attempt was begun': async (subject) => {
    const begun: (number | undefined)[] = []
    const before = Date.now()
    const { server, api } = await afterResets(2, subject, {
      retryDelay: () => 20,
      onRetry: (_count, { config }) => void begun.push(config?.['axios-retry']?.lastRequestTime),
    })
    const { config } = await api.get('/')
    begun.push(config['axios-retry']?.lastRequestTime)
    const times = [before, ...begun.map(Number), Date.now()]
    expect(times).toEqual(times.toSorted((one, other) => one - other))
    expect(begun.map((at, i) => Number(at) <= (server.requests[i]?.at ?? 0))).toEqual([true, true, true])
  },
}
