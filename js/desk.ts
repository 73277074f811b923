/** Questions about tasks, and orders to them: what `get`, `list`, `enqueue` and their like do once there is a runner. */

import { assertNotAborted } from './attempt.ts'
import { check, oneOf, originIn, type Rules, text } from './check.ts'
import { DeadLetterDesk } from './dead-letters.ts'
import { notFound, RedriveError } from './errors.ts'
import { assertSendable } from './fetch-replay.ts'
import { Intake } from './intake.ts'
import { PAGE_RULES, showPage } from './pages.ts'
import type { Call } from './request.ts'
import type { Runner } from './runner.ts'
import { showEntries, type Task } from './task.ts'
import type { AttemptLog, EnqueueReceipt, ListFilter, PageOptions, RetryTask, TaskOutcome, TaskPage } from './types.ts'

const LIST_RULES: Rules<ListFilter> = {
  ...PAGE_RULES,
  status: oneOf('string', 'PENDING', 'IN_FLIGHT', 'SUCCEEDED', 'EXHAUSTED', 'CANCELLED'),
  origin: { ...text, expected: 'an http(s) origin', ok: (url) => !!originIn(url) },
}

export class Desk {
  readonly runner: Runner
  readonly intake: Intake
  readonly deadLetters: DeadLetterDesk

  constructor(runner: Runner) {
    this.runner = runner
    this.intake = new Intake(runner)
    this.deadLetters = new DeadLetterDesk(runner, this.intake)
    if (runner.host.settings.wantsDurable && globalThis.location !== undefined) {
      const message = 'this version has no durable store yet: tasks stay in memory and end with the page'
      runner.host.degraded('storage_unavailable', message, 'memory')
    }
  }

  enqueue(call: Call, createdAt: number): EnqueueReceipt {
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
    const { taskId, key } = this.intake.enqueue(call, createdAt)
    return { taskId, idempotencyKey: key, durability: 'memory', deduplicated: false }
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
