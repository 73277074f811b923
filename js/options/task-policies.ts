/** The policies that the options of one call come to. */

import type { Checks } from './checks.ts'
import type { PolicyPair } from './policy.ts'
import { pairOf } from './policy-pair.ts'
import type { Settings } from './queue-options.ts'
import type { TaskOptions } from './task-options.ts'

/** The parts of a queue that the options of a call are read with. */
export interface OptionsContext {
  readonly settings: Settings
  /** Absent in a page's production bundle until the core's chunk has come. */
  readonly checks?: Checks | undefined
}

/** Checks the options of one call, and gives the policies they come to. */
export function taskPolicies({ settings: { policies }, checks }: OptionsContext, given: TaskOptions): PolicyPair {
  checks?.call(given, policies)
  const { policyId = 'default', policy } = given
  // one that is unknown is refused before it becomes a task
  const base = policies.get(policyId)
  return policy || !base ? pairOf(policy ?? {}, base) : base
}
