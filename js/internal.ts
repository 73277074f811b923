/**
 * redrive/internal: the parts of the queue that `@redrive/ui` uses, and in Node those of `@redrive/service` too. **It is unstable.** It follows no version: a
 * patch may rename or remove anything here. Each of the two packages asks for the one version of `redrive` that it was built with; no other code should import
 * this.
 */

export { DEFAULT_ATTEMPTS, JITTERS, POLICY_FIELDS } from './core/generated/codes.ts'
export { bindGlue, once } from './core/instance.ts'
export { policyFields } from './core/policy-row.ts'
export { unpack } from './core/unpack.ts'
export { type Axis, linearAxis, logAxis } from './display/duration-axis.ts'
export {
  bytes,
  duration,
  exactBytes,
  exactDuration,
  grouped,
  instant,
  kindWord,
  plural,
  STATUS_WORDS,
} from './display/format.ts'
export { harmless } from './display/harmless.ts'
export { follow, int, num, oneOf, or, type Rule, type Rules, show } from './options/check.ts'
export { policyDefaults, UNLIMITED } from './options/policy.ts'
export { resolvePolicy } from './options/policy-rules.ts'
export { assertNotAborted, whenAborted } from './platform/abort.ts'
export { DAY_MS, systemClock, timeoutError } from './platform/clock.ts'
export { errorText } from './platform/error-text.ts'
export { nextTurn } from './platform/turn.ts'
