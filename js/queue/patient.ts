/**
 * The limit of a first attempt, where nothing was said about it: it is over once the attempt has lasted so long, unless its server answers no
 * one. Not in pages: a browser opens six connections to a server, and those that hang would keep others from being tried.
 */

import type { AttemptClock } from '../call/attempt.ts'
import { type Call, isDefaultLimit } from '../call/call.ts'
import type { Answer } from '../call/transport.ts'
import { FLAG_REPLAYABLE, OP_LASTS } from '../core/codes.ts'
import { keepContext, OUTSIDE } from '../platform/async-context.ts'
import { FOREVER, systemClock, timeoutError } from '../platform/clock.ts'
import { isPage } from '../platform/page.ts'
import type { QueueContext } from '../runner/context.ts'
import { type Loader, loadCore, type MakeLoader } from './core-loader.ts'

/** Origins whose answers are noted. */
const MOST_ORIGINS = 1_000
/** An attempt whose limit is over waits for the core no longer than this, in ms of real time, whatever the clock. */
const LOADING_MS = 500

/** The answers of one origin, whether or not the core hears of them. */
interface Answers {
  /** When the last one came; 0: there was none. */
  lastAt: number
}

/** Loads the core, has it asked before a first attempt is given up, and each task sent in the context of its call. */
export const patientLoader: MakeLoader = (source, host) => {
  const core = loadCore(source, host)
  const byOrigin = new Map<string, Answers>()
  const answersOf = (origin: string): Answers => {
    const known = byOrigin.get(origin)
    if (known) return known
    if (byOrigin.size >= MOST_ORIGINS) byOrigin.clear()
    const answers = { lastAt: 0 }
    byOrigin.set(origin, answers)
    return answers
  }
  if (isPage()) return core
  host.keepContext = keepContext
  host.outside = OUTSIDE
  host.patient = (call, createdAt) => new PatientClock(host, core, answersOf(call.origin), call, createdAt)
  return core
}

/** The clock of one attempt. Every call has one, and few hear of their limit: what it needs then is worked out then. */
class PatientClock implements AttemptClock {
  readonly #host: QueueContext
  readonly #core: Loader
  readonly #answers: Answers
  readonly #call: Call
  readonly #createdAt: number
  #disarm = (): void => {}
  #isEnded = false

  constructor(host: QueueContext, core: Loader, answers: Answers, call: Call, createdAt: number) {
    this.#host = host
    this.#core = core
    this.#answers = answers
    this.#call = call
    this.#createdAt = createdAt
  }

  after(limitMs: number, onLimit: (reason?: DOMException) => void): (answer: Answer | null) => void {
    this.#disarm = this.#host.settings.clock.after(limitMs, () => {
      if (!isDefaultLimit(this.#call, limitMs) || this.#call.options.mode === 'defer') onLimit()
      else void this.#look(this.#host.now() - limitMs, false, onLimit)
    })
    return (answer) => {
      this.#isEnded = true
      this.#disarm()
      if (answer) this.#answers.lastAt = this.#host.now()
    }
  }

  /** `stays`: it has gone on beyond its limit. */
  async #look(startedAt: number, stays: boolean, onLimit: (reason?: DOMException) => void): Promise<void> {
    const { now, settings } = this.#host
    const core = this.#core.opened ?? (await inTime(this.#core))
    if (this.#isEnded) return
    // of no use to a principal who has left
    const until = this.#call.principal === this.#host.principal && core ? this.#lasts(core.runner, startedAt) : 0
    if (until > now()) {
      this.#disarm = settings.clock.after(until - now(), () => void this.#look(startedAt, true, onLimit))
      return
    }
    const words = `attempt 1 had no answer within ${now() - startedAt} ms, nor had other calls`
    onLimit(stays ? timeoutError(words) : undefined)
  }

  /** Until when the attempt goes on; 0: it is given up. */
  #lasts(runner: NonNullable<Loader['opened']>['runner'], startedAt: number): number {
    const { core, lanes, policies, host, state } = runner
    if (state === 'stopped') return 0
    const { principal, origin, policy, replayable, waitMs, options } = this.#call
    const at = host.now()
    const flags = replayable ? FLAG_REPLAYABLE : 0
    const leavesAt = Math.min(this.#createdAt + waitMs, options.expiresAt ?? FOREVER)
    const ask = (handle: number) =>
      core.send(OP_LASTS, at, lanes.of(principal, origin), handle, flags, startedAt, this.#answers.lastAt, leavesAt)
    return runner.guard(() => policies.with(policy, ask)) ?? 0
  }
}

function inTime(core: Loader): Promise<Loader['opened']> {
  return new Promise((resolve) => {
    const disarm = systemClock.after(LOADING_MS, () => resolve(undefined))
    core.open().then((manager) => {
      disarm()
      resolve(manager)
    })
  })
}
