/** Tells listeners what a turn has found in the store or made of a task, and adds the store's numbers to `stats()`. */

import type { RunnerStats } from '../api/stats.ts'
import type { LaneView, TaskStore, Turn } from '../api/store.ts'
import { FOREVER } from '../platform/clock.ts'
import type { Runner } from '../runner/runner.ts'
import { originOf, type StoredState } from './state.ts'

type Counts = Awaited<ReturnType<TaskStore['counts']>>

/** Reports dead letters that the store has purged by itself, and records that it cannot read. */
export function reportTurn({ trimmed, unreadable }: Turn, { host, limits }: Runner): void {
  if (trimmed) {
    const { maxDeadLetters, deadLetterMs } = limits.retention
    const message = `${trimmed} dead letter(s) were purged: more than ${maxDeadLetters}, or older than ${deadLetterMs} ms`
    host.degraded('dead_letters_trimmed', message)
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

/** The numbers that the store gave last, for `stats()`, which cannot wait for the store. */
export class StoreCounts {
  readonly #state: StoredState
  #counts: Counts | undefined
  #lanes: readonly LaneView[] = []

  constructor(state: StoredState) {
    this.#state = state
  }

  /** Takes over the numbers of a turn. A store whose turns do not tell its counters is asked for them. */
  learn({ lanes, counts, unreadable }: Turn): void {
    this.#lanes = lanes
    const isKnown = this.#counts !== undefined && !unreadable
    if (counts) this.#counts = { ...counts, ...this.#unreadable }
    // a turn does not tell how many were put aside before it
    if (!counts || !isKnown) void this.recount()
  }

  get #unreadable(): Pick<Counts, 'unreadable'> {
    const { unreadable } = this.#counts ?? {}
    return unreadable ? { unreadable } : {}
  }

  async recount(): Promise<void> {
    const { store, failed } = this.#state
    await store.counts().then((counts) => {
      this.#counts = counts
    }, failed)
  }

  /** Adds the store's numbers to `here`, those of the tasks in memory. `wakeAt`: when the store has something to do next. */
  addTo(here: RunnerStats, wakeAt: number): RunnerStats {
    const { pending = 0, inFlight = 0, exhausted = 0 } = this.#counts ?? {}
    const origins = { ...here.origins }
    for (const { lane, pending: waits, inFlight: runs } of this.#lanes) {
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
      ...this.#unreadable,
      origins,
    }
  }
}
