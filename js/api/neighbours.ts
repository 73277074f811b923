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

export interface Principals {
  /** `undefined`: no queue has said yet. */
  current(): Promise<string | null | undefined>
  /**
   * Makes `principal`, as of the instant `since`, the current one, unless a declaration is kept that was made after `since` and no
   * later than `now`: nothing changes then. A claim of any other principal than the current one gets nothing from now on.
   *
   * @param since when it was said, in epoch milliseconds of the wall clock
   * @param now the latest that the wall clock has shown since
   */
  switchTo(principal: string | null, since: number, now: number): Promise<void>
}
