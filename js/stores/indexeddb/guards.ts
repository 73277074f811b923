/**
 * Leases whose tab has died are taken back at once, not when they run out: the owner of a guarded lease holds a lock for as
 * long as it has any, and whoever sees that it is gone may take its leases. Where there are no locks, none is guarded.
 */

import type { Orphans, Presence } from './presence.ts'
import type { State } from './state.ts'

export class Guards {
  readonly #presence: Presence
  readonly #own = new Set<string>()

  constructor(presence: Presence) {
    this.#presence = presence
  }

  /** Before leases are given to these: the guard has to be there first. */
  async take(owners: readonly string[]): Promise<void> {
    for (const owner of owners) {
      if (this.#presence.isGuarding(owner)) continue
      this.#own.add(owner)
      await this.#presence.guard(owner)
    }
  }

  readonly isGuarding = (owner: string): boolean => this.#presence.isGuarding(owner)

  /** After a transaction: own guards that nothing needs any more are let go, those of others are listened to. */
  follow({ guards, lastToken }: State): void {
    for (const owner of this.#own) {
      if (guards[owner] !== undefined) continue
      this.#own.delete(owner)
      this.#presence.unguard(owner)
    }
    this.#presence.watchGuards(Object.keys(guards), lastToken)
  }

  orphans(highestToken: () => Promise<number>): Promise<Orphans | undefined> {
    return this.#presence.orphans(highestToken)
  }

  hearAgain(orphans: Orphans): void {
    this.#presence.hearAgain(orphans)
  }
}
