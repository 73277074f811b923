/** Begins the wait that a server asks of all its callers as soon as its answer is there: its task may hear of it much later (S9). */

import type { Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import type { Rulings } from '../tasks/ruling.ts'
import type { QueueContext } from './context.ts'
import type { Lanes } from './lanes.ts'

/** The part of the runner that holds a lane back. */
export interface WaitPorts {
  readonly host: QueueContext
  readonly lanes: Pick<Lanes, 'of'>
  readonly rulings: Pick<Rulings, 'heard'>
  readonly stored: { holdLane(principal: string | null, origin: string, until: number): void } | undefined
  guard<T>(work: () => T): T | undefined
}

export function beginServerWait(
  { principal, origin, policy }: Call,
  finished: Finished<RepeatAnswer>,
  ports: WaitPorts,
): void {
  const { host, lanes, rulings, stored } = ports
  const until = ports.guard(() => rulings.heard(finished, lanes.of(principal, origin), policy, host.now(), true)) ?? 0
  stored?.holdLane(principal, origin, until)
}
