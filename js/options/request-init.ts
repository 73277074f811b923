/**
 * The options of fetch whose words platforms know. Browsers and Node refuse any other; Workers and Bun do not all look, and a task
 * with a word that is none would be kept and never be sent.
 */

import { oneOf, type Rule, text } from './check.ts'

const REFERRERS = ['no-referrer', 'no-referrer-when-downgrade', 'same-origin', 'origin', 'strict-origin']

/** Those that a store keeps. `no-cors` and `navigate` pass through: they are never stored. */
export const INIT_RULES: ReadonlyMap<string, Rule> = new Map(
  Object.entries({
    credentials: oneOf('omit', 'same-origin', 'include'),
    mode: oneOf('cors', 'same-origin'),
    cache: oneOf('default', 'no-store', 'reload', 'no-cache', 'force-cache', 'only-if-cached'),
    redirect: oneOf('follow', 'error', 'manual'),
    referrerPolicy: oneOf(
      '',
      ...REFERRERS,
      'origin-when-cross-origin',
      'strict-origin-when-cross-origin',
      'unsafe-url',
    ),
    integrity: text,
  }),
)

/** Used by the caller's own process alone. */
export const PRIORITY: Rule = oneOf('high', 'low', 'auto')
