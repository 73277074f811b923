/**
 * `admit`, `adopt`, `settle` and `poll` of the core's queue with names for what crosses: the order of the numbers is known here
 * alone. Nothing is decided here.
 */

import {
  BATCH,
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
  /** When the caller's own first attempt began, which has just ended: `settle` follows at once. NaN: there was none. */
  readonly startedAt: number
}

/** Takes a task into the queue: its slot, or NONE where the queue is full. `order` NONE: it is in none. */
export function admit(core: CoreQueue, task: Admitted, order: number): number {
  const { now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, startedAt } = task
  return core.admit(now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, order, startedAt)
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
  const { now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, startedAt } = task
  const { firstAttemptAt, attempts, refunds, phase, previousDelayMs, marks } = task
  // biome-ignore format: in the order in which they cross
  return core.adopt(
    now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil,
    firstAttemptAt, attempts, refunds, phase, previousDelayMs, marks, startedAt,
  )
}

/** The core's wishes, as `poll` leaves them. */
export class Actions {
  readonly #memory: WebAssembly.Memory
  readonly #core: CoreQueue
  #pairs = new Uint32Array()

  constructor({ memory }: Pick<Engine, 'memory'>, core: CoreQueue) {
    this.#memory = memory
    this.#core = core
  }

  /** Slot and action in turns, in the core's memory. A view of it costs more than a look whether the last one still fits. */
  get pairs(): Uint32Array {
    const at = this.#core.actionsPtr()
    const { buffer } = this.#memory
    if (this.#pairs.buffer !== buffer || this.#pairs.byteOffset !== at) {
      this.#pairs = new Uint32Array(buffer, at, 2 * BATCH)
    }
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
}

export interface Settled extends Carried {
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
  /** Attempts made and not given back; 0 once the slot is free. */
  readonly attempts: number
  /** When the task may start again; NaN where no time is known, or the slot is free. */
  readonly dueAt: number
}

/** Tells the core how attempts end, and reads its rulings with the numbers behind them. */
export class Verdicts {
  readonly #memory: WebAssembly.Memory
  readonly #core: CoreQueue
  /** The numbers behind the last ruling, in the core's memory. */
  #numbers = new Float64Array()

  constructor({ memory }: Pick<Engine, 'memory'>, core: CoreQueue) {
    this.#memory = memory
    this.#core = core
  }

  /** The verdict, `VERDICT_*` or a reason from ENDED on. */
  settle(ended: EndedAttempt): number {
    const { now, slot, outcome, status, serverDelayMs, durationMs, rateLimitMs, delayMs } = ended
    const { unusable, partitioned, said, asked, replayed } = ended
    // biome-ignore format: in the order in which they cross
    const verdict = this.#core.settle(
      now, slot, outcome, status, serverDelayMs, durationMs, rateLimitMs, unusable, partitioned, said, delayMs,
      asked, replayed,
    )
    const at = this.#core.decisionPtr()
    const { buffer } = this.#memory
    if (this.#numbers.buffer !== buffer || this.#numbers.byteOffset !== at)
      this.#numbers = new Float64Array(buffer, at, RULED_COUNT)
    return verdict
  }

  /** The wait that the answer asked of the whole lane, before any limit; 0: none. */
  get holdMs(): number {
    return this.#at(RULED_HOLD_MS)
  }

  /** The numbers behind the last verdict. */
  get settled(): Settled {
    return {
      delayMs: this.#at(RULED_DELAY_MS),
      curveMs: this.#at(RULED_CURVE_MS),
      spreadMs: this.#at(RULED_SPREAD_MS),
      authorize: this.#at(RULED_AUTHORIZE) === 1,
      phase: this.#at(RULED_PHASE),
      previousDelayMs: this.#at(RULED_PREVIOUS_DELAY_MS),
      marks: this.#at(RULED_MARKS),
      refunded: this.#at(RULED_REFUNDED) === 1,
      serverMs: this.#at(RULED_SERVER_MS),
      attempts: this.#at(RULED_ATTEMPTS),
      dueAt: this.#at(RULED_DUE_AT),
    }
  }

  #at(place: number): number {
    return this.#numbers[place] as number
  }
}
