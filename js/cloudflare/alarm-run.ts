/**
 * One alarm's share of a queue's work. The queue sees the object's store through this: it may claim while a run is on, and at most
 * as many tasks as the run has attempts left, so that every alarm ends within the platform's limits.
 */

import {
  type Hint,
  type Settlement,
  type Step,
  type StoredTask,
  SWEEP,
  type TaskStore,
  type Turn,
} from '../api/store.ts'
import type { Clock } from '../platform/clock.ts'
import { withMended } from '../stores/engine/turn.ts'

/** A store that fails so often in a row ends the run. */
const PATIENCE = 3
/** A queue that takes longer to open the store has failed to open it. */
const OPEN_MS = 2_000

export interface Work {
  readonly attempts: number
  readonly ended: number
  /** There were no attempts left, and more may be due. */
  readonly isUsedUp: boolean
  /** The store failed. */
  readonly error?: unknown
}

/** Why a task must not be sent from here; undefined: it may. */
type Refuses = (task: StoredTask) => string | undefined

export class AlarmRun {
  /** The store, as the queue sees it. */
  readonly store: TaskStore
  readonly #refuses: Refuses
  readonly #store: TaskStore
  readonly #clock: Clock
  readonly #listeners = new Set<(hint: Hint) => void>()
  /** Attempts that may still be begun; 0: no run is on. */
  #left = 0
  #attempts = 0
  #ended = 0
  #failed = 0
  #error: unknown
  #turning = 0
  /** Records that a turn has put aside of which the queue has not heard. */
  #unreadable = 0
  /** Tasks under a lease of this queue. */
  readonly #running = new Set<string>()
  #rest: (() => void) | undefined
  /** Lanes that the queue claims nothing from for now, as of its last look: a breaker is open, a budget empty. */
  shut: readonly string[] = []
  /** The queue has been asked to look. */
  #isAsked = false
  #unsubscribe: () => void = () => {}

  constructor(store: TaskStore, clock: Clock, refuses: Refuses = () => undefined) {
    this.#refuses = refuses
    this.#store = store
    this.#clock = clock
    const own: Partial<TaskStore> = {
      turn: (step) => this.#turn(step),
      subscribe: (listener) => this.#subscribe(listener),
    }
    this.store = new Proxy(store, {
      get: (_, name) => {
        const value: unknown = Reflect.get(own, name) ?? Reflect.get(store, name)
        return typeof value === 'function' ? value.bind(store) : value
      },
    })
  }

  /**
   * Lets the queue claim up to `most` tasks, those that arrive meanwhile included; resolves when none of them runs any more.
   * `begin` opens the queue. After `forMs` no more are claimed, and after twice that it resolves all the same.
   */
  async work(most: number, forMs: number, begin: () => Promise<void>): Promise<Work> {
    this.#left = most
    this.#attempts = this.#ended = this.#failed = 0
    this.#error = undefined
    this.#isAsked = false
    this.shut = []
    const disarms: (() => void)[] = []
    const after = (delayMs: number, work: () => void): void => {
      disarms.push(this.#clock.after(delayMs, work))
    }
    try {
      await new Promise<void>((resolve, reject) => {
        this.#rest = resolve
        after(forMs, () => {
          this.#left = 0
          this.#look()
        })
        after(forMs * 2, resolve)
        begin().then(() => {
          if (this.isOpen) this.#ask()
          else
            after(OPEN_MS, () => this.#isAsked || reject(this.#error ?? new Error('the queue did not open its store')))
        }, reject)
      })
      const result = { attempts: this.#attempts, ended: this.#ended, isUsedUp: this.#left === 0 }
      return { ...result, ...(this.#error === undefined ? {} : { error: this.#error }) }
    } finally {
      for (const disarm of disarms) disarm()
      this.#left = 0
      this.#rest = undefined
    }
  }

  /** Whether the queue has opened the store. */
  get isOpen(): boolean {
    return this.#listeners.size > 0
  }

  async #turn(step: Step): Promise<Turn> {
    if (step.claim)
      this.shut = (step.claim.bounds ?? []).flatMap(({ lane, max, untried }) => (max <= 0 || untried ? [lane] : []))
    const claim = step.claim && this.#left > 0 ? { ...step.claim, limit: Math.min(step.claim.limit, this.#left) } : null
    this.#turning++
    try {
      const own = await this.#own(await this.#store.turn({ ...step, claim }), step.owner)
      const turn = withMended(own, this.#unreadable)
      this.#unreadable = 0
      this.#failed = 0
      this.#error = undefined
      this.#count(step, turn)
      // a queue that may not claim must not wait for the next due task either
      return step.claim && !claim ? { ...turn, nextInMs: null } : turn
    } catch (error) {
      this.#failed++
      this.#error = error
      throw error
    } finally {
      this.#turning--
      this.#look()
    }
  }

  /** Parks what is due of principals that the object is not for; what is left the next run does. */
  async putAside(principals: readonly (string | null)[]): Promise<void> {
    const most = { limit: SWEEP, leaseMs: OPEN_MS, total: Number.POSITIVE_INFINITY, perLane: Number.POSITIVE_INFINITY }
    const owner = 'put aside'
    for (const principal of principals) {
      const claim = { ...most, lanes: 'any', principal, skipHomes: [] } as const
      const turn = await this.#own(await this.#store.turn({ owner, settle: [], renew: [], claim }), owner)
      this.#unreadable += turn.unreadable ?? 0
    }
  }

  /** The turn without what is not to be sent from here, which waits parked from now on: its row was changed. */
  async #own(turn: Turn, owner: string): Promise<Turn> {
    const settle: Settlement[] = []
    const claimed = turn.claimed.filter(({ task, lease }) => {
      const why = this.#refuses(task)
      if (why === undefined) return true
      const { taskId } = task
      const none = { attemptNumber: 0, durationMs: 0, responseStatus: null, errorMessage: null }
      const log = {
        taskId,
        ...none,
        startedAt: turn.now,
        decision: `not sent: ${why}; parked`,
        kind: 'parked',
      } as const
      settle.push({ lease, log, next: { kind: 'release', delayMs: 0, refund: true, park: true } })
      return false
    })
    if (settle.length === 0) return turn
    const { counts } = await this.#store.turn({ owner, settle, renew: [], claim: null })
    return { ...turn, claimed, ...(counts ? { counts } : {}) }
  }

  #count({ settle, renew }: Step, { settled, renewed, claimed, ended }: Turn): void {
    settle.forEach(({ lease, next }, i) => {
      this.#running.delete(lease.taskId)
      const isEnd = next.kind === 'succeeded' || next.kind === 'exhausted'
      if (settled[i] === 'cancelled' || (settled[i] === 'applied' && isEnd)) this.#ended++
    })
    renew.forEach(({ taskId }, i) => {
      if (renewed[i] === 'lost') this.#running.delete(taskId)
    })
    for (const { taskId } of ended) this.#running.delete(taskId)
    for (const { task } of claimed) this.#running.add(task.taskId)
    this.#ended += ended.length
    this.#attempts += claimed.length
    this.#left -= claimed.length
  }

  /** Whether the run is over; looked at once the queue has acted on the turn, and asked for another if it wants one. */
  #look(): void {
    if (!this.#rest || !this.#isAsked) return
    this.#clock.after(0, () => {
      const isIdle = this.#turning === 0 && this.#running.size === 0
      const gaveUp = this.#failed >= PATIENCE
      if ((isIdle && this.#failed === 0) || gaveUp) this.#rest?.()
    })
  }

  /** Passes hints on during a run only: the next run begins with a look at the store. */
  #subscribe(listener: (hint: Hint) => void): () => void {
    if (this.#listeners.size === 0) {
      this.#unsubscribe = this.#store.subscribe?.((hint) => this.#rest && this.#tell(hint)) ?? (() => {})
    }
    this.#listeners.add(listener)
    // opened late: its first turn is under way
    if (this.#rest) queueMicrotask(() => this.#rest && this.#ask())
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#unsubscribe()
    }
  }

  #ask(): void {
    this.#isAsked = true
    this.#tell({ kind: 'due' })
    this.#look()
  }

  #tell(hint: Hint): void {
    for (const listener of this.#listeners) listener(hint)
  }
}
