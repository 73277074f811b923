/**
 * Decisions about a task that every store has to make alike, as pure functions: no clock, no row, no storage.
 *
 * The core gives the verdict on an attempt. These are the few that fall when no core is asked: a lease has run out, a
 * deadline has passed, a dead letter goes back.
 */

import type { RetryPolicy } from '../../api/policy.ts'
import {
  CLOCK_STEP_MS,
  type DeadlineReason,
  ENDED_BYTES,
  MARK_ACCEPTED,
  MOST_REFUNDS,
  type NewTask,
  RECORD_SCHEMA,
  type Settlement,
  SILENCE_MS,
  type Silence,
  type StoreTerms,
  type Turn,
} from '../../api/store.ts'
import type { AttemptLog, DecisionKind, ExhaustedReason, TaskStatus } from '../../api/task.ts'
import { DEFAULT_ATTEMPTS } from '../../core/generated/codes.ts'
import { DAY_MS, FOREVER } from '../../platform/clock.ts'

/** RFC 9110, 9.2.2: doing it twice is doing it once. */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** Whether this code knows what the record means (S20). */
export function isReadable({ schema }: { readonly schema: number }): boolean {
  return isNumber(schema) && schema <= RECORD_SCHEMA
}

/** The highest schema that is taken for a later version's, and not for damage. */
export const LATEST_SCHEMA = 65_535

/** Whether a later version wrote the record. Only such a one keeps its key and its place in its order, since that version may act by it. */
export function isLater({ schema }: { readonly schema: number }): boolean {
  return isNumber(schema) && schema >= RECORD_SCHEMA + 1 && schema <= LATEST_SCHEMA
}

/** To be asked before anything is compared: an array that is compared is made a text of, whatever its length. */
const isNumber = (value: unknown): boolean => typeof value === 'number'

/** All attempts that the policy allows are counted. */
export function isSpent(task: { readonly attemptNumber: number; readonly policy: RetryPolicy }): boolean {
  return task.attemptNumber >= (task.policy.maxAttempts ?? DEFAULT_ATTEMPTS)
}

/** An attempt may still start at the deadline itself, as in the core. */
export function isLate(task: { readonly deadlineAt: number }, now: number): boolean {
  return now > task.deadlineAt
}

/** The first instant at which `isLate`. */
export function lateAt(task: { readonly deadlineAt: number }): number {
  return task.deadlineAt + 1
}

/** How many tasks that have succeeded or were cancelled may be kept beside so many bytes of bodies. */
export function mostEnded({ capacityBytes, retention }: StoreTerms, bytes: number): number {
  return Math.max(0, Math.min(retention.maxTerminal, Math.floor((capacityBytes - bytes) / ENDED_BYTES)))
}

/** Why no attempt may start now; undefined: one may. */
export function refusal(
  task: Deadline & Pick<NewTask, 'attemptNumber'>,
  policy: RetryPolicy,
  now: number,
): ExhaustedReason | undefined {
  if (isLate(task, now)) return task.deadlineReason
  return isSpent({ attemptNumber: task.attemptNumber, policy }) ? 'max_attempts' : undefined
}

/** Whether an attempt whose outcome is unknown may be made once more. */
export function mayRepeat(task: Pick<NewTask, 'idempotencyKey' | 'idempotent' | 'method'>): boolean {
  return task.idempotencyKey !== null || task.idempotent === true || IDEMPOTENT.has(task.method)
}

export interface Deadline {
  readonly deadlineAt: number
  readonly deadlineReason: DeadlineReason
}

/** The first of three ends: of the budget, of `expiresAt`, of the key's lifetime. Infinity: no such end, or start. */
export function deadlineOf(
  { keyTtlMs = DAY_MS, totalBudgetMs = keyTtlMs }: RetryPolicy,
  starts: { readonly budgetAt: number; readonly keyAt: number; readonly expiresAt: number },
): Deadline {
  const ends: readonly Deadline[] = [
    { deadlineAt: starts.budgetAt + totalBudgetMs, deadlineReason: 'total_budget' },
    { deadlineAt: starts.expiresAt, deadlineReason: 'expired' },
    { deadlineAt: starts.keyAt + keyTtlMs, deadlineReason: 'key_expired' },
  ]
  return ends.reduce((least, end) => (end.deadlineAt < least.deadlineAt ? end : least))
}

/** Until when a dead letter that goes back at `now` may be tried, under the policy it goes back with; null: its key has expired. */
export function redriveDeadline(
  task: {
    readonly idempotencyKey: string | null
    readonly firstAttemptAt: number | null
    readonly deadlineAt: number | null
    readonly deadlineReason: DeadlineReason
    /** Its caller's end; undefined: its record does not say. */
    readonly expiresAt?: number | undefined
  },
  policy: RetryPolicy,
  acceptDuplicateRisk: boolean,
  now: number,
): Deadline | null {
  const { keyTtlMs = DAY_MS } = policy
  const isKeyed = task.idempotencyKey !== null && !acceptDuplicateRisk
  const keyAt = isKeyed ? (task.firstAttemptAt ?? FOREVER) : FOREVER
  if (keyAt + keyTtlMs < now) return null
  // a caller that said it is worth nothing afterwards meant it
  const expiresAt = task.expiresAt ?? ((task.deadlineReason === 'expired' && task.deadlineAt) || FOREVER)
  return deadlineOf(policy, { budgetAt: now, keyAt, expiresAt })
}

/**
 * Why a settlement changes nothing; undefined: it counts. Tokens only rise, a stale lease has another one;
 * a success counts however late it comes (S4), and what was settled once is settled (S14).
 */
export function settledAlready(
  task: { readonly status: TaskStatus; readonly token: number; readonly settledToken: number | null },
  { lease: { token }, next }: Settlement,
): Turn['settled'][number] | undefined {
  if (task.status === 'CANCELLED') return 'cancelled' // its key may be another's by now
  const succeeded = next.kind === 'succeeded'
  if (task.settledToken === token || (succeeded && task.status === 'SUCCEEDED')) return 'repeated'
  const holds = task.status === 'IN_FLIGHT' && task.token === token
  return holds || succeeded ? undefined : 'stale'
}

/** Whether a lease that ran out did so while no runner could reach the store. Instants as they leave it. */
export const endedInSilence = (leaseUntil: number, silence: Silence | undefined, now: number): silence is Silence =>
  silence !== undefined && now - silence.since >= SILENCE_MS && leaseUntil > silence.since

/** A task that goes on, as its stores keep it. */
interface GoesOn {
  attemptNumber: number
  refunds: number
  phase: number
  previousDelayMs: number
  marks: number
}

/** Takes over what another attempt has to know. */
export function goOn(task: GoesOn, next: Extract<Settlement['next'], { readonly delayMs: number }>): void {
  if (next.kind === 'retry') task.previousDelayMs = next.delayMs
  else if (next.refund && (next.offline || task.refunds < MOST_REFUNDS)) {
    if (!next.offline) task.refunds++
    task.attemptNumber--
  }
  if (!next.carry) return
  const { phase, previousDelayMs, marks } = next.carry
  Object.assign(task, { phase, previousDelayMs, marks: (marks | (task.marks & MARK_ACCEPTED)) >>> 0 })
}

export const isAccepted = ({ marks }: Pick<GoesOn, 'marks'>): boolean => (marks & MARK_ACCEPTED) !== 0

/** The course of a task that its caller would end, and that others have enqueued: due now. */
export const GOES_ON = { kind: 'release', delayMs: 0, refund: false } as const

/** Whether its caller alone would end a task that others have enqueued. */
export const isCallersEnd = (task: Pick<GoesOn, 'marks'>, next: Settlement['next']): boolean =>
  next.kind === 'exhausted' && isAccepted(task) && /^(wait_exceeded|circuit_open|closed)$/.test(next.reason)

/** An attempt that was given back before it left is no attempt anybody wants to read about. */
export function wasSent(log: AttemptLog): boolean {
  return log.responseStatus !== null || log.errorMessage !== null
}

/** A decision that a store has made by itself, as a line of the task's history. `at`: on the clock that is shown. */
export function noteOf(
  taskId: string,
  attemptNumber: number,
  at: number,
  kind: DecisionKind,
  reason?: ExhaustedReason,
): AttemptLog {
  const none = { durationMs: 0, responseStatus: null, errorMessage: null }
  const data = reason ? { data: { reason } } : {}
  return { taskId, attemptNumber, startedAt: at, ...none, decision: reason ?? kind, kind, ...data }
}

/** A line of the history that is no attempt, by the number of the attempt that it came after. */
export interface Note {
  readonly after: number
  readonly log: AttemptLog
}

/** Attempts, of which the first has number `first`, and the notes among them; both oldest first. */
export function inOrder(first: number, attempts: readonly AttemptLog[], notes: readonly Note[]): readonly AttemptLog[] {
  let next = 0
  const history: AttemptLog[] = []
  const takeUpTo = (number: number): void => {
    for (let note = notes[next]; note && note.after <= number; note = notes[++next]) history.push(note.log)
  }
  takeUpTo(first - 1)
  attempts.forEach((log, i) => {
    history.push(log)
    takeUpTo(first + i)
  })
  takeUpTo(Number.POSITIVE_INFINITY)
  return history
}

/** Names an order: one `orderKey` of two principals is two orders. */
export function orderName(principal: string | null, orderKey: string): string {
  return JSON.stringify([principal, orderKey])
}

/**
 * The store's time at a step, and by how much everything that is an instant has to be shifted before (0: not at all).
 * `highWater` becomes `now`.
 */
export function timeOfStep(clockNow: number, highWater: number): { readonly now: number; readonly shiftMs: number } {
  if (clockNow < highWater - CLOCK_STEP_MS) return { now: clockNow, shiftMs: clockNow - highWater }
  return { now: Math.max(clockNow, highWater), shiftMs: 0 }
}
