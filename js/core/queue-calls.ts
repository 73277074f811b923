/**
 * `admit`, `adopt` and `settle` of the core's queue with named arguments: the order in which their numbers cross is known here
 * alone. Nothing is decided here.
 */

import {
  RULED_ATTEMPTS,
  RULED_AUTHORIZE,
  RULED_COUNT,
  RULED_CURVE_MS,
  RULED_DELAY_MS,
  RULED_DUE_AT,
  RULED_HOLD_MS,
  RULED_MARKS,
  RULED_PHASE,
  RULED_PREVIOUS_DELAY_MS,
  RULED_REFUNDED,
  RULED_SERVER_MS,
  RULED_SPREAD_MS,
} from './codes.ts'
import type { Engine } from './engine.ts'
import type { CoreQueue } from './generated/queue/glue.js'

export interface Admitted {
  readonly now: number
  readonly lane: number
  readonly policy: number
  readonly priority: number
  readonly bytes: number
  /** `FLAG_*`, added up. */
  readonly flags: number
  readonly createdAt: number
  /** Infinity: never. This and the next. */
  readonly expiresAt: number
  readonly waitUntil: number
  /** The caller's own first attempt has just ended, and `settle` follows at once. */
  readonly started: boolean
}

export interface Admission extends Admitted {
  /** NONE: it is in no order. */
  readonly order: number
}

/** Takes a task into the queue: its slot, or NONE where the queue is full. */
export function admit(core: CoreQueue, task: Admission): number {
  const { now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, order, started } = task
  return core.admit(now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, order, started)
}

/** The core's notes that a task takes along from one lease to the next. */
export interface Carried {
  /** Position in the window of spread waits; -1: none yet. */
  readonly phase: number
  readonly previousDelayMs: number
  readonly marks: number
}

export interface Adoption extends Admitted, Carried {
  /** Infinity: not known, or never. */
  readonly firstAttemptAt: number
  /** Attempts made and not given back, this one included. */
  readonly attempts: number
  /** Attempts given back. */
  readonly refunds: number
}

/** The past of a task whose first attempt this is. */
export const UNTRIED: Pick<Adoption, keyof Carried | 'firstAttemptAt' | 'attempts' | 'refunds'> = {
  firstAttemptAt: Number.POSITIVE_INFINITY,
  attempts: 1,
  refunds: 0,
  phase: -1,
  previousDelayMs: 0,
  marks: 0,
}

/** Takes a task that a store has leased, for one attempt: its slot, or NONE where there are too many. */
export function adopt(core: CoreQueue, task: Adoption): number {
  const { now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, started } = task
  const { firstAttemptAt, attempts, refunds, phase, previousDelayMs, marks } = task
  // biome-ignore format: in the order in which they cross
  return core.adopt(
    now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil,
    firstAttemptAt, attempts, refunds, phase, previousDelayMs, marks, started,
  )
}

export interface EndedAttempt {
  readonly now: number
  readonly slot: number
  /** `OUTCOME_*`. */
  readonly outcome: number
  readonly status: number
  /** NaN where there is none: this and the next three. */
  readonly serverDelayMs: number
  readonly durationMs: number
  readonly rateLimitMs: number
  /** The wait of the user's hook, in place of the curve's. */
  readonly delayMs: number
  /** A Retry-After was there and could not be read. */
  readonly unusable: boolean
  /** The rate limit is one partition's: it holds no other request. */
  readonly partitioned: boolean
  /** `SAID_*`: the word of the user's hook. */
  readonly said: number
}

export interface Settled extends Carried {
  /** `VERDICT_*`, or a reason from ENDED on. */
  readonly verdict: number
  /** Until the next attempt; after VERDICT_PARKED the server's part of it. */
  readonly delayMs: number
  /** The wait of the curve alone. */
  readonly curveMs: number
  /** Part of what a server asked for is our own: its clients should not all come at once. */
  readonly spreadMs: number
  /** The next attempt follows a 401. */
  readonly authorize: boolean
  /** The attempt was given back. */
  readonly refunded: boolean
  /** How much of the delay is the server's: nothing undercuts it. */
  readonly serverMs: number
  /** The wait that the answer asked of the whole lane, before any limit; 0: none. */
  readonly holdMs: number
  /** Attempts made and not given back; 0 once the slot is free. */
  readonly attempts: number
  /** When the task may start again; NaN where no time is known, or the slot is free. */
  readonly dueAt: number
}

/** Tells the core how an attempt ended, and reads its ruling with the numbers behind it. */
export function settle({ memory }: Pick<Engine, 'memory'>, core: CoreQueue, ended: EndedAttempt): Settled {
  const { now, slot, outcome, status, serverDelayMs, durationMs, rateLimitMs, delayMs } = ended
  const { unusable, partitioned, said } = ended
  // biome-ignore format: in the order in which they cross
  const verdict = core.settle(
    now, slot, outcome, status, serverDelayMs, durationMs, rateLimitMs, unusable, partitioned, said, delayMs,
  )
  const numbers = new Float64Array(memory.buffer, core.decisionPtr(), RULED_COUNT)
  const at = (place: number) => numbers[place] as number
  return {
    verdict,
    delayMs: at(RULED_DELAY_MS),
    curveMs: at(RULED_CURVE_MS),
    spreadMs: at(RULED_SPREAD_MS),
    authorize: at(RULED_AUTHORIZE) === 1,
    phase: at(RULED_PHASE),
    previousDelayMs: at(RULED_PREVIOUS_DELAY_MS),
    marks: at(RULED_MARKS),
    refunded: at(RULED_REFUNDED) === 1,
    serverMs: at(RULED_SERVER_MS),
    holdMs: at(RULED_HOLD_MS),
    attempts: at(RULED_ATTEMPTS),
    dueAt: at(RULED_DUE_AT),
  }
}
