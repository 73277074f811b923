/** Tells listeners what a turn has found in the store or made of a task, and adds the store's numbers to `stats()`. */

import type { RunnerStats } from '../api/stats.ts'
import type { LaneView, OwnCounts, TaskStore, Turn } from '../api/store.ts'
import { trimmedText } from '../options/limits.ts'
import { FOREVER } from '../platform/clock.ts'
import type { Runner } from '../runner/runner.ts'
import { originOf, type StoredState } from './state.ts'

type Counts = Awaited<ReturnType<TaskStore['counts']>>

/** Reports dead letters that the store has purged by itself, and records that it cannot read. */
export function reportTurn({ trimmed, unreadable }: Turn, { host, limits }: Runner): void {
  if (trimmed) {
    host.degraded('dead_letters_trimmed', trimmedText(trimmed, limits.retention))
  }
  if (unreadable) {
    const message = `${unreadable} stored task(s) cannot be read by this version: they are kept and left alone`
    host.degraded('unreadable_record', message)
  }
}

/** Reports a record that the store shows and that no task can be made of. */
export function reportUnreadable({ host, words }: Runner, taskId: string, error: unknown, what: string): void {
  host.degraded('unreadable_record', `task ${taskId} cannot be sent (${words(error)}): ${what}`, taskId)
}

const NO_COUNTS: OwnCounts = { pending: 0, inFlight: 0, exhausted: 0 }

/**
 * The numbers that the store gave last, for `stats()`, which cannot wait for the store. A store counts the tasks of all principals
 * as they change; what is not the current one's is looked up when the principal changes, and after `stats()` was asked.
 */
export class StoreCounts {
  readonly #state: StoredState
  #counts: Counts | undefined
  #others: OwnCounts = NO_COUNTS
  #lanes: readonly LaneView[] = []
  #isOld = false

  constructor(state: StoredState) {
    this.#state = state
  }

  /** Takes over the numbers of a turn. A store whose turns do not tell its counters is asked for them. */
  learn({ lanes, counts, unreadable }: Turn): void {
    this.#lanes = lanes
    this.#isOld = true
    const isKnown = this.#counts !== undefined && !unreadable
    if (counts) this.#counts = { ...counts, ...this.#aside }
    // a turn does not tell how many were put aside before it
    if (!counts || !isKnown) void this.recount()
  }

  /** Dead letters of all principals: they share the room. */
  get deadLetters(): number {
    return this.#counts?.exhausted ?? 0
  }

  /** Known since the store was asked last. */
  get #aside(): Pick<Counts, 'unreadable' | 'pendingAside'> {
    const { unreadable = 0, pendingAside = 0 } = this.#counts ?? {}
    return unreadable > 0 ? { unreadable, pendingAside } : {}
  }

  async recount(): Promise<void> {
    const { store, runner, failed } = this.#state
    this.#isOld = false
    try {
      const counts = await store.counts()
      // most stores have one principal's tasks: nothing is looked up where there are none at all
      const isEmpty = counts.pending + counts.inFlight + counts.exhausted === 0
      const whole = waiting(counts)
      const own = isEmpty ? whole : ((await store.countsOf?.(runner.host.principal)) ?? whole)
      this.#counts = counts
      this.#others = less(whole, own)
    } catch (error) {
      failed(error)
    }
  }

  /** Adds the store's numbers to `here`, those of the tasks in memory. `wakeAt`: when the store has something to do next. */
  addTo(here: RunnerStats, wakeAt: number, all: boolean): RunnerStats {
    const whole = waiting(this.#counts ?? NO_COUNTS)
    const { pending, inFlight, exhausted } = all ? whole : less(whole, this.#others)
    const { unreadable } = this.#aside
    // of what was put aside some may have been purged
    if ((!all || unreadable) && this.#isOld) void this.recount()
    const origins = { ...here.origins }
    for (const { lane, pending: waits, inFlight: runs } of this.#lanes) {
      if (!all && !this.#state.isOwnLane(lane)) continue
      const origin = originOf(lane)
      const none = { inFlight: runs, circuit: 'CLOSED', heldUntilAt: null, retryBudget: FOREVER } as const
      const known = origins[origin]
      origins[origin] = { ...(known ?? none), depth: (known?.depth ?? 0) + waits + runs }
    }
    const nextAttemptAt = Math.min(here.nextAttemptAt ?? FOREVER, pending > 0 ? wakeAt : FOREVER)
    return {
      ...here,
      depth: here.depth + pending + inFlight,
      deadLetters: here.deadLetters + exhausted,
      nextAttemptAt: nextAttemptAt === FOREVER ? null : nextAttemptAt,
      ...(unreadable !== undefined && { unreadable }),
      origins,
    }
  }
}

/** Without what was put aside, which is never sent from here: nothing waits for it. */
function waiting({ pendingAside = 0, ...counts }: Partial<Counts> & OwnCounts): OwnCounts {
  return { ...counts, pending: counts.pending - pendingAside }
}

/** The one without the other; both are of moments close to each other, not of one. */
function less(counts: OwnCounts, other: OwnCounts): OwnCounts {
  return {
    pending: Math.max(0, counts.pending - other.pending),
    inFlight: Math.max(0, counts.inFlight - other.inFlight),
    exhausted: Math.max(0, counts.exhausted - other.exhausted),
  }
}
