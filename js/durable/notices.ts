/** Tells listeners what a turn has found in the store or made of a task, and adds the store's numbers to `stats()`. */

import type { RunnerStats } from '../api/stats.ts'
import { type Counts, type LaneView, type OwnCounts, originIn, type Turn } from '../api/store.ts'
import { reportTrimmed } from '../options/limits.ts'
import { FOREVER } from '../platform/clock.ts'
import type { Runner } from '../runner/runner.ts'
import type { StoredState } from './state.ts'

/** Reports dead letters that the store has purged by itself, and records that it cannot read. */
export function reportTurn({ trimmed, unreadable }: Turn, { host, limits }: Runner): void {
  if (trimmed) reportTrimmed(trimmed, limits.retention, host.degraded)
  if (unreadable) {
    const message = `${unreadable} stored task(s) cannot be read by this version: they are kept and not sent; deploy the version that stored them`
    host.degraded('unreadable_record', message)
  }
}

/** Reports a record that the store shows and that no task can be made of. */
export function reportUnreadable({ host, words }: Runner, taskId: string, error: unknown, what: string): void {
  host.degraded('unreadable_record', `task ${taskId} cannot be sent (${words(error)}): ${what}`, taskId)
}

const NO_COUNTS: OwnCounts = { pending: 0, inFlight: 0, exhausted: 0 }

/**
 * The numbers that the store gave last, with what was stored from here since, for `stats()`, which cannot wait for the store. A store
 * counts the tasks of all principals as they change; what is not the current one's is looked up when the principal changes, and after
 * `stats()` was asked.
 */
export class StoreCounts {
  readonly #state: StoredState
  #counts: Counts | undefined
  #others: OwnCounts = NO_COUNTS
  #lanes: readonly LaneView[] = []
  #learnedAt = 0
  /** Lanes that the last turn left out, and how many tasks they had when one showed them last. */
  #shut = new Map<string, number>()
  /** Lanes of tasks that were stored from here and that no answer of the store is sure to count. */
  #stored: { readonly lane: string; readonly order: number }[] = []
  /** Writes that the store has not answered, by their tasks; it does what it is asked in order. */
  readonly #writes = new Map<string, number>()
  #order = 0
  /** The last write when the turn under way was asked for, and when the one that was learned from last was. */
  #askedAt = 0
  #countedTo = 0
  #isOld = false
  #told = ''

  constructor(state: StoredState) {
    this.#state = state
  }

  /** The store is about to be asked to take a task. */
  writing(taskId: string): void {
    this.#writes.set(taskId, ++this.#order)
  }

  /** The store has answered. `lane`: where the task is stored, if it is. */
  written(taskId: string, lane?: string): void {
    const order = this.#writes.get(taskId) ?? ++this.#order
    this.#writes.delete(taskId)
    // a turn that was asked for later may have been answered, and learned from, before
    if (lane !== undefined && order > this.#countedTo) this.#stored.push({ lane, order })
  }

  /** A turn is about to be asked for. */
  asking(): void {
    this.#askedAt = this.#order
  }

  /** Takes over the numbers of a turn, which has left out lanes that are `shut`. A store whose turns do not tell its counters is asked for them. */
  learn({ lanes, counts, unreadable }: Turn, shut: readonly string[]): void {
    const before = this.#counted
    this.#shut = new Map(shut.map((lane) => [lane, before.get(lane) ?? 0]))
    this.#lanes = lanes
    this.#learnedAt = this.#state.runner.host.now()
    this.#isOld = true
    const isKnown = this.#counts !== undefined && !unreadable
    if (counts) {
      this.#counts = { ...counts, ...this.#aside }
      this.#forget(this.#askedAt)
    }
    this.#tell()
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
    const askedAt = this.#order
    try {
      const counts = await store.counts()
      // most stores have one principal's tasks: nothing is looked up where there are none at all
      const isEmpty = counts.pending + counts.inFlight + counts.exhausted === 0
      const whole = waiting(counts)
      const own = isEmpty || store.everyone ? whole : ((await store.countsOf?.(runner.host.principal)) ?? whole)
      this.#counts = counts
      this.#others = less(whole, own)
      this.#forget(askedAt)
      this.#tell()
    } catch (error) {
      failed(error)
    }
  }

  /** Tells those who watch the tasks where the numbers are others than before: a turn may have found what no hint has reported. */
  #tell(): void {
    const { host } = this.#state.runner
    if (!host.snapshot && !host.events.has('store')) return
    const lanes = this.#lanes.map(({ lane, pending, inFlight }) => [lane, pending, inFlight])
    const numbers = JSON.stringify([this.#counts, this.#others, lanes])
    if (numbers !== this.#told) host.changed?.({ others: true, isStores: true })
    this.#told = numbers
  }

  /** Adds the store's numbers to `here`, those of the tasks in memory. `wakeAt`: when the store has something to do next. */
  addTo(here: RunnerStats, wakeAt: number, all: boolean): RunnerStats {
    const { host, lanes } = this.#state.runner
    const nextAt = lanes.isPaused ? FOREVER : Math.max(host.now(), wakeAt)
    const whole = waiting(this.#counts ?? NO_COUNTS)
    const { pending, inFlight, exhausted } = all ? whole : less(whole, this.#others)
    const { unreadable } = this.#aside
    // of what was put aside some may have been purged
    if ((!all || unreadable) && this.#isOld) void this.recount()
    const waits = pending + this.#stored.length
    const nextAttemptAt = Math.min(here.nextAttemptAt ?? FOREVER, waits > 0 ? nextAt : FOREVER)
    return {
      ...here,
      depth: here.depth + waits + inFlight,
      deadLetters: here.deadLetters + exhausted,
      nextAttemptAt: nextAttemptAt === FOREVER ? null : nextAttemptAt,
      ...(unreadable !== undefined && { unreadable }),
      origins: this.#origins(here, waits + inFlight, all),
    }
  }

  /** `depth`: of all lanes that are asked about. */
  #origins({ origins: known }: RunnerStats, depth: number, all: boolean): RunnerStats['origins'] {
    const { runner } = this.#state
    const origins = { ...known }
    const tasksOf = this.#counted
    for (const { lane } of this.#stored) tasksOf.set(lane, (tasksOf.get(lane) ?? 0) + 1)
    const depths = [...tasksOf].filter(([lane]) => all || this.#state.isOwnLane(lane))
    const rest = depth - depths.reduce((sum, [, tasks]) => sum + tasks, 0)
    const runs = new Map(this.#lanes.map((view) => [view.lane, view]))
    for (const [lane, tasks] of depths) {
      const origin = originIn(lane)
      const { inFlight = 0, heldForMs = 0 } = runs.get(lane) ?? {}
      const none = {
        depth: 0,
        inFlight,
        circuit: 'CLOSED',
        heldUntilAt: null,
        shutUntilAt: null,
        retryBudget: FOREVER,
      } as const
      const other = origins[origin] ?? none
      const held = heldForMs > 0 ? this.#learnedAt + heldForMs : 0
      const heldUntilAt = Math.max(other.heldUntilAt ?? 0, held > runner.host.now() ? held : 0) || null
      // where one lane is left out, what the others do not have is in it
      const own = this.#shut.size === 1 && this.#shut.has(lane) ? Math.max(0, tasks + rest) : tasks
      origins[origin] = { ...other, depth: other.depth + own, heldUntilAt }
    }
    return origins
  }

  /** Tasks by lane, as far as the store has said. */
  get #counted(): Map<string, number> {
    const counted = new Map(this.#shut)
    for (const { lane, pending, inFlight } of this.#lanes) counted.set(lane, pending + inFlight)
    return counted
  }

  /** Those stored up to then the store has counted. */
  #forget(order: number): void {
    this.#countedTo = Math.max(this.#countedTo, order)
    for (const stored of this.#stored) {
      const known = this.#shut.get(stored.lane)
      if (known !== undefined && stored.order <= order) this.#shut.set(stored.lane, known + 1)
    }
    this.#stored = this.#stored.filter((stored) => stored.order > order)
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
