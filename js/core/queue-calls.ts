/**
 * `admit`, `adopt`, `settle` and `poll` of the core's queue with names for what crosses: the order of the numbers is known here
 * alone. Nothing is decided here.
 */

import type { ExhaustedReason, ReleaseCause } from '../api/task.ts'
import {
  BATCH,
  NEXT_ATTEMPTS,
  NEXT_AUTHORIZE,
  NEXT_CAUSE,
  NEXT_COUNT,
  NEXT_CURVE_MS,
  NEXT_DELAY_MS,
  NEXT_DUE_AT,
  NEXT_HOLD_MS,
  NEXT_KINDS,
  NEXT_MARKS,
  NEXT_NUMBER,
  NEXT_PHASE,
  NEXT_PREVIOUS_DELAY_MS,
  NEXT_REASON,
  NEXT_REFUNDED,
  NEXT_SERVER_MS,
  NEXT_SPREAD_MS,
  NONE,
  REASONS,
  RELEASE_CAUSES,
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
  /** When the caller's own first attempt began, which has just ended: `settle` follows at once. NaN: there was none. */
  readonly startedAt: number
}

/** Takes a task into the queue: its slot, or NONE where the queue is full. `order` NONE: it is in none. */
export function admit(core: CoreQueue, task: Admitted, order: number): number {
  const { now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, startedAt } = task
  return core.admit(now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, order, startedAt)
}

/** The core's notes that a task takes along from one lease to the next. */
interface Carried {
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
  /** When its store ends it, and why; undefined: `createdAt`, `expiresAt` and `firstAttemptAt` say. */
  readonly deadlineAt: number
  readonly deadlineReason: ExhaustedReason | undefined
}

/** The past of a task whose first attempt this is. */
export const UNTRIED: Omit<Adoption, keyof Admitted> = {
  firstAttemptAt: Number.POSITIVE_INFINITY,
  attempts: 1,
  refunds: 0,
  phase: -1,
  previousDelayMs: 0,
  marks: 0,
  deadlineAt: Number.POSITIVE_INFINITY,
  deadlineReason: undefined,
}

const reasonCode = (reason: ExhaustedReason | undefined): number => (reason ? REASONS.indexOf(reason) : NONE)

/** Takes a task that a store has leased, for one attempt: its slot, or NONE where there are too many. */
export function adopt(core: CoreQueue, task: Adoption): number {
  const { now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, startedAt } = task
  const { firstAttemptAt, attempts, refunds, phase, previousDelayMs, marks, deadlineAt, deadlineReason } = task
  // biome-ignore format: in the order in which they cross
  return core.adopt(
    now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil,
    firstAttemptAt, attempts, refunds, phase, previousDelayMs, marks, startedAt,
    deadlineAt, reasonCode(deadlineReason),
  )
}

/** The core's wishes, as `poll` leaves them. */
export class Actions {
  readonly #memory: WebAssembly.Memory
  readonly #at: number
  #pairs = new Uint32Array()

  constructor({ memory }: Pick<Engine, 'memory'>, core: CoreQueue) {
    this.#memory = memory
    this.#at = core.actionsPtr()
  }

  /** Slot and action in turns, in the core's memory. A view of it costs more than a look whether the last one still fits. */
  get pairs(): Uint32Array {
    const { buffer } = this.#memory
    if (this.#pairs.buffer !== buffer) this.#pairs = new Uint32Array(buffer, this.#at, 2 * BATCH)
    return this.#pairs
  }
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
  /** The answer asks for another attempt, as `ServerDelay` has it. */
  readonly asked: boolean
  /** The answer is marked as the replay of one that is stored under its key. */
  readonly replayed: boolean
  /** `FACT_*`, added up. */
  readonly facts: number
  /** The host's own reason, should the task end; undefined: it has none. */
  readonly reason: ExhaustedReason | undefined
}

/** The numbers of a task that goes on. */
export interface Settled extends Carried {
  /** Until the next attempt; of a task whose credentials were refused twice the server's part of it. */
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
  /** When the task may start again; NaN: it waits for no time. */
  readonly dueAt: number
}

/** The record of what follows an ended attempt. */
export interface Next {
  /**
   * `released`: due again, and the attempt does not count. `retry`: due again. `parked`: waits for `resume()`, or for what it lacks.
   * `lost`: another process has the task by now.
   */
  readonly kind: (typeof NEXT_KINDS)[number]
  /** Why the task is given up; undefined: it is not. */
  readonly reason: ExhaustedReason | undefined
  /** Why the attempt was given back; undefined: it was not. */
  readonly cause: ReleaseCause | undefined
  /** The number of the attempt; 0: it was the first, and never left. */
  readonly number: number
  /** Attempts made and not given back. */
  readonly attempts: number
  /** The wait that the answer asked of the whole lane, before any limit; 0: none. */
  readonly holdMs: number
  /** undefined: the task does not go on here. */
  readonly why: Settled | undefined
}

/** Tells the core how attempts end, and reads what follows. */
export class Verdicts {
  readonly #memory: WebAssembly.Memory
  readonly #core: CoreQueue
  readonly #at: number
  /** The last record, in the core's memory. */
  #numbers = new Float64Array()

  constructor({ memory }: Pick<Engine, 'memory'>, core: CoreQueue) {
    this.#memory = memory
    this.#core = core
    this.#at = core.decisionPtr()
  }

  settle(ended: EndedAttempt): Next {
    const { now, slot, outcome, status, serverDelayMs, durationMs, rateLimitMs, delayMs } = ended
    const { unusable, partitioned, said, asked, replayed, facts, reason } = ended
    // biome-ignore format: in the order in which they cross
    const code = this.#core.settle(
      now, slot, outcome, status, serverDelayMs, durationMs, rateLimitMs, unusable, partitioned, said, delayMs,
      asked, replayed, facts, reasonCode(reason),
    )
    const kind = NEXT_KINDS[code] ?? 'lost'
    return {
      kind,
      reason: REASONS[this.#number(NEXT_REASON)],
      cause: RELEASE_CAUSES[this.#number(NEXT_CAUSE)],
      number: this.#number(NEXT_NUMBER),
      attempts: this.#number(NEXT_ATTEMPTS),
      holdMs: this.#number(NEXT_HOLD_MS),
      why: kind === 'retry' || kind === 'released' || kind === 'parked' ? this.#settled : undefined,
    }
  }

  /** After `admit`: when the task may start; NaN: not before others of its order. */
  get dueAt(): number {
    return this.#number(NEXT_DUE_AT)
  }

  get #settled(): Settled {
    return {
      delayMs: this.#number(NEXT_DELAY_MS),
      curveMs: this.#number(NEXT_CURVE_MS),
      spreadMs: this.#number(NEXT_SPREAD_MS),
      authorize: this.#number(NEXT_AUTHORIZE) === 1,
      phase: this.#number(NEXT_PHASE),
      previousDelayMs: this.#number(NEXT_PREVIOUS_DELAY_MS),
      marks: this.#number(NEXT_MARKS),
      refunded: this.#number(NEXT_REFUNDED) === 1,
      serverMs: this.#number(NEXT_SERVER_MS),
      dueAt: this.#number(NEXT_DUE_AT),
    }
  }

  #number(place: number): number {
    const { buffer } = this.#memory
    if (this.#numbers.buffer !== buffer) this.#numbers = new Float64Array(buffer, this.#at, NEXT_COUNT)
    return this.#numbers[place] as number
  }
}
