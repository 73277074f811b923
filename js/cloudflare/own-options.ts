/** Parts the options of any queue from those that a Worker's fetch or an object has of its own. */

import { check, object, options as optionsOf, type Rules } from '../options/check.ts'
import { POLICY_RULES } from '../options/policy-rules.ts'

/**
 * Checks its own; the others are checked with the queue that gets them. A name that is misspelt is answered with the one that was meant, of
 * the queue's options too, and one of a policy's with its place. `of`: the names of options of the queue.
 */
export function partOptions<Own extends object, Queue extends object>(
  what: string,
  given: object,
  of: readonly string[],
  rules: Rules<Own>,
): { readonly own: Own; readonly queue: Queue } {
  const all = Object.entries(given)
  const own = Object.fromEntries(all.filter(([name]) => !of.includes(name))) as Own
  const names = Object.fromEntries(of.map((name) => [name, object]))
  check(what, own, { ...rules, ...names, policy: optionsOf(POLICY_RULES) })
  return { own, queue: Object.fromEntries(all.filter(([name]) => of.includes(name))) as Queue }
}
