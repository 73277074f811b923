/**
 * Makes an attempt of a task: asks the user's hooks within a time limit that keeps a lease useful, looks once more whether it may
 * go, sends it, and reports how it ended. An attempt that must not be sent is given back.
 */

import type { AttemptContext, RetryTask } from '../api/task.ts'
import type { Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import type { RestTerms } from '../call/discard.ts'
import { repeatableOf } from '../call/fetch-repeat.ts'
import { notSent } from '../call/not-sent.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import { OUTCOME_CREDENTIALS_FAILED, OUTCOME_RELEASED, OUTCOME_VETOED } from '../core/codes.ts'
import { bothSignals } from '../platform/abort.ts'
import { within } from '../platform/clock.ts'
import type { Confidential } from '../tasks/secrets.ts'
import type { Task } from '../tasks/task.ts'
import type { QueueContext } from './context.ts'
import { askFor, giverFor, HOOK_MS, remedyFor } from './credentials.ts'

/** The part of the runner that sending needs. */
export interface SenderPorts {
  readonly host: QueueContext
  /** Confirms attempts of stored tasks. */
  readonly stored: { confirm(task: Task): Promise<boolean> } | undefined
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
    const controller = new AbortController()
    task.controller = controller
    const give = call ? giverFor(settings, call) : undefined
    const asks = give !== undefined || settings.beforeAttempt !== undefined
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
    const { overlay, outcome } = await askHooks(host, task, this.#ports.show(task), context, about)
    const isSure = (await this.#ports.stored?.confirm(task)) ?? true
    if (task.controller !== controller) return // given back meanwhile, and perhaps begun anew
    if (!isSure) this.#giveBack(task)
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
      const remedy = `${remedyFor(host.settings, call)}; it waits for resume() or setPrincipal()`
      const message = `${task.what}: ${missing.join(', ')} is missing; ${remedy}`
      host.degraded('credentials_missing', message, task.origin)
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
    const caller = task.waiter && !call.options.detach ? call.signal : null
    const signal = bothSignals(caller, controller.signal)
    const { timeoutMs } = call
    const transport = repeatableOf(call)
    const isFinal = (error: unknown) => transport.isFinal(error)
    const { clock } = host.settings
    const maySend = () => this.#ports.maySend(task)
    const plan = { transport, overlay, isReplay: true, signal, controller, timeoutMs, isFinal, task, clock, maySend }
    // its answer is the transport's own
    const attempt = host.attempt(call, plan) as Promise<Finished<RepeatAnswer>>
    attempt.then((finished) => {
      const settle = () => {
        // given back meanwhile: the task's next attempt, if it has one by now, is another
        if (task.controller === controller) this.#ports.settle(task, finished)
        else finished.answer?.discard()
      }
      const resting = task.controller === controller ? this.#rest(task, finished, call.policy) : undefined
      if (resting) void resting.then(settle)
      else settle()
    })
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

/** Answers of the user's hooks; `outcome` is set when the attempt must not be sent. */
interface Asked {
  readonly overlay: Headers | null
  readonly outcome?: number
}

/** Asks `credentials` and `beforeAttempt`. `words`: what an error says, without secrets. */
async function askHooks(
  host: QueueContext,
  task: Task,
  shown: RetryTask,
  context: AttemptContext,
  words: (error: unknown, overlay: Headers | null) => string,
): Promise<Asked> {
  const { settings } = host
  const { beforeAttempt, clock } = settings
  const { call } = task
  const give = call ? giverFor(settings, call) : undefined
  let overlay: Headers | null = null
  if (call && give) {
    try {
      overlay = await askFor(give, task, call, shown, context, settings)
    } catch (error) {
      const failed = `credentials of ${task.origin} failed (${words(error, overlay)})`
      host.degraded('credentials_failed', `${failed}: the attempt was given back and is tried again later`, task.origin)
      return { overlay: null, outcome: OUTCOME_CREDENTIALS_FAILED }
    }
  }
  if (beforeAttempt) {
    try {
      const given = new Promise<boolean>((resolve) => resolve(beforeAttempt(shown, context)))
      if ((await within(clock, HOOK_MS, 'beforeAttempt()', given)) === false)
        return { overlay, outcome: OUTCOME_VETOED }
    } catch (error) {
      host.degraded(
        'hook_threw',
        `beforeAttempt() failed (${words(error, overlay)}): the attempt was made`,
        'beforeAttempt',
      )
    }
  }
  return { overlay }
}
