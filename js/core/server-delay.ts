/** Reads Retry-After, retry-after-ms, Date and RateLimit from an answer and has the core turn them into delays. */

import type { RepeatAnswer } from '../call/transport.ts'
import { NONE } from './codes.ts'
import type { Engine } from './engine.ts'

export interface ServerDelay {
  /** From now; NaN: nothing; -1: something that cannot be read. */
  readonly serverDelayMs: number
  /** Until requests are left again, from now; NaN: some are left, or nothing was said. */
  readonly rateLimitMs: number
}

const NOTHING: ServerDelay = { serverDelayMs: Number.NaN, rateLimitMs: Number.NaN }

/** `listed`: statuses that the policy takes for failures. */
export function serverDelayOf(
  engine: Engine,
  answer: RepeatAnswer | null,
  listed: readonly number[],
  now: number,
): ServerDelay {
  if (!answer) return NOTHING
  const failed = answer.status >= 400 || listed.includes(answer.status)
  const serverDelayMs = failed ? serverDelay(engine, answer, now) : Number.NaN
  const limit = answer.header('ratelimit')
  return limit === null ? { ...NOTHING, serverDelayMs } : { serverDelayMs, rateLimitMs: rateLimit(engine, limit) }
}

function serverDelay({ glue, scratch }: Engine, answer: RepeatAnswer, now: number): number {
  const after = answer.header('retry-after')
  const afterMs = answer.header('retry-after-ms')
  if (after === null && afterMs === null) return Number.NaN
  const date = answer.header('date')
  const lengths = scratch.all([after ?? '', afterMs ?? '', date ?? ''])
  const length = (header: string | null, i: number) => (header === null ? NONE : (lengths[i] ?? 0))
  return glue.server_delay(length(after, 0), length(afterMs, 1), length(date, 2), now)
}

function rateLimit({ glue, scratch }: Engine, header: string): number {
  const [remaining = Number.NaN, resetMs = Number.NaN] = glue.parse_rate_limit(scratch.text(header))
  return remaining === 0 ? resetMs : Number.NaN
}
