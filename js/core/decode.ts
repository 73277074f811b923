/** The numbers behind the core's last decision, and where a task stands: read from where the core leaves them. */

import type { Gate } from '../api/task.ts'
import type { Engine } from './engine.ts'
import type { CoreQueue } from './generated/queue/glue.js'
import { NONE } from './none.ts'

export interface Chosen {
  /** Until the next attempt. */
  readonly delayMs: number
  /** What the curve alone would have waited. */
  readonly curveMs: number
  /** Part of what a server asked for is our own: its clients should not all come at once. */
  readonly spreadMs: number
  /** The next attempt follows a 401. */
  readonly authorize: boolean
  /** Position in the window of spread waits; -1: none yet. This, `previousDelayMs` and `marks` are what `adopt` wants back. */
  readonly phase: number
  readonly previousDelayMs: number
  readonly marks: number
  /** The attempt was given back. */
  readonly refunded: boolean
  /** How much of the delay is the server's: nothing undercuts it. */
  readonly serverMs: number
}

/** How many numbers `settle` leaves. */
const DECISION = 11

/** The gates before an attempt, by the core's numbers. */
const GATES: readonly Gate[] = [
  'in-flight',
  'started',
  'parked',
  'behind',
  'due',
  'lane-held',
  'lane-paused',
  'paused',
  'offline',
  'probing',
  'lane-limit',
  'limit',
  'ready',
  'circuit-open',
  'circuit-probing',
  'retry-budget',
  'ramp',
]

export interface Standing {
  readonly gate: Gate
  /** Infinity: not known. */
  readonly until: number
  /** Tasks of its order that come first; 0 at any other gate, and where it is not known. */
  readonly ahead: number
}

/** Right after a `settle` that said retry; or parked, where `delayMs` is `serverMs`. */
export function chosen({ memory }: Engine, core: CoreQueue): Chosen {
  const numbers = new Float64Array(memory.buffer, core.decisionPtr(), DECISION)
  const [delayMs = 0, curveMs = 0, , spreadMs = 0, , authorize = 0] = numbers
  const [phase = -1, previousDelayMs = 0, marks = 0, refunded = 0, serverMs = 0] = numbers.subarray(6)
  return {
    delayMs,
    curveMs,
    spreadMs,
    authorize: authorize === 1,
    phase,
    previousDelayMs,
    marks,
    refunded: refunded === 1,
    serverMs,
  }
}

/** undefined: there is no such task. */
export function standingOf({ memory }: Engine, core: CoreQueue, slot: number): Standing | undefined {
  const code = core.standing(slot)
  if (code === NONE) return undefined
  const [, until = 0, ahead = 0] = new Float64Array(memory.buffer, core.decisionPtr(), 3)
  return { gate: GATES[code] ?? 'ready', until, ahead }
}
