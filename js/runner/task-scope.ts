/** The tasks that a method is about: a user sees those of that user, a tool may ask for those of all. */

import type { ScopeOptions } from '../api/methods.ts'
import { check, flag, type Rules } from '../options/check.ts'
import type { QueueContext } from './context.ts'

export const SCOPE_RULES: Rules<ScopeOptions> = { allPrincipals: flag }

/** The principal whose tasks are asked for; undefined: those of all. */
export type TaskScope = string | null | undefined

/** Reads it from options that are nothing else, which are checked here. */
export function readScope(host: QueueContext, what: string, scope: ScopeOptions): TaskScope {
  check(what, scope, SCOPE_RULES)
  return scopeOf(host, scope)
}

/** Reads it from options that have been checked. */
export const scopeOf = ({ principal }: QueueContext, { allPrincipals }: ScopeOptions): TaskScope =>
  allPrincipals === true ? undefined : principal

/** Whether a task is one of those. */
export const isInScope = (whose: TaskScope, { principal }: { readonly principal: string | null }): boolean =>
  whose === undefined || principal === whose
