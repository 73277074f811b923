/** Callers' own first attempts where they count in the limits, as `limitFirstAttempts` asks. The core keeps the count. */

import type { Call } from '../call/call.ts'
import type { Calls } from '../core/calls.ts'
import { OP_ENTER_OWN, OP_LEAVE_OWN } from '../core/codes.ts'
import { FOREVER } from '../platform/clock.ts'
import type { QueueContext } from './context.ts'
import type { Lanes } from './lanes.ts'

/** The part of the runner that they need. */
interface OwnAttemptPorts {
  readonly core: Calls
  readonly lanes: Lanes
  readonly host: QueueContext
  readonly stored: { roomMade(): void } | undefined
  guard<T>(work: () => T): T | undefined
  tickSoon(): void
}

interface HoldPorts {
  readonly host: QueueContext
  readonly gates: { heldUntil(origin: string): number }
}

/** Whether the call may not be sent now, wherever it is kept: it is ordered, expired, or held back by a server as was asked for. */
export function isHeldBack({ origin, options }: Call, createdAt: number, { host, gates }: HoldPorts): boolean {
  const { orderKey, expiresAt = FOREVER } = options
  if (orderKey !== undefined || expiresAt < createdAt) return true
  return host.settings.holdFirstAttempts === true && gates.heldUntil(origin) > createdAt
}

/** Whether the call may be sent now: it has its place among the attempts that run, which its `leave` gives up; or no limits were asked for. */
export function entersLimits(call: Call, runner: OwnAttemptPorts): boolean {
  if (call.leave || runner.host.settings.limitFirstAttempts !== true) return true
  const { core, lanes, host } = runner
  const lane = runner.guard(() => lanes.of(call.principal, call.origin))
  if (lane === undefined) return true
  const enteredAt = host.now()
  if (runner.guard(() => core.call(OP_ENTER_OWN, enteredAt, lane)) === 0) return false
  call.leave = (sent) => {
    delete call.leave
    runner.guard(() => core.call(OP_LEAVE_OWN, host.now(), lane, enteredAt, sent))
    // the queue may start another in its place
    lanes.changed(call)
    runner.stored?.roomMade()
    runner.tickSoon()
  }
  return true
}
