/** Pages of long lists, and how those of memory and of the store become one. */

import type { PageOptions, ScopeOptions, TaskPage } from '../api/methods.ts'
import { int, type Rules, text } from '../options/check.ts'
import type { Page } from '../tasks/registry.ts'
import type { Task } from '../tasks/task.ts'
import type { Runner } from './runner.ts'
import { SCOPE_RULES } from './task-scope.ts'

export const PAGE_RULES: Rules<PageOptions & ScopeOptions> = { limit: int(1, 1_000), cursor: text, ...SCOPE_RULES }

export function showPage(runner: Runner, { items, cursor }: Page<Task>): TaskPage {
  const tasks = items.map((task) => runner.show(task))
  return cursor === undefined ? { tasks } : { tasks, cursor }
}

/** Merges two pages that are each in the order of ids. */
export function mergePages(a: TaskPage, b: TaskPage, { limit = 100 }: PageOptions): TaskPage {
  const all = [...a.tasks, ...b.tasks].sort((x, y) => (x.taskId < y.taskId ? -1 : 1))
  const tasks = all.slice(0, limit)
  const more = all.length > limit || a.cursor !== undefined || b.cursor !== undefined
  const last = tasks[tasks.length - 1]
  return more && last ? { tasks, cursor: last.taskId } : { tasks }
}
