/**
 * A callback as it comes in, and as its task keeps it: the ends of a task that are reported, and to whom. Its URL is stored and read by
 * people as a target is, so the same rules hold for it.
 */

import type { Callback } from '../sending.ts'
import { ENDS } from './ends.ts'
import type { Exchange } from './exchange.ts'
import { Problem } from './problem.ts'
import { storedTarget, targetOf } from './request-of.ts'
import type { TaskIn } from './schemas/task-in.ts'

/** The callback of a Task in. Throws 'invalid', 'target-refused', 'url-secret', 'credential-refused'. */
export function callbackOf({ callback }: TaskIn, { context, caller, settings }: Exchange): Callback | undefined {
  if (!callback) return undefined
  const { url, on = ENDS, signing } = callback
  const place = ['callback', 'url'] as const
  const target = storedTarget(targetOf(url, settings.limits, place), caller.tenant, context, settings, place)
  if (signing !== undefined) {
    const why = context.refuseSigning ? context.refuseSigning(signing, caller.tenant) : 'this service has none'
    if (why !== undefined) throw new Problem('credential-refused', `callback.signing: ${why}`)
  }
  return { url: target, on: [...new Set(on)], ...(signing !== undefined && { signing }) }
}
