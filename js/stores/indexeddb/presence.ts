/**
 * Tells tabs of each other: which are homes (processes whose caller waits), whose leases are looked after (guards), and
 * which one is the leader. Each is a Web Lock, which the browser frees when its tab dies, however it dies; the tabs that are
 * concerned queue behind it and so hear of it at once. No tab polls, and nothing has to be cleared away.
 *
 * Where there are no locks, as in pages without TLS, `isAvailable` is false, nothing is ever held, and no tab counts as dead.
 */

import type { Leader } from '../../api/store.ts'
import { LeaderLock, type Page } from './leader-lock.ts'
import { Lock, snapshot, watch } from './locks.ts'

/** Guarded leases whose tab is gone: those of `owners` with a token of at most `upTo`. */
export interface OrphanedLeases {
  readonly owners: readonly string[]
  readonly upTo: number
}

/** Errors of a page that is going, or whose lock was stolen: neither says anything about the next time. */
const PASSING = new Set(['AbortError', 'InvalidStateError'])

export class Presence {
  /** undefined: there are no locks. */
  readonly leader: Leader | undefined
  readonly #prefix: string
  readonly #hint: (kind: 'due' | 'principal') => void
  readonly #locks: LockManager | undefined
  #isRefused = false
  /** Locks of this process, by name. */
  readonly #own = new Map<string, { readonly lock: Lock; readonly granted: Promise<boolean> }>()
  /** Locks of other processes that are waited for, by name. */
  readonly #watches = new Map<string, AbortController>()
  /** Owners whose guard was heard to end, and that no turn has asked about since. */
  #ended = new Set<string>()
  /** Owners that were found to be gone, and up to which token: should something of such an owner stay, they are not heard of again and again. */
  #gone = new Map<string, number>()
  /** Counts suspensions: what was under way before one takes no lock. */
  #suspensions = 0

  /** `hint`: a tab has gone, which is a reason to look. */
  constructor(
    storeName: string,
    hint: (kind: 'due' | 'principal') => void,
    locks: LockManager | undefined = globalThis.navigator?.locks,
    page: Page | undefined = globalThis.document,
  ) {
    // so that no store's name is the beginning of another's
    const name = `redrive/${storeName.replace(/[%/? ]/g, encodeURIComponent)}`
    this.#prefix = `${name}/`
    this.#hint = hint
    this.#locks = locks
    this.leader = locks && new LeaderLock(locks, name, page)
  }

  /** Whether locks can be had: not where there are none, nor once the browser has refused one. */
  get isAvailable(): boolean {
    return this.#locks !== undefined && !this.#isRefused
  }

  /** Resolves with whether it is held; at once where it was held before. */
  holdHome(owner: string): Promise<boolean> {
    return this.#take(this.#home(owner))
  }

  dropHome(owner: string): void {
    this.#drop(this.#home(owner))
  }

  /** Live homes by name; the end of each that is another tab's will be heard. */
  async liveHomes(): Promise<readonly string[]> {
    const isHere = this.suspensionGuard()
    const held = await this.#held()
    const homes = [...held].filter((name) => name.startsWith(this.#prefix) && !name.endsWith('!'))
    if (isHere()) for (const name of homes) this.#watch(name, () => {})
    return homes.map((name) => name.slice(this.#prefix.length)).sort()
  }

  /**
   * Has this process look after the leases of `owner` until it dies, or after a login of that name; resolves with whether other tabs
   * can tell. Only leases granted after this call are covered.
   */
  guard(owner: string): Promise<boolean> {
    return this.#take(this.#guard(owner))
  }

  unguard(owner: string): void {
    this.#drop(this.#guard(owner))
  }

  isGuarding(owner: string): boolean {
    return this.#own.get(this.#guard(owner))?.lock.isHeld ?? false
  }

  /**
   * Listens to the guards of `owners`, all that have guarded leases, `lastToken` being the last that was given: the end of
   * each guard that is another tab's will be heard, also where it is past.
   */
  watchGuards(owners: Iterable<string>, lastToken: number): void {
    const gone = new Map<string, number>()
    for (const owner of owners) {
      const upTo = this.#gone.get(owner)
      // what is left cannot be taken back, unless it was given since: just before it died, or because it is back
      if (upTo !== undefined && upTo >= lastToken) gone.set(owner, upTo)
      else this.#watchGuard(owner)
    }
    this.#gone = gone
  }

  /** Calls `gone` once no tab holds the guard of `login`, which is another tab's, and hints then that its end is a reason to look. */
  whenLoginEnds(login: string, gone: () => Promise<void>): void {
    this.#watch(this.#guard(login), gone, 'principal')
  }

  /** Owners whose guard no tab holds now; `undefined`: the lock manager does not answer. */
  async deadGuards(owners: readonly string[]): Promise<readonly string[] | undefined> {
    const locks = this.#locks && (await snapshot(this.#locks))
    return locks && owners.filter((owner) => !locks.held.has(this.#guard(owner)))
  }

  /**
   * Leases of tabs that were heard to end since this was last asked; `undefined`, and nothing is read, where there are none.
   *
   * `highestToken` reads the last token given. It is read before it is asked whose guard is gone, and an owner holds its
   * guard before it gets a token: so of an owner that has come back meanwhile, no new lease is taken for an orphan.
   */
  async orphanedLeases(highestToken: () => Promise<number>): Promise<OrphanedLeases | undefined> {
    if (this.#ended.size === 0) return undefined
    const asked = [...this.#ended]
    const upTo = await highestToken()
    const owners = await this.deadGuards(asked)
    if (!owners) return undefined // it is asked again next time
    for (const owner of asked) this.#ended.delete(owner)
    for (const owner of owners) this.#gone.set(owner, upTo)
    return owners.length > 0 ? { owners, upTo } : undefined
  }

  /** After a turn that could take nothing back: has these owners asked about again. */
  hearAgain({ owners }: OrphanedLeases): void {
    for (const owner of owners) {
      this.#gone.delete(owner)
      this.#ended.add(owner)
    }
  }

  /** A question to be asked later: whether nothing was suspended since. */
  suspensionGuard(): () => boolean {
    const suspensions = this.#suspensions
    return () => suspensions === this.#suspensions
  }

  /** Drops every lock at once. Each call that follows takes up again what it is about. */
  suspend(): void {
    this.#suspensions++
    this.leader?.resign()
    for (const { lock } of this.#own.values()) lock.drop()
    this.#own.clear()
    for (const watching of this.#watches.values()) watching.abort()
    this.#watches.clear()
  }

  #home(owner: string): string {
    return this.#prefix + owner
  }

  #guard(owner: string): string {
    return `${this.#prefix}${owner}!`
  }

  /** Names of locks that are held; where the lock manager does not answer, of those that are known to be. */
  async #held(): Promise<ReadonlySet<string>> {
    const locks = this.#locks && (await snapshot(this.#locks))
    if (locks) return locks.held
    const own = [...this.#own].filter(([, { lock }]) => lock.isHeld)
    return new Set([...own.map(([name]) => name), ...this.#watches.keys()])
  }

  #take(name: string): Promise<boolean> {
    const locks = this.#locks
    if (!locks) return Promise.resolve(false)
    const own = this.#own.get(name)
    // a lock manager that did not answer is not waited for again
    if (own) return own.lock.isHeld ? Promise.resolve(true) : own.granted
    const lock = new Lock(locks, name)
    const granted = lock.grantedInTime()
    this.#own.set(name, { lock, granted })
    void lock.ended.then((error) => {
      if (error !== undefined && !PASSING.has((error as Error | null)?.name ?? '')) this.#isRefused = true
      if (this.#own.get(name)?.lock === lock) this.#own.delete(name)
    })
    return granted
  }

  #drop(name: string): void {
    this.#own.get(name)?.lock.drop()
    this.#own.delete(name)
  }

  #watchGuard(owner: string): void {
    if (!this.#ended.has(owner)) this.#watch(this.#guard(owner), () => this.#ended.add(owner))
  }

  #watch(name: string, gone: () => unknown, kind: 'due' | 'principal' = 'due'): void {
    if (!this.#locks || this.#own.has(name) || this.#watches.has(name)) return
    const watching = new AbortController()
    this.#watches.set(name, watching)
    void watch(this.#locks, name, watching.signal).then(async (isGone) => {
      if (this.#watches.get(name) !== watching) return
      this.#watches.delete(name)
      if (!isGone) return
      await gone()
      this.#hint(kind)
    })
  }
}
