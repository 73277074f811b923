/**
 * The two policies of a queue that says nothing about policies, and published schedules as complete policies: attempts, budget and key lifetime included. `keyTtlMs` says how long the
 * server has to remember a key for the whole schedule to be safe: make sure that yours does. Times are written out, since a
 * bundler keeps a product that goes unused, and so are the first two: what an entry passes on and what the queue has of them are in different chunks.
 */

import type { GivenPolicy } from '../api/policy.ts'
import { DEFAULT_ATTEMPTS } from '../core/generated/codes.ts'

/**
 * Complete policies by name: `interactive` and `background`, which a queue follows by default, and schedules that others have published.
 * Each is a plain object, to be used as `policy` or as a part of one.
 *
 * @example
 * const queue = new RetryQueue({ policy: presets.svix })
 *
 * @example
 * const queue = new RetryQueue({ policy: { ...presets.svix, maxAttempts: 5 } })
 */
export const presets: Readonly<
  Record<'interactive' | 'background' | 'zizq' | 'sidekiq' | 'aws' | 'grpc' | 'svix', GivenPolicy>
> = {
  /** A call whose caller waits: 12 attempts, exponential from 500 ms to 8 s with full jitter, within `waitMs`. */
  interactive: {
    policyId: 'interactive',
    strategy: 'exponential',
    maxAttempts: DEFAULT_ATTEMPTS,
    initialDelayMs: 500,
    multiplier: 2,
    maxDelayMs: 8_000,
    jitterType: 'FULL',
  },
  /** Calls in the background, by `enqueue`, `mode: 'defer'` or a Worker's 202: from 1 s up to 10 min, for as long as their key is safe. */
  background: {
    policyId: 'background',
    strategy: 'spread',
    maxAttempts: 1_000_000,
    initialDelayMs: 1_000,
    multiplier: 1.5,
    maxDelayMs: 600_000,
  },
  /** Zizq's default: 25 retries over 24.99 days on average. */
  zizq: {
    policyId: 'zizq',
    strategy: 'polynomial',
    baseMs: 15_000,
    exponent: 4,
    jitterMs: 30_000,
    maxAttempts: 26,
    totalBudgetMs: 2_592_000_000,
    keyTtlMs: 2_592_000_000,
  },
  /** Sidekiq's: 25 retries over 20.47 days on average. */
  sidekiq: {
    policyId: 'sidekiq',
    strategy: 'sidekiq',
    maxAttempts: 26,
    totalBudgetMs: 2_160_000_000,
    keyTtlMs: 2_160_000_000,
  },
  /** The AWS SDKs' standard mode: 3 attempts, full jitter up to 20 s. */
  aws: {
    policyId: 'aws',
    strategy: 'exponential',
    initialDelayMs: 1_000,
    multiplier: 2,
    maxDelayMs: 20_000,
    jitterType: 'FULL',
    maxAttempts: 3,
    totalBudgetMs: 86_400_000,
    keyTtlMs: 86_400_000,
  },
  /** gRPC's proposal A6, the policy of its example: 4 attempts, .1 s doubling to 1 s, a fifth of jitter. */
  grpc: {
    policyId: 'grpc',
    strategy: 'exponential',
    initialDelayMs: 100,
    multiplier: 2,
    maxDelayMs: 1_000,
    jitterType: 'PROPORTIONAL',
    jitterRatio: 0.2,
    maxAttempts: 4,
    retryableStatusCodes: [429, 502, 503, 504],
    totalBudgetMs: 86_400_000,
    keyTtlMs: 86_400_000,
  },
  /** Svix's schedule for webhooks: 8 attempts within 27.6 hours. */
  svix: {
    policyId: 'svix',
    strategy: 'table',
    delaysMs: [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000],
    maxAttempts: 8,
    totalBudgetMs: 172_800_000,
    keyTtlMs: 172_800_000,
  },
}
