/** Sets anew how many attempts may run at a time. */

import type { QueueContext } from '../runner/context.ts'
import type { Loader } from './core-loader.ts'

/** Throws a TypeError or RangeError as the option does. A core that is yet to come reads the settings. */
export function setLimit(
  name: 'concurrency' | 'concurrencyPerOrigin',
  most: number,
  { checks, settings }: QueueContext,
  core: Loader,
): void {
  checks?.limit(name, most)
  settings[name] = most
  core.opened?.applyLimits()
}
