/** Why an attempt was given back: the core only knows that it was. */

import type { ReleaseCause } from '../api/task.ts'
import { OUTCOME } from '../call/attempt.ts'
import { UNSENT } from '../call/not-sent.ts'
import type { Runner } from '../runner/runner.ts'
import type { Ruling } from './ruling.ts'
import type { Task } from './task.ts'

/** Asked when it is, since what stops a queue may be over soon. */
export function causeOf(runner: Runner, task: Task, { outcome }: Pick<Ruling, 'outcome'>): ReleaseCause {
  if (outcome === OUTCOME.offline) return 'offline'
  if (outcome === UNSENT.credentials) return task.lease?.parks ? 'credentials_missing' : 'credentials_failed'
  if (outcome !== UNSENT.released) return 'unauthorized'
  const { durable, host, lanes, stopped } = runner
  if (stopped) return 'closing'
  if (durable?.loop.isSuspended) return 'page_hidden'
  if (durable?.isForeign || task.principal !== host.principal) return 'principal'
  return lanes.maySend(task.principal, task.origin) ? 'lease' : 'paused'
}
