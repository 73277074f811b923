/**
 * A store in memory dressed as a browser's: tabs come and go, locks end with their tab, one principal is current for all, and
 * the leases of a tab that is gone, or has been put away, count as over.
 */

import type { Claim, Hint, Lease, Step, TaskStore, Turn } from '../../js/api/store.ts'
import { Locks } from './locks.ts'
import type { Page } from './page.ts'
import { homeOf, leaderOf, TabLocks } from './tab-locks.ts'

/** A hint, and whether it is sure to arrive: what a tab hears of its own store, or by a lock, is; a channel's may be lost. */
export interface TabHint {
  readonly kind: Hint['kind']
  readonly taskId?: string
  readonly isSure: boolean
}

/** A lease that its tab looks after. */
interface Guarded {
  readonly lease: Lease
  readonly tab: TabLocks
}

const LONG_AGO_MS = 1e9

export class Browser {
  readonly locks: Locks = new Locks()
  readonly #store: TaskStore
  readonly #listeners = new Map<TabLocks, Set<(hint: TabHint) => void>>()
  /** By token. */
  readonly #leases = new Map<number, Guarded>()
  #principal: string | null | undefined
  /** Logins that are under way, each with its tab. */
  readonly #logins = new Map<string, TabLocks>()
  #since = Number.NEGATIVE_INFINITY

  readonly leaderOf: typeof leaderOf = leaderOf
  readonly homeOf: typeof homeOf = homeOf

  /** What every tab uses. */
  constructor(store: TaskStore) {
    this.#store = store
  }

  /** `letGo`: the tab is gone. */
  connect(page: Page): { readonly store: TaskStore; readonly letGo: () => void } {
    const tab = new TabLocks(this.locks, page, () => this.#tell(tab, { kind: 'due', isSure: true }))
    this.#listeners.set(tab, new Set())
    const letGo = () => {
      this.#listeners.delete(tab)
      this.#letGo(tab)
    }
    return { store: this.#storeOf(tab), letGo }
  }

  #storeOf(tab: TabLocks): TaskStore {
    const store = this.#store
    const asked = <T>(ask: () => Promise<T>) => this.#asked(tab, ask)
    return {
      durability: 'strict',
      idleCheckMs: null,
      graceMs: 75_000,
      configure: (terms) => store.configure?.(terms),
      enqueue: (tasks, lease) => asked(() => store.enqueue(tasks, lease)),
      turn: (step) => this.#turn(tab, step),
      cancel: (taskId, as) => asked(() => store.cancel(taskId, as)),
      redrive: (taskIds, options) => asked(() => store.redrive(taskIds, options)),
      flush: (lane) => asked(() => store.flush(lane)),
      unpark: (filter) => asked(() => store.unpark?.(filter) ?? Promise.resolve(0)),
      purge: (filter) => asked(() => store.purge(filter)),
      purgeAll: () => asked(() => store.purgeAll()),
      body: (taskId) => store.body(taskId),
      find: (key, principal) => store.find(key, principal),
      get: (taskId) => store.get(taskId),
      list: (filter) => store.list(filter),
      attempts: (taskId, page) => store.attempts(taskId, page),
      counts: () => store.counts(),
      subscribe: (listener) => {
        this.#listeners.get(tab)?.add(listener)
        return () => this.#listeners.get(tab)?.delete(listener)
      },
      leader: tab,
      homes: {
        areHeard: true,
        holdHome: async (owner, forMs) => (forMs > 0 ? tab.holdHome(owner) : tab.dropHome(owner)),
        live: async () => tab.liveHomes(),
      },
      principals: {
        current: async () => {
          const isLogin = this.#logins.size > 0 ? { loginForMs: Number.POSITIVE_INFINITY } : {}
          return { principal: this.#principal, ...isLogin }
        },
        switchTo: async (principal, namedAt, login = '') => {
          const { since, now } = namedAt()
          const hasEnded = this.#logins.delete(login)
          const isOld = since < this.#since && this.#since <= now
          if (!isOld) this.#since = since
          if (!hasEnded && (isOld || principal === this.#principal)) return
          if (!isOld) this.#principal = principal
          this.#tellAll(tab, 'principal')
        },
        logIn: async (login, _, isUnderWay) => {
          if (this.#logins.has(login) || !isUnderWay()) return
          this.#logins.set(login, tab)
          this.#tellAll(tab, 'principal')
        },
      },
      suspend: () => this.#letGo(tab),
      close: async () => this.#letGo(tab),
    }
  }

  /** Only for the principal that is there, and while no tab logs in. */
  mayClaim({ principal }: Claim): boolean {
    return this.#logins.size === 0 && (this.#principal === undefined || principal === this.#principal)
  }

  /** Its locks are free, and so are those of its logins, which all others wait for. */
  #letGo(tab: TabLocks): void {
    tab.suspend()
    const own = [...this.#logins].filter(([, each]) => each === tab)
    for (const [login] of own) this.#logins.delete(login)
    if (own.length > 0) this.#tellAll(undefined, 'principal')
  }

  /** `sure`: hears it for sure; undefined: all do. */
  #tellAll(sure: TabLocks | undefined, kind: TabHint['kind']): void {
    for (const each of this.#listeners.keys()) this.#tell(each, { kind, isSure: sure === undefined || each === sure })
  }

  #turn(tab: TabLocks, step: Step): Promise<Turn> {
    const { claim, renew } = step
    const isForeign = claim !== null && !this.mayClaim(claim)
    const isGuarded = claim !== null && !isForeign && tab.guard()
    // of owners that are gone: renewed into the past they run out in this very step, after what it settles, and before any silence
    const orphans = [...this.#leases.values()].filter((guarded) => !guarded.tab.guards(guarded.lease.token))
    const over = orphans.map(({ lease }) => ({ ...lease, forMs: -LONG_AGO_MS }))
    const whole = { ...step, claim: isForeign ? null : claim, renew: [...renew, ...over] }
    const ask = () => {
      const work = this.#store.turn(whole)
      for (const { lease } of orphans) this.#leases.delete(lease.token)
      for (const { lease } of step.settle) this.#leases.delete(lease.token)
      return work
    }
    return this.#asked(tab, ask, (turn) => {
      if (isGuarded) {
        for (const { lease } of turn.claimed) this.#leases.set(lease.token, { lease, tab: tab.lookAfter(lease.token) })
      }
      tab.watchGuards([...this.#leases.values()].map((guarded) => guarded.tab))
      return { ...turn, renewed: turn.renewed.slice(0, renew.length), ...(isForeign ? { isForeign } : {}) }
    })
  }

  /** What this call changes, its own tab hears for sure. Calls are answered in the order in which they were made. */
  #asked<T>(tab: TabLocks, ask: () => Promise<T>, shown = (answer: T): T => answer): Promise<T> {
    // a step is done before `ask` returns: what it has to tell, it tells those who listen then
    const unsubscribe = this.#store.subscribe?.((hint) => {
      for (const each of this.#listeners.keys()) this.#tell(each, { ...hint, isSure: each === tab })
    })
    const answer = ask()
    unsubscribe?.()
    return answer.then(shown)
  }

  #tell(tab: TabLocks, hint: TabHint): void {
    for (const listener of this.#listeners.get(tab) ?? []) listener(hint)
  }
}
