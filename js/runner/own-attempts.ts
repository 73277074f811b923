/** Callers' own first attempts: where they count in the limits, as `limitFirstAttempts` asks, and where they end before their task has a place. */

import type { Call, UnderWay } from '../call/call.ts'
import { adopted } from '../call/fetch-repeat.ts'
import type { Finished, RepeatAnswer } from '../call/transport.ts'
import { CLASS_SUCCESS, OP_ENTER_OWN, OP_LEAVE_OWN } from '../core/codes.ts'
import { FOREVER } from '../platform/clock.ts'
import type { Task } from '../tasks/task.ts'
import { flagsOf } from './handles.ts'
import type { Runner } from './runner.ts'
import type { Place } from './stored.ts'

/** Whether the call may not be sent now, wherever it is kept: it is ordered, expired, or held back by a server as was asked for. */
export function isHeldBack({ origin, options }: Call, createdAt: number, { host, gates }: Runner): boolean {
  const { orderKey, expiresAt = FOREVER } = options
  if (orderKey !== undefined || expiresAt < createdAt) return true
  return host.settings.holdFirstAttempts === true && gates.heldUntil(origin) > createdAt
}

/** Whether the call may be sent now: it has its place among the attempts that run, which its `leave` gives up; or no limits were asked for. */
export function entersLimits(call: Call, runner: Runner): boolean {
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
    runner.stored?.loop.roomMade()
    runner.tickSoon()
  }
  return true
}

/** The meaning of a caller's own attempt, `CLASS_*`; undefined: the core trapped. */
export function classOf(call: Call, finished: Finished<RepeatAnswer>, runner: Runner): number | undefined {
  return runner.guard(() =>
    runner.rulings.classify(finished, call.policy, flagsOf(call, runner.host), runner.host.now()),
  )
}

/**
 * Settles a deferred call whose attempt has succeeded while its task has no place: the task may not get one before it expires or this
 * process ends. A failure waits for the place. Without a task, where the call joined another, its answer is dropped.
 */
export async function settleOwn(
  call: Call,
  own: UnderWay,
  task: Task | undefined,
  place: Pick<Place, 'settleOwn'> | undefined,
  runner: Runner,
): Promise<void> {
  const ended = adopted(call, await own.sending)
  // its task has taken it up, or was cancelled
  const isOver = () => call.underWay !== own
  if (isOver() || (task && classOf(call, ended, runner) !== CLASS_SUCCESS)) return
  const isRead = task?.joined.length || task?.waiter
  if (!isRead) await ended.answer?.rest(!!task && runner.host.events.has('succeeded'), runner.restTerms)
  if (task && !isOver()) place?.settleOwn(task, call, ended)
}
