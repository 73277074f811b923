/** Tells the core the facts about the end of an attempt that it does not know. What they come to is its to say. */

import type { Finished } from '../call/attempt.ts'
import {
  FACT_FOREIGN,
  FACT_HIDDEN,
  FACT_LOST,
  FACT_MISSING,
  FACT_PAUSED,
  FACT_STOPPED,
  FACT_UNSIGNED,
  OUTCOME_CREDENTIALS_FAILED,
  OUTCOME_RELEASED,
} from '../core/codes.ts'
import type { Task } from '../tasks/task.ts'
import type { RunnerPorts } from './ports.ts'

/** `FACT_*`, added up, as of now: what stops a queue may be over soon. */
export function factsOf(
  { host, lanes, stored, stopped }: RunnerPorts,
  task: Task,
  { outcome }: Finished,
  now: number,
): number {
  const { lease, principal, origin } = task
  const is = (fact: number, holds: boolean | undefined) => (holds ? fact : 0)
  let facts = is(FACT_LOST, lease && stored?.isLost(lease, now))
  if (outcome === OUTCOME_CREDENTIALS_FAILED) {
    facts |= is(FACT_UNSIGNED, task.isUnsigned) | is(FACT_MISSING, lease?.parks)
  } else if (outcome === OUTCOME_RELEASED) {
    facts |= is(FACT_STOPPED, stopped) | is(FACT_HIDDEN, stored?.loop.isSuspended)
    facts |= is(FACT_FOREIGN, lanes.isForeign || principal !== host.principal)
    facts |= is(FACT_PAUSED, !lanes.maySend(principal, origin))
  }
  return facts
}
