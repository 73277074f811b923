/** Asks the core what an ended attempt means: for its task, and for its lane. */

import type { RetryPolicy } from '../api/policy.ts'
import type { ReleaseCause } from '../api/task.ts'
import { type Finished, OUTCOME_FINAL } from '../call/attempt.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import {
  HEARD_FAILED,
  HEARD_HEALTHY,
  HEARD_SUCCESS,
  OUTCOME_NETWORK_ERROR,
  OUTCOME_OFFLINE,
  VERDICT_PARKED,
  VERDICT_RETRY,
} from '../core/codes.ts'
import type { Engine } from '../core/engine.ts'
import type { CoreQueue } from '../core/generated/queue/glue.js'
import { type Settled, settle } from '../core/queue-calls.ts'
import { serverDelayOf } from '../core/server-delay.ts'
import { DAY_MS, FOREVER } from '../platform/clock.ts'
import { type HistoryEntry, lineOf } from './history.ts'
import type { Confidential } from './secrets.ts'
import type { Task } from './task.ts'

export interface Ruling {
  readonly verdict: number
  /** The numbers behind it, where another attempt is to follow. */
  readonly why: Settled | undefined
  /** The attempt left: there is an answer, or a connection was lost. */
  readonly sent: boolean
  /** End of the attempt, by the core's numbers: `OUTCOME_*`. */
  readonly outcome: number
  readonly attemptNumber: number
  /** The wait that the server asked of the whole lane, before any limit; 0: none. */
  readonly holdMs: number
  /** Makes the line for the log; `nextAt` NaN: no attempt follows. */
  readonly entry: (kind: HistoryEntry['kind'], next: string, nextAt?: number, cause?: ReleaseCause) => HistoryEntry
}

/** The outcome of an attempt that was made before there was a task: being offline is then just as transient as a lost connection. */
export const untrackedOutcome = ({ outcome }: Finished): number =>
  outcome === OUTCOME_OFFLINE ? OUTCOME_NETWORK_ERROR : outcome

export class Rulings {
  readonly #engine: Engine
  readonly #core: CoreQueue
  /** The words of an error, without secrets. */
  readonly #words: (error: unknown, about: Confidential) => string

  constructor(engine: Engine, core: CoreQueue, words: (error: unknown, about: Confidential) => string) {
    this.#engine = engine
    this.#core = core
    this.#words = words
  }

  /** Tells the core how an attempt of `task` has ended. */
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

  /** Tells a lane how an attempt has ended that makes no task. Gives the moment until which its server holds the lane, beyond what it had asked before; 0: it does not. */
  observeUntracked(finished: Finished<RepeatAnswer>, lane: number, policy: RetryPolicy, now: number): number {
    const { answer, outcome, status, startedAt, durationMs } = finished
    const { retryableStatusCodes = [], attemptTimeoutMs } = policy
    const failed = answer ? retryableStatusCodes.includes(status) : outcome !== OUTCOME_FINAL
    // a redirect that is not followed, an error of the caller's own making, being offline: no word of the server
    const speaks = answer ? !answer.redirectRefused : failed && outcome !== OUTCOME_OFFLINE
    if (speaks) {
      const kind = failed ? HEARD_FAILED : status < 400 ? HEARD_SUCCESS : HEARD_HEALTHY
      this.#core.hear(now, lane, startedAt, kind, durationMs * 2 > (attemptTimeoutMs || FOREVER))
    }
    const holdMs = this.holdAsked(finished, policy, now)
    const heldUntil = this.#core.heldUntil(lane, now)
    this.#core.hold(now, lane, holdMs)
    const until = this.#core.heldUntil(lane, now)
    return until > heldUntil ? until : 0
  }

  /** How long an answer asks all callers of its lane to wait, in milliseconds; 0: not at all. */
  holdAsked({ answer, status }: Finished<RepeatAnswer>, policy: RetryPolicy, now: number): number {
    if (!answer) return 0
    const { retryableStatusCodes = [], maxServerDelayMs = DAY_MS } = policy
    const { serverDelayMs, rateLimitMs } = serverDelayOf(this.#engine, answer, retryableStatusCodes, now)
    const speaksForAll = status === 429 || status === 503
    const holdMs = speaksForAll && serverDelayMs >= 0 ? serverDelayMs : rateLimitMs
    // longer than a task would wait for, it is ignored
    return holdMs > 0 && holdMs <= maxServerDelayMs ? holdMs : 0
  }
}
