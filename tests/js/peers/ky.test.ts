/**
 * Cases of ky's own tests of retrying, in our words: what ky's users may count on. Where we differ on purpose, the name says so;
 * docs/differences.md says why.
 */

import { expect, test } from 'vitest'
import type { RetryContext } from '../../../js/index.ts'
import { ended, POST } from './peer.ts'

/** ky's defaults, as docs name them: two retries, and the statuses that the peers share. */
const KY = { maxAttempts: 3, retryableStatusCodes: 'broad' } as const

test.each([
  ['a lost connection', [new TypeError('Failed to fetch')], 2],
  ['a 500', [500], 2],
  ['two of them', [500, 503], 3],
  ['a 408', [408], 2],
] as const)('%s is tried again', async (_what, server, hits) => {
  expect(await ended({ policy: KY, server })).toMatchObject({ status: 200, hits })
})

test.each([
  ['a 400', [400], 400],
  ['a 404', [404], 404],
  ['a 413 without Retry-After', [413], 413],
] as const)('%s is not', async (_what, server, status) => {
  expect(await ended({ policy: KY, server })).toMatchObject({ status, hits: 1 })
})

test('only the statuses that are listed', async () => {
  const policy = { retryableStatusCodes: [404] }
  expect(await ended({ policy, server: [404] })).toMatchObject({ status: 200, hits: 2 })
  expect(await ended({ policy, server: [500] })).toMatchObject({ status: 500, hits: 1 })
  expect(await ended({ policy: { retryableStatusCodes: [] }, server: [503] })).toMatchObject({ status: 503, hits: 1 })
})

test('the number of retries is kept to, and none at all', async () => {
  expect(await ended({ policy: KY, server: [500, 500, 500, 500] })).toMatchObject({ status: 500, hits: 3 })
  expect(await ended({ policy: { ...KY, maxAttempts: 1 }, server: [500] })).toMatchObject({ status: 500, hits: 1 })
})

test('on purpose: a POST is tried again, under one key, and without one it is not', async () => {
  expect(await ended({ policy: KY, init: POST, server: [500] })).toMatchObject({ status: 200, hits: 2 })
  const options = { idempotency: false } as const
  expect(await ended({ policy: KY, options, init: POST, server: [500] })).toMatchObject({ status: 500, hits: 1 })
  const lost = await ended({ policy: KY, options, init: POST, server: [new TypeError('Failed to fetch')] })
  expect([lost.hits, lost.error]).toMatchObject([1, { message: 'Failed to fetch' }])
})

test('Retry-After in seconds, as a date, and 0 for now', async () => {
  const waits = async (header: string) =>
    (await ended({ policy: KY, server: [[503, { 'retry-after': header }]] })).waits[0] ?? -1
  expect(await waits('0')).toBe(0)
  expect(await waits('9')).toBeGreaterThanOrEqual(9_000)
  // the clock of these tests begins here
  expect(await waits('Tue, 01 Jan 2030 00:00:09 GMT')).toBeGreaterThanOrEqual(9_000)
  expect(await waits('Tuesday, 01-Jan-30 00:00:09 GMT')).toBeGreaterThanOrEqual(9_000)
  expect(await waits('Tue Jan  1 00:00:09 2030')).toBeGreaterThanOrEqual(9_000)
})

test.each(['0x10', 'soon', '', '2030-01-01', 'Tue, 32 Jan 2030 00:00:09 GMT'])(
  'a Retry-After of %j leaves the wait to the policy',
  async (header) => {
    expect((await ended({ policy: KY, server: [[503, { 'retry-after': header }]] })).waits).toEqual([1_000])
  },
)

test('Retry-After comes before RateLimit-Reset', async () => {
  const { waits } = await ended({ policy: KY, server: [[429, { 'retry-after': '2', 'ratelimit-reset': '90' }]] })
  expect(waits[0]).toBeLessThan(4_000)
})

test('on purpose: where Retry-After cannot be read, RateLimit-Reset is', async () => {
  const { waits } = await ended({ policy: KY, server: [[429, { 'retry-after': 'soon', 'ratelimit-reset': '90' }]] })
  expect(waits[0]).toBeGreaterThanOrEqual(90_000)
})

test.each(['ratelimit-reset', 'x-ratelimit-reset', 'x-rate-limit-reset', 'x-ratelimit-retry-after'])(
  '%s as a delay, and as a time of the epoch',
  async (name) => {
    for (const value of ['90', `${Date.UTC(2030, 0, 1) / 1_000 + 90}`]) {
      const { waits } = await ended({ policy: KY, server: [[429, { [name]: value }]] })
      expect(waits[0]).toBeGreaterThanOrEqual(90_000)
      expect(waits[0]).toBeLessThan(100_000)
    }
  },
)

test('maxRetryAfter: on purpose we do not wait less than the server asked, but give up with its answer', async () => {
  const policy = { ...KY, maxRetryAfterMs: 5_000 }
  expect(await ended({ policy, server: [[503, { 'retry-after': '6' }]] })).toMatchObject({ status: 503, hits: 1 })
})

test('on purpose: 413 is tried again where it is listed, with Retry-After or without', async () => {
  const policy = { retryableStatusCodes: [413] }
  const { waits } = await ended({ policy, server: [413, [413, { 'retry-after': '9' }]] })
  expect(waits[0]).toBe(1_000)
  expect(waits[1]).toBeGreaterThanOrEqual(9_000)
})

test('the longest wait of the curve, and a delay of one’s own', async () => {
  const server = [500, 500, 500, 500]
  const capped = await ended({ policy: { ...KY, maxAttempts: 5, maxDelayMs: 2_000 }, server })
  expect(capped.waits).toEqual([1_000, 2_000, 2_000, 2_000])
  const delay = ({ attemptNumber }: RetryContext) => attemptNumber * 70
  expect((await ended({ policy: { ...KY, maxAttempts: 5 }, options: { delay }, server })).waits).toEqual([
    70, 140, 210, 280,
  ])
})

test('jitter is not laid over what a server asked for but on top of it', async () => {
  const policy = { ...KY, jitterType: 'FULL' } as const
  const { waits } = await ended({ policy, server: [[503, { 'retry-after': '9' }]] })
  expect(waits[0]).toBeGreaterThanOrEqual(9_000)
})

test('on purpose: a timeout is tried again, unless retryTimeouts is false', async () => {
  const late = new DOMException('late', 'TimeoutError')
  expect(await ended({ policy: KY, server: [late] })).toMatchObject({ status: 200, hits: 2 })
  const never = await ended({ policy: { ...KY, retryTimeouts: false }, server: [late] })
  expect(never).toMatchObject({ error: late, hits: 1 })
})

test('a TypeError that is no lost connection is not tried again, unless shouldRetry says so', async () => {
  const own = new TypeError('body is not a function')
  expect(await ended({ policy: KY, server: [own] })).toMatchObject({ error: own, hits: 1 })
  const options = { shouldRetry: () => true }
  expect(await ended({ policy: KY, options, server: [own] })).toMatchObject({ status: 200, hits: 2 })
})

test('shouldRetry: false prevents, undefined and what is no boolean leave it to the policy, true forces', async () => {
  const said = (word: unknown) => ({ shouldRetry: () => word as boolean })
  expect(await ended({ policy: KY, options: said(false), server: [500] })).toMatchObject({ status: 500, hits: 1 })
  for (const word of [undefined, null, 'yes', 0]) {
    expect(await ended({ policy: KY, options: said(word), server: [500] })).toMatchObject({ status: 200, hits: 2 })
    expect(await ended({ policy: KY, options: said(word), server: [404] })).toMatchObject({ status: 404, hits: 1 })
  }
  expect(await ended({ policy: KY, options: said(true), server: [404] })).toMatchObject({ status: 200, hits: 2 })
  expect(await ended({ policy: KY, options: said(Promise.resolve(true)), server: [404, 404, 404] })).toMatchObject({
    status: 404,
    hits: 3,
  })
})

test('shouldRetry: business logic by the answer, and what it throws', async () => {
  const shouldRetry = ({ response }: RetryContext) => response?.headers.get('x-code') === 'LOCKED' || undefined
  const options = { shouldRetry }
  expect(await ended({ policy: KY, options, server: [[423, { 'x-code': 'LOCKED' }]] })).toMatchObject({ status: 200 })
  expect(await ended({ policy: KY, options, server: [[423, { 'x-code': 'GONE' }]] })).toMatchObject({ status: 423 })
  const thrown = new Error('mine')
  const throws = { shouldRetry: () => Promise.reject(thrown) }
  expect(await ended({ policy: KY, options: throws, server: [500] })).toMatchObject({ error: thrown, hits: 1 })
})

test('totalTimeout is waitMs: a wait that cannot end inside it is not begun', async () => {
  const init = { redrive: { waitMs: 1_500 } }
  expect(await ended({ policy: KY, init, server: [500, 500, 500] })).toMatchObject({ status: 500, hits: 2 })
  const options = { shouldRetry: () => true }
  expect(await ended({ policy: KY, options, init, server: [500, 500, 500] })).toMatchObject({ status: 500, hits: 2 })
  const asked = await ended({ policy: KY, init, server: [[503, { 'retry-after': '2' }]] })
  expect(asked).toMatchObject({ status: 503, hits: 1 })
})
