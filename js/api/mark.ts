/** The mark on the last answer or error of a call that was given up, so that its caller can tell why. */

import type { GivenUpReason } from './task.ts'

export interface RedriveMark {
  /** Absent: the call never became a task. */
  readonly taskId?: string
  readonly reason: GivenUpReason
}

/** An answer that a queue gives: `redrive` is there where the call was given up. */
export type RedriveResponse = Response & { readonly redrive?: RedriveMark }

/** The mark on whatever a call gave or threw, an error of the platform included; undefined: it has none. */
export function redriveOf(given: unknown): RedriveMark | undefined {
  return (given as { readonly redrive?: RedriveMark } | null | undefined)?.redrive
}
