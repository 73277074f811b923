/** Lists, redrives, purges and exports dead letters: the tasks that were given up, in memory and in the store. */

import { RedriveError } from '../api/errors.ts'
import type { DeadLetters, PageOptions, RedriveAllOptions, ScopeOptions, TaskPage } from '../api/methods.ts'
import { notFound } from '../api/not-found.ts'
import type { AttemptLog, RetryTask } from '../api/task.ts'
import { check, flag, fn, follow, object, type Rules, text } from '../options/check.ts'
import { showEntries } from '../tasks/history.ts'
import type { Task } from '../tasks/task.ts'
import type { Admission } from './admission.ts'
import { mergePages, PAGE_RULES, showPage } from './pages.ts'
import { assertStore } from './refusals.ts'
import type { Runner } from './runner.ts'
import type { Aside } from './stored.ts'
import { isInScope, readScope, SCOPE_RULES, scopeOf, type TaskScope } from './task-scope.ts'

const REDRIVE_RULES: Rules<RedriveAllOptions> = {
  perSecond: { type: 'number', expected: 'a number above 0', ok: (rate) => rate > 0 },
  acceptDuplicateRisk: flag,
  signal: { ...object, expected: 'an AbortSignal', ok: (signal) => (signal as unknown) instanceof AbortSignal },
  onProgress: fn,
  ...SCOPE_RULES,
}

const REDRIVE_ONE_RULES: Rules<Pick<RedriveAllOptions, 'acceptDuplicateRisk' | 'allPrincipals'>> = {
  acceptDuplicateRisk: flag,
  ...SCOPE_RULES,
}

const ID = { ...text, expected: 'the id of a task' }

/** Ids that a store is asked about at once where no rate was asked for. */
const AT_ONCE = 100

export class DeadLetterManager implements DeadLetters {
  readonly #runner: Runner
  readonly #admission: Admission

  constructor(runner: Runner, admission: Admission) {
    this.#runner = runner
    this.#admission = admission
  }

  async list(options: PageOptions & ScopeOptions = {}): Promise<TaskPage> {
    check('deadLetters.list', options, PAGE_RULES)
    const of = scopeOf(this.#runner.host, options)
    assertStore(this.#runner, this.#admission, 'deadLetters.list')
    const fits = (task: Task) => isInScope(of, task)
    const here = showPage(this.#runner, this.#runner.registry.deadPage(fits, options, this.#now()))
    return this.#admission.stored
      ? mergePages(here, await this.#admission.stored.list({ status: 'EXHAUSTED' }, options, of), options)
      : here
  }

  async redrive(
    taskId: string,
    options: ScopeOptions & { readonly acceptDuplicateRisk?: boolean } = {},
  ): Promise<RetryTask> {
    follow('deadLetters.redrive', taskId, ID)
    check('deadLetters.redrive', options, REDRIVE_ONE_RULES)
    const of = scopeOf(this.#runner.host, options)
    const acceptDuplicateRisk = options.acceptDuplicateRisk === true
    const task = this.#runner.registry.dead(taskId, this.#now())
    if (task && isInScope(of, task)) return this.#admission.redrive(task, acceptDuplicateRisk)
    if (!task) assertStore(this.#runner, this.#admission, 'deadLetters.redrive')
    if (task || !this.#admission.stored) throw notFound(taskId)
    return this.#admission.stored.redrive(taskId, acceptDuplicateRisk, of)
  }

  async redriveAll(options: RedriveAllOptions = {}): Promise<number> {
    check('redriveAll', options, REDRIVE_RULES)
    const { perSecond, acceptDuplicateRisk = false, signal, onProgress } = options
    const runner = this.#runner
    const of = scopeOf(runner.host, options)
    assertStore(this.#runner, this.#admission, 'redriveAll')
    const here = runner.registry.allDead(this.#now()).filter((task) => isInScope(of, task))
    const ids = (await this.#admission.stored?.deadIds(of)) ?? []
    const total = here.length + ids.length
    // without a rate a store is asked about many at once
    const size = perSecond === undefined ? AT_ONCE : 1
    let done = 0
    let redriven = 0
    while (done < total) {
      if (done > 0 && perSecond !== undefined) await this.#pause(1_000 / perSecond, signal, runner.closing)
      if (signal?.aborted || runner.stopped) break
      const task = here[done]
      const some = task ? [] : ids.slice(done - here.length, done - here.length + size)
      if (task) redriven += Number(this.#redriveOne(task, acceptDuplicateRisk))
      else redriven += (await this.#admission.stored?.redriveSome(some, acceptDuplicateRisk)) ?? 0
      done += task ? 1 : some.length
      onProgress?.(done, total)
    }
    return redriven
  }

  async purge(taskId: string, options: ScopeOptions = {}): Promise<number> {
    follow('deadLetters.purge', taskId, ID)
    return this.#purge(taskId, readScope(this.#runner.host, 'deadLetters.purge', options))
  }

  async purgeAll(options: ScopeOptions = {}): Promise<number> {
    return this.#purge(undefined, readScope(this.#runner.host, 'deadLetters.purgeAll', options))
  }

  async #purge(taskId: string | undefined, of: TaskScope): Promise<number> {
    assertStore(this.#runner, this.#admission, 'deadLetters.purge')
    const { registry, host } = this.#runner
    const dead = registry.allDead(this.#now()).filter((task) => isInScope(of, task))
    const purged = dead.filter((task) => taskId === undefined || task.taskId === taskId)
    const here = registry.purge(purged)
    for (const task of purged) host.changed?.(task)
    return here + ((await this.#admission.stored?.purgeDead(taskId, of)) ?? 0)
  }

  async export(options: ScopeOptions = {}): Promise<string> {
    const of = readScope(this.#runner.host, 'deadLetters.export', options)
    assertStore(this.#runner, this.#admission, 'deadLetters.export')
    const { name } = this.#runner.host.settings
    const tasks: (RetryTask & { readonly attempts: readonly AttemptLog[] })[] = []
    for (const task of this.#runner.registry.allDead(this.#now())) {
      if (!isInScope(of, task)) continue
      tasks.push({ ...this.#runner.show(task), attempts: showEntries(task, {}).attempts })
    }
    for await (const task of this.#admission.stored?.dead(of) ?? []) tasks.push(task)
    tasks.sort((a, b) => (a.taskId < b.taskId ? -1 : 1))
    const exportedAt = new Date(this.#now()).toISOString()
    const unreadable: Aside[] = []
    for await (const record of this.#admission.stored?.unreadable() ?? []) unreadable.push(record)
    const aside = unreadable.length > 0 ? { unreadable } : {}
    return JSON.stringify({ format: 'redrive dead letters 1', queue: name, exportedAt, tasks, ...aside }, null, 2)
  }

  #now(): number {
    return this.#runner.host.now()
  }

  #redriveOne(task: Task, acceptDuplicateRisk: boolean): boolean {
    // it may be gone since the list was taken
    if (!this.#runner.registry.dead(task.taskId, this.#now())) return false
    try {
      this.#admission.redrive(task, acceptDuplicateRisk)
      return true
    } catch (error) {
      if (error instanceof RedriveError && error.code === 'KEY_EXPIRED') return false
      throw error
    }
  }

  /** Waits so long, or until one of the signals is aborted. */
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
