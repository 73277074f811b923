/** Says why a call that has failed is not tried again, where its caller may have thought it would be. */

import { type Finished, markOnce } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import type { QueueContext } from './context.ts'

/** Reports it once for each method and origin, with the option that changes it. Other causes were reported before the call was sent. */
export function reportUnkeyed(call: Call, finished: Finished, { degraded }: QueueContext): void {
  if (markOnce(call, finished)?.reason !== 'not_idempotent') return
  const { method, origin } = call
  const what = `${method} ${origin}`
  const remedy = `list ${method} in idempotency.methods, or set redrive.idempotencyKey or redrive.idempotent`
  degraded('not_idempotent', `${what} failed and is not tried again: it has no key; ${remedy}`, what)
}
