/** Begins the wait that a server asks of all its callers as soon as its answer is there: its task may hear of it much later (S9). */

import type { Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import type { RunnerPorts } from './ports.ts'

export function beginServerWait(
  { principal, origin, policy }: Call,
  finished: Finished<RepeatAnswer>,
  ports: RunnerPorts,
): void {
  const { host, lanes, rulings, stored } = ports
  const until = ports.guard(() => rulings.heard(finished, lanes.of(principal, origin), policy, host.now(), true)) ?? 0
  stored?.holdLane(principal, origin, until)
}
