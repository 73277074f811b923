/** Tasks that were given up, kept until they are redriven, purged, or past their retention. */

import { check, type Rules, text } from './check.ts'
import type { Clock } from './clock.ts'
import { RedriveError } from './errors.ts'
import type { Intake } from './intake.ts'
import type { Runner } from './runner.ts'
import type { Task } from './task.ts'
import type { RetryTask } from './types.ts'

export interface PageOptions {
  /** 1..=1000. @default 100 */
  readonly limit?: number
  /** From the page before. */
  readonly cursor?: string
}

export const PAGE_RULES: Rules<PageOptions> = { limit: { int: [1, 1_000] }, cursor: text }

export function checkPage(what: string, page: PageOptions): void {
  check(what, page, PAGE_RULES)
}

export interface TaskPage {
  readonly tasks: readonly RetryTask[]
  /** Absent on the last page. */
  readonly cursor?: string
}

export interface RedriveAllOptions {
  /** At most this many go back per second. @default all at once; the queue's limits hold anyway */
  readonly perSecond?: number
  readonly acceptDuplicateRisk?: boolean
  /** Stops between two tasks; those already put back stay. */
  readonly signal?: AbortSignal
  readonly onProgress?: (done: number, total: number) => void
}

/** undefined: no task was ever made. */
type Open = () => Promise<{ readonly runner: Runner; readonly intake: Intake } | undefined>

export class DeadLetters {
  readonly #open: Open
  readonly #clock: Clock

  constructor(open: Open, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  async list(options: PageOptions = {}): Promise<TaskPage> {
    checkPage('deadLetters.list', options)
    const opened = await this.#open()
    if (!opened) return { tasks: [] }
    const { runner } = opened
    const { items, cursor } = runner.registry.deadPage(options, runner.host.now())
    const tasks = items.map((task) => runner.show(task))
    return cursor === undefined ? { tasks } : { tasks, cursor }
  }

  /** Puts it back with its key and history, attempts counted anew. Past keyTtlMs it needs acceptDuplicateRisk. */
  async redrive(taskId: string, options: { readonly acceptDuplicateRisk?: boolean } = {}): Promise<RetryTask> {
    const opened = await this.#open()
    const task = opened?.runner.registry.dead(taskId, opened.runner.host.now())
    if (!opened || !task) {
      throw new RedriveError('TASK_NOT_FOUND', `no dead letter '${taskId}'; deadLetters.list() shows those there are`)
    }
    return opened.intake.redrive(task, options.acceptDuplicateRisk === true)
  }

  /** Resolves with how many went back; those past keyTtlMs stay unless acceptDuplicateRisk. */
  async redriveAll(options: RedriveAllOptions = {}): Promise<number> {
    const { perSecond, acceptDuplicateRisk = false, signal, onProgress } = options
    if (perSecond !== undefined && !(perSecond > 0)) {
      throw new RangeError(`redriveAll.perSecond: expected a number above 0, got ${perSecond}`)
    }
    const opened = await this.#open()
    if (!opened) return 0
    const { runner, intake } = opened
    const all = [...runner.registry.allDead(runner.host.now())]
    let redriven = 0
    for (const [i, task] of all.entries()) {
      if (i > 0 && perSecond !== undefined) await this.#pause(1_000 / perSecond, signal, runner.closing)
      if (signal?.aborted || runner.stopped) break
      if (this.#redriveOne(intake, runner, task, acceptDuplicateRisk)) redriven++
      onProgress?.(i + 1, all.length)
    }
    return redriven
  }

  /** Deletes one, or all; resolves with how many. */
  async purge(taskId?: string): Promise<number> {
    const opened = await this.#open()
    return opened ? opened.runner.registry.purge(taskId, opened.runner.host.now()) : 0
  }

  #redriveOne(intake: Intake, runner: Runner, task: Task, acceptDuplicateRisk: boolean): boolean {
    // it may be gone since the list was taken
    if (!runner.registry.dead(task.taskId, runner.host.now())) return false
    try {
      intake.redrive(task, acceptDuplicateRisk)
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
      const disarm = this.#clock.after(ms, done)
      for (const signal of signals) signal?.addEventListener('abort', done, { once: true })
      if (signals.some((signal) => signal?.aborted)) done()
    })
  }
}
