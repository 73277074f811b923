/** The part of a store's contract by which the runners that share it hear of each other, and its queue of what it finds out. */

import type { DegradedCode } from './events.ts'

/** A reason to look. */
export interface Hint {
  readonly kind: 'due' | 'settled' | 'cancelled' | 'changed' | 'principal'
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
export interface NamedAt {
  /** In epoch milliseconds of the wall clock, as it is now: where that was set back since, the moment is moved back with it. */
  readonly since: number
  /** The latest that the wall clock has shown from then until now. */
  readonly now: number
}

/** The principal that is there, and logins that are under way, as a store knows them. */
export interface Present {
  /** `undefined`: no queue has said yet. */
  readonly principal: string | null | undefined
  /**
   * How much longer the logins count that are under way, in milliseconds; Infinity: their end is heard, as a hint of the kind
   * 'principal'. Absent: none is under way.
   */
  readonly loginForMs?: number
}

export interface Principals {
  current(): Promise<Present>
  /**
   * Makes `principal`, as of the instant `since`, the current one, unless a declaration is kept that was made after `since` and no
   * later than `now`: nothing changes then. A claim of any other principal than the current one gets nothing from now on.
   *
   * @param namedAt asked in the step that decides, however long that comes after the call: a declaration made meanwhile, in another
   * process, is the younger one, and is not to be taken for one from before the clock was set back
   * @param login ends with it, whichever declaration stands
   */
  switchTo(principal: string | null, namedAt: () => NamedAt, login?: string): Promise<void>
  /**
   * Keeps in mind that a principal logs in, whose cookies may be there at any moment: from now on no claim gets anything, of whichever
   * principal, until each login has ended. Once more for the same login: it goes on.
   *
   * @param login a name that no other login ever has. It ends with `switchTo`, or when its process is gone or put away
   * @param forMs how long it counts where the end of its process is not heard: it has to be renewed
   * @param isUnderWay asked in the step that keeps it, however long that comes after the call: where it is false, nothing is kept
   */
  logIn(login: string, forMs: number, isUnderWay: () => boolean): Promise<void>
}

/** Messages between the processes of a store. None is kept: a process that does not listen at the moment never hears it. */
export interface Broadcast {
  /** Never throws, and is never waited for: a message that cannot be sent is lost. */
  send(message: string): void
  /** Also hears what this process sends. The result ends it. */
  subscribe(listener: (message: string) => void): () => void
}
