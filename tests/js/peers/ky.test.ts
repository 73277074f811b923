/**
 * Cases of ky's own tests of retrying, in our words: what ky's users may count on. Where we differ on purpose, the name says so;
 * docs/differences.md says why.
 */

import { expect, test } from 'vitest'
import type { RetryContext } from '../../../js/index.ts'
import { type Case, type Ended, ended, POST } from './peer.ts'

/** ky's defaults, as docs name them: two retries, and the statuses that the peers share. */
const KY = { maxAttempts: 3, retryableStatusCodes: 'broad' } as const
const ONLY_413 = { retryableStatusCodes: [413] }
const LOST = new TypeError('Failed to fetch')
const LATE = new DOMException('late', 'TimeoutError')
const OWN = new TypeError('body is not a function')
const MINE = new Error('mine')

const asked = (header: string, status = 503): Case['server'] => [[status, { 'retry-after': header }]]
const unkeyed = { options: { idempotency: false }, init: POST } as const
const patient = { init: { redrive: { waitMs: 1_500 } } }
const says = (word: unknown): Partial<Case> => ({ options: { shouldRetry: () => word as boolean } })
const throws = { options: { shouldRetry: () => Promise.reject(MINE) } }
const isLocked = ({ response }: RetryContext) => response?.headers.get('x-code') === 'LOCKED' || undefined
const locked = { options: { shouldRetry: isLocked } }

test.for<[what: string, given: Case, wanted: Partial<Ended>]>([
  ['a lost connection is tried again', { server: [LOST] }, { status: 200, hits: 2 }],
  ['a 500 and a 503', { server: [500, 503] }, { status: 200, hits: 3 }],
  ['a 408', { server: [408] }, { status: 200, hits: 2 }],
  ['a 404 is not', { server: [404] }, { status: 404, hits: 1 }],
  ['nor a 413 without Retry-After', { server: [413] }, { status: 413, hits: 1 }],
  ['a status that is listed', { policy: { retryableStatusCodes: [404] }, server: [404] }, { status: 200, hits: 2 }],
  ['one that is not', { policy: { retryableStatusCodes: [404] }, server: [500] }, { status: 500, hits: 1 }],
  ['an empty list', { policy: { retryableStatusCodes: [] }, server: [503] }, { status: 503, hits: 1 }],
  ['the number of retries is kept to', { server: [500, 500, 500, 500] }, { status: 500, hits: 3 }],
  ['no retries at all', { policy: { ...KY, maxAttempts: 1 }, server: [500] }, { status: 500, hits: 1 }],
  ['on purpose: a POST is tried again', { init: POST, server: [500] }, { status: 200, hits: 2 }],
  ['on purpose: not without a key', { ...unkeyed, server: [500] }, { status: 500, hits: 1 }],
  ['on purpose: nor where it was lost', { ...unkeyed, server: [LOST] }, { error: LOST, hits: 1 }],
  ['on purpose: a timeout is tried again', { server: [LATE] }, { status: 200, hits: 2 }],
  ['unless that is off', { policy: { ...KY, retryTimeouts: false }, server: [LATE] }, { error: LATE, hits: 1 }],
  ['a TypeError that is no lost connection is not', { server: [OWN] }, { error: OWN, hits: 1 }],
  ['unless shouldRetry says so', { ...says(true), server: [OWN] }, { status: 200, hits: 2 }],
  ['shouldRetry: false prevents', { ...says(false), server: [500] }, { status: 500, hits: 1 }],
  ['shouldRetry: true forces', { ...says(true), server: [404] }, { status: 200, hits: 2 }],
  ['its promise, too', { ...says(Promise.resolve(true)), server: [404, 404, 404] }, { status: 404, hits: 3 }],
  ['it sees the answer', { ...locked, server: [[423, { 'x-code': 'LOCKED' }]] }, { status: 200 }],
  ['whatever that says', { ...locked, server: [[423, { 'x-code': 'GONE' }]] }, { status: 423 }],
  ['what it throws', { ...throws, server: [500] }, { error: MINE, hits: 1 }],
  ['totalTimeout is waitMs', { ...patient, server: [500, 500, 500] }, { status: 500, hits: 2 }],
  ['whatever a hook says', { ...patient, ...says(true), server: [500, 500, 500] }, { status: 500, hits: 2 }],
  ['or a server', { ...patient, server: asked('2') }, { status: 503, hits: 1 }],
  [
    'on purpose: no less than was asked',
    { policy: { ...KY, maxRetryAfterMs: 5_000 }, server: asked('6') },
    { hits: 1 },
  ],
  ...[undefined, null, 'yes', 0].flatMap((word): [string, Case, Partial<Ended>][] => [
    [`shouldRetry: ${word} leaves it to the policy`, { ...says(word), server: [500] }, { status: 200, hits: 2 }],
    [`shouldRetry: ${word} likewise`, { ...says(word), server: [404] }, { status: 404, hits: 1 }],
  ]),
])('%s', async ([, given, wanted]) => {
  expect(await ended({ policy: KY, ...given })).toMatchObject(wanted)
})

test.for<[what: string, given: Case, waits: readonly (number | readonly [least: number, under: number])[]]>([
  ['Retry-After 0 is now', { server: asked('0') }, [0]],
  ['in seconds', { server: asked('9') }, [[9_000, 12_000]]],
  // the clock of these tests begins here
  ['as a date', { server: asked('Tue, 01 Jan 2030 00:00:09 GMT') }, [[9_000, 12_000]]],
  ['as a date of RFC 850', { server: asked('Tuesday, 01-Jan-30 00:00:09 GMT') }, [[9_000, 12_000]]],
  ['as a date of asctime', { server: asked('Tue Jan  1 00:00:09 2030') }, [[9_000, 12_000]]],
  ...['0x10', 'soon', '', '2030-01-01', 'Tue, 32 Jan 2030 00:00:09 GMT'].map((word): [string, Case, number[]] => [
    `${word} leaves the wait to the policy`,
    { server: asked(word) },
    [1_000],
  ]),
  [
    'it comes before RateLimit-Reset',
    { server: [[429, { 'retry-after': '2', 'ratelimit-reset': '90' }]] },
    [[2_000, 4_000]],
  ],
  [
    'on purpose: where it cannot be read, RateLimit-Reset is',
    { server: [[429, { 'retry-after': 'soon', 'ratelimit-reset': '90' }]] },
    [[90_000, 100_000]],
  ],
  ...['ratelimit-reset', 'x-ratelimit-reset', 'x-rate-limit-reset', 'x-ratelimit-retry-after'].flatMap((name) =>
    ['90', `${Date.UTC(2030, 0, 1) / 1_000 + 90}`].map((value): [string, Case, [number, number][]] => [
      `${name} of ${value}`,
      { server: [[429, { [name]: value }]] },
      [[90_000, 100_000]],
    ]),
  ),
  [
    'on purpose: 413 is tried again where it is listed',
    { policy: ONLY_413, server: [413, ...asked('9', 413)] },
    [1_000, [9_000, 12_000]],
  ],
  [
    'the longest wait of the curve',
    { policy: { ...KY, maxAttempts: 5, maxDelayMs: 2_000 }, server: [500, 500, 500, 500] },
    [1_000, 2_000, 2_000, 2_000],
  ],
  [
    'a delay of one’s own',
    { options: { delay: ({ attemptNumber }) => attemptNumber * 70 }, server: [500, 500] },
    [70, 140],
  ],
  ['jitter is laid on top of it', { policy: { ...KY, jitterType: 'FULL' }, server: asked('9') }, [[9_000, 12_000]]],
])('waits: %s', async ([, given, waits]) => {
  const { waits: got } = await ended({ policy: KY, ...given })
  expect(got).toHaveLength(waits.length)
  for (const [i, wanted] of waits.entries()) {
    const [least, under] = typeof wanted === 'number' ? [wanted, wanted + 1] : wanted
    expect(got[i]).toBeGreaterThanOrEqual(least)
    expect(got[i]).toBeLessThan(under)
  }
})
