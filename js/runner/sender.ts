/**
 * Makes an attempt of a task: asks the user's hooks within a time limit that keeps a lease useful, looks once more whether it may
 * go, sends it, and reports how it ended. An attempt that must not be sent is given back.
 */

import type { AttemptContext, RetryTask } from '../api/task.ts'
import { type Finished, limitOf } from '../call/attempt.ts'
import type { Call, UnderWay } from '../call/call.ts'
import { adopted, fails } from '../call/fetch-repeat.ts'
import { UnusableHeaders } from '../call/hook-headers.ts'
import { notSent } from '../call/not-sent.ts'
import { REST_MS } from '../call/read-body.ts'
import { signed } from '../call/sign.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import { OUTCOME_CREDENTIALS_FAILED, OUTCOME_RELEASED, OUTCOME_VETOED } from '../core/codes.ts'
import type { UnmadeError } from '../options/own-sending.ts'
import { FOREVER, within } from '../platform/clock.ts'
import { unsaid } from '../platform/error-text.ts'
import type { Task } from '../tasks/task.ts'
import type { QueueContext } from './context.ts'
import { tellMaybeCors } from './cors.ts'
import { askFor, giverFor, remedyFor, unparkedBy } from './credentials.ts'
import type { RunnerPorts } from './ports.ts'
import { HOOK_MS } from './questions.ts'
import { tellPage } from './redirected-page.ts'
import { Replay } from './replay.ts'
import { askHooks, asksAbout } from './retry-hooks.ts'

const MOST_REFUSED = 1_000

export class Sender {
  readonly #ports: RunnerPorts
  /** Numbers of refused attempts, by their tasks, which ask for fresh credentials next; the youngest of them, since a task may end without asking. */
  readonly #refused = new Map<string, number>()
  readonly #replayed = (attempt: Replay, finished: Finished<RepeatAnswer>): void => {
    const { task, call } = attempt
    if (finished.status === 401 && attempt.overlay) this.#refuse(task.taskId, attempt.nth)
    tellMaybeCors(call, finished, this.#ports.host)
    this.#ended(task, call, attempt, finished, finished.startedAt + finished.durationMs)
  }

  constructor(ports: RunnerPorts) {
    this.#ports = ports
  }

  /** In the context of its call, and not in that of whatever has the task start now. `now`: where it has just been read. */
  start(task: Task, now?: number): void {
    const within = task.call?.within ?? this.#ports.host.outside
    if (within) within(() => this.#start(task, now))
    else this.#start(task, now)
  }

  #start(task: Task, now?: number): void {
    const { host } = this.#ports
    const { settings, events } = host
    const { call } = task
    host.changed?.(task)
    if (call?.underWay) {
      this.#follow(task, call, call.underWay)
      return
    }
    if (!call) return
    const attempt = new Replay(this.#ports, task, call)
    task.attempt = attempt
    const { sign } = call.own ?? settings
    const asks = giverFor(settings, call) !== undefined || settings.beforeAttempt !== undefined || sign !== undefined
    if (!asks && !events.has('attempt')) {
      this.#send(task, call, attempt, null, now)
      return
    }
    const context = { attemptNumber: task.attemptNumber, signal: attempt.own, unauthorized: task.unauthorized }
    if (asks) this.#ask(task, call, attempt, context).catch((error) => this.#ports.trapped(error))
    else this.#send(task, call, attempt, context)
  }

  #refuse(taskId: string, nth: number): void {
    this.#refused.set(taskId, nth)
    for (const oldest of this.#refused.keys()) {
      if (this.#refused.size <= MOST_REFUSED) return
      this.#refused.delete(oldest)
    }
  }

  async #ask(task: Task, call: Call, attempt: Replay, context: AttemptContext): Promise<void> {
    const { host, words } = this.#ports
    if (!this.#ports.maySend(task)) {
      this.#giveBack(task)
      return
    }
    const about = (error: unknown, overlay: Headers | null) => words(error, { call, overlay })
    const refused = this.#refused.get(task.taskId) ?? call.nth
    this.#refused.delete(task.taskId)
    const { overlay, outcome } = await askBefore(host, task, call, this.#ports.show(task), context, about, refused)
    const isSure = (await this.#ports.stored?.guard.confirm(task)) ?? true
    if (task.attempt !== attempt) return // given back meanwhile, and perhaps begun anew
    // whose caller has waited to the end for a hook: sent now, it would reach its server, and its caller be told that it failed
    if (!isSure || task.leftMs(host.now()) <= 0) this.#giveBack(task)
    else if (outcome === undefined) {
      attempt.overlay = overlay
      this.#send(task, call, attempt, context)
    } else this.#ports.settle(task, notSent(outcome, host.now()))
  }

  #send(task: Task, call: Call, attempt: Replay, context: AttemptContext | null, now = this.#ports.host.now()): void {
    const { host } = this.#ports
    // given back, cancelled or lost while the hooks were asked: should it run again, this is not that attempt
    if (!task.call || task.attempt !== attempt) return
    const { overlay } = attempt
    const missing = call.rebuilt ? task.missing(overlay) : []
    if (missing.length > 0) {
      // no credentials will come by themselves: parked
      if (task.lease) task.lease.parks = true
      const remedy = `${remedyFor(host.settings, call)}; it waits for ${unparkedBy(host)}`
      const message = `${task.what}: ${missing.join(', ')} is missing; ${remedy}`
      host.degraded('credentials_missing', message, task.origin, { origin: task.origin })
      this.#ports.settle(task, notSent(OUTCOME_CREDENTIALS_FAILED, host.now()))
      return
    }
    let may = this.#ports.maySend(task)
    if (may && context && host.events.has('attempt')) {
      host.events.emit('attempt', { task: this.#ports.show(task), context })
      // a listener may have paused, closed or cancelled
      may = this.#ports.maySend(task)
    }
    if (!may) {
      this.#giveBack(task)
      return
    }
    attempt.nth = ++host.counts.attempts
    if (task.lease) task.lease.isSent = true
    if (overlay) task.overlay = overlay
    // a deferred caller may be answered before the attempt has ended: that one's abort is a cancel
    if (task.waiter && !call.options.detach && call.options.mode !== 'defer' && !call.signal?.aborted)
      attempt.caller = call.signal
    attempt.timeoutMs = limitOf(call, task.leftMs(now))
    if (host.watched) this.#sendWatched(call, attempt, host.watched)
    else attempt.begin(this.#replayed, now)
  }

  #sendWatched(call: Call, attempt: Replay, watched: NonNullable<QueueContext['watched']>): void {
    // its answer is the transport's own
    const ended = (finished: Finished) => this.#replayed(attempt, finished as Finished<RepeatAnswer>)
    watched.call(this.#ports.host, call, attempt, () => attempt.run()).then(ended)
  }

  /** Takes the attempt that its caller has begun for the task's first. */
  #follow(task: Task, call: Call, { sending, controller }: UnderWay): void {
    call.underWay = undefined
    // it has a place and a token of its own now
    call.leave?.(false)
    task.attempt = controller
    if (task.lease) task.lease.isSent = true
    sending.then((ended) => {
      this.#ended(task, call, controller, adopted(call, ended))
    })
  }

  #ended(task: Task, call: Call, attempt: Task['attempt'], ended: Finished<RepeatAnswer>, now?: number): void {
    if (task.attempt !== attempt) {
      // given back meanwhile: the task's next attempt, if it has one by now, is another
      ended.answer?.discard()
      return
    }
    const unmade = (ended.error as Partial<UnmadeError> | undefined)?.unmade
    if (task.lease && unmade) {
      Object.assign(task.lease, unmade)
      this.#ports.settle(task, { ...ended, outcome: unmade.reason ? OUTCOME_VETOED : OUTCOME_CREDENTIALS_FAILED })
      return
    }
    if (!task.waiter && task.joined.length === 0) tellPage(task, call, ended, this.#ports.host)
    const asks = asksAbout(call, ended, this.#ports.host)
    const resting = this.#rest(task, ended, call.policy)
    if (asks || resting) void this.#settleLater(task, call, attempt, ended, asks, resting)
    else this.#ports.settle(task, ended, now)
  }

  async #settleLater(
    task: Task,
    call: Call,
    attempt: Task['attempt'],
    ended: Finished<RepeatAnswer>,
    asks: boolean,
    resting: Promise<void> | undefined,
  ): Promise<void> {
    await resting
    const finished = asks ? await this.#asked(task, call, ended) : ended
    if (task.attempt === attempt) this.#ports.settle(task, finished)
    else finished.answer?.discard()
  }

  /** The attempt with what the user's hooks say of it. Where one throws, that is what a waiting caller gets. Never rejects. */
  async #asked(task: Task, call: Call, ended: Finished<RepeatAnswer>): Promise<Finished<RepeatAnswer>> {
    const { host, words } = this.#ports
    try {
      return await askHooks(call, ended, this.#ports, task.waiter ? task.waitUntil : FOREVER, task)
    } catch (error) {
      if (task.waiter || task.joined.length > 0) {
        ended.answer?.discard()
        return { ...ended, answer: null, error, said: { retry: false, delayMs: undefined } }
      }
      const message = `a hook threw about ${task.what} (${words(error, { call, overlay: task.overlay })})`
      host.degraded('hook_threw', `${message}: no caller waits, so the policy decides`, 'shouldRetry')
      return ended
    }
  }

  /** Reads a little of an answer that its task may go on from, or that no caller takes: its connection counts as in flight until then. */
  #rest(task: Task, { answer, status }: Finished<RepeatAnswer>, policy: Call['policy']): Promise<void> | undefined {
    const { host, restTerms } = this.#ports
    const isTaken = task.waiter !== undefined || task.joined.length > 0
    const isGood = !fails(policy, status)
    // its caller reads it, or waits no longer than the rest may take
    if (isTaken && (isGood || task.leftMs(host.now()) <= REST_MS)) return undefined
    return answer?.rest(isTaken || (isGood && host.events.has('succeeded')), restTerms)
  }

  #giveBack(task: Task): void {
    this.#ports.settle(task, notSent(OUTCOME_RELEASED, this.#ports.host.now()))
  }
}

/** Answers of the user's hooks; `outcome` is set when the attempt must not be sent. */
interface Asked {
  readonly overlay: Headers | null
  readonly outcome?: number
}

/** Asks `credentials` and `beforeAttempt`. `words`: what an error says, without secrets. */
async function askBefore(
  host: QueueContext,
  task: Task,
  call: Call,
  shown: RetryTask,
  context: AttemptContext,
  words: (error: unknown, overlay: Headers | null) => string,
  refused: number | undefined,
): Promise<Asked> {
  const { settings } = host
  const { beforeAttempt, clock } = settings
  const give = giverFor(settings, call)
  const { sign } = call.own ?? settings
  // its caller waits no longer for a hook than for an answer
  const limitMs = () => Math.min(HOOK_MS, Math.max(1, task.leftMs(host.now())))
  let overlay: Headers | null = null
  task.isUnsigned = false
  if (give) {
    try {
      const { signal, unauthorized } = context
      const { withheldHeaders, principal } = shown
      const asker = { principal, withheldHeaders, unauthorized, signal, refused }
      overlay = await askFor(host, give, call, asker, task.leftMs(host.now()))
    } catch (error) {
      const failed = `credentials of ${task.origin} failed (${words(error, overlay)})`
      host.degraded('credentials_failed', `${failed}: the attempt was given back and is tried again later`, task.origin)
      return { overlay: null, outcome: OUTCOME_CREDENTIALS_FAILED }
    }
  }
  if (beforeAttempt) {
    try {
      const given = new Promise<boolean>((resolve) => resolve(beforeAttempt(shown, context)))
      if ((await within(clock, limitMs(), 'beforeAttempt()', given)) === false)
        return { overlay, outcome: OUTCOME_VETOED }
    } catch (error) {
      host.degraded(
        'hook_threw',
        `beforeAttempt() failed (${words(error, overlay)}): the attempt was made`,
        'beforeAttempt',
      )
    }
  }
  if (sign) {
    try {
      // last, so that the signature is as young as can be
      overlay = await signed(sign, call, { overlay, signal: context.signal, clock }, limitMs())
    } catch (error) {
      task.isUnsigned = true
      const failed =
        error instanceof UnusableHeaders
          ? error.message
          : `sign() failed (${unsaid(error)}; catch it in sign() to log it)`
      host.degraded('sign_failed', `${failed}; the attempt was given back and is tried again later`, task.origin)
      return { overlay: null, outcome: OUTCOME_CREDENTIALS_FAILED }
    }
  }
  return { overlay }
}
