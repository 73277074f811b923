/**
 * A policy in the words of gRPC's service config (gRFC A6), which grpc-js and every other gRPC client retries by. A field that A6 has no word
 * for is refused: left out in silence, the policy would mean one thing in a queue and another in a gRPC client. What is not given is
 * A6's own affair, but for the five fields that its retryPolicy must have: there the queue's defaults hold.
 */

import type { RetryPolicy } from '../../api/policy.ts'
import { check, flag, list, type Rules, show } from '../../options/check.ts'
import type { ResolvedPolicy } from '../../options/policy.ts'
import { resolvePolicy } from '../../options/policy-rules.ts'
import { METHOD, type MethodName, methodOf } from './methods.ts'
import { UnsupportedPolicyError } from './unsupported.ts'

export type { MethodName } from './methods.ts'

/** The `retryPolicy` of gRFC A6. Durations are seconds, as in '0.5s'. */
export interface RetryPolicyA6 {
  readonly maxAttempts: number
  readonly initialBackoff: string
  readonly maxBackoff: string
  readonly backoffMultiplier: number
  readonly retryableStatusCodes: readonly string[]
}

/** A service config in its JSON form. */
export interface ServiceConfig {
  readonly methodConfig: readonly {
    /** `{}` is every method. */
    readonly name: readonly (MethodName | Record<string, never>)[]
    /** How long a call has, all its attempts together. */
    readonly timeout?: string
    readonly retryPolicy?: RetryPolicyA6
  }[]
}

export interface ServiceConfigOptions {
  /** The methods it is for, as 'shop.Orders/Create', or 'shop.Orders' for all of a service. @default all */
  readonly methods?: readonly string[]
  /** Says on the console when `maxAttempts` is cut to A6's 5. @default true */
  readonly warn?: boolean
}

const RULES: Rules<ServiceConfigOptions> = { methods: list(METHOD), warn: flag }

/** Clients treat more as 5. */
const MAX_ATTEMPTS = 5
/** The core's default for exponential waits. */
const MAX_DELAY_MS = 8_000
/** More seconds are no number of 32 bits to grpc-js: 68 years. */
const MAX_TIMEOUT_MS = 2 ** 31 * 1_000 - 1

/** Connect answers RESOURCE_EXHAUSTED with a 429 and UNAVAILABLE with a 503; a proxy's 502 or 504 is UNAVAILABLE to a gRPC client. */
const STATUSES: ReadonlyMap<number, string> = new Map([
  [429, 'RESOURCE_EXHAUSTED'],
  [502, 'UNAVAILABLE'],
  [503, 'UNAVAILABLE'],
  [504, 'UNAVAILABLE'],
])

type Refusals = {
  readonly [K in keyof RetryPolicy]?: {
    /** Which of its values can be said. Absent: none. */
    readonly ok?: (value: NonNullable<RetryPolicy[K]>) => boolean
    readonly fix: string
  }
}

const OTHER_CURVE = 'it shapes a strategy that gRPC does not have; leave it out'
const PASSES = 'a wait of 0 is none to gRPC; give 1 or more'

/** The fields that A6 has no word for, or not for each of their values. */
const REFUSALS: Refusals = {
  strategy: {
    ok: (value) => value === 'exponential' || value === 'fixed',
    fix: "its waits grow by a factor; use 'exponential' or 'fixed'",
  },
  jitterType: {
    ok: (value) => value === 'PROPORTIONAL',
    fix: "its waits vary by a fifth each way; use 'PROPORTIONAL', or leave it out",
  },
  jitterRatio: { ok: (value) => value === 0.2, fix: 'its waits vary by a fifth each way; use 0.2, or leave it out' },
  initialDelayMs: { ok: (value) => value > 0, fix: PASSES },
  maxDelayMs: { ok: (value) => value > 0, fix: PASSES },
  freshJitter: { fix: OTHER_CURVE },
  stepMs: { fix: OTHER_CURVE },
  baseMs: { fix: OTHER_CURVE },
  exponent: { fix: OTHER_CURVE },
  jitterMs: { fix: OTHER_CURVE },
  delaysMs: { fix: OTHER_CURVE },
  retryTimeouts: {
    ok: (value) => !value,
    fix: 'a deadline is that of all attempts together, and after it there is none; leave it out',
  },
  attemptTimeoutMs: {
    ok: (value) => value === 0,
    fix: 'it has no time limit of one attempt; leave it out, and give each call a deadline',
  },
  expect: { fix: 'it knows no HTTP status and no content type; leave it out' },
  estimatedCallMs: { fix: 'it looks ahead at no budget; leave it out' },
  maxRetryAfterMs: { fix: 'it waits as long as grpc-retry-pushback-ms asks; leave it out' },
}

/**
 * The service config that makes a gRPC client retry as `policy` says, to be given as
 * `{ 'grpc.service_config': JSON.stringify(serviceConfig(policy)) }`. Throws an `UnsupportedPolicyError` where gRPC cannot say what the policy says, and a
 * TypeError or RangeError where the policy is wrong. `presets.grpc` is the example of A6.
 */
export function serviceConfig(policy: Partial<RetryPolicy>, options: ServiceConfigOptions = {}): ServiceConfig {
  check('serviceConfig', options, RULES)
  const { methods, warn = true } = options
  const resolved = resolvePolicy(policy)
  for (const field of Object.keys(REFUSALS) as (keyof Refusals)[]) assertSaid(field, policy)
  const retryPolicy = resolved.maxAttempts === 1 ? {} : { retryPolicy: retryPolicyOf(policy, resolved) }
  const { maxAttempts = 1 } = policy
  if (maxAttempts > MAX_ATTEMPTS && warn) {
    console.warn(`redrive/grpc: maxAttempts ${maxAttempts} is ${MAX_ATTEMPTS} in a gRPC client, which knows no more`)
  }
  return { methodConfig: [{ name: methods?.map(methodOf) ?? [{}], ...timeoutOf(policy), ...retryPolicy }] }
}

function assertSaid<K extends keyof Refusals>(field: K, policy: Partial<RetryPolicy>): void {
  const value = policy[field]
  const refusal = REFUSALS[field]
  if (value === undefined || !refusal || refusal.ok?.(value)) return
  throw new UnsupportedPolicyError(field, show(value), refusal.fix)
}

function retryPolicyOf(given: Partial<RetryPolicy>, policy: ResolvedPolicy): RetryPolicyA6 {
  const { strategy, maxAttempts = MAX_ATTEMPTS, initialDelayMs, multiplier } = policy
  const isFixed = strategy === 'fixed'
  const maxDelayMs = policy.maxDelayMs ?? (isFixed ? initialDelayMs : MAX_DELAY_MS)
  const firstMs = Math.min(initialDelayMs, maxDelayMs)
  return {
    maxAttempts: Math.min(maxAttempts, MAX_ATTEMPTS),
    initialBackoff: duration(firstMs),
    maxBackoff: duration(isFixed ? firstMs : maxDelayMs),
    backoffMultiplier: isFixed ? 1 : multiplier,
    retryableStatusCodes: statusesOf(given, policy),
  }
}

function statusesOf(given: Partial<RetryPolicy>, resolved: ResolvedPolicy): readonly string[] {
  // the 408 among the defaults is about a request that is not whole, which no gRPC server answers
  const isOwn = given.retryableStatusCodes !== undefined
  const retryableStatusCodes = resolved.retryableStatusCodes.filter((code) => isOwn || STATUSES.has(code))
  const unknown = retryableStatusCodes.filter((code) => !STATUSES.has(code))
  const known = [...STATUSES.keys()].join(', ')
  if (unknown.length > 0) {
    throw new UnsupportedPolicyError('retryableStatusCodes', unknown.join(', '), `list some of ${known}, and no others`)
  }
  if (retryableStatusCodes.length === 0) {
    throw new UnsupportedPolicyError(
      'retryableStatusCodes',
      'an empty list',
      `list some of ${known}, or set maxAttempts to 1`,
    )
  }
  const statuses = [...new Set(retryableStatusCodes.map((code) => STATUSES.get(code) as string))]
  const { retryNetworkErrors } = given
  // a lost connection is UNAVAILABLE, as a 503 is
  if (retryNetworkErrors !== undefined && retryNetworkErrors !== statuses.includes('UNAVAILABLE')) {
    const fix = retryNetworkErrors ? 'add 503 to retryableStatusCodes' : 'list 429 alone in retryableStatusCodes'
    throw new UnsupportedPolicyError(
      'retryNetworkErrors',
      `${retryNetworkErrors} beside these retryableStatusCodes`,
      `a lost connection is UNAVAILABLE to it, as 502, 503 and 504 are; ${fix}`,
    )
  }
  return statuses
}

/** The bound of a task is the deadline of a call. None is given, as none is to the policy. */
function timeoutOf({ totalBudgetMs, keyTtlMs }: Partial<RetryPolicy>): { readonly timeout?: string } {
  const mostMs = totalBudgetMs ?? keyTtlMs
  return mostMs === undefined || mostMs > MAX_TIMEOUT_MS ? {} : { timeout: duration(mostMs) }
}

/** With all nine digits, where there are any: grpc-js reads those of a timeout as nanoseconds, however few they are. */
function duration(ms: number): string {
  const [seconds, rest] = [Math.floor(ms / 1_000), ms % 1_000]
  return rest === 0 ? `${seconds}s` : `${seconds}.${String(rest * 1_000_000).padStart(9, '0')}s`
}
