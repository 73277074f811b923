/** Questions about tasks, and orders to them: what `get`, `list`, `enqueue` and their like do once there is a runner. */

import { assertNotAborted } from './attempt.ts'
import { check, oneOf, origin, originIn, type Rules } from './check.ts'
import type { Keys } from './core/keys.ts'
import { DeadLetterDesk } from './dead-letters.ts'
import { notFound, RedriveError } from './errors.ts'
import { explain } from './explain.ts'
import { assertSendable } from './fetch-replay.ts'
import { Intake } from './intake.ts'
import { showEntries } from './log.ts'
import { PAGE_RULES, showPage } from './pages.ts'
import type { Call } from './request.ts'
import type { Runner } from './runner.ts'
import type { Task } from './task.ts'
import type {
  AttemptLog,
  Decision,
  EnqueueReceipt,
  ListFilter,
  PageOptions,
  RetryTask,
  TaskOutcome,
  TaskPage,
} from './types.ts'

const LIST_RULES: Rules<ListFilter> = {
  ...PAGE_RULES,
  status: oneOf('string', 'PENDING', 'IN_FLIGHT', 'SUCCEEDED', 'EXHAUSTED', 'CANCELLED'),
  origin,
}

export class Desk {
  readonly runner: Runner
  readonly intake: Intake
  readonly deadLetters: DeadLetterDesk

  constructor(runner: Runner, loadKeys: () => Promise<Keys>) {
    this.runner = runner
    this.intake = new Intake(runner, loadKeys)
    this.deadLetters = new DeadLetterDesk(runner, this.intake)
    const { principal, store } = runner.host.settings
    // whoever gives a principal expects tasks to outlive the page
    if (principal !== undefined && store !== 'memory' && globalThis.location !== undefined) {
      const message = 'this version has no durable store yet: tasks stay in memory and end with the page'
      runner.host.degraded('storage_unavailable', message, 'memory')
    }
  }

  async enqueue(call: Call, createdAt: number): Promise<EnqueueReceipt> {
    const { method, origin, bytes, plain } = call
    if (plain === 'too-large') {
      const { maxBodyBytes } = this.runner.host.settings
      const remedy = 'raise maxBodyBytes, or send it with fetch'
      throw new RedriveError(
        'BODY_TOO_LARGE',
        `the body has ${bytes} bytes, more than maxBodyBytes ${maxBodyBytes}; ${remedy}`,
      )
    }
    if (plain === 'origin-missing') {
      const remedy = 'list it there, or vouch with `idempotent: true`'
      const message = `${method} ${origin} needs a key, and the origin is not in idempotency.origins; ${remedy}`
      throw new RedriveError('KEY_ORIGIN_MISSING', message)
    }
    assertSendable(call.transport)
    assertNotAborted(call.signal)
    const { task, deduplicated } = await this.intake.enqueue(call, createdAt)
    return { taskId: task.taskId, idempotencyKey: task.key, durability: 'memory', deduplicated }
  }

  get(taskId: string): RetryTask | undefined {
    const task = this.#find(taskId)
    return task && this.runner.show(task)
  }

  attempts(taskId: string, page: PageOptions = {}): { attempts: readonly AttemptLog[]; cursor?: string } {
    check('attempts', page, PAGE_RULES)
    const task = this.#find(taskId)
    return task ? showEntries(task, page) : { attempts: [] }
  }

  explain(taskId: string): readonly Decision[] {
    const task = this.#find(taskId)
    return task ? explain(task, this.runner.standing(task), this.runner.host.now()) : []
  }

  list(filter: ListFilter = {}): TaskPage {
    check('list', filter, LIST_RULES)
    const { status } = filter
    const origin = filter.origin && originIn(filter.origin)
    const fits = (task: Task) =>
      (status === undefined || task.status === status) && (origin === undefined || task.origin === origin)
    return showPage(this.runner, this.runner.registry.page(fits, filter, this.runner.host.now()))
  }

  result(taskId: string): Promise<TaskOutcome> {
    const task = this.#find(taskId)
    if (!task) throw notFound(taskId)
    return this.runner.result(task)
  }

  cancel(taskId: string): 'cancelled' | 'requested' | 'gone' {
    const task = this.#find(taskId)
    return task ? this.runner.cancel(task, new DOMException('the task was cancelled', 'AbortError')) : 'gone'
  }

  #find(taskId: string): Task | undefined {
    return this.runner.registry.get(taskId, this.runner.host.now())
  }
}
