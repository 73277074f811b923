/**
 * An attempt that a queue makes of a task. As a first attempt it sends once and waits for response headers, for no longer than its time
 * limit and its caller allow. Of these there may be a million: signals are made when a transport or a hook asks for them, and no promise
 * stands between the answer and its ruling.
 */

import { type AttemptPlan, isTimeout, outcomeOf, tooLong } from '../call/attempt.ts'
import { type Call, isDefaultLimit } from '../call/call.ts'
import { outcomeOfAnswer, repeatableOf } from '../call/fetch-repeat.ts'
import type { Finished, RepeatAnswer, Repeatable } from '../call/transport.ts'
import { OP_EXTENDS, OUTCOME_TIMED_OUT } from '../core/codes.ts'
import { bothSignals, whenAborted } from '../platform/abort.ts'
import { type Clock, FOREVER } from '../platform/clock.ts'
import type { Task } from '../tasks/task.ts'
import type { RunnerPorts } from './ports.ts'

/** How long an attempt that was cancelled has to tell of a success that was on its way. */
const ON_ITS_WAY_MS = 1_000

type Done = (replay: Replay, finished: Finished<RepeatAnswer>) => void

export class Replay implements AttemptPlan {
  readonly isReplay = true
  readonly task: Task
  /** Its number among those of the queue. */
  nth = 0
  overlay: Headers | null = null
  transport: Repeatable
  /** Limit to response headers, from `limitOf`; FOREVER: none. */
  timeoutMs: number = FOREVER
  /** The signal of its caller, whose abort ends it at once. */
  caller: AbortSignal | null = null
  readonly call: Call
  readonly #repeatable: Repeatable
  readonly #ports: RunnerPorts
  #controller: AbortController | undefined
  #signal: AbortSignal | undefined
  #done: Done | undefined
  #startedAt = 0
  #isOver = false
  #disarm: (() => void) | undefined
  #unlisten: (() => void) | undefined

  constructor(ports: RunnerPorts, task: Task, call: Call) {
    const repeatable = repeatableOf(call)
    this.#ports = ports
    this.task = task
    this.call = call
    this.#repeatable = repeatable
    this.transport = repeatable
  }

  /** Aborted when the queue ends the attempt. */
  get own(): AbortSignal {
    this.#controller ??= new AbortController()
    return this.#controller.signal
  }

  /** Aborted when the queue or the caller ends the attempt, the body of its answer included. */
  get signal(): AbortSignal {
    this.#signal ??= bothSignals(this.caller, this.own)
    return this.#signal
  }

  get clock(): Clock {
    return this.#ports.host.settings.clock
  }

  get keyHeader(): string | undefined {
    return this.#ports.host.settings.idempotency.header
  }

  get maySend(): () => boolean {
    return () => this.#ports.maySend(this.task)
  }

  /** Never rejects. */
  run(): Promise<Finished<RepeatAnswer>> {
    return new Promise((resolve) => this.begin((_, finished) => resolve(finished)))
  }

  /** `done` is called once, after this has returned. `now`: where it has just been read. */
  begin(done: Done, now: number = this.#ports.host.now()): void {
    const { caller, timeoutMs } = this
    this.#done = done
    this.#startedAt = now
    if (timeoutMs < FOREVER) this.#disarm = this.clock.after(timeoutMs, () => this.#limitOver())
    this.transport.send(this).then(
      (answer) => this.#answered(answer),
      (error) => {
        if (!this.#isOver) this.#failed(error)
      },
    )
    if (caller) this.#unlisten = whenAborted(caller, () => this.#over(caller.reason))
    // ended while hooks were asked: a transport that heeds no signal would not end
    if (this.#controller?.signal.aborted) this.#ending()
  }

  /** Ends it, and the body of its answer: it was cancelled, given back, or took too long. */
  abort(given?: unknown): void {
    if (this.own.aborted) return
    this.#controller?.abort(given)
    if (this.#done) this.#ending()
  }

  #ending(): void {
    this.#disarm?.()
    const { reason } = this.own
    // a moment later while the answer is still wanted
    if (this.caller?.aborted || isTimeout(reason)) this.#over(reason)
    else this.#disarm = this.clock.after(ON_ITS_WAY_MS, () => this.#over(reason))
  }

  #limitOver(): void {
    const { call, timeoutMs, task } = this
    const { core, host } = this.#ports
    const now = host.now()
    const until = isDefaultLimit(call, timeoutMs)
      ? this.#ports.guard(() => core.call(OP_EXTENDS, now, task.slot, this.#startedAt, timeoutMs))
      : 0
    if (!until || until <= now) {
      this.#tooLong()
      return
    }
    this.timeoutMs = until - this.#startedAt
    this.#disarm = this.clock.after(until - now, () => this.#tooLong())
  }

  #tooLong(): void {
    this.abort(tooLong(this.call, this.timeoutMs, this.task.attemptNumber))
  }

  #over(reason: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    // the code that has aborted it may have something left to do
    queueMicrotask(() => this.#failed(reason))
  }

  #answered(answer: RepeatAnswer): void {
    if (this.#isOver) answer.discard()
    else this.#end(outcomeOfAnswer(this.call, answer), undefined, answer)
  }

  #failed(error: unknown): void {
    this.#isOver = true
    const reason = this.#controller?.signal.reason
    if (isTimeout(reason)) {
      const told = Promise.resolve(this.transport.timedOut?.(reason))
      void told.then((own) => this.#end(OUTCOME_TIMED_OUT, own ?? reason, null))
    } else this.#end(outcomeOf(error, this.signal.aborted, this.#repeatable.isFinal(error)), error, null)
  }

  #end(outcome: number, error: unknown, answer: RepeatAnswer | null): void {
    const done = this.#done
    const startedAt = this.#startedAt
    this.#isOver = true
    this.#done = undefined
    this.#disarm?.()
    this.#unlisten?.()
    const durationMs = this.#ports.host.now() - startedAt
    done?.(this, { outcome, status: answer?.status ?? 0, answer, error, startedAt, durationMs })
  }
}
