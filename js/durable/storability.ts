/**
 * Tells what keeps calls out of the store, or some of their headers: before an outage shows it. One look at a call is enough for all that have
 * its origin and its names of headers.
 */

import type { Call } from '../call/call.ts'
import type { QueueContext } from '../runner/context.ts'
import { giverFor } from '../runner/credentials.ts'
import type { Runner } from '../runner/runner.ts'
import { type Head, headOf, type Unstorable } from './record.ts'

/** Kinds of calls that are remembered; further ones are not looked at before they fail. */
const MOST_KNOWN = 1_000

/** Looks at a call that would be stored if it failed. `known`: the kinds of calls that were looked at, by origin and names of headers. */
export function reportStorability(call: Call, known: Set<string>, runner: Runner): void {
  const kind = [call.origin, ...call.headers.keys()].join(' ')
  if (known.has(kind) || known.size === MOST_KNOWN || !call.replayable || call.policy.maxAttempts === 1) return
  known.add(kind)
  const head = runner.guard(() => headOf(call, runner.sanitizer, runner.host.settings))
  if (head) tellLimits(call, head, runner.host)
}

/** Says of a call that it may not be stored; else of headers that are not stored, and are missing after a reload. Once for each origin. */
export function tellLimits(
  { method, origin, url }: Call,
  head: Pick<Head, 'withheldHeaders'> | Unstorable,
  { settings, degraded }: QueueContext,
): void {
  if ('code' in head) {
    degraded(head.code, `${head.what} cannot be stored: ${head.why}`, origin + head.why)
  } else if (head.withheldHeaders.length > 0 && !giverFor(settings, { url })) {
    const names = head.withheldHeaders.join(', ')
    const what = `${method} ${origin}: ${names} is not stored, and is sent only as long as this page or process lives`
    const giver = /signature/.test(names) ? '`sign`, which makes it for each attempt,' : `\`credentials['${origin}']\``
    const remedy = `after that the task waits until ${giver} gives it`
    degraded('credentials_missing', `${what}; ${remedy}`, `withheld ${origin}`, { origin })
  }
}
