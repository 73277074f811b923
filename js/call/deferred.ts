/** How long a caller waits who has left all but a first attempt to the queue, and what becomes of an attempt that takes longer. */

import { type Clock, within } from '../platform/clock.ts'
import { type Call, DEFER_MS, type UnderWay } from './call.ts'

/** How long the caller of a deferred call waits for the server's own answer. */
export const patienceOf = ({ options }: Call): number => options.waitMs ?? DEFER_MS

/**
 * Waits for the attempt of a deferred call. Where it takes too long `keep` makes the call a task, whose first attempt it then is. undefined: it
 * has ended, or the call could not be kept.
 */
export function orKept<T>(
  call: Call,
  sending: UnderWay['sending'],
  clock: Clock,
  keep: () => Promise<T | undefined>,
): Promise<T | undefined> {
  return within(clock, patienceOf(call), '', sending).then(() => undefined, keep)
}
