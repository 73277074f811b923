/**
 * Published schedules as complete policies: attempts, budget and key lifetime included. `keyTtlMs` says how long the
 * server has to remember a key for the whole schedule to be safe: make sure that yours does.
 */

import type { RetryPolicy } from '../api/policy.ts'
import { DAY_MS } from '../platform/clock.ts'

export const presets: Readonly<Record<'zizq' | 'sidekiq' | 'aws' | 'grpc' | 'svix', RetryPolicy>> = {
  /** Zizq's default: 25 retries over 24.99 days on average. */
  zizq: {
    policyId: 'zizq',
    strategy: 'polynomial',
    baseMs: 15_000,
    exponent: 4,
    jitterMs: 30_000,
    maxAttempts: 26,
    totalBudgetMs: 30 * DAY_MS,
    keyTtlMs: 30 * DAY_MS,
  },
  /** Sidekiq's: 25 retries over 20.47 days on average. */
  sidekiq: {
    policyId: 'sidekiq',
    strategy: 'sidekiq',
    maxAttempts: 26,
    totalBudgetMs: 25 * DAY_MS,
    keyTtlMs: 25 * DAY_MS,
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
    totalBudgetMs: DAY_MS,
    keyTtlMs: DAY_MS,
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
    totalBudgetMs: DAY_MS,
    keyTtlMs: DAY_MS,
  },
  /** Svix's schedule for webhooks: 8 attempts within 27.6 hours. */
  svix: {
    policyId: 'svix',
    strategy: 'table',
    delaysMs: [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000],
    maxAttempts: 8,
    totalBudgetMs: 2 * DAY_MS,
    keyTtlMs: 2 * DAY_MS,
  },
}
