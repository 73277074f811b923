/** The part of a store's contract by which the runners that share it hear of each other, and its queue of what it finds out. */

import type { DegradedCode } from './events.ts'

/** A reason to look. */
export interface Hint {
  readonly kind: 'due' | 'settled' | 'cancelled' | 'principal'
  readonly taskId?: string
}

export type Report = (code: DegradedCode, message: string) => void

/** The election of one runner, of those that share a store and a principal. */
export interface Leader {
  /** Asks for the lead. `granted` is called once it is this runner's, which may be at once; asking again while asking, or leading, changes nothing. */
  want(principal: string | null, granted: () => void): void
  /** Gives up the lead, or asks no longer. */
  resign(): void
}

/** When a principal was named. */
export interface Declared {
  /** In epoch milliseconds of the wall clock, as it is now: where that was set back since, the moment is moved back with it. */
  readonly since: number
  /** The latest that the wall clock has shown from then until now. */
  readonly now: number
}

export interface Principals {
  /** `undefined`: no queue has said yet. */
  current(): Promise<string | null | undefined>
  /**
   * Makes `principal`, as of the instant `since`, the current one, unless a declaration is kept that was made after `since` and no
   * later than `now`: nothing changes then. A claim of any other principal than the current one gets nothing from now on.
   *
   * @param declared asked in the step that decides, however long that comes after the call: a declaration made meanwhile, in another
   * process, is the younger one, and is not to be taken for one from before the clock was set back
   */
  switchTo(principal: string | null, declared: () => Declared): Promise<void>
}
