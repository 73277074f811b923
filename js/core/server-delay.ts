/** Picks the lines of an answer's headers that may name a wait, and has the core turn them into delays: which count is decided there. */

import { fails } from '../call/fetch-repeat.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import { FIRST, type FirstPolicy } from '../options/first-policy.ts'
import type { Engine } from './engine.ts'

export interface ServerDelay {
  /** From now; NaN: nothing; -1: something that cannot be read. */
  readonly serverDelayMs: number
  /** Until requests are left again, from now; NaN: some are left, or nothing was said. */
  readonly rateLimitMs: number
  /** That limit is one partition's. */
  readonly partitioned: boolean
  /** The failure asks for another attempt, whatever its status says by itself. */
  readonly asked: boolean
}

const NOTHING: ServerDelay = {
  serverDelayMs: Number.NaN,
  rateLimitMs: Number.NaN,
  partitioned: false,
  asked: false,
}
const NAMES_A_WAIT = /retry-after|rate-?limit/i

export function serverDelayOf(
  { glue, scratch }: Engine,
  answer: RepeatAnswer | null,
  policy: FirstPolicy | undefined,
  now: number,
): ServerDelay {
  if (!answer) return NOTHING
  const { status } = answer
  const failed = fails(policy ?? FIRST, status)
  let lines = ''
  if (failed) {
    answer.eachHeader((name, value) => {
      if (NAMES_A_WAIT.test(name)) lines += line(name.toLowerCase(), value)
    })
  } else {
    const limit = answer.header('ratelimit')
    if (limit !== null) lines = line('ratelimit', limit)
  }
  if (lines === '') return NOTHING
  const text = line('date', answer.header('date') ?? '') + lines
  const [serverDelayMs = Number.NaN, rateLimitMs = Number.NaN, partitioned, asked] = glue.said(
    scratch.text(text),
    status,
    failed,
    now,
  )
  return { serverDelayMs, rateLimitMs, partitioned: partitioned === 1, asked: asked === 1 }
}

const line = (name: string, value: string): string => `${name}:${value}\n`
