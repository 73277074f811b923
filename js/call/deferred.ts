/** How long a caller waits who has left all but a first attempt to the queue, and what becomes of an attempt that takes longer. */

import { whenAborted } from '../platform/abort.ts'
import { type Clock, within } from '../platform/clock.ts'
import type { Call, UnderWay } from './call.ts'

/** How long it is for a caller who has not said so. */
const DEFER_MS = 2_000

/** How long the caller of a deferred call waits for the server's own answer. */
export const patienceOf = ({ options }: Call): number => options.waitMs ?? DEFER_MS

/**
 * Waits for the attempt of a deferred call. Where it takes too long `keep` makes the call a task, whose first attempt it then is, and the
 * caller's abort ends nothing any more. undefined: it has ended, or the call could not be kept.
 */
export async function orKept<T>(
  call: Call,
  { sending, controller }: UnderWay,
  signal: AbortSignal | null,
  clock: Clock,
  keep: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const unlisten = signal && whenAborted(signal, () => controller.abort(signal.reason))
  sending.then(unlisten)
  const kept = await within(clock, patienceOf(call), '', sending).then(() => undefined, keep)
  if (kept) unlisten?.()
  return kept
}
