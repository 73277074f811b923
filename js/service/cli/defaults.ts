/**
 * The policy of tasks that name none. Three flags are one formula: the wait before retry n is
 *
 *     base + n^exponent s + n * rand(0..jitter)
 *
 * Two of them and a default for the third would be a curve that no user chose, so all three are given, or none.
 */

import { presets } from 'redrive'
import type { Core, RetryPolicy } from 'redrive/core'
import { backgroundOf, DAY_MS, MAX_MS } from 'redrive/internal'
import type { FlagValues } from './flag-values.ts'
import { UsageError } from './io.ts'
import { suggestion } from './nearest.ts'

export type DefaultFlags = Pick<
  FlagValues,
  'defaultPolicy' | 'defaultRetryLimit' | 'defaultBackoffBase' | 'defaultBackoffExponent' | 'defaultBackoffJitter'
>

interface Around {
  /** Those of the configuration. */
  readonly policies: readonly RetryPolicy[]
  readonly attemptTimeout: number
  readonly core: Pick<Core, 'backoffSchedule'>
}

/** Throws a UsageError where the flags do not fit each other, or name a policy that there is not. */
export function defaultPolicyOf(flags: DefaultFlags, { policies, attemptTimeout, core }: Around): RetryPolicy {
  const policy = formulaOf(flags) ?? named(flags.defaultPolicy ?? 'default', policies)
  if (flags.defaultRetryLimit === undefined) return policy
  return withRetries(policy, flags.defaultRetryLimit, attemptTimeout, core)
}

function formulaOf(flags: DefaultFlags): RetryPolicy | undefined {
  const { defaultBackoffBase: baseMs, defaultBackoffExponent: exponent, defaultBackoffJitter: jitterMs } = flags
  const parts = [
    ['--default-backoff-base', baseMs],
    ['--default-backoff-exponent', exponent],
    ['--default-backoff-jitter', jitterMs],
  ] as const
  const given = parts.filter(([, value]) => value !== undefined).map(([name]) => name)
  const missing = parts.filter(([, value]) => value === undefined).map(([name]) => name)
  const [first] = given
  if (first === undefined) return undefined
  if (flags.defaultPolicy !== undefined) {
    throw new UsageError(`--default-policy and ${first} exclude each other: both choose the curve`)
  }
  if (baseMs === undefined || exponent === undefined || jitterMs === undefined) {
    const are = missing.length === 1 ? 'is' : 'are'
    throw new UsageError(`${missing.join(' and ')} ${are} missing: base, exponent and jitter form one formula`)
  }
  return { policyId: 'default', strategy: 'polynomial', baseMs, exponent, jitterMs }
}

/** A policy of the configuration, or a preset; `default` is what a task without any policy has. */
export function named(name: string, policies: readonly RetryPolicy[], label = '--default-policy'): RetryPolicy {
  const found = policies.find(({ policyId }) => policyId === name)
  if (found) return found
  if (name === 'default') return { policyId: 'default' }
  const preset = Object.entries(presets).find(([each]) => each === name)?.[1]
  if (preset) return preset
  const names = ['default', ...Object.keys(presets), ...policies.map(({ policyId }) => policyId)]
  throw new UsageError(`${label}: there is no policy '${name}'; ${suggestion(name, names)}`)
}

/**
 * The policy with so many retries, and with the time that they take at most: a budget that ended them before would make the limit a lie.
 * Targets have to remember keys for as long. A whole number of days.
 */
function withRetries(policy: RetryPolicy, retries: number, attemptTimeout: number, core: Around['core']): RetryPolicy {
  const limited = { ...policy, policyId: 'default', maxAttempts: retries + 1 }
  const {
    keyTtlMs,
    totalBudgetMs = keyTtlMs,
    attemptTimeoutMs = attemptTimeout,
    ...curve
  } = backgroundOf({ given: limited })
  const longestMs = core.backoffSchedule({ ...curve, keyTtlMs }).at(-1)?.totalMaxMs ?? 0
  const neededMs = Math.min(MAX_MS, Math.ceil((longestMs + (retries + 1) * attemptTimeoutMs) / DAY_MS) * DAY_MS)
  if (neededMs <= totalBudgetMs) return limited
  return { ...limited, totalBudgetMs: neededMs, keyTtlMs: Math.max(keyTtlMs, neededMs) }
}
