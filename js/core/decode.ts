/** The gate that holds a task, read from where the core leaves it. */

import type { Gate } from '../api/task.ts'
import { GATED_AHEAD, GATED_COUNT, GATED_GATE, GATED_UNTIL, GATES } from './codes.ts'
import type { Engine } from './engine.ts'
import type { CoreQueue } from './generated/queue/glue.js'

export interface GateStatus {
  readonly gate: Gate
  /** Infinity: not known. */
  readonly until: number
  /** Tasks of its order that come first; 0 at any other gate, and where it is not known. */
  readonly ahead: number
}

/** The gate that holds a task of this queue at `now`. undefined: there is no such task. */
export function gateStatusOf(engine: Engine, core: CoreQueue, slot: number, now: number): GateStatus | undefined {
  return core.gateStatus(slot, now) ? read(engine, core) : undefined
}

/** The gate that keeps a due task of a store from starting in `lane` at `now`. `isRetry`: it has a counted attempt. */
export function gateOfLane(engine: Engine, core: CoreQueue, lane: number, now: number, isRetry: boolean): GateStatus {
  core.gateOfLane(lane, now, isRetry)
  return read(engine, core)
}

function read({ memory }: Engine, core: CoreQueue): GateStatus {
  const numbers = new Float64Array(memory.buffer, core.decisionPtr(), GATED_COUNT)
  const at = (place: number) => numbers[place] as number
  return { gate: GATES[at(GATED_GATE)] ?? 'ready', until: at(GATED_UNTIL), ahead: at(GATED_AHEAD) }
}
