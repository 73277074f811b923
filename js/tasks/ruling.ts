/** What the core says of an ended attempt, with the line about it for the task's log. */

import type { RetryPolicy } from '../api/policy.ts'
import type { ReleaseCause } from '../api/task.ts'
import { type Finished, OUTCOME_FINAL } from '../call/attempt.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import {
  HEARD_FAILED,
  HEARD_HEALTHY,
  HEARD_SUCCESS,
  OUTCOME_OFFLINE,
  VERDICT_PARKED,
  VERDICT_RETRY,
} from '../core/codes.ts'
import type { Engine } from '../core/engine.ts'
import type { CoreQueue } from '../core/generated/queue/glue.js'
import { type Settled, settle } from '../core/queue-calls.ts'
import { serverDelayOf } from '../core/server-delay.ts'
import { type HistoryEntry, lineOf } from './history.ts'
import type { Confidential } from './secrets.ts'
import type { Task } from './task.ts'

const FOREVER = Number.POSITIVE_INFINITY
const DAY_MS = 86_400_000

export interface Ruling {
  readonly verdict: number
  /** The numbers behind it, where another attempt is to follow. */
  readonly why: Settled | undefined
  /** It left: an answer or a lost connection. */
  readonly sent: boolean
  /** How it ended, by the core's numbers. */
  readonly outcome: number
  readonly attemptNumber: number
  /** What the server asked everybody to wait, beyond what it had asked before; 0: nothing. */
  readonly holdMs: number
  /** The line in the log; `nextAt` NaN: nothing follows. */
  readonly entry: (kind: HistoryEntry['kind'], next: string, nextAt?: number, cause?: ReleaseCause) => HistoryEntry
}

export class Rulings {
  readonly #engine: Engine
  readonly #core: CoreQueue
  /** What an error says, without secrets. */
  readonly #words: (error: unknown, about: Confidential) => string

  constructor(engine: Engine, core: CoreQueue, words: (error: unknown, about: Confidential) => string) {
    this.#engine = engine
    this.#core = core
    this.#words = words
  }

  /** Tells the core how the attempt of `task`, has ended. */
  rule(task: Task, finished: Finished<RepeatAnswer>, now: number): Ruling {
    const { outcome, status, durationMs, answer, error } = finished
    const sent = answer !== null || error !== undefined
    const asked = serverDelayOf(this.#engine, answer, task.call?.policy.retryableStatusCodes ?? [], now)
    const { serverDelayMs, rateLimitMs } = asked
    const unusable = serverDelayMs < 0
    const delayMs = unusable ? Number.NaN : serverDelayMs
    const { slot } = task
    const ended = { now, slot, outcome, status, serverDelayMs: delayMs, durationMs, rateLimitMs, unusable }
    const settled = settle(this.#engine, this.#core, ended)
    const { verdict, holdMs } = settled
    const why = verdict === VERDICT_RETRY || verdict === VERDICT_PARKED ? settled : undefined
    const attemptNumber = task.attemptNumber || (sent ? 1 : 0)
    const about = { call: task.call, overlay: task.overlay }
    const entry: Ruling['entry'] = (kind, next, nextAt = Number.NaN, cause) => {
      return lineOf(finished, (thrown) => this.#words(thrown, about), {
        sent,
        kind,
        attemptNumber,
        serverDelayMs,
        curveMs: why && kind === 'retry' ? why.curveMs : Number.NaN,
        spreadMs: why?.spreadMs ?? 0,
        counted: why && !why.refunded,
        authorize: why?.authorize === true,
        cause,
        next,
        nextAt,
      })
    }
    return { verdict, why, sent, outcome, attemptNumber, holdMs, entry }
  }

  /** The same of an attempt that makes no task: only its lane learns. */
  observeUntracked(finished: Finished<RepeatAnswer>, lane: number, policy: RetryPolicy, now: number): void {
    const { answer, outcome, status, startedAt, durationMs } = finished
    const { retryableStatusCodes = [], maxServerDelayMs = DAY_MS, attemptTimeoutMs } = policy
    const failed = answer ? retryableStatusCodes.includes(status) : outcome !== OUTCOME_FINAL
    // a redirect that is not followed, an error of the caller's own making, being offline: no word of the server
    const speaks = answer ? !answer.redirectRefused : failed && outcome !== OUTCOME_OFFLINE
    if (speaks) {
      const kind = failed ? HEARD_FAILED : status < 400 ? HEARD_SUCCESS : HEARD_HEALTHY
      this.#core.hear(now, lane, startedAt, kind, durationMs * 2 > (attemptTimeoutMs || FOREVER))
    }
    if (!answer) return
    const { serverDelayMs, rateLimitMs } = serverDelayOf(this.#engine, answer, retryableStatusCodes, now)
    const speaksForAll = status === 429 || status === 503
    const holdMs = speaksForAll && serverDelayMs >= 0 ? serverDelayMs : rateLimitMs
    // longer than a task would wait for, it is ignored
    if (holdMs <= maxServerDelayMs) this.#core.hold(now, lane, holdMs)
  }
}
