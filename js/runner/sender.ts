/**
 * Makes an attempt of a task: asks the user's hooks within a time limit that keeps a lease useful, looks once more whether it may
 * go, sends it, and reports how it ended. An attempt that must not be sent is given back.
 */

import type { AttemptContext, RetryTask } from '../api/task.ts'
import { type Finished, isTimeout, limitOf } from '../call/attempt.ts'
import type { Call, UnderWay } from '../call/call.ts'
import type { RestTerms } from '../call/discard.ts'
import { adopted, isMistake, repeatableOf } from '../call/fetch-repeat.ts'
import { UnusableHeaders } from '../call/hook-headers.ts'
import { notSent } from '../call/not-sent.ts'
import { signed } from '../call/sign.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import { OUTCOME_CREDENTIALS_FAILED, OUTCOME_FINAL, OUTCOME_RELEASED, OUTCOME_VETOED } from '../core/codes.ts'
import { bothSignals, whenAborted } from '../platform/abort.ts'
import { type Clock, FOREVER, within } from '../platform/clock.ts'
import { unsaid } from '../platform/error-text.ts'
import type { Confidential } from '../tasks/secrets.ts'
import type { Task } from '../tasks/task.ts'
import type { QueueContext } from './context.ts'
import { tellMaybeCors } from './cors.ts'
import { askFor, giverFor, HOOK_MS, remedyFor } from './credentials.ts'
import { askHooks, asksAbout } from './retry-hooks.ts'
import type { WaitPorts } from './server-wait.ts'

/** The part of the runner that sending needs. */
export interface SenderPorts extends WaitPorts {
  /** Confirms attempts of stored tasks. */
  readonly stored: (WaitPorts['stored'] & { confirm(task: Task): Promise<boolean> }) | undefined
  readonly restTerms: RestTerms
  /** Whether the attempt may still be made: not paused or closing, not cancelled, lease held, principal there. */
  maySend(task: Task): boolean
  show(task: Task): RetryTask
  settle(task: Task, finished: Finished<RepeatAnswer>): void
  /** Hears that the core trapped outside of a call that is guarded. */
  trapped(error: unknown): void
  /** The words of an error, without secrets (S12). */
  readonly words: (error: unknown, about: Confidential) => string
}

export class Sender {
  readonly #ports: SenderPorts

  constructor(ports: SenderPorts) {
    this.#ports = ports
  }

  start(task: Task): void {
    const { settings, events } = this.#ports.host
    const { call } = task
    this.#ports.host.changed?.(task)
    if (call?.underWay) {
      this.#follow(task, call, call.underWay)
      return
    }
    const controller = new AbortController()
    task.controller = controller
    const give = call ? giverFor(settings, call) : undefined
    const asks = give !== undefined || settings.beforeAttempt !== undefined || settings.sign !== undefined
    if (!asks && !events.has('attempt')) {
      this.#send(task, controller, null, null)
      return
    }
    const context = { attemptNumber: task.attemptNumber, signal: controller.signal, unauthorized: task.unauthorized }
    if (asks) this.#ask(task, controller, context).catch((error) => this.#ports.trapped(error))
    else this.#send(task, controller, null, context)
  }

  async #ask(task: Task, controller: AbortController, context: AttemptContext): Promise<void> {
    const { host, words } = this.#ports
    if (!this.#ports.maySend(task)) {
      this.#giveBack(task)
      return
    }
    const { call } = task
    const about = (error: unknown, overlay: Headers | null) => words(error, { call, overlay })
    const { overlay, outcome } = await askBefore(host, task, this.#ports.show(task), context, about)
    const isSure = (await this.#ports.stored?.confirm(task)) ?? true
    if (task.controller !== controller) return // given back meanwhile, and perhaps begun anew
    // whose caller has waited to the end for a hook: sent now, it would reach its server, and its caller be told that it failed
    if (!isSure || task.leftMs(host.now()) <= 0) this.#giveBack(task)
    else if (outcome === undefined) this.#send(task, controller, overlay, context)
    else this.#ports.settle(task, notSent(outcome, host.now()))
  }

  #send(task: Task, controller: AbortController, overlay: Headers | null, context: AttemptContext | null): void {
    const { host } = this.#ports
    const { call } = task
    // given back, cancelled or lost while the hooks were asked: should it run again, this is not that attempt
    if (!call || task.controller !== controller) return
    const missing = task.missing(overlay)
    if (missing.length > 0) {
      // no credentials will come by themselves: parked
      if (task.lease) task.lease.parks = true
      const remedy = `${remedyFor(host.settings, call)}; it waits for ${host.unparkedBy ?? 'resume() or setPrincipal()'}`
      const message = `${task.what}: ${missing.join(', ')} is missing; ${remedy}`
      host.degraded('credentials_missing', message, task.origin, { origin: task.origin })
      this.#ports.settle(task, notSent(OUTCOME_CREDENTIALS_FAILED, host.now()))
      return
    }
    const may = this.#ports.maySend(task)
    if (may && context && host.events.has('attempt')) {
      host.events.emit('attempt', { task: this.#ports.show(task), context })
    }
    // a listener may have paused, closed or cancelled
    if (!may || !this.#ports.maySend(task)) {
      this.#giveBack(task)
      return
    }
    host.sent()
    if (task.lease) task.lease.isSent = true
    task.overlay = overlay
    // a deferred caller may be answered before the attempt has ended: that one's abort is a cancel
    const isBound = !call.options.detach && call.options.mode !== 'defer'
    const caller = task.waiter && isBound ? call.signal : null
    const signal = bothSignals(caller, controller.signal)
    const timeoutMs = limitOf(call, task.leftMs(host.now()))
    const transport = repeatableOf(call)
    const isFinal = (error: unknown) => transport.isFinal(error)
    const { clock } = host.settings
    const maySend = () => this.#ports.maySend(task)
    const { over, disarm } = endOf(signal, () => !caller?.aborted && !isTimeout(controller), clock)
    const plan = {
      transport,
      overlay,
      isReplay: true,
      signal,
      over,
      controller,
      timeoutMs,
      isFinal,
      task,
      clock,
      maySend,
    }
    // its answer is the transport's own
    const attempt = host.attempt(call, plan) as Promise<Finished<RepeatAnswer>>
    attempt.then((ended) => {
      disarm()
      tellMaybeCors(call, ended, host)
      this.#ended(task, call, controller, ended)
    })
  }

  /** Takes the attempt that its caller has begun for the task's first. */
  #follow(task: Task, call: Call, { sending, controller }: UnderWay): void {
    call.underWay = undefined
    // it has a place and a token of its own now
    call.leave?.(false)
    task.controller = controller
    if (task.lease) task.lease.isSent = true
    sending.then((ended) => {
      const isOwn = isMistake(call, ended)
      this.#ended(task, call, controller, adopted(call, isOwn ? { ...ended, outcome: OUTCOME_FINAL } : ended))
    })
  }

  #ended(task: Task, call: Call, controller: AbortController, ended: Finished<RepeatAnswer>): void {
    const settle = (finished: Finished<RepeatAnswer>) => {
      // given back meanwhile: the task's next attempt, if it has one by now, is another
      if (task.controller === controller) this.#ports.settle(task, finished)
      else finished.answer?.discard()
    }
    const asked = task.controller === controller && asksAbout(call, ended, this.#ports.host)
    const resting = task.controller === controller ? this.#rest(task, ended, call.policy) : undefined
    if (asked)
      void Promise.resolve(resting)
        .then(() => this.#asked(task, call, ended))
        .then(settle)
    else if (resting) void resting.then(() => settle(ended))
    else settle(ended)
  }

  /** The attempt with what the user's hooks say of it. Where one throws, that is what a caller who waits gets. Never rejects. */
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
  #rest(
    { waiter, joined }: Task,
    { answer, status }: Finished<RepeatAnswer>,
    { retryableStatusCodes }: Call['policy'],
  ): Promise<void> | undefined {
    const isTaken = waiter !== undefined || joined.length > 0
    const isGood = status < 400 && !retryableStatusCodes.includes(status)
    // its caller reads it
    if (isGood && isTaken) return undefined
    const { host, restTerms } = this.#ports
    return answer?.rest(isTaken || (isGood && host.events.has('succeeded')), restTerms)
  }

  #giveBack(task: Task): void {
    this.#ports.settle(task, notSent(OUTCOME_RELEASED, this.#ports.host.now()))
  }
}

/** How long an attempt that was cancelled has to tell of a success that was on its way. */
const ON_ITS_WAY_MS = 1_000

/** The signal that ends the wait for an answer once `signal` has ended its attempt: a moment later while the answer is still wanted. */
function endOf(signal: AbortSignal, isWanted: () => boolean, clock: Clock): { over: AbortSignal; disarm: () => void } {
  const end = new AbortController()
  const stop = () => end.abort(signal.reason)
  let disarmStop: (() => void) | undefined
  const unlisten = whenAborted(signal, () => {
    if (isWanted()) disarmStop = clock.after(ON_ITS_WAY_MS, stop)
    else stop()
  })
  const disarm = () => {
    unlisten()
    disarmStop?.()
  }
  return { over: end.signal, disarm }
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
  shown: RetryTask,
  context: AttemptContext,
  words: (error: unknown, overlay: Headers | null) => string,
): Promise<Asked> {
  const { settings } = host
  const { beforeAttempt, clock, sign } = settings
  const { call } = task
  const give = call ? giverFor(settings, call) : undefined
  // its caller waits no longer for a hook than for an answer
  const limitMs = () => Math.min(HOOK_MS, Math.max(1, task.leftMs(host.now())))
  let overlay: Headers | null = null
  task.isUnsigned = false
  if (call && give) {
    try {
      overlay = await askFor(give, task, call, shown, context, settings, limitMs())
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
  if (call && sign) {
    try {
      // last, so that the signature is as young as can be
      overlay = await signed(sign, call, { overlay, signal: context.signal, clock }, limitMs())
    } catch (error) {
      task.isUnsigned = true
      const failed =
        error instanceof UnusableHeaders
          ? error.message
          : `sign() failed (${unsaid(error)}; catch it inside sign() to log it)`
      host.degraded('sign_failed', `${failed}; the attempt was given back and is tried again later`, task.origin)
      return { overlay: null, outcome: OUTCOME_CREDENTIALS_FAILED }
    }
  }
  return { overlay }
}
