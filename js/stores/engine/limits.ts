/**
 * Limits of origins: which of them holds, and its tokens. For stores for everyone alone: no page and no Worker carries it.
 *
 * Tokens by GCRA: a lane or an origin remembers `tat`, the moment at which its bucket is full again, and no number of tokens. A bucket is
 * as good as new once `tat` has passed.
 */

import type { OriginLimit } from '../../api/claim.ts'
import {
  check,
  follow,
  int,
  list,
  num,
  object,
  oneOf,
  origin,
  type Rule,
  type Rules,
  text,
} from '../../options/check.ts'

/** A limit in the form that claims go by. */
export interface Limit {
  /** Infinity: none. */
  readonly concurrency: number
  /** All lanes of the origin count together. */
  readonly isShared: boolean
  readonly rate: Rate | undefined
}

export interface Rate {
  /** From one token to the next. */
  readonly intervalMs: number
  /** How much sooner than `tat` a token may be taken: an interval for each token of a burst but the first. */
  readonly leadMs: number
}

/** The tokens of a lane or an origin. */
export interface Bucket {
  /** When it is full again. In the past: it is. */
  tat: number
  /** When the next token may be taken. In the past: now. */
  tokenAt: number
}

/** Takes a token. What an earlier limit let others take in advance is not waited for: the next token is never farther away than an interval. */
export function takeToken(bucket: Bucket, { intervalMs, leadMs }: Rate, now: number): void {
  bucket.tat = Math.min(Math.max(now, bucket.tat), now + leadMs) + intervalMs
  // a whole millisecond, as the moments of all else are
  bucket.tokenAt = Math.ceil(bucket.tat - leadMs)
}

/**
 * Intervals are whole multiples of this: sums of them are then exact until 2109, and no token ever comes a little early. A double of
 * the size of an instant is rounded otherwise, and over many sums that adds up.
 */
const STEPS_PER_MS = 2 ** 11
const MOST = 1_000_000

function limitOf({ perSecond, burst = 1, concurrency = Number.POSITIVE_INFINITY, sharedBy }: OriginLimit): Limit {
  const intervalMs = perSecond && Math.ceil((1_000 * STEPS_PER_MS) / perSecond) / STEPS_PER_MS
  const rate = intervalMs ? { intervalMs, leadMs: (burst - 1) * intervalMs } : undefined
  return { concurrency, isShared: sharedBy === 'origin', rate }
}

export type Limits = ReadonlyMap<string, Limit>

const NONE: Limits = new Map()
/** A runner gives the same list with each claim. */
const known = new WeakMap<readonly OriginLimit[], Limits>()

/** The limits of a claim by what they say of origins: of two that say the same the first. Throws where one is not sound. */
export function limitsIn(limits: readonly OriginLimit[] = []): Limits {
  if (limits.length === 0) return NONE
  const read = known.get(limits)
  if (read) return read
  follow('claim.limits', limits, LIMITS)
  const made = new Map<string, Limit>()
  for (const limit of limits) {
    check('claim.limits', limit, LIMIT)
    follow('claim.limits.origins', limit.origins, ORIGINS)
    if (!made.has(limit.origins)) made.set(limit.origins, limitOf(limit))
  }
  known.set(limits, made)
  return made
}

/** The limit of an origin. Its name first; then its host with a label less each time, so that the longest is found first. */
export function limitFor(limits: Limits, origin: string): Limit | undefined {
  const exact = limits.get(origin)
  if (exact || limits.size === 0) return exact
  const host = origin.indexOf('//') + 2
  for (let dot = origin.indexOf('.', host); dot >= 0; dot = origin.indexOf('.', dot + 1)) {
    const found = limits.get(`${origin.slice(0, host)}*${origin.slice(dot)}`)
    if (found) return found
  }
  return undefined
}

const ORIGINS: Rule = {
  ...text,
  expected: "an exact origin such as 'https://api.test', or 'https://*.api.test' for the hosts below it",
  ok: (given: string) => origin.ok?.(given.replace('//*.', '//any.') as never) === true,
}

const LIMIT: Rules<OriginLimit> = {
  origins: ORIGINS,
  perSecond: num(1 / 86_400, MOST),
  burst: int(1, MOST),
  concurrency: int(1, MOST),
  sharedBy: oneOf('lane', 'origin'),
}
const LIMITS: Rule = list(object)
