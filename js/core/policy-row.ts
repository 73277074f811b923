/** A policy as the row of numbers that crosses to the core. */

import type { RetryPolicy } from '../api/policy.ts'
import { codesOf, FIRST } from '../options/first-policy.ts'
import { JITTERS, POLICY_FIELDS, STRATEGIES } from './codes.ts'

/** The layout the core reads; NaN where the policy says nothing. */
export function policyFields(policy: Partial<RetryPolicy>): Float64Array {
  const delays = policy.delaysMs ?? []
  const statuses = codesOf(policy.retryableStatusCodes ?? FIRST.retryableStatusCodes)
  const numbers = POLICY_FIELDS.map((name) => {
    const value = policy[name]
    if (typeof value !== 'string') return Number(value ?? Number.NaN)
    return (name === 'strategy' ? STRATEGIES : (JITTERS as readonly string[])).indexOf(value as never)
  })
  return Float64Array.from([...numbers, delays.length, statuses.length, ...delays, ...statuses])
}
