/** The decisions about a stored task in words: what is known of it is what was written down. */

import { timeOf } from '../log.ts'
import type { StoredTask } from '../stores/store.ts'
import type { AttemptLog, Decision, DecisionKind, RetryTask } from '../types.ts'

export function explainStored(
  task: RetryTask,
  record: StoredTask,
  attempts: readonly AttemptLog[],
  now: number,
): readonly Decision[] {
  const decisions: Decision[] = []
  const add = (at: number, kind: DecisionKind, text: string) => decisions.push({ at, kind, text })
  const what = `${task.method} ${task.targetUrl.split(/[?#]/, 1)[0]}`
  add(
    task.createdAt,
    'queued',
    `${what}, policy '${task.policyId}'${task.idempotencyKey === null ? '' : ', with a key'}`,
  )
  for (const { attemptNumber, startedAt, durationMs, decision } of attempts) {
    add(startedAt, 'attempt', `attempt ${attemptNumber} was sent`)
    add(startedAt + durationMs, 'retry', decision)
  }
  const last = attempts[attempts.length - 1]
  const endedAt = last ? last.startedAt + last.durationMs : task.createdAt
  if (task.status === 'EXHAUSTED') add(endedAt, 'exhausted', `given up: ${task.reason}`)
  else if (task.status === 'CANCELLED') add(endedAt, 'cancelled', 'cancelled')
  else if (task.status === 'SUCCEEDED') add(endedAt, 'succeeded', 'delivered')
  else add(now, 'waits', storedWaitsFor(record))
  return decisions
}

function storedWaitsFor({ status, parked, dueAt, orderKey }: StoredTask): string {
  if (status === 'IN_FLIGHT') return 'nothing: an attempt is under way, here or in another process'
  if (parked) return 'resume() or setPrincipal(): its credentials are missing or were refused'
  if (dueAt === null)
    return `its turn: others of its orderKey${orderKey === undefined ? '' : ` '${orderKey}'`} come first`
  return `its own wait until ${timeOf(dueAt)}, and then a place among those that may run`
}
