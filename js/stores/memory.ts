/**
 * redrive/memory: the reference of the store contract. Tasks live as long as the object does.
 *
 * Obviously right rather than fast: it looks at every task where another store has an index. Tests hold the other stores
 * to its answers; a queue that needs no store to share keeps its tasks in its core instead.
 *
 * Each method does all its work before it first waits, which makes it one atomic step.
 */

import type { RetryPolicy } from '../api/policy.ts'
import {
  type Counts,
  type Enqueued,
  type NewTask,
  type OwnCounts,
  type Pauses,
  type Registry,
  type Step,
  type StoredTask,
  type StoreTerms,
  type TaskStore,
  type Turn,
  UNTOLD_COUNTED,
} from '../api/store.ts'
import type { AttemptLog, ExhaustedReason, TaskStatus } from '../api/task.ts'
import { check, oneOf, type Rules } from '../options/check.ts'
import type { Clock } from '../platform/clock.ts'
import { besideHomes } from './engine/homes.ts'
import { isAccepted, isReadable, timeOfStep } from './engine/rules.ts'
import { assertStorable } from './engine/sound.ts'
import { checkDue, checkGiven, checkList, checkPurge } from './filters.ts'
import { claimDue } from './memory/claim.ts'
import { flush, makeDueIn, redriveOne, unpark } from './memory/control.ts'
import { enqueueOne, type LeaseWish } from './memory/enqueue.ts'
import { shareOf } from './memory/quotas.ts'
import { attemptsOf, findYoungest, historyOf, matches, page, show } from './memory/reads.ts'
import { pausesOf, registryOf } from './memory/registry.ts'
import { type Hint, isLive, Rows } from './memory/rows.ts'
import { endLate, type Found, holdNamed, renew, retain, settle, takeBack } from './memory/settle.ts'
import { markReported, showEnd, unreportedOf } from './memory/unreported.ts'
import { view } from './memory/view.ts'
import { resolveTerms, TERMS_RULES, type TermsOptions } from './store-options.ts'

type Aside = Awaited<ReturnType<Required<TaskStore>['unreadable']>>

export interface MemoryStoreOptions extends TermsOptions {
  /**
   * Tasks of all principals stand in one line: for a sender of many tenants that looks up the credentials of each task by itself. A queue is
   * one principal's at a time, and its store is not for everyone.
   * @default each principal has a line of its own
   */
  readonly everyone?: true
}

const RULES: Rules<MemoryStoreOptions> = { ...TERMS_RULES, everyone: oneOf(true) }

/** Tasks in this object, for tests and for several queues of one process. */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return new MemoryStore(options)
}

export class MemoryStore implements TaskStore {
  readonly durability = 'memory'
  readonly idleCheckMs = null
  readonly everyone?: true
  readonly homes: NonNullable<TaskStore['homes']> = {
    holdHome: async (owner, forMs) => this.#holdHome(owner, forMs),
    live: async () => this.#live(),
  }
  readonly untold?: Required<TaskStore>['untold']
  readonly told?: Required<TaskStore>['told']
  readonly registry: Registry
  readonly pauses: Pauses
  readonly #clock: Clock
  readonly #rows: Rows
  readonly #listeners = new Set<(hint: Hint) => void>()
  #terms: StoreTerms
  #highWater = Number.NEGATIVE_INFINITY

  constructor(options: MemoryStoreOptions = {}) {
    const { everyone, ...rest } = options
    check('memoryStore', options, RULES)
    const { clock, terms } = resolveTerms('memoryStore', rest)
    if (everyone) {
      this.everyone = everyone
      this.untold = async (limit, taskIds) =>
        unreportedOf(this.#rows, taskIds).slice(0, Math.max(0, limit)).map(showEnd)
      this.told = async (ends) => this.#step(() => markReported(this.#rows, ends))
    }
    this.#rows = new Rows(everyone === true)
    this.registry = registryOf()
    this.pauses = pausesOf(this.#rows, () => this.#tell())
    this.#clock = clock
    this.#terms = terms
  }

  configure(terms: StoreTerms): void {
    this.#terms = { ...terms, retention: { ...terms.retention } }
  }

  async enqueue(tasks: readonly NewTask[], lease?: LeaseWish): Promise<readonly Enqueued[]> {
    assertStorable(tasks)
    return this.#step((now) => tasks.map((task) => enqueueOne(this.#rows, task, this.#terms, lease, now)))
  }

  async turn(step: Step): Promise<Turn> {
    return this.#step((now) => {
      const rows = this.#rows
      const live = [...rows.homes].flatMap(([home, until]) => (until > now ? home : []))
      const { owner, settle: settlements, hold: holds = [], renew: leases, claim, silence } = besideHomes(step, live)
      const found: Found = { ended: [], unreadable: 0 }
      const trimmed = retain(rows, this.#terms, now)
      const settled = settlements.map((settlement) => settle(rows, settlement, this.#terms, now))
      for (const hold of holds) holdNamed(rows, hold, this.#terms, now)
      const renewed = leases.map((lease) => renew(rows, lease, now))
      takeBack(rows, found, now, silence)
      endLate(rows, found, now)
      const claimed = claim
        ? claimDue(rows, claim, owner, found, now)
        : { claimed: [], more: false, blockedByLimit: false }
      const { more: _, tokenAt: __, ...rest } = claimed
      const { ended, unreadable } = found
      const unreported = Math.min(UNTOLD_COUNTED, unreportedOf(rows).length)
      return {
        now,
        settled,
        renewed,
        ended,
        ...rest,
        ...view(rows, claim, claimed, now),
        counts: { ...rows.counts },
        ...(trimmed.length > 0 ? { trimmed } : {}),
        ...(unreadable > 0 ? { unreadable } : {}),
        ...(unreported > 0 ? { untold: unreported } : {}),
      }
    })
  }

  async cancel(taskId: string, as?: ExhaustedReason, isCallers = false): Promise<'cancelled' | 'requested' | 'gone'> {
    return this.#step((now) => {
      const row = this.#rows.get(taskId)
      if (!row || !isLive(row) || !isReadable(row.given)) return 'gone'
      if (isCallers && isAccepted(row)) return 'requested'
      if (row.status === 'PENDING') {
        this.#rows.endUnasked(row, as === undefined ? 'CANCELLED' : 'EXHAUSTED', as, now)
        return 'cancelled'
      }
      row.cancelRequested = true
      this.#rows.hints.push({ kind: 'cancelled', taskId })
      return 'requested'
    })
  }

  async redrive(
    taskIds: readonly string[],
    options: {
      readonly spacingMs: number
      readonly acceptDuplicateRisk: boolean
      readonly policies?: readonly RetryPolicy[]
    },
  ): Promise<readonly ('redriven' | 'key_expired' | 'untold' | 'gone')[]> {
    return this.#step((now) => {
      let redriven = 0
      return taskIds.map((taskId) => {
        const outcome = redriveOne(this.#rows, taskId, redriven * options.spacingMs, options, now)
        if (outcome === 'redriven') redriven++
        return outcome
      })
    })
  }

  async flush(lane?: string): Promise<number> {
    return this.#step((now) => flush(this.#rows, lane, now))
  }

  async unpark(filter: { readonly principal?: string | null; readonly lane?: string }): Promise<number> {
    checkGiven('unpark', filter, 'principal', 'lane')
    return this.#step((now) => unpark(this.#rows, filter, now))
  }

  async due(taskIds: readonly string[], inMs: number): Promise<readonly ('due' | 'gone')[]> {
    checkDue(inMs)
    return this.#step((now) => taskIds.map((taskId) => makeDueIn(this.#rows, taskId, inMs, now)))
  }

  async body(taskId: string): Promise<Uint8Array | undefined> {
    return this.#readable(taskId)?.body?.slice()
  }

  async find(idempotencyKey: string, principal?: string | null): Promise<StoredTask | undefined> {
    const row = findYoungest(this.#rows, idempotencyKey, principal)
    return row && show(row)
  }

  async get(taskId: string): Promise<StoredTask | undefined> {
    const row = this.#readable(taskId)
    return row && show(row)
  }

  async list(filter: Parameters<TaskStore['list']>[0]): ReturnType<TaskStore['list']> {
    checkList(filter)
    return page(this.#rows, filter)
  }

  async attempts(
    taskId: string,
    options: { readonly limit: number; readonly cursor?: string },
  ): Promise<{ readonly attempts: readonly AttemptLog[]; readonly cursor?: string }> {
    return attemptsOf(this.#readable(taskId), options)
  }

  async history(taskId: string, most?: number): Promise<readonly AttemptLog[]> {
    return historyOf(this.#readable(taskId), most)
  }

  async unreadable({ limit, cursor = '' }: { readonly limit: number; readonly cursor?: string }): Promise<Aside> {
    const found = [...this.#rows.all()].filter((row) => row.unreadable && row.taskId > cursor)
    found.sort((a, b) => (a.taskId < b.taskId ? -1 : 1))
    const page = found.slice(0, Math.max(1, limit))
    const last = found.length > page.length ? page.at(-1)?.taskId : undefined
    const records = page.map((row) => ({ taskId: row.taskId, fields: { ...show(row) } }))
    return { records, ...(last !== undefined && { cursor: last }) }
  }

  async counts(): Promise<Counts> {
    // only what is pending is ever put aside here
    const unreadable = [...this.#rows.all()].filter((row) => row.unreadable).length
    return { ...this.#rows.counts, ...(unreadable > 0 && { unreadable, pendingAside: unreadable }) }
  }

  async countsOf(principal: string | null): Promise<OwnCounts> {
    const ids = this.#rows.ids.of(principal)
    const own = Array.from({ length: ids.size }, (_, i) => ids.at(i)).filter((row) => !row.unreadable)
    const count = (status: TaskStatus) => own.filter((row) => row.status === status).length
    return {
      pending: count('PENDING'),
      inFlight: count('IN_FLIGHT'),
      exhausted: count('EXHAUSTED'),
      ...(this.everyone && { bytes: shareOf(this.#rows, principal).bytes }),
    }
  }

  async purge(filter: Parameters<TaskStore['purge']>[0]): Promise<number> {
    return this.#purge(checkPurge('purge', filter))
  }

  async purgeAll(): Promise<number> {
    return this.#purge({})
  }

  #purge(filter: Parameters<TaskStore['purge']>[0]): number {
    return this.#step((now) => {
      const { taskId } = filter
      const one = taskId === undefined ? undefined : this.#rows.get(taskId)
      const among = taskId === undefined ? [...this.#rows.all()] : one ? [one] : []
      const doomed = among.filter((row) => matches(row, filter))
      for (const row of doomed) this.#rows.remove(row, now)
      return doomed.length
    })
  }

  subscribe(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async close(): Promise<void> {}

  #readable(taskId: string): ReturnType<Rows['get']> {
    const row = this.#rows.get(taskId)
    return row && isReadable(row.given) ? row : undefined
  }

  #holdHome(owner: string, forMs: number): void {
    this.#step((now) => {
      if (forMs > 0) this.#rows.homes.set(owner, now + forMs)
      else this.#rows.homes.delete(owner)
    })
  }

  #live(): readonly string[] {
    return this.#step((now) => {
      for (const [owner, until] of this.#rows.homes) if (until <= now) this.#rows.homes.delete(owner)
      return [...this.#rows.homes.keys()].sort()
    })
  }

  #step<T>(work: (now: number) => T): T {
    const { now, shiftMs } = timeOfStep(this.#clock.now(), this.#highWater)
    if (shiftMs !== 0) this.#rows.shift(shiftMs)
    this.#highWater = now
    const result = work(now)
    this.#tell()
    return result
  }

  /** After the step, each listener by itself: one that throws does not keep the others from hearing. */
  #tell(): void {
    const hints = this.#rows.hints
    this.#rows.hints = []
    // what names no task is said once
    const first = (kind: Hint['kind']): number => hints.findIndex((hint) => hint.kind === kind && !hint.taskId)
    const told = hints.filter(({ kind, taskId }, i) => taskId !== undefined || i === first(kind))
    for (const hint of told) {
      for (const listener of this.#listeners) queueMicrotask(() => listener(hint))
    }
  }
}
