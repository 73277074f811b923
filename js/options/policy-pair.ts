/** Reads a policy as it was given, for its two users. What the second makes of it comes with the core: `background.ts`. */

import type { RetryPolicy } from '../api/policy.ts'
import { frozenCopy } from '../platform/json.ts'
import { FIRST, filled } from './first-policy.ts'
import type { PolicyPair } from './policy.ts'

/** Both of a policy's forms: `given` laid over `base`, copied, since the caller may go on changing its arrays. */
export function pairOf(given: Partial<RetryPolicy>, base?: PolicyPair): PolicyPair {
  const copy = frozenCopy(given)
  return { policy: filled(base?.policy ?? FIRST, copy), given: { ...base?.given, ...copy } }
}
