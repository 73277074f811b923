/** Answers `get`, `list`, `enqueue` and their like once there is a runner: in memory first, then in the store. */

import type { EnqueueReceipt, ListFilter, PageOptions, ScopeOptions, TaskOutcome, TaskPage } from '../api/methods.ts'
import { notFound } from '../api/not-found.ts'
import type { AttemptLog, Decision, RetryTask } from '../api/task.ts'
import { QueueFullError } from '../api/task-errors.ts'
import type { Call } from '../call/call.ts'
import { assertEnqueueable } from '../call/check-enqueue.ts'
import { OP_SET_LIMITS } from '../core/codes.ts'
import { check, follow, oneOf, origin, type Rules, text } from '../options/check.ts'
import { errorText } from '../platform/error-text.ts'
import { hasTags, statusesOf } from '../stores/engine/listing.ts'
import { cancelled } from '../tasks/callers.ts'
import { showEntries } from '../tasks/history.ts'
import type { Task } from '../tasks/task.ts'
import { Admission } from './admission.ts'
import { DeadLetterManager } from './dead-letters.ts'
import { isImpatient } from './join.ts'
import { mergePages, PAGE_RULES, showPage } from './pages.ts'
import type { Parts } from './parts.ts'
import { principalLeft } from './principal-left.ts'
import { assertStore, storeAway } from './refusals.ts'
import type { Runner } from './runner.ts'
import { isInScope, readScope, scopeOf } from './task-scope.ts'
import { FIRST_LOAD_WAIT_MS, LAST_LOAD_WAIT_MS, untilDone } from './until-done.ts'

/** Another call with its key may have put it back meanwhile. */
const unlessGone = (error: { readonly code?: string }): void => {
  if (error.code !== 'TASK_NOT_FOUND') throw error
}

const LIST_RULES: Rules<ListFilter> = {
  ...PAGE_RULES,
  status: oneOf('PENDING', 'IN_FLIGHT', 'SUCCEEDED', 'EXHAUSTED', 'CANCELLED'),
  origin,
  active: oneOf(true),
  tags: {
    expected: 'a tag, or an array of 1 or more',
    ok: (given: unknown) => [given].flat().length > 0 && [given].flat().every((tag) => typeof tag === 'string'),
  },
}

export class TaskManager {
  readonly runner: Runner
  readonly admission: Admission
  readonly deadLetters: DeadLetterManager
  readonly #parts: Parts

  constructor(runner: Runner, parts: Parts) {
    this.runner = runner
    this.admission = new Admission(runner, parts.keys)
    this.deadLetters = new DeadLetterManager(runner, this.admission)
    this.#parts = parts
    parts.begin?.(runner)
    runner.host.forget = () => runner.lanes.forget()
    runner.host.sees = () => !!this.admission.stored && !runner.stats().storeFailingSinceAt
    // once it has ended for all who hear of it
    runner.host.revive = (taskId) =>
      void Promise.resolve(taskId)
        .then((id) => this.#revive(id))
        .catch((error) => {
          const what = `task ${taskId}, which was enqueued, stays a dead letter (${runner.words(error)})`
          const code = error instanceof QueueFullError ? 'storage_full' : 'storage_unavailable'
          runner.host.degraded(code, `${what}: put it back with deadLetters.redrive(taskId)`, taskId)
        })
  }

  /** Opens the store, where the queue has one, and takes up what is there. Resolves after the first try. */
  async begin(): Promise<void> {
    const { runner, admission } = this
    if (runner.host.settings.durable) {
      await Promise.all([
        untilDone(runner, FIRST_LOAD_WAIT_MS, () => this.#begin()),
        untilDone(runner, FIRST_LOAD_WAIT_MS, async () => ((await admission.dedupe.load()) ? 0 : LAST_LOAD_WAIT_MS)),
      ])
    }
    admission.begin()
  }

  /** Resolves with the longest wait before it is tried again. */
  async #begin(): Promise<number> {
    const { runner, admission } = this
    if (runner.stopped) return 0
    try {
      const [{ openStore }, pages] = await Promise.all([
        this.#parts.store(),
        typeof runner.host.settings.store === 'object' ? undefined : this.#parts.pages(),
      ])
      await openStore(pages, runner, admission)
      return 0
    } catch (error) {
      admission.obstacle = storeAway(`the store cannot be loaded (${errorText(error)})`)
      const until = 'it is asked for again, and until then tasks stay in memory'
      runner.host.degraded('storage_unavailable', `${admission.obstacle.why}: ${until}`, 'memory')
      return LAST_LOAD_WAIT_MS
    }
  }

  /** Queues a call. `trait`: the one for which it is none of those that can be tried again, of `passesThrough`. */
  async enqueue(call: Call, createdAt: number, trait: string): Promise<EnqueueReceipt> {
    assertEnqueueable(call, trait, this.runner.host.settings.maxBodyBytes)
    if (call.whose) call.principal = await call.whose.known
    const { key, ...kept } = await this.admission.enqueue(call, createdAt)
    if (kept.deduplicated) await this.#revive(kept.taskId)
    return { ...kept, idempotencyKey: key }
  }

  /** Puts a dead letter back that ended by the impatience of its caller, not by its server's word: enqueued now, it goes on. */
  async #revive(taskId: string): Promise<void> {
    const { reason = '' } = (await this.get(taskId)) ?? {}
    if (isImpatient(reason)) await this.deadLetters.redrive(taskId).catch(unlessGone)
  }

  async get(taskId: string, scope: ScopeOptions = {}): Promise<RetryTask | undefined> {
    const of = readScope(this.runner.host, 'get', scope)
    const task = this.#find('get', taskId)
    if (task) return isInScope(of, task) ? this.runner.show(task) : undefined
    return this.admission.stored?.get(taskId, of)
  }

  async attempts(
    taskId: string,
    page: PageOptions & ScopeOptions = {},
  ): Promise<{ attempts: readonly AttemptLog[]; cursor?: string }> {
    check('attempts', page, PAGE_RULES)
    const of = scopeOf(this.runner.host, page)
    const task = this.#find('attempts', taskId)
    if (task) return isInScope(of, task) ? showEntries(task, page) : { attempts: [] }
    return this.admission.stored?.attempts(taskId, page, of) ?? { attempts: [] }
  }

  async explain(taskId: string, scope: ScopeOptions = {}): Promise<readonly Decision[]> {
    const of = readScope(this.runner.host, 'explain', scope)
    const task = this.#find('explain', taskId)
    if (!task) return this.admission.stored?.explain(taskId, of, await this.#parts.words()) ?? []
    if (!isInScope(of, task)) return []
    const { explain } = await this.#parts.words()
    return explain(task, this.runner.gates.statusOf(task), this.runner.host.now())
  }

  async list(filter: ListFilter = {}): Promise<TaskPage> {
    check('list', filter, LIST_RULES)
    // a filter that was left undefined by mistake is not all tasks
    for (const name of ['status', 'origin', 'active', 'tags'] as const) {
      if (name in filter) follow(`list.${name}`, filter[name], LIST_RULES[name])
    }
    const { status, origin, active } = filter
    const tags = filter.tags === undefined ? undefined : [filter.tags].flat()
    const of = scopeOf(this.runner.host, filter)
    assertStore(this.runner, this.admission, 'list')
    const statuses = statusesOf(filter)
    const fits = (task: Task) =>
      isInScope(of, task) &&
      (statuses?.includes(task.status) ?? true) &&
      hasTags(task.about.options, tags) &&
      (origin === undefined || task.origin === origin)
    const here = showPage(this.runner, this.runner.registry.page(fits, filter, this.runner.host.now()))
    if (!this.admission.stored) return here
    const wanted = {
      ...(status && { status }),
      ...(active && { active }),
      ...(tags && { tags }),
      ...(origin && { origin }),
    }
    return mergePages(here, await this.admission.stored.list(wanted, filter, of), filter)
  }

  async result(taskId: string, scope: ScopeOptions = {}): Promise<TaskOutcome> {
    const of = readScope(this.runner.host, 'result', scope)
    const task = this.#find('result', taskId)
    if (task && isInScope(of, task)) return this.runner.result(task)
    if (task || !this.admission.stored) throw notFound(taskId)
    return this.admission.stored.result(taskId, of)
  }

  async cancel(taskId: string, scope: ScopeOptions = {}): Promise<'cancelled' | 'requested' | 'gone'> {
    const of = readScope(this.runner.host, 'cancel', scope)
    const task = this.#find('cancel', taskId)
    if (!task) return this.admission.stored?.cancel(taskId, of) ?? 'gone'
    if (!isInScope(of, task)) return 'gone'
    return this.runner.cancel(task, cancelled())
  }

  /** Takes over how many attempts may run at a time, as the settings have it now. */
  applyLimits(): void {
    const { runner } = this
    const { core, host, lanes, stored } = runner
    const { concurrency, concurrencyPerOrigin = concurrency } = host.settings
    runner.limits = { ...runner.limits, concurrency, concurrencyPerOrigin }
    runner.guard(() => core.call(OP_SET_LIMITS, host.now(), concurrency, concurrencyPerOrigin))
    lanes.lookAgain()
    stored?.loop.roomMade()
    runner.tick()
  }

  /** Cancels what waits; resolves with how many. */
  async clear(scope: ScopeOptions = {}): Promise<number> {
    const of = readScope(this.runner.host, 'clear', scope)
    assertStore(this.runner, this.admission, 'clear')
    let cleared = 0
    for (const task of this.runner.tasks) {
      const waits = task.status === 'PENDING' && isInScope(of, task)
      if (waits && this.runner.cancel(task, cancelled()) !== 'gone') cleared++
    }
    return cleared + ((await this.admission.stored?.clear(of)) ?? 0)
  }

  /** Follows a change of principal; `host.principal` is the new one already. */
  async setPrincipal(before: string | null, principal: string | null, purge: boolean): Promise<void> {
    const { runner } = this
    runner.guard(() => runner.lanes.switchPrincipal(runner.host.now()))
    runner.news?.declare()
    runner.host.changed?.({ others: true })
    this.admission.switched(before, principal, purge)
    let purged: Promise<void> | undefined
    if (purge && before !== principal) {
      for (const task of runner.tasks) if (task.principal === before) runner.cancel(task, cancelled())
      runner.registry.purgeOf(before)
      purged = this.#purge(before)
      // a purge that fails changes nothing of who is there
      await purged.catch(() => {})
    }
    principalLeft(runner)
    if (runner.stored) {
      await runner.stored.switchPrincipal().catch((error) => {
        // other pages hear of it from here alone
        runner.news?.declare(false)
        throw error
      })
    } else runner.tick()
    await purged
  }

  async #purge(principal: string | null): Promise<void> {
    assertStore(this.runner, this.admission, 'setPrincipal({ purge })')
    await this.admission.stored?.purge(principal)
  }

  /** `own`: the calls under way, for `drainMs` at most. */
  async close(drainMs: number, own: Promise<unknown>): Promise<void> {
    await this.runner.close(drainMs, own)
  }

  /** The task in memory. Throws on what is no id: there would be no such task either; and where a store that may have it is not open. */
  #find(method: string, taskId: string): Task | undefined {
    follow(method, taskId, text)
    const task = this.runner.registry.get(taskId, this.runner.host.now())
    if (!task) assertStore(this.runner, this.admission, method)
    return task
  }
}
