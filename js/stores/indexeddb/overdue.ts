/**
 * What time alone brings, as a turn finds it: rows past their retention, leases, deadlines. The indexes are asked before the
 * turn has changed anything, all in one go; what they gave is looked at again as it is by then.
 */

import { SWEEP } from '../../api/store.ts'
import type { Outlived } from '../engine/port.ts'
import type { HeldRows } from './held-rows.ts'
import { everyTime, within } from './keys.ts'
import type { OrphanedLeases } from './presence.ts'
import { lateAtOf, type TaskRow } from './rows.ts'
import { done } from './transact.ts'

export class Overdue {
  readonly #tx: HeldRows
  readonly #orphaned: OrphanedLeases | undefined
  readonly #ended = new Map<Outlived, readonly TaskRow[]>()
  #leased: readonly TaskRow[] = []
  #expired: readonly TaskRow[] = []

  constructor(tx: HeldRows, orphaned: OrphanedLeases | undefined) {
    this.#tx = tx
    this.#orphaned = orphaned
  }

  async load(outlived: readonly Outlived[]): Promise<void> {
    const { state, now } = this.#tx
    const tasks = this.#tx.store('tasks')
    const leases = everyTime(this.#orphaned ? undefined : now)
    const [leased, expired]: [TaskRow[], TaskRow[], ...unknown[]] = await Promise.all([
      state.inFlight === 0 ? [] : done(tasks.index('lease').getAll(leases)),
      state.pending === 0 ? [] : done(tasks.index('late').getAll(IDBKeyRange.upperBound([now]), SWEEP)),
      ...outlived.map((kind) => this.#loadEnded(kind)),
    ])
    this.#leased = leased
    this.#expired = expired
  }

  oldest(kind: Outlived, most: number): TaskRow[] {
    const rows = this.#ended.get(kind) ?? []
    const aged = rows.filter(({ endedAt }) => endedAt !== null && endedAt < kind.before).length
    return this.#tx.found(rows.slice(0, Math.min(most, Math.max(aged, kind.surplus))))
  }

  lapsed(alive: string): TaskRow[] {
    const { now } = this.#tx
    const orphaned = this.#orphaned
    const isOrphaned = ({ owner, guarded, token }: TaskRow): boolean =>
      orphaned !== undefined &&
      guarded &&
      owner !== alive &&
      token <= orphaned.upTo &&
      orphaned.owners.includes(owner ?? '')
    return this.#now(this.#leased)
      .filter((row) => row.leaseUntil !== null && (row.leaseUntil <= now || isOrphaned(row)))
      .sort((a, b) => a.token - b.token)
  }

  late(): TaskRow[] {
    return this.#now(this.#expired)
      .filter((row) => (lateAtOf(row) ?? this.#tx.now) < this.#tx.now)
      .sort((a, b) => a.deadlineAt - b.deadlineAt || a.seq - b.seq)
      .slice(0, SWEEP)
  }

  /** Of what was found, and of what has been changed since, each row as it is now. */
  #now(rows: readonly TaskRow[]): TaskRow[] {
    return [...new Set([...this.#tx.found(rows), ...this.#tx.changed()])]
  }

  async #loadEnded(kind: Outlived): Promise<void> {
    const { state } = this.#tx
    const { statuses, before, surplus } = kind
    const counted = statuses.includes('EXHAUSTED') ? state.exhausted : state.succeeded + state.cancelled
    if (counted === 0) return
    const index = this.#tx.store('tasks').index('ended')
    const rows = await Promise.all(
      statuses.map((status): Promise<TaskRow[]> => {
        const range = surplus > 0 ? within([status]) : within([status], before)
        return done(index.getAll(range, SWEEP))
      }),
    )
    this.#ended.set(
      kind,
      rows.flat().sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0) || a.seq - b.seq),
    )
  }
}
