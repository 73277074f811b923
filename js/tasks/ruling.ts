/** Asks the core what an ended attempt means: for its task, and for its lane. */

import type { Finished } from '../call/attempt.ts'
import { answeredOf } from '../call/fetch-repeat.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import { type Calls, type Next, settle } from '../core/calls.ts'
import {
  MARK_SEE_OTHER,
  OP_CLASSIFY,
  OP_HEARD,
  OP_HELD_UNTIL,
  OUTCOME_REDIRECT_REFUSED,
  SAID_END,
  SAID_NOTHING,
  SAID_RETRY,
} from '../core/codes.ts'
import type { Engine } from '../core/engine.ts'
import { serverDelayOf } from '../core/server-delay.ts'
import type { FirstPolicy } from '../options/first-policy.ts'
import { FAILED_GET, HIDDEN_REDIRECT, type HistoryEntry, STORED_FAILURE, UNEXPECTED } from './history.ts'
import type { Confidential } from './secrets.ts'
import type { Task } from './task.ts'

/** The core's word on an ended attempt: what follows, as one record for a task in memory and for one in a store. */
export interface Ruling extends Next {
  /** The attempt left: there is an answer, or a connection was lost. */
  readonly sent: boolean
  /** The GET that a redirect has made of the request, as it may be shown. */
  readonly seeOther: string | undefined
  /** The line for the log. */
  readonly entry: HistoryEntry
}

/** The word of the user's hook, `SAID_*`. */
const saidOf = (said: Finished['said']): number =>
  said?.retry === undefined ? SAID_NOTHING : said.retry ? SAID_RETRY : SAID_END

/** Whether an answer says that it was stored under the request's key, and is given again. */
const isReplayed = (answer: RepeatAnswer | null): boolean =>
  ['idempotent-replayed', 'idempotency-replayed'].some((name) => answer?.header(name) === 'true')

/** The words on an answer of which its status does not say all. */
function wordsOf(answer: RepeatAnswer, status: number, outcome: number, isEnd: boolean): string | null {
  if (!status) return HIDDEN_REDIRECT
  if (answer.becameGet && status >= 400) return FAILED_GET
  if (outcome !== OUTCOME_REDIRECT_REFUSED || answer.redirectRefused)
    return isEnd && isReplayed(answer) ? STORED_FAILURE : null
  return UNEXPECTED
}

/** A number that is kept: NaN would take an object of its own. */
const known = (ms: number): number | undefined => (Number.isNaN(ms) ? undefined : ms)

/** Knows policies by their handles. */
interface PolicyHandles {
  with<T>(policy: FirstPolicy, use: (handle: number) => T): T
}

export class Rulings {
  readonly #engine: Engine
  readonly #core: Calls
  readonly #policies: PolicyHandles
  /** The words of an error, without secrets. */
  readonly #words: (error: unknown, about: Confidential) => string
  /** A URL, without secrets. */
  readonly #shown: (url: string) => string

  constructor(
    engine: Engine,
    core: Calls,
    policies: PolicyHandles,
    words: (error: unknown, about: Confidential) => string,
    shown: (url: string) => string,
  ) {
    this.#engine = engine
    this.#core = core
    this.#policies = policies
    this.#words = words
    this.#shown = shown
  }

  /** The meaning of a caller's own first attempt, `CLASS_*`. */
  classify(
    { outcome, status, answer }: Finished<RepeatAnswer>,
    policy: FirstPolicy,
    flags: number,
    now: number,
  ): number {
    const { asked } = serverDelayOf(this.#engine, answer, policy, now)
    return this.#policies.with(policy, (handle) => this.#core.send(OP_CLASSIFY, handle, outcome, status, flags, asked))
  }

  /** Tells the core how an attempt of `task` has ended. `facts`: `FACT_*`, added up. */
  rule(task: Task, finished: Finished<RepeatAnswer>, now: number, facts: number): Ruling {
    const { outcome, status, startedAt, durationMs, answer, error, said } = finished
    const { call, overlay, slot } = task
    const { serverDelayMs, rateLimitMs, partitioned, asked } = serverDelayOf(this.#engine, answer, call?.policy, now)
    const unusable = serverDelayMs < 0
    const next = settle(this.#core, {
      now,
      slot,
      outcome,
      status,
      durationMs,
      rateLimitMs,
      partitioned,
      serverDelayMs: unusable ? Number.NaN : serverDelayMs,
      unusable,
      said: saidOf(said),
      delayMs: said?.delayMs ?? Number.NaN,
      asked,
      replayed: status >= 400 && isReplayed(answer),
      facts,
      reason: task.lease?.reason,
    })
    const { kind, reason, cause, number: attemptNumber } = next
    const sent = answer !== null || error !== undefined
    const isEnd = kind === 'exhausted'
    // after the core's answer has been read: to find secrets it is called, too
    const words = answer ? wordsOf(answer, status, outcome, isEnd) : sent ? this.#words(error, { call, overlay }) : null
    const given = call ? answeredOf(call).seeOther : undefined
    const seeOther = given && this.#shown(given)
    const why = next.why && seeOther ? { ...next.why, marks: next.why.marks | MARK_SEE_OTHER } : next.why
    const entry: HistoryEntry = {
      sent,
      kind,
      attemptNumber,
      startedAt,
      durationMs,
      status,
      error: words,
      serverDelayMs: known(serverDelayMs),
      curveMs: kind === 'retry' && why ? known(why.curveMs) : undefined,
      spreadMs: why?.spreadMs ?? 0,
      counted: why && !why.refunded,
      authorize: why?.authorize === true,
      cause,
      seeOther,
      next: reason ?? (kind === 'parked' ? 'parked until resume()' : why ? 'next' : kind),
      delayMs: why && known(why.dueAt - startedAt - durationMs),
    }
    return { ...next, why, sent, seeOther, entry }
  }

  /**
   * Tells a lane how an attempt has ended that makes no task; `onlyHold`: no more than how long it asks all callers to wait, since the rest
   * follows. Gives the moment until which its server holds the lane, beyond what it had asked before; 0: it does not.
   */
  heard(finished: Finished<RepeatAnswer>, lane: number, policy: FirstPolicy, now: number, onlyHold = false): number {
    const core = this.#core
    const { startedAt, durationMs, outcome, status, answer, said } = finished
    const asked = serverDelayOf(this.#engine, answer, policy, now)
    const { serverDelayMs, rateLimitMs, partitioned } = asked
    const heldUntil = core.call(OP_HELD_UNTIL, lane, now)
    this.#policies.with(policy, (handle) =>
      // biome-ignore format: in the order in which they cross
      core.send(
        OP_HEARD, now, lane, handle, startedAt, outcome, status, serverDelayMs < 0 ? Number.NaN : serverDelayMs, durationMs, rateLimitMs,
        partitioned, saidOf(said), onlyHold,
      ),
    )
    const until = core.call(OP_HELD_UNTIL, lane, now)
    return until > heldUntil ? until : 0
  }
}
