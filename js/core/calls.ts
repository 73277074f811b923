/**
 * The core's queue, which is called by number: words in, words out. What a call means is said in src/calls/op.rs, for every host; longer
 * ones have names for their words here. Nothing is decided here.
 */

import type { ExhaustedReason, Gate, ReleaseCause } from '../api/task.ts'
import {
  GATED_AHEAD,
  GATED_UNTIL,
  GATES,
  NEXT_ATTEMPTS,
  NEXT_AUTHORIZE,
  NEXT_CAUSE,
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
  OP_ADMIT,
  OP_ADOPT,
  OP_GATE_OF_LANE,
  OP_GATE_OF_TASK,
  OP_SETTLE,
  REASONS,
  RELEASE_CAUSES,
  WORDS,
} from './codes.ts'
import type { Engine } from './engine.ts'
import type { CoreQueue } from './generated/queue/glue.js'

/** A truth is 0 or 1 there. */
type Word = number | boolean

/** One queue of the core. */
export class Calls {
  readonly #memory: WebAssembly.Memory
  readonly #queue: CoreQueue
  /** Views of the core's memory. Once it has grown they are empty, which is a cheaper question than which buffer it has. */
  #words = new Float64Array()
  #answer = new Float64Array()

  constructor({ glue, memory }: Engine, ...limits: ConstructorParameters<typeof CoreQueue>) {
    this.#memory = memory
    this.#queue = new glue.CoreQueue(...limits)
  }

  /** Makes a call of up to four words: the first number of its answer; NaN: it has none. `op`: `OP_*`. */
  call(op: number, a: Word = Number.NaN, b: Word = Number.NaN, c: Word = Number.NaN, d: Word = Number.NaN): number {
    return this.#queue.call(op, a as number, b as number, c as number, d as number)
  }

  /** Makes a call of any number of words, at most WORDS. */
  send(op: number, ...words: Word[]): number {
    if (this.#words.length === 0) this.#look()
    for (let i = 0; i < words.length; i++) this.#words[i] = words[i] as number
    return this.#queue.send(op, words.length)
  }

  /** A number of the last answer, by its place. */
  at(place: number): number {
    if (this.#answer.length === 0) this.#look()
    return this.#answer[place] as number
  }

  /** Keeps a policy: its handle. Each needs an OP_RELEASE_POLICY. */
  policy(row: Float64Array): number {
    return this.#queue.policy(row)
  }

  /** A list of lists, in the order that the core names. */
  stats(now: number): unknown {
    return this.#queue.stats(now)
  }

  free(): void {
    this.#queue.free()
  }

  #look(): void {
    const { buffer } = this.#memory
    this.#words = new Float64Array(buffer, this.#queue.wordsPtr(), WORDS)
    this.#answer = new Float64Array(buffer, this.#queue.answerPtr())
  }
}

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

/**
 * Takes a task into the queue: its slot, or NONE where the queue is full. `order` NONE: it is in none. `seenAt`: when its server may have seen
 * its key, before it became a dead letter. Its `dueAt` is the next number.
 */
export function admit(core: Calls, task: Admitted, order: number, seenAt: number = Number.NaN): number {
  const { now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, startedAt } = task
  // biome-ignore format: in the order in which they cross
  return core.send(
    OP_ADMIT, now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, order, startedAt, seenAt,
  )
}

/** The core's notes that a task takes along from one lease to the next. */
interface Carried {
  /** Position in the window of spread waits; -1: none yet. */
  readonly phase: number
  readonly previousDelayMs: number
  readonly marks: number
}

export interface Adoption extends Admitted, Carried {
  /** Attempts made and not given back, this one included. */
  readonly attempts: number
  /** Attempts given back. */
  readonly refunds: number
  /** When its store ends it, and why; undefined: `createdAt` and `expiresAt` say. */
  readonly deadlineAt: number
  readonly deadlineReason: ExhaustedReason | undefined
}

/** The past of a task whose first attempt this is. */
export const UNTRIED: Omit<Adoption, keyof Admitted> = {
  attempts: 1,
  refunds: 0,
  phase: -1,
  previousDelayMs: 0,
  marks: 0,
  deadlineAt: Number.POSITIVE_INFINITY,
  deadlineReason: undefined,
}

const reasonCode = (reason: ExhaustedReason | undefined): number => (reason ? REASONS.indexOf(reason) : NONE)

/** Takes a task that a store has leased, for one attempt: its slot, or NONE where there are too many. Its first attempt is not named: a deadline says all. */
export function adopt(core: Calls, task: Adoption): number {
  const { now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, startedAt } = task
  const { attempts, refunds, phase, previousDelayMs, marks, deadlineAt, deadlineReason } = task
  // biome-ignore format: in the order in which they cross
  return core.send(
    OP_ADOPT, now, lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil,
    Number.POSITIVE_INFINITY, attempts, refunds, phase, previousDelayMs, marks, startedAt,
    deadlineAt, reasonCode(deadlineReason),
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

/** Tells the core how an attempt has ended: what follows. */
export function settle(core: Calls, ended: EndedAttempt): Next {
  const { now, slot, outcome, status, serverDelayMs, durationMs, rateLimitMs, delayMs } = ended
  const { unusable, partitioned, said, asked, replayed, facts, reason } = ended
  // biome-ignore format: in the order in which they cross
  const code = core.send(
    OP_SETTLE, now, slot, outcome, status, serverDelayMs, durationMs, rateLimitMs, unusable, partitioned, said, delayMs,
    asked, replayed, facts, reasonCode(reason),
  )
  const kind = NEXT_KINDS[code] ?? 'lost'
  // the kind comes first
  const at = (place: number) => core.at(1 + place)
  return {
    kind,
    reason: REASONS[at(NEXT_REASON)],
    cause: RELEASE_CAUSES[at(NEXT_CAUSE)],
    number: at(NEXT_NUMBER),
    attempts: at(NEXT_ATTEMPTS),
    holdMs: at(NEXT_HOLD_MS),
    why: kind === 'retry' || kind === 'released' || kind === 'parked' ? settled(at) : undefined,
  }
}

const settled = (at: (place: number) => number): Settled => ({
  delayMs: at(NEXT_DELAY_MS),
  curveMs: at(NEXT_CURVE_MS),
  spreadMs: at(NEXT_SPREAD_MS),
  authorize: at(NEXT_AUTHORIZE) === 1,
  phase: at(NEXT_PHASE),
  previousDelayMs: at(NEXT_PREVIOUS_DELAY_MS),
  marks: at(NEXT_MARKS),
  refunded: at(NEXT_REFUNDED) === 1,
  serverMs: at(NEXT_SERVER_MS),
  dueAt: at(NEXT_DUE_AT),
})

export interface GateStatus {
  readonly gate: Gate
  /** Infinity: not known. */
  readonly until: number
  /** Tasks of its order that come first; 0 at any other gate, and where it is not known. */
  readonly ahead: number
}

/** The gate that holds a task of this queue at `now`. undefined: there is no such task. */
export function gateStatusOf(core: Calls, slot: number, now: number): GateStatus | undefined {
  const gate = core.call(OP_GATE_OF_TASK, slot, now)
  return Number.isNaN(gate) ? undefined : gated(core, gate)
}

/** The gate that keeps a due task of a store from starting in `lane` at `now`. `isRetry`: it has a counted attempt. */
export function gateOfLane(core: Calls, lane: number, now: number, isRetry: boolean): GateStatus {
  return gated(core, core.call(OP_GATE_OF_LANE, lane, now, isRetry))
}

const gated = (core: Calls, gate: number): GateStatus => ({
  gate: GATES[gate] ?? 'ready',
  until: core.at(GATED_UNTIL),
  ahead: core.at(GATED_AHEAD),
})
