/**
 * The decisions about a task, in words and as data, for people who ask why it is where it is. One telling for tasks in
 * memory and for those in a store: both come as what was logged of them, and as what holds them now.
 */

import type {
  AttemptLog,
  Decision,
  DecisionData,
  DecisionKind,
  ExhaustedReason,
  ReleaseCause,
  TaskStatus,
} from '../api/task.ts'
import type { GateStatus } from '../core/calls.ts'
import { serverWait, showEntry, timeOf } from './history.ts'
import type { Task } from './task.ts'

/** The decisions about a task in memory. `gateStatus`: the gate it waits at; undefined: it has ended. */
export function explain(task: Task, gateStatus: GateStatus | undefined, now: number): readonly Decision[] {
  const history = task.entries.map((entry) => showEntry(task.taskId, entry))
  const { what, policyId, key, createdAt, status, reason, endedAt } = task
  const decisions = decisionsOf({ what, policyId, hasKey: key !== null, createdAt, status, reason, endedAt }, history)
  if (gateStatus) decisions.push(waits(gateStatus, task.attemptNumber, now))
  return decisions
}

/** A task as far as its decisions name it. */
export interface DescribedTask {
  /** Method and target, without the query. */
  readonly what: string
  readonly policyId: string
  readonly hasKey: boolean
  readonly createdAt: number
  readonly status: TaskStatus
  readonly reason?: ExhaustedReason | undefined
  /** Without a meaning before the task has ended. */
  readonly endedAt: number
}

/** All decisions, from the call to the last one. `history`: the last 100 attempts and what was decided between them, oldest first. */
export function decisionsOf(task: DescribedTask, history: readonly AttemptLog[]): Decision[] {
  const { what, policyId, hasKey, createdAt, status, reason, endedAt } = task
  const text = `${what}, policy '${policyId}'${hasKey ? ', with a key' : ''}`
  const decisions: Decision[] = [{ at: createdAt, kind: 'queued', text, data: { policyId } }]
  for (const log of history) {
    const { attemptNumber, startedAt, durationMs, kind = wasSent(log) ? 'retry' : 'released' } = log
    if (wasSent(log)) {
      const sent = `attempt ${attemptNumber} was sent`
      decisions.push({ at: startedAt, kind: 'attempt', text: sent, data: { attemptNumber } })
    }
    // a line of a version that did not say what it is, or of a later one, has its own words
    const words = (log.kind && WORDS.get(log.kind)?.(log)) ?? log.decision
    const data = dataOf(log)
    decisions.push({ at: startedAt + durationMs, kind, text: words, ...(Object.keys(data).length > 0 ? { data } : {}) })
  }
  const kind = ENDS[status]
  // it ended while it waited, or in a store that does not say so
  if (kind && history[history.length - 1]?.kind !== kind) {
    const data = kind === 'exhausted' && reason ? { reason } : undefined
    const ended = kind === 'exhausted' ? `given up: ${reason}` : kind === 'cancelled' ? 'cancelled' : 'delivered'
    decisions.push({ at: endedAt, kind, text: ended, ...(data ? { data } : {}) })
  }
  return decisions
}

const ENDS: Partial<Record<TaskStatus, DecisionKind>> = {
  SUCCEEDED: 'succeeded',
  EXHAUSTED: 'exhausted',
  CANCELLED: 'cancelled',
}

/** Whether an attempt left: one that was given back before has neither. */
function wasSent({ responseStatus, errorMessage }: AttemptLog): boolean {
  return responseStatus !== null || errorMessage !== null
}

/** Kinds that are about one attempt, though it may not have left. */
const NUMBERED: ReadonlySet<DecisionKind> = new Set(['released', 'parked', 'lost'])

function dataOf(log: AttemptLog): DecisionData {
  const { attemptNumber, durationMs, responseStatus, errorMessage, kind, data } = log
  return {
    ...(wasSent(log) || (kind && NUMBERED.has(kind)) ? { attemptNumber } : {}),
    ...(wasSent(log) ? { durationMs } : {}),
    ...(responseStatus === null ? {} : { responseStatus }),
    ...(errorMessage === null ? {} : { errorMessage }),
    ...data,
  }
}

type Words = (log: AttemptLog) => string

/** No object: the build shortens names of properties, and these come from outside, as those below. */
const WORDS: ReadonlyMap<DecisionKind, Words> = new Map<DecisionKind, Words>([
  ['retry', (log) => `${happened(log)}; ${next(log)}`],
  ['released', (log) => `${happened(log)}; given back, not counted; ${next(log)}`],
  ['parked', (log) => `${happened(log)}; ${parkedFor(log)}`],
  [
    'lost',
    ({ attemptNumber }) =>
      `how attempt ${attemptNumber} ended is unknown, since the process that made it is gone; due again at once`,
  ],
  ['redriven', () => 'put back from the dead letters, attempts counted anew'],
  ['succeeded', (log) => `${happened(log)}; delivered`],
  ['exhausted', (log) => `${ended(log)}given up: ${log.data?.reason ?? log.decision}`],
  ['cancelled', (log) => `${ended(log)}cancelled`],
])

function parkedFor({ data }: AttemptLog): string {
  return data?.cause === 'unauthorized' ? 'its credentials were refused twice: parked' : 'parked'
}

/** Words for an attempt that was given back: those of the last five may have left. */
const GIVEN_BACK: ReadonlyMap<ReleaseCause, string> = new Map([
  ['unauthorized', 'not sent, its credentials were refused'],
  ['credentials_failed', 'not sent, credentials failed'],
  ['sign_failed', 'not sent, sign() failed'],
  ['credentials_missing', 'not sent, `credentials` did not give a header it needs'],
  ['offline', 'not sent, there is no network'],
  ['paused', 'no answer, paused meanwhile'],
  ['principal', 'no answer, another principal is current'],
  ['page_hidden', 'no answer, its page was put away'],
  ['closing', 'no answer, its queue was closed'],
  ['lease', 'no answer, its lease was lost, or its body could not be read'],
])

/** All that browsers say of a refused connection and of a refused preflight. */
const BLOCKED = /^(?:Failed to fetch|Load failed|NetworkError when attempting to fetch resource\.)$/

function happened(log: AttemptLog): string {
  const { cause, serverDelayMs, serverDelayUnreadable } = log.data ?? {}
  const asked = serverWait(serverDelayUnreadable ? -1 : serverDelayMs)
  if (log.responseStatus !== null)
    return `${log.responseStatus}${cause === 'in_progress' ? ', still in progress' : ''}${asked}`
  if (log.errorMessage !== null)
    return log.errorMessage.replace(BLOCKED, '$& (it is down, or CORS refuses the request)')
  return (cause && GIVEN_BACK.get(cause)) ?? 'not sent'
}

/** Words about the last attempt of an ended task; none where it ended without one. */
function ended(log: AttemptLog): string {
  const isVetoed = log.data?.reason === 'vetoed' || log.data?.reason === 'body_missing'
  return wasSent(log) || isVetoed ? `${happened(log)}; ` : ''
}

/** An attempt's end may take so long to be written down: no pause. */
const BOOKKEEPING_MS = 50

function next({ data = {}, decision }: AttemptLog): string {
  const { delayMs, curveMs, serverDelayMs, spreadMs = 0, nextAttemptAt } = data
  if (delayMs === undefined || nextAttemptAt === undefined) return decision
  const wait = delayMs > 0 ? `next in ${delayMs / 1000} s, at ${timeOf(nextAttemptAt)}` : 'due again at once'
  if (curveMs === undefined) return wait
  // What keeps the whole origin back, a pause of its gates or what its server asked of all, comes on top of the task's own delay.
  const isHeld = delayMs > Math.max(curveMs, serverDelayMs ?? 0) + spreadMs + BOOKKEEPING_MS
  if (serverDelayMs === undefined && !isHeld) return wait
  return `${wait} (the curve alone: ${curveMs / 1000} s${isHeld ? '; its origin takes no retry sooner' : ''})`
}

/** The decision that a task waits, and at which gate. */
export function waits(gateStatus: GateStatus, attemptNumber: number, now: number): Decision {
  const { gate, until, ahead } = gateStatus
  const data: DecisionData = {
    gate,
    ...(Number.isFinite(until) ? { until } : {}),
    ...(ahead > 0 ? { ahead } : {}),
    ...(gate === 'in-flight' && attemptNumber > 0 ? { attemptNumber } : {}),
  }
  return { at: now, kind: 'waits', text: `waits for ${wordsOf(gateStatus)}`, data }
}

export function wordsOf({ gate, until, ahead }: GateStatus): string {
  const at = Number.isFinite(until) ? ` until ${timeOf(until)}` : ''
  switch (gate) {
    case 'in-flight':
    case 'started':
      return 'the attempt under way'
    case 'parked':
      return 'resume(), since its credentials were refused'
    case 'needs':
      return 'a queue that has what it needs'
    case 'behind':
      return ahead > 0
        ? `its turn: ${ahead} task${ahead === 1 ? '' : 's'} of its orderKey come${ahead === 1 ? 's' : ''} first`
        : 'its turn: other tasks of its orderKey come first'
    case 'principal':
      return 'its principal, since another one is current'
    case 'due':
      return `its own delay${at}`
    case 'lane-held':
      return `its origin, which asked for a pause of all requests${at}`
    case 'lane-paused':
      return 'resume() of its origin'
    case 'paused':
      return 'resume()'
    case 'offline':
      return at
        ? `the network, since the browser says that it is offline; next tried at ${timeOf(until)}`
        : 'the network'
    case 'probing':
      return 'the first attempt at its origin since the network came back'
    case 'circuit-open':
      return `its origin's circuit breaker, which is open${at}`
    case 'circuit-probing':
      return 'the attempt that probes its origin while the circuit breaker is half-open'
    case 'retry-budget':
      return `its origin's retry budget, which is spent${at}`
    case 'ramp':
      return at
        ? `its origin, which has failed and is asked again one attempt at a time, next at ${timeOf(until)}`
        : 'its origin, which has failed and is allowed only as many attempts at a time as succeed for now'
    case 'rate':
      return `its origin's rate: as many attempts have started as may${at}`
    case 'lane-limit':
      return 'a free place at its origin (concurrencyPerOrigin)'
    case 'limit':
      return 'a free place (concurrency)'
    case 'ready':
      return 'nothing: it starts next'
  }
}
