/**
 * Turns of principals, in stores for everyone: start tags of fair queueing. Principals have equal parts of the turns, and the lanes of one
 * share its part in the order in which they came to wait.
 *
 * A lane has a tag, `served`, from when its first task begins to wait, and another with each lease that leaves it tasks that wait. The
 * time of the line is the latest tag that was served. A tag is a turn after the last of its principal, and never before that time but for half
 * a turn: a principal that was idle has saved up nothing, and comes before all that have waited for their next turn. shares.lua has it again.
 *
 * Source: start-time fair queuing (Goyal, Vin and Cheng, SIGCOMM 1996). What it does not know of is lanes that may not start when their
 * turn comes. One that the time has passed takes another tag when it may (`isLate`), or all of a paused tenant's would come first.
 */

/** From one tag of a principal to its next. */
export const TURN = 2

/** The first tag that the line has not passed at `time`. */
export const firstTag = (time: number): number => Math.max(0, time - 1)

/**
 * The tag that comes next, at `time`. `after`: a turn after the last of its principal, which may have gone with lanes that were never served.
 * `held`: what the principal has in the store, behind more than which it never stands.
 */
export const nextTag = (time: number, after: number, held: number): number =>
  Math.max(firstTag(time), Math.min(after, time + TURN * held))
