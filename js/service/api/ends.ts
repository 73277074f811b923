/** The ways in which a task may end, in the words of the API. */

import type { TaskStatus } from 'redrive'

/** The ends that a callback may be for. */
export const ENDS = ['succeeded', 'exhausted', 'cancelled'] as const
export type End = (typeof ENDS)[number]

/** The word for the end of a task; undefined: it has not ended. */
export const endOf = (status: TaskStatus): End | undefined => ENDS.find((end) => end.toUpperCase() === status)
