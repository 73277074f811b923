/** The history of a task, line by line; its words are made when it is read. */

import type { AttemptLog, DecisionData, DecisionKind, ExhaustedReason, ReleaseCause } from '../api/task.ts'
import { MAX_MS } from '../options/check.ts'

/** One attempt, or one that was not sent after all. */
export interface HistoryEntry {
  /** An answer or a lost connection; false: given back before it left. */
  readonly sent: boolean
  /** The decision that followed. */
  readonly kind: Exclude<DecisionKind, 'queued' | 'attempt' | 'waits'>
  readonly attemptNumber: number
  readonly startedAt: number
  readonly durationMs: number
  readonly status: number
  readonly error: string | null
  /** The server's wait in ms; NaN: it named none; -1: one that cannot be read. */
  readonly serverDelayMs: number
  /** The curve's wait in ms; NaN: none was chosen. */
  readonly curveMs: number
  /** Wait of our own on top of the server's. */
  readonly spreadMs: number
  /** Whether the attempt counts; undefined: none is to follow. */
  readonly counted: boolean | undefined
  /** The next attempt follows a 401. */
  readonly authorize: boolean
  /** The reason why it was given back, if it was. */
  readonly cause: ReleaseCause | undefined
  /** Words for what follows; where the task was given up, the reason. */
  readonly next: string
  /** Time at which the next attempt is due; NaN: there is none. */
  readonly nextAt: number
}

/** The words for an answer of which a browser tells nothing, not even its status. */
export const HIDDEN_REDIRECT = 'a redirect, which a page cannot follow here'

/** The public form of a log line. */
export function showEntry(taskId: string, entry: HistoryEntry): AttemptLog {
  const { attemptNumber, startedAt, durationMs, status, error, kind } = entry
  const decision = decisionOf(entry)
  const data = dataOf(entry)
  const shown = { taskId, attemptNumber, startedAt, durationMs, responseStatus: status || null, errorMessage: error }
  return { ...shown, decision, kind, data }
}

/** Data of a line that has no field of its own in an `AttemptLog`. */
function dataOf(entry: HistoryEntry): DecisionData {
  const { kind, startedAt, durationMs, serverDelayMs, curveMs, spreadMs, counted, authorize, cause, next, nextAt } =
    entry
  const asked = serverDelayMs < 0 ? ({ serverDelayUnreadable: true } as const) : { serverDelayMs }
  return {
    ...(Number.isNaN(nextAt) ? {} : { delayMs: nextAt - startedAt - durationMs, nextAttemptAt: nextAt }),
    ...(Number.isNaN(curveMs) ? {} : { curveMs }),
    ...(Number.isNaN(serverDelayMs) ? {} : asked),
    ...(spreadMs > 0 ? { spreadMs } : {}),
    ...(counted === undefined ? {} : { counted }),
    ...(authorize ? { authorize } : {}),
    ...(cause ? { cause } : {}),
    ...(kind === 'exhausted' ? { reason: next as ExhaustedReason } : {}),
  }
}

/** "503, Retry-After 120 s: next at 14:03:10" (UTC). */
export function decisionOf({ status, error, serverDelayMs, next, nextAt }: HistoryEntry): string {
  const happened = status ? String(status) : (error ?? 'not sent')
  return `${happened}${serverWait(serverDelayMs)}: ${next}${Number.isNaN(nextAt) ? '' : ` at ${timeOf(nextAt)}`}`
}

/** ", Retry-After 120 s"; nothing where the server named no wait. */
export function serverWait(ms: number): string {
  if (Number.isNaN(ms)) return ''
  return ms < 0 ? ', Retry-After unreadable' : `, Retry-After ${ms / 1000} s`
}

/** Time of day, in UTC; '' beyond the days that there are. */
export const timeOf = (at: number): string => (Math.abs(at) <= MAX_MS ? new Date(at).toISOString().slice(11, 19) : '')

const MAX_SHOWN = 100

/** One page of the attempts that were sent, oldest first. `cursor`: an index. */
export function showEntries(
  { taskId, entries }: { readonly taskId: string; readonly entries: readonly HistoryEntry[] },
  { limit = 100, cursor = '0' }: { readonly limit?: number; readonly cursor?: string },
): { attempts: readonly AttemptLog[]; cursor?: string } {
  const from = Number(cursor)
  const to = from + Math.max(1, Math.floor(limit))
  const sent = entries.filter((entry) => entry.sent).slice(-MAX_SHOWN)
  const attempts = sent.slice(from, to).map((entry) => showEntry(taskId, entry))
  return to < sent.length ? { attempts, cursor: String(to) } : { attempts }
}
