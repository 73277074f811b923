/** What the core is told of a request, as bits. */

import type { Call } from '../call/call.ts'
import { FLAG } from '../core/codes.ts'
import type { QueueContext } from './context.ts'

export function flagsOf({ replayable, key }: Call, { settings }: QueueContext): number {
  return (
    (replayable ? FLAG.replayable : 0) |
    (key === null ? 0 : FLAG.hasKey) |
    (settings.credentials ? FLAG.hasResolver : 0)
  )
}
