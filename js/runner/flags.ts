/** What the core is told of a request, as bits. */

import type { Call } from '../call/call.ts'
import { FLAG_CREDENTIALED, FLAG_KEYED, FLAG_REPLAYABLE } from '../core/codes.ts'
import type { QueueContext } from './context.ts'

export function flagsOf({ replayable, key }: Call, { settings }: QueueContext): number {
  return (
    (replayable ? FLAG_REPLAYABLE : 0) |
    (key === null ? 0 : FLAG_KEYED) |
    (settings.credentials ? FLAG_CREDENTIALED : 0)
  )
}
