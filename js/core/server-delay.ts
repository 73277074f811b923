/** Reads the fields of an answer that name a wait, and has the core turn them into delays. */

import type { RepeatAnswer } from '../call/transport.ts'
import { NONE } from './codes.ts'
import type { Engine } from './engine.ts'

export interface ServerDelay {
  /** From now; NaN: nothing; -1: something that cannot be read. */
  readonly serverDelayMs: number
  /** Until requests are left again, from now; NaN: some are left, or nothing was said. */
  readonly rateLimitMs: number
  /** That limit is one partition's. */
  readonly partitioned: boolean
}

const NO_LIMIT = { rateLimitMs: Number.NaN, partitioned: false } as const
const NOTHING: ServerDelay = { serverDelayMs: Number.NaN, ...NO_LIMIT }

/** When a quota begins anew: of the older drafts, of GitHub and many others, of X and others. The field beside it says what is left. */
const RESETS = ['ratelimit-reset', 'x-ratelimit-retry-after', 'x-ratelimit-reset', 'x-rate-limit-reset'] as const

/** `listed`: statuses that the policy takes for failures. */
export function serverDelayOf(
  engine: Engine,
  answer: RepeatAnswer | null,
  listed: readonly number[],
  now: number,
): ServerDelay {
  if (!answer) return NOTHING
  const failed = answer.status >= 400 || listed.includes(answer.status)
  const limit = answer.header('ratelimit')
  const limits = limit === null ? NO_LIMIT : rateLimit(engine, limit)
  // the field of the standard is the better one, where it names a wait
  const serverDelayMs = failed ? serverDelay(engine, answer, Number.isNaN(limits.rateLimitMs), now) : Number.NaN
  return { serverDelayMs, ...limits }
}

function serverDelay({ glue, scratch }: Engine, answer: RepeatAnswer, readsReset: boolean, now: number): number {
  let reset: string | undefined
  if (readsReset) for (const name of RESETS) if (reset === undefined && answer.header(name) !== null) reset = name
  const waits = [answer.header('retry-after'), answer.header('retry-after-ms')]
  if (waits[0] === null && waits[1] === null && !reset) return Number.NaN
  const names = reset ? ['date', reset, reset.replace(/reset$|retry-after$/, 'remaining')] : ['date']
  const values = [...waits, ...names.map((name) => answer.header(name))]
  const lengths = scratch.all(values.map((value) => value ?? ''))
  const length = (i: number) => ((values[i] ?? null) === null ? NONE : (lengths[i] ?? 0))
  return glue.server_delay(length(0), length(1), length(2), length(3), length(4), answer.status, now)
}

function rateLimit({ glue, scratch }: Engine, header: string): Omit<ServerDelay, 'serverDelayMs'> {
  const [remaining, resetMs = Number.NaN, partitioned] = glue.parse_rate_limit(scratch.text(header))
  return remaining === 0 ? { rateLimitMs: resetMs, partitioned: partitioned === 1 } : NO_LIMIT
}
