/** Asks the core what an ended attempt means: for its task, and for its lane. */

import type { ReleaseCause } from '../api/task.ts'
import type { Finished } from '../call/attempt.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import {
  HEARD_FAILED,
  HEARD_HEALTHY,
  HEARD_LIMITED,
  HEARD_NOTHING,
  HEARD_SUCCESS,
  OUTCOME_FINAL,
  OUTCOME_NETWORK_ERROR,
  OUTCOME_OFFLINE,
  SAID_END,
  SAID_NOTHING,
  SAID_RETRY,
  VERDICT_PARKED,
  VERDICT_RETRY,
} from '../core/codes.ts'
import type { Engine } from '../core/engine.ts'
import type { CoreQueue } from '../core/generated/queue/glue.js'
import { type Settled, Verdicts } from '../core/queue-calls.ts'
import { serverDelayOf } from '../core/server-delay.ts'
import { ATTEMPT_MS, type FirstPolicy } from '../options/first-policy.ts'
import { policyDefaults } from '../options/policy.ts'
import { HIDDEN_REDIRECT, type HistoryEntry } from './history.ts'
import type { Confidential } from './secrets.ts'
import type { Task } from './task.ts'

/** The core's word on an ended attempt. */
export class Ruling {
  readonly verdict: number
  /** The numbers behind it, where another attempt is to follow. */
  readonly why: Settled | undefined
  /** The attempt left: there is an answer, or a connection was lost. */
  readonly sent: boolean
  readonly attemptNumber: number
  /** The wait that the server asked of the whole lane, before any limit; 0: none. */
  readonly holdMs: number
  readonly #finished: Finished<RepeatAnswer>
  readonly #serverDelayMs: number
  /** The words of its error, without secrets; null: it has none. */
  error: string | null = null

  /** `verdicts` has the numbers behind the verdict. */
  constructor(
    verdict: number,
    verdicts: Verdicts,
    finished: Finished<RepeatAnswer>,
    attemptNumber: number,
    serverDelayMs: number,
  ) {
    this.verdict = verdict
    this.why = verdict === VERDICT_RETRY || verdict === VERDICT_PARKED ? verdicts.settled : undefined
    this.sent = finished.answer !== null || finished.error !== undefined
    this.attemptNumber = attemptNumber || (this.sent ? 1 : 0)
    this.holdMs = verdicts.holdMs
    this.#finished = finished
    this.#serverDelayMs = serverDelayMs
  }

  /** End of the attempt, by the core's numbers: `OUTCOME_*`. */
  get outcome(): number {
    return this.#finished.outcome
  }

  /** The line for the log; `nextAt` NaN: no attempt follows. */
  entry(
    kind: HistoryEntry['kind'],
    next: string,
    nextAt: number = Number.NaN,
    cause: ReleaseCause | undefined = undefined,
  ): HistoryEntry {
    const { why, sent, attemptNumber } = this
    const { startedAt, durationMs, status, answer } = this.#finished
    return {
      sent,
      kind,
      attemptNumber,
      startedAt,
      durationMs,
      status,
      error: answer && !status ? HIDDEN_REDIRECT : this.error,
      serverDelayMs: known(this.#serverDelayMs),
      curveMs: kind === 'retry' && why ? known(why.curveMs) : undefined,
      spreadMs: why?.spreadMs ?? 0,
      counted: why && !why.refunded,
      authorize: why?.authorize === true,
      cause,
      next,
      delayMs: known(nextAt - startedAt - durationMs),
    }
  }
}

/** A number that is kept: NaN would take an object of its own. */
const known = (ms: number): number | undefined => (Number.isNaN(ms) ? undefined : ms)

/** The outcome of an attempt that was made before there was a task: being offline is then just as transient as a lost connection. */
export const untrackedOutcome = ({ outcome }: Finished): number =>
  outcome === OUTCOME_OFFLINE ? OUTCOME_NETWORK_ERROR : outcome

/** The word of an ended attempt about its server, `HEARD_*`. A redirect that is not followed, an error of the caller's own making, being offline: nothing. */
function heardOf({ answer, outcome, status }: Finished, { retryableStatusCodes }: FirstPolicy): number {
  if (!answer) return outcome === OUTCOME_FINAL || outcome === OUTCOME_OFFLINE ? HEARD_NOTHING : HEARD_FAILED
  if (answer.redirectRefused) return HEARD_NOTHING
  if (retryableStatusCodes.includes(status)) return HEARD_FAILED
  return status < 400 ? HEARD_SUCCESS : HEARD_HEALTHY
}

/** Whether an answer tells of an origin that nothing is known of: it failed, or may ask others to wait, who are in the store or come later. */
export function isNews(finished: Finished<RepeatAnswer>, policy: FirstPolicy): boolean {
  const { answer, status } = finished
  if (heardOf(finished, policy) === HEARD_FAILED) return true
  return answer !== null && (status === 429 || status === 503 || answer.header('ratelimit') !== null)
}

export class Rulings {
  readonly #engine: Engine
  readonly #core: CoreQueue
  readonly #verdicts: Verdicts
  /** The words of an error, without secrets. */
  readonly #words: (error: unknown, about: Confidential) => string

  constructor(engine: Engine, core: CoreQueue, words: (error: unknown, about: Confidential) => string) {
    this.#engine = engine
    this.#core = core
    this.#verdicts = new Verdicts(engine, core)
    this.#words = words
  }

  /** Tells the core how an attempt of `task` has ended. */
  rule(task: Task, finished: Finished<RepeatAnswer>, now: number): Ruling {
    const { outcome, status, durationMs, answer, error, said } = finished
    const { call, overlay, slot } = task
    const { serverDelayMs, rateLimitMs, partitioned } = serverDelayOf(
      this.#engine,
      answer,
      call?.policy.retryableStatusCodes ?? [],
      now,
    )
    const unusable = serverDelayMs < 0
    const verdict = this.#verdicts.settle({
      now,
      slot,
      outcome,
      status,
      durationMs,
      rateLimitMs,
      partitioned,
      serverDelayMs: unusable ? Number.NaN : serverDelayMs,
      unusable,
      said: said?.retry === undefined ? SAID_NOTHING : said.retry ? SAID_RETRY : SAID_END,
      delayMs: said?.delayMs ?? Number.NaN,
    })
    const verdicts = this.#verdicts
    const ruling = new Ruling(verdict, verdicts, finished, task.attemptNumber, serverDelayMs)
    // last: to find secrets in it the core is called, too
    if (!answer && ruling.sent) ruling.error = this.#words(error, { call, overlay })
    return ruling
  }

  /** Tells a lane how an attempt has ended that makes no task. Gives the moment until which its server holds the lane, beyond what it had asked before; 0: it does not. */
  observeUntracked(finished: Finished<RepeatAnswer>, lane: number, policy: FirstPolicy, now: number): number {
    const { startedAt, durationMs } = finished
    const heard = heardOf(finished, policy)
    const isLimited = heard === HEARD_FAILED && finished.status === 429 && this.holdAsked(finished, policy, now) > 0
    this.#core.hear(
      now,
      lane,
      startedAt,
      isLimited ? HEARD_LIMITED : heard,
      durationMs,
      policy.attemptTimeoutMs ?? ATTEMPT_MS,
    )
    return this.holdLane(finished, lane, policy, now)
  }

  /** Holds a lane as an answer asks of all its callers. Gives the moment until which it is held, beyond what was asked before; 0: it is not. */
  holdLane(finished: Finished<RepeatAnswer>, lane: number, policy: FirstPolicy, now: number): number {
    const heldUntil = this.#core.heldUntil(lane, now)
    this.#core.hold(now, lane, this.holdAsked(finished, policy, now))
    const until = this.#core.heldUntil(lane, now)
    return until > heldUntil ? until : 0
  }

  /** How long an answer asks all callers of its lane to wait, in milliseconds; 0: not at all. */
  holdAsked({ answer, status }: Finished<RepeatAnswer>, policy: FirstPolicy, now: number): number {
    if (!answer) return 0
    const { retryableStatusCodes, maxRetryAfterMs = policyDefaults.maxRetryAfterMs } = policy
    const asked = serverDelayOf(this.#engine, answer, retryableStatusCodes, now)
    const { serverDelayMs, rateLimitMs, partitioned } = asked
    const speaksForAll = status === 429 || status === 503
    const limitMs = partitioned ? 0 : rateLimitMs
    const holdMs = speaksForAll && serverDelayMs >= 0 ? serverDelayMs : limitMs
    // longer than a task would wait for, it is ignored
    return holdMs > 0 && holdMs <= maxRetryAfterMs ? holdMs : 0
  }
}
