/**
 * What holds a stored task now: first what its record says, then what this process knows of its lane. Another process may
 * know of gates of its own; they are not asked.
 */

import type { StoredTask } from '../api/store.ts'
import type { AttemptLog, Decision, Gate, RetryTask } from '../api/task.ts'
import type { Standing } from '../core/decode.ts'
import { isOffline } from '../platform/page.ts'
import { CIRCUITS } from '../runner/gates.ts'
import type { CoreStats } from '../runner/stats.ts'
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
    const standing = standingOf(record, durable, now)
    const waiting = waits(standing, record.attemptNumber, now)
    decisions.push({ ...waiting, text: textOf(standing, record, durable) })
  }
  return decisions
}

function standingOf(record: StoredTask, durable: StoredTasks, now: number): Standing {
  const { status, parked, dueAt, principal } = record
  if (status === 'IN_FLIGHT') return at('in-flight')
  if (parked) return at('parked')
  if (dueAt === null) return at('behind')
  if (durable.isForeign || principal !== durable.state.runner.host.principal) return at('principal')
  if (dueAt > now) return at('due', dueAt)
  return laneStanding(record, durable, now)
}

/** What would keep a due task from an attempt at `now`. */
function laneStanding(record: StoredTask, { state: { runner } }: StoredTasks, now: number): Standing {
  const { core, lanes } = runner
  const handle = lanes.named(record.lane)
  const standing = runner.guard((): Standing => {
    const heldUntil = handle === undefined ? 0 : core.heldUntil(handle, now)
    if (heldUntil > now) return at('lane-held', heldUntil)
    const paused = lanes.pausedBy(originOf(record))
    if (paused) return at(paused)
    if (isOffline()) return at('offline')
    if (handle !== undefined && core.room(now, handle) === 0) return shutBy(runner, handle, now)
    return at(core.vacancies() === 0 ? 'limit' : 'ready')
  })
  return standing ?? at('ready')
}

/** Which of its gates leaves no room in a lane. */
function shutBy({ core }: StoredTasks['state']['runner'], handle: number, now: number): Standing {
  const until = core.shutUntil(handle, now)
  const circuit = CIRCUITS[core.circuit(handle, now)]
  if (circuit === 'HALF_OPEN') return at('circuit-probing')
  if (circuit === 'OPEN') return at('circuit-open', until)
  const [, , , , rows] = core.stats() as CoreStats
  const [, , , , , tokens] = rows.find(([lane]) => lane === handle) ?? [0, 0, 0, null, 0, 1]
  return until > now ? at(tokens < 1 ? 'retry-budget' : 'ramp', until) : at('lane-limit')
}

function textOf(standing: Standing, record: StoredTask, durable: StoredTasks): string {
  const { gate, until } = standing
  if (gate === 'in-flight') return `${wordsOf(standing)}, here or in another process`
  if (gate === 'parked') return 'resume() or setPrincipal(): its credentials are missing or were refused'
  if (gate !== 'due') return wordsOf(standing)
  // that the wait is over helps nothing where something keeps its origin for longer
  const then = laneStanding(record, durable, until)
  const isShut = then.until > until && then.until < UNKNOWN
  return isShut ? `${wordsOf(standing)}, and then ${wordsOf(then)}` : wordsOf(standing)
}

const at = (gate: Gate, until: number = UNKNOWN): Standing => ({ gate, until, ahead: 0 })

const originOf = ({ lane }: StoredTask): string => lane.split(' ', 1)[0] as string
