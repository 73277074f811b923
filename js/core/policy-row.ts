/** A policy as the row of numbers that crosses to the core. */

import type { RetryPolicy } from '../api/policy.ts'
import { JITTERS, policyDefaults, STRATEGIES } from '../options/policy.ts'

/** The layout the core reads; NaN where the policy says nothing. */
export function policyFields(policy: Partial<RetryPolicy>): Float64Array {
  const delays = policy.delaysMs ?? []
  const statuses = policy.retryableStatusCodes ?? policyDefaults.retryableStatusCodes
  const index = (list: readonly string[], word: string | undefined) =>
    word === undefined ? undefined : list.indexOf(word)
  const fields = [
    index(STRATEGIES, policy.strategy),
    policy.maxAttempts,
    policy.initialDelayMs,
    policy.multiplier,
    policy.maxDelayMs,
    policy.totalBudgetMs,
    index(JITTERS, policy.jitterType),
    policy.jitterRatio,
    policy.freshJitter,
    policy.stepMs,
    policy.baseMs,
    policy.exponent,
    policy.jitterMs,
    policy.retryNetworkErrors === undefined ? undefined : Number(policy.retryNetworkErrors),
    policy.attemptTimeoutMs,
    policy.estimatedCallMs,
    policy.maxServerDelayMs,
    policy.keyTtlMs,
    delays.length,
    statuses.length,
    ...delays,
    ...statuses,
  ]
  return Float64Array.from(fields, (value) => value ?? Number.NaN)
}
