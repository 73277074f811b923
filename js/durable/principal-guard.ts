/**
 * Stops a queue from sending under another user's cookies (S16).
 *
 * A browser has one set of cookies for all its tabs. Where the store knows which principal is there, a queue of any other
 * principal sends none of its tasks, stored or in memory, until its own is back.
 */

import type { Present } from '../api/store.ts'
import { FOREVER } from '../platform/clock.ts'
import { namedAtOf } from '../runner/named-at.ts'
import type { NamedPrincipal } from '../runner/principal-news.ts'
import type { Task } from '../tasks/task.ts'
import type { StoredState } from './state.ts'

/** A store that can neither say nor learn which principal is there is asked again this much later. */
const ASK_AGAIN_MS = 1_000
/** How long a login counts whose tab is not heard to die. A hidden tab, which renews it, has one timer a minute. */
const LOGIN_MS = 90_000
const RENEW_MS: number = LOGIN_MS / 3
const UNTOLD =
  'the store could not learn which principal is there: its tasks wait until it does; or call setPrincipal() again'

export class PrincipalGuard {
  readonly #state: StoredState
  #isForeign = false
  /** The store's last word: another principal is there. A database that was cleared since has none, and this one stands. */
  #isOther = false
  /** The store could not learn of it. */
  #isUntold = false
  /** The page is put away: it keeps no lock, so no login either. */
  #isSuspended = false
  /** The store's last word: a principal logs in, here or in another tab. */
  isLogin = false
  /** The login that the store knows of, until it knows that it ended. */
  #login: string | undefined
  #logins = 0
  /** The last write to the store: one after another, so that it stands. */
  #told: Promise<unknown> = Promise.resolve()
  /** The last word of another page that the store knows. */
  #passedOn: NamedPrincipal | undefined
  /** When to ask again. */
  askAt: number = FOREVER

  constructor(state: StoredState) {
    this.#state = state
  }

  /** Whether another principal is there, one logs in, or it is not known yet: nothing is sent then. */
  get isForeign(): boolean {
    return this.#isForeign || this.#state.runner.host.switching !== undefined
  }

  /**
   * Tells every process of the store that `host.principal` is there, as of the moment when that was said, or that it logs in, and goes
   * by what the store says then: a younger declaration stands.
   */
  async declare(): Promise<void> {
    await this.#tell()
    await this.#passOn()
    this.#learn(await this.#state.store.principals?.current())
  }

  /** Holds everything back until the store can learn it: just now it could not. */
  tellLater(): void {
    const { host } = this.#state.runner
    if (!host.switching) host.degraded('storage_unavailable', UNTOLD)
    this.suspect()
    this.#askLater(ASK_AGAIN_MS)
  }

  /** Asks the store which principal is there; resolves with whether it is certain that this queue may go on. */
  async check(): Promise<boolean> {
    const { store, runner, failed } = this.#state
    this.askAt = FOREVER
    try {
      await this.#passOn()
      let present = await store.principals?.current()
      const isCleared = present?.principal === undefined && !this.#isOther
      // a login goes on, also where its mark went with a page that was put away
      if (this.#isUntold || isCleared || runner.host.switching) {
        await this.#tell()
        present = await store.principals?.current()
      }
      this.#learn(present)
      return !this.isForeign
    } catch (error) {
      failed(error)
      if (this.isForeign) this.#askLater(ASK_AGAIN_MS)
      return false
    }
  }

  /**
   * Whether an attempt may still be sent: its hooks may have taken seconds since the claim, and the hint of another principal may
   * be lost. While the store does not answer, a leased task may not, and one in memory may.
   */
  async confirm({ lease }: Task): Promise<boolean> {
    return !this.#state.store.principals || (await this.check()) || !lease
  }

  /** Lets tasks in memory go on where the store cannot be asked: another page has said that this principal is there. */
  trust(): void {
    if (this.askAt === FOREVER || this.#isUntold) return
    this.askAt = FOREVER
    this.#set(false)
  }

  /** Holds everything back until it is known which principal is there. */
  suspect(): void {
    this.#set(true)
  }

  /** Asks nothing until the page is back. A login that is under way here does not hold other tabs up meanwhile; afterwards it is another one. */
  suspend(): void {
    this.#isSuspended = true
    this.askAt = FOREVER
    this.#login = undefined
    this.suspect()
  }

  resumeFromSuspend(): Promise<boolean> {
    this.#isSuspended = false
    return this.check()
  }

  #tell(): Promise<void> {
    const told = this.#told.then(() => this.#tellNow())
    this.#told = told.catch(() => {}) // its caller hears of it
    return told
  }

  async #tellNow(): Promise<void> {
    const { store, owner, runner } = this.#state
    const { principals } = store
    const { host, closing } = runner
    // a queue that was closed meanwhile has no say any more
    if (!principals || closing.aborted) return
    this.#isUntold = true
    const { principal, declaredAt, switching, settings } = host
    if (switching) {
      if (this.#isSuspended) return
      this.#login ??= `${owner} ${++this.#logins}`
      const login = this.#login
      await principals.logIn(login, LOGIN_MS, () => this.#login === login)
    } else {
      await principals.switchTo(principal, () => namedAtOf(declaredAt, settings.clock), this.#login)
      this.#login = undefined
    }
    this.#isUntold = false
  }

  /** Passes on to the store what another page has said: its own may be out of its reach. */
  async #passOn(): Promise<void> {
    const { store, runner } = this.#state
    const heard = runner.news?.heard
    if (!heard || heard === this.#passedOn) return
    await store.principals?.switchTo(heard.principal, () => namedAtOf(heard.at, runner.host.settings.clock))
    this.#passedOn = heard
  }

  #learn(present: Present | undefined): void {
    const { principal, switching } = this.#state.runner.host
    const { principal: current, loginForMs } = present ?? {}
    if (current !== undefined) this.#isOther = current !== principal
    this.isLogin = loginForMs !== undefined || this.#state.runner.news?.isLogin === true
    this.#set(this.#isOther || this.isLogin || switching !== undefined)
    // where locks tell, its end is heard
    if (loginForMs !== undefined && loginForMs < FOREVER) this.#askLater(switching ? RENEW_MS : loginForMs)
  }

  #askLater(delayMs: number): void {
    const { runner } = this.#state
    this.askAt = runner.host.now() + delayMs
    runner.arm()
  }

  #set(isForeign: boolean): void {
    const { runner } = this.#state
    this.#isForeign = isForeign
    runner.guard(() => runner.lanes.standBack(runner.host.now(), isForeign))
  }
}
