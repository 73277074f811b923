/**
 * A store whose calls are timed and whose faults are counted. It answers exactly as the store does, and has no homes. Once it is closed it stays so: what
 * still runs of a request would open it again, and its connections would keep the process.
 */

import { type Clock, RedriveError, type TaskStore } from 'redrive'
import type { Report, Step, StoreTerms, Turn } from 'redrive/store'
import type { ApiStore } from './api/context.ts'
import type { Shares } from './limits.ts'

/** Hears of each call of a store that has ended. `code`: of the error that it rejected with. */
export interface StoreWatch {
  storeCalled(call: string, ms: number, code: string | undefined): void
  /** A turn that could claim has ended. `lateMs`: of each task that it has claimed, the time since its own wait was over. */
  claimed(lateMs: readonly number[]): void
  /** Ends that are to be reported, after a turn. */
  untold(count: number): void
  /** The lanes that a turn has shown, the same list again where it has looked at none. */
  shown?(lanes: Turn['lanes']): void
}

/** Calls that say nothing of the store's health: they only listen, or end it. */
const UNTIMED: ReadonlySet<string> = new Set(['subscribe', 'configure', 'gather', 'suspend', 'close'])

/** Most claims of a turn: requests that have come meanwhile wait for the attempts that it begins. Half as many where the turn itself holds up the process. */
const AT_ONCE = 32

/** Lanes of a store with so many tasks are looked at anew after `SHOWN_MS` only: a turn shows a few of them, for `GET /stats`. */
const DEEP = 1_000
const SHOWN_MS = 1_000

/** The service's own additions to what its queue asks of the store. */
export interface StoreAdditions {
  /** No turn is made before it resolves, and none at all where it rejects. */
  readonly mayTurn?: Promise<void>
  /** Limits as they are now. */
  shares?(): Shares
}

/**
 * @throws TypeError where the store is not for everyone, or lacks what a service needs of it
 */
export function watchedStore(
  store: TaskStore,
  watch: StoreWatch,
  clock: Clock,
  { mayTurn = Promise.resolve(), shares }: StoreAdditions = {},
): ApiStore {
  if (store.everyone !== true) {
    throw new TypeError(
      'createService.store: expected a store for everyone, such as sqliteStore({ path, everyone: true })',
    )
  }
  if (!store.due || !store.registry || !store.pauses || !store.untold || !store.told) {
    throw new TypeError(
      'createService.store: expected a store with due(), registry, pauses and untold(): memory, SQLite or Redis',
    )
  }
  let isClosed = false
  const timed = (name: string, target: object, method: (...given: unknown[]) => unknown) =>
    function call(...given: unknown[]): unknown {
      if (isClosed)
        return Promise.reject(new RedriveError('QUEUE_CLOSED', 'the service was closed, and its store with it'))
      const from = clock.monotonic()
      const answer = method.apply(target, given)
      if (answer instanceof Promise) {
        const ended = (code?: string) => watch.storeCalled(name, clock.monotonic() - from, code)
        answer.then(
          (value) => {
            ended()
            if (name !== 'turn') return
            if ((given[0] as Step).claim) watch.claimed(lateIn(value as Turn))
            watch.untold((value as Turn).untold ?? 0)
            watch.shown?.((value as Turn).lanes)
          },
          (error) => ended(codeOf(error)),
        )
      }
      return answer
    }
  const watched = (target: object, prefix: string): object => {
    const known = new Map<PropertyKey, unknown>()
    return new Proxy(target, {
      get(_, key) {
        if (known.has(key)) return known.get(key)
        // no caller waits in the queue of a service, so no process is a home, and none asks for those of others before each turn
        if (key === 'homes') return undefined
        const value = Reflect.get(target, key, target)
        const name = `${prefix}${String(key)}`
        if (name === 'turn') {
          const turns = turnsOf(store, clock)
          const turn = (step: Step) => mayTurn.then(() => turns(limited(step, store, shares)))
          known.set(key, timed(name, target, turn as (...given: unknown[]) => unknown))
        } else if (name === 'configure' && shares) {
          const quotaOf: StoreTerms['quotaOf'] = (principal) => shares().quotaOf?.(principal)
          known.set(key, (terms: StoreTerms, report: Report) => store.configure?.({ ...terms, quotaOf }, report))
        } else if (name === 'close') {
          known.set(key, () => {
            isClosed = true
            return store.close()
          })
        } else if (typeof value === 'function')
          known.set(key, UNTIMED.has(name) ? value.bind(target) : timed(name, target, value))
        else if (key === 'registry' || key === 'pauses') known.set(key, watched(value, `${name}.`))
        // a durability may be known later only
        else return value
        return known.get(key)
      },
    })
  }
  return watched(store, '') as ApiStore
}

/** Turns of a store, with lanes as they were a moment ago where there are many tasks. */
function turnsOf(store: TaskStore, clock: Clock): TaskStore['turn'] {
  let shown: Turn['lanes'] = []
  let shownAt = Number.NEGATIVE_INFINITY
  let isDeep = false
  return async (step) => {
    const isBrief = isDeep && clock.monotonic() < shownAt + SHOWN_MS
    const turn = await store.turn(isBrief ? { ...step, isBrief } : step)
    const { counts } = turn
    isDeep = counts !== undefined && counts.pending + counts.inFlight >= DEEP
    if (isBrief) return { ...turn, lanes: shown }
    shown = turn.lanes
    shownAt = clock.monotonic()
    return turn
  }
}

function limited(step: Step, { gather }: TaskStore, shares: StoreAdditions['shares']): Step {
  const { claim } = step
  if (!claim) return step
  const limit = Math.min(claim.limit, gather ? AT_ONCE / 2 : AT_ONCE)
  return { ...step, claim: { ...claim, limit, ...shares?.().claim } }
}

const lateIn = ({ now, claimed }: Turn): readonly number[] =>
  claimed.flatMap(({ dueAt }) => (dueAt === undefined ? [] : Math.max(0, now - dueAt)))

const codeOf = (error: unknown): string => String((error as { readonly code?: unknown } | undefined)?.code ?? 'unknown')
