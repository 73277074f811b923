/** Long lists, a page at a time. */

import { int, type Rules, text } from './check.ts'
import type { Page } from './registry.ts'
import type { Runner } from './runner.ts'
import type { Task } from './task.ts'
import type { PageOptions, TaskPage } from './types.ts'

export const PAGE_RULES: Rules<PageOptions> = { limit: int(1, 1_000), cursor: text }

export function showPage(runner: Runner, { items, cursor }: Page<Task>): TaskPage {
  const tasks = items.map((task) => runner.show(task))
  return cursor === undefined ? { tasks } : { tasks, cursor }
}
