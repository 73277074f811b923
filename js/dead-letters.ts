/** Orders to the dead letters: the tasks that were given up. */

import { check, flag, fn, object, type Rules } from './check.ts'
import { notFound, RedriveError } from './errors.ts'
import type { Intake } from './intake.ts'
import { PAGE_RULES, showPage } from './pages.ts'
import type { Runner } from './runner.ts'
import type { Task } from './task.ts'
import type { DeadLetters, PageOptions, RedriveAllOptions, RetryTask, TaskPage } from './types.ts'

const REDRIVE_RULES: Rules<RedriveAllOptions> = {
  perSecond: { type: 'number', expected: 'a number above 0', ok: (rate) => rate > 0 },
  acceptDuplicateRisk: flag,
  signal: { ...object, expected: 'an AbortSignal', ok: (signal) => (signal as unknown) instanceof AbortSignal },
  onProgress: fn,
}

export class DeadLetterDesk implements DeadLetters {
  readonly #runner: Runner
  readonly #intake: Intake

  constructor(runner: Runner, intake: Intake) {
    this.#runner = runner
    this.#intake = intake
  }

  async list(options: PageOptions = {}): Promise<TaskPage> {
    check('deadLetters.list', options, PAGE_RULES)
    return showPage(this.#runner, this.#runner.registry.deadPage(options, this.#now()))
  }

  async redrive(taskId: string, options: { readonly acceptDuplicateRisk?: boolean } = {}): Promise<RetryTask> {
    const task = this.#runner.registry.dead(taskId, this.#now())
    if (!task) throw notFound(taskId)
    return this.#intake.redrive(task, options.acceptDuplicateRisk === true)
  }

  async redriveAll(options: RedriveAllOptions = {}): Promise<number> {
    check('redriveAll', options, REDRIVE_RULES)
    const { perSecond, acceptDuplicateRisk = false, signal, onProgress } = options
    const runner = this.#runner
    const all = [...runner.registry.allDead(this.#now())]
    let redriven = 0
    for (const [i, task] of all.entries()) {
      if (i > 0 && perSecond !== undefined) await this.#pause(1_000 / perSecond, signal, runner.closing)
      if (signal?.aborted || runner.stopped) break
      if (this.#redriveOne(task, acceptDuplicateRisk)) redriven++
      onProgress?.(i + 1, all.length)
    }
    return redriven
  }

  async purge(taskId?: string): Promise<number> {
    return this.#runner.registry.purge(taskId, this.#now())
  }

  #now(): number {
    return this.#runner.host.now()
  }

  #redriveOne(task: Task, acceptDuplicateRisk: boolean): boolean {
    // it may be gone since the list was taken
    if (!this.#runner.registry.dead(task.taskId, this.#now())) return false
    try {
      this.#intake.redrive(task, acceptDuplicateRisk)
      return true
    } catch (error) {
      if (error instanceof RedriveError && error.code === 'KEY_EXPIRED') return false
      throw error
    }
  }

  /** Shorter where one of the signals says that nobody waits for the rest. */
  #pause(ms: number, ...signals: (AbortSignal | undefined)[]): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        disarm()
        for (const signal of signals) signal?.removeEventListener('abort', done)
        resolve()
      }
      const disarm = this.#runner.host.settings.clock.after(ms, done)
      for (const signal of signals) signal?.addEventListener('abort', done, { once: true })
      if (signals.some((signal) => signal?.aborted)) done()
    })
  }
}
