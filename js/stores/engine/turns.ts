/**
 * Turns of principals, in stores for everyone: start tags of fair queueing. Principals have equal parts of the turns, and the lanes of one
 * share its part in the order in which they came to wait.
 *
 * A lane has a tag, `served`, from when its first task begins to wait, and another with each lease that leaves it tasks that wait. The
 * time of the line is the tag of the lane whose turn it was last. A tag is one more than the last of its principal, and never before that
 * time: who was idle has saved up nothing. shares.lua has it again.
 *
 * Source: start-time fair queuing (Goyal, Vin and Cheng, SIGCOMM 1996). What it does not know of is lanes that may not start when their
 * turn comes. One that the time has passed takes another tag when it may (`isLate`), or all of a paused tenant's would come first.
 */

/**
 * The tag that comes next, at `time`. `after`: one more than the last of its principal, which may have gone with lanes that were never served.
 * `held`: what the principal has in the store, behind more than which it never stands.
 */
export const nextTag = (time: number, after: number, held: number): number =>
  Math.max(time, Math.min(after, time + held))
