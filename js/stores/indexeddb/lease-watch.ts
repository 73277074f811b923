/**
 * Takes leases back at once whose tab has died, not when they run out: the owner of a guarded lease holds a lock for as long
 * as it has any, and a tab that sees the lock gone may take its leases. Where there are no locks, no lease is guarded.
 */

import type { OrphanedLeases, Presence } from './presence.ts'
import type { State } from './state.ts'

export class LeaseWatch {
  readonly #presence: Presence
  readonly #own = new Set<string>()

  constructor(presence: Presence) {
    this.#presence = presence
  }

  /** Guards the leases of `owners`, before they are given any: the guard has to be there first. */
  async guard(owners: readonly string[]): Promise<void> {
    for (const owner of owners) {
      if (this.#presence.isGuarding(owner)) continue
      this.#own.add(owner)
      await this.#presence.guard(owner)
    }
  }

  readonly isGuarding = (owner: string): boolean => this.#presence.isGuarding(owner)

  /** After a transaction: drops own guards that nothing needs any more, and listens to those of other tabs. */
  follow({ guards, lastToken }: State): void {
    for (const owner of this.#own) {
      if (guards[owner] !== undefined) continue
      this.#own.delete(owner)
      this.#presence.unguard(owner)
    }
    this.#presence.watchGuards(Object.keys(guards), lastToken)
  }

  orphanedLeases(highestToken: () => Promise<number>): Promise<OrphanedLeases | undefined> {
    return this.#presence.orphanedLeases(highestToken)
  }

  hearAgain(orphaned: OrphanedLeases): void {
    this.#presence.hearAgain(orphaned)
  }
}
