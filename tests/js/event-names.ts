/** Every event that a queue has. A name that is missing here does not compile. Nothing of Node's: pages read it too. */

import type { QueueEvents } from '../../js/index.ts'

export type EventName = keyof QueueEvents

const NAMES: { readonly [name in EventName]: true } = {
  queued: true,
  resumed: true,
  attempt: true,
  retry: true,
  succeeded: true,
  exhausted: true,
  cancelled: true,
  unauthorized: true,
  circuit: true,
  degraded: true,
  alert: true,
  idle: true,
}

export const EVENT_NAMES = Object.keys(NAMES) as readonly EventName[]
