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
  /** The server's wait in ms; undefined: it named none; -1: one that cannot be read. */
  readonly serverDelayMs?: number | undefined
  /** The curve's wait in ms; undefined: none was chosen. */
  readonly curveMs?: number | undefined
  /** Wait of our own on top of the server's. */
  readonly spreadMs: number
  /** Whether the attempt counts; undefined: none is to follow. */
  readonly counted?: boolean | undefined
  /** The next attempt follows a 401. */
  readonly authorize: boolean
  /** The reason why it was given back, if it was. */
  readonly cause?: ReleaseCause | undefined
  /** The GET that a redirect has made of the request, as it may be shown. */
  readonly seeOther?: string | undefined
  /** Words for what follows; where the task was given up, the reason. */
  readonly next: string
  /** From its end until the next attempt is due; undefined: there is none. */
  readonly delayMs?: number | undefined
}

/** The words for an answer of which a browser tells nothing, not even its status. */
export const HIDDEN_REDIRECT = 'a redirect, which a page cannot follow here'
/** The words for answers that end their task whatever the policy says of their status. */
export const FAILED_GET = 'the GET that a redirect made of it failed'
export const STORED_FAILURE = 'the server stored this failure under the key and replays it'
export const UNEXPECTED = 'the answer is not what its policy expects'

/** A line that is not about an attempt. */
export function unsent(kind: HistoryEntry['kind'], attemptNumber: number, at: number, next: string): HistoryEntry {
  return {
    sent: false,
    kind,
    attemptNumber,
    startedAt: at,
    durationMs: 0,
    status: 0,
    error: null,
    spreadMs: 0,
    authorize: false,
    next,
  }
}

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
  const { kind, startedAt, durationMs, serverDelayMs, curveMs, spreadMs, counted, authorize, cause } = entry
  const { seeOther, next, delayMs } = entry
  return {
    ...(delayMs === undefined ? {} : { delayMs, nextAttemptAt: startedAt + durationMs + delayMs }),
    ...(curveMs === undefined ? {} : { curveMs }),
    ...(serverDelayMs === undefined ? {} : serverDelayMs < 0 ? { serverDelayUnreadable: true } : { serverDelayMs }),
    ...(spreadMs > 0 ? { spreadMs } : {}),
    ...(counted === undefined ? {} : { counted }),
    ...(authorize ? { authorize } : {}),
    ...(cause ? { cause } : {}),
    ...(seeOther === undefined ? {} : { seeOther }),
    ...(kind === 'exhausted' ? { reason: next as ExhaustedReason } : {}),
  }
}

/** "503, Retry-After 120 s: next at 14:03:10" (UTC). */
function decisionOf(entry: HistoryEntry): string {
  const { status, error, serverDelayMs, next, startedAt, durationMs, delayMs } = entry
  const happened = status ? String(status) : (error ?? 'no answer')
  return `${happened}${serverWait(serverDelayMs)}: ${next}${delayMs === undefined ? '' : ` at ${timeOf(startedAt + durationMs + delayMs)}`}`
}

/** ", Retry-After 120 s"; nothing where the server named no wait. */
export function serverWait(ms: number | undefined): string {
  if (ms === undefined) return ''
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
