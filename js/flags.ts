/** What the core is told of a request, as bits. */

import type { Host } from './host.ts'
import type { Call } from './request.ts'
import { FLAG } from './verdict.ts'

export function flagsOf({ replayable, key }: Call, { settings }: Host): number {
  return (
    (replayable ? FLAG.replayable : 0) |
    (key === null ? 0 : FLAG.hasKey) |
    (settings.credentials ? FLAG.hasResolver : 0)
  )
}
