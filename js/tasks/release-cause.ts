/** Names the cause of an attempt that was given back: the core only knows that it was. */

import type { ReleaseCause } from '../api/task.ts'
import { OUTCOME_CREDENTIALS_FAILED, OUTCOME_OFFLINE, OUTCOME_RELEASED } from '../core/codes.ts'
import type { Task } from './task.ts'

/** The state of the queue at the time of asking. */
export interface ReleaseFacts {
  /** The answer was a 401. */
  readonly isRefused: boolean
  /** Closed or closing. */
  readonly isStopped: boolean
  /** Its page was put away. */
  readonly isSuspended: boolean
  /** Requests are another principal's than the task's by now. */
  readonly isForeign: boolean
  /** Nothing has paused the task's lane. */
  readonly maySend: boolean
}

/** Has to be asked when the attempt is given back, since what stops a queue may be over soon. */
export function releaseCause(
  outcome: number,
  task: Pick<Task, 'lease' | 'isUnsigned'>,
  facts: ReleaseFacts,
): ReleaseCause {
  if (outcome === OUTCOME_OFFLINE) return 'offline'
  if (outcome === OUTCOME_CREDENTIALS_FAILED) {
    if (task.isUnsigned) return 'sign_failed'
    return task.lease?.parks ? 'credentials_missing' : 'credentials_failed'
  }
  if (outcome !== OUTCOME_RELEASED) return facts.isRefused ? 'unauthorized' : 'in_progress'
  if (facts.isStopped) return 'closing'
  if (facts.isSuspended) return 'page_hidden'
  if (facts.isForeign) return 'principal'
  return facts.maySend ? 'lease' : 'paused'
}
