/** Pages of long lists, and how those of memory and of the store become one. */

import type { PageOptions, ScopeOptions, TaskPage } from '../api/methods.ts'
import { check, flag, int, type Rules, text } from '../options/check.ts'
import type { Page } from '../tasks/registry.ts'
import type { Task } from '../tasks/task.ts'
import type { Runner } from './runner.ts'

export const SCOPE_RULES: Rules<ScopeOptions> = { allPrincipals: flag }
export const PAGE_RULES: Rules<PageOptions & ScopeOptions> = { limit: int(1, 1_000), cursor: text, ...SCOPE_RULES }

/** The principal whose tasks are asked for; undefined: those of all. */
export type Whose = string | null | undefined

/** Reads whose tasks a method is about, from options that are checked already, or from `scope` alone, which is checked here. */
export function whose(runner: Runner, what: string, scope: ScopeOptions): Whose {
  check(what, scope, SCOPE_RULES)
  return whoseOf(runner, scope)
}

export const whoseOf = ({ host }: Runner, { allPrincipals }: ScopeOptions): Whose =>
  allPrincipals === true ? undefined : host.principal

/** Whether a task is one of those. */
export const isOf = (whose: Whose, { principal }: { readonly principal: string | null }): boolean =>
  whose === undefined || principal === whose

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
