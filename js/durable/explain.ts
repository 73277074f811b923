/**
 * What holds a stored task now: first what its record says, then what this process knows of its lane. Another process may
 * know of gates of its own; they are not asked.
 */

import type { StoredTask } from '../api/store.ts'
import type { AttemptLog, Decision, Gate, RetryTask } from '../api/task.ts'
import type { GateStatus } from '../core/decode.ts'
import { decisionsOf, waits, wordsOf } from '../tasks/explain.ts'
import type { StoredTasks } from './stored-tasks.ts'

const UNKNOWN = Number.POSITIVE_INFINITY

export function explainStored(
  task: RetryTask,
  record: StoredTask,
  history: readonly AttemptLog[],
  durable: StoredTasks,
): readonly Decision[] {
  const now = durable.state.runner.host.now()
  const last = history[history.length - 1]
  const decisions = decisionsOf(
    {
      ...task,
      what: `${task.method} ${task.targetUrl.split(/[?#]/, 1)[0]}`,
      hasKey: task.idempotencyKey !== null,
      endedAt: last ? last.startedAt + last.durationMs : task.createdAt,
    },
    history,
  )
  if (task.status === 'PENDING' || task.status === 'IN_FLIGHT') {
    const status = gateStatusOf(record, durable, now)
    const waiting = waits(status, record.attemptNumber, now)
    decisions.push({ ...waiting, text: textOf(status, record, durable) })
  }
  return decisions
}

function gateStatusOf(record: StoredTask, durable: StoredTasks, now: number): GateStatus {
  const { status, parked, dueAt, principal } = record
  if (status === 'IN_FLIGHT') return at('in-flight')
  if (parked) return at('parked')
  if (dueAt === null) return at('behind')
  if (durable.isForeign || principal !== durable.state.runner.host.principal) return at('principal')
  if (dueAt > now) return at('due', dueAt)
  return laneStatus(record, durable, now)
}

/** What keeps a due task from an attempt at `now`. */
function laneStatus({ principal, lane }: StoredTask, { state }: StoredTasks, now: number): GateStatus {
  return state.runner.gateOfLane(principal, originIn(lane), now) ?? at('ready')
}

function textOf(status: GateStatus, record: StoredTask, durable: StoredTasks): string {
  const { gate, until } = status
  if (gate === 'in-flight') return `${wordsOf(status)}, here or in another process`
  if (gate === 'parked') return 'resume() or setPrincipal(): its credentials are missing or were refused'
  if (gate !== 'due') return wordsOf(status)
  // that the wait is over helps nothing where something keeps its origin for longer
  const then = laneStatus(record, durable, until)
  const isShut = then.until > until && then.until < UNKNOWN
  return isShut ? `${wordsOf(status)}, and then ${wordsOf(then)}` : wordsOf(status)
}

const at = (gate: Gate, until: number = UNKNOWN): GateStatus => ({ gate, until, ahead: 0 })

const originIn = (lane: string): string => lane.split(' ', 1)[0] as string
