/**
 * Tells of a connection that may have been refused by CORS. A browser gives the same error for a server that is down and for a
 * preflight that does not allow the key's header, and only its console says which.
 */

import type { Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { OUTCOME_NETWORK_ERROR } from '../core/codes.ts'
import type { QueueContext } from './context.ts'

export function tellMaybeCors(call: Call, { outcome, answer }: Finished, { degraded, settings }: QueueContext): void {
  if (answer || outcome !== OUTCOME_NETWORK_ERROR || !call.addedCrossOrigin) return
  const { origin, headers } = call
  const names = [headers.has('content-type') ? 'content-type' : [], settings.idempotency.header.toLowerCase()].flat()
  const remedy = `let the server send "Access-Control-Allow-Headers: ${names.join(', ')}", or take the origin out of idempotency.origins`
  const preflight = `it is down, or its CORS preflight refuses the key. If the console says "blocked by CORS policy", ${remedy}`
  const answers = `If it says "No 'Access-Control-Allow-Origin' header", the server's answers, errors too, need that header`
  const message = `no answer from ${origin}: ${preflight}. ${answers}`
  degraded('maybe_cors', message, origin)
}
