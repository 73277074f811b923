/**
 * Stops a queue from sending under another user's cookies (S16).
 *
 * A browser has one set of cookies for all its tabs. Where the store knows which principal is there, a queue of any other
 * principal sends none of its tasks, stored or in memory, until its own is back.
 */

import type { Declared, Principals } from '../api/store.ts'
import { type Clock, FOREVER, type Instant, instantOf } from '../platform/clock.ts'
import type { Task } from '../tasks/task.ts'
import type { StoredState } from './state.ts'

/** A store that cannot say which principal is there, or be told, is asked again this much later. */
const ASK_AGAIN_MS = 1_000
/** Two clocks are not read at once, and the wall's is put right little by little: by less than this it was not set back. */
const JITTER_MS = 1_000
const UNTOLD =
  'the store could not be told that the login failed: its tasks wait until it is; or call setPrincipal() again'

interface Login {
  readonly at: Instant
  /** The principal that the store named before; `undefined`: none. */
  readonly before: string | null | undefined
}

export class PrincipalGuard {
  readonly #state: StoredState
  #isForeign = false
  /** The store's last word: another principal is there. A database that was cleared since has none, and this one stands. */
  #isOther = false
  /** The store could not be told. */
  #isUntold = false
  /** The declaration that the store was told of last, logins apart. */
  #toldAt: Instant | undefined
  /** The login that the store was told of, until it has been told how it ended. */
  #login: Login | undefined
  /** When to ask again. */
  askAt: number = FOREVER

  constructor(state: StoredState) {
    this.#state = state
  }

  /** Whether another principal is there, or it is not known yet which: nothing is sent then. */
  get isForeign(): boolean {
    return this.#isForeign || this.#state.runner.host.switching !== undefined
  }

  /**
   * Tells every process of the store that `host.principal` is there, as of the moment when that was said, and goes by what the
   * store says then: a younger declaration stands.
   */
  async declare(): Promise<void> {
    const { principals } = this.#state.store
    this.#isUntold = true
    if (principals) await this.#tell(principals, await principals.current())
    await this.#ask()
  }

  /** Holds everything back until the store can be told: just now it could not. */
  tellLater(): void {
    const { host } = this.#state.runner
    if (this.#failedLogin) host.degraded('storage_unavailable', UNTOLD)
    this.suspect()
    this.#askLater()
  }

  /** Asks the store which principal is there; resolves with whether it is certain that this queue may go on. */
  async check(): Promise<boolean> {
    const { store, failed } = this.#state
    this.askAt = FOREVER
    try {
      const { principals } = store
      const current = await principals?.current()
      const isCleared = current === undefined && !this.#isOther
      if (principals && (this.#isUntold || isCleared)) await this.#tell(principals, current)
      await this.#ask()
      return !this.isForeign
    } catch (error) {
      failed(error)
      if (this.isForeign) this.#askLater()
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

  /** Holds everything back until it is known which principal is there. */
  suspect(): void {
    this.#set(true)
  }

  /** `current`: the store's word before. */
  async #tell(principals: Principals, current: Login['before']): Promise<void> {
    const { host, closing } = this.#state.runner
    // a queue that was closed meanwhile has no say any more
    if (closing.aborted) return
    const { principal, declaredAt, switching, settings } = host
    // it may be named again while it logs in
    if (switching) this.#login = { at: declaredAt, before: this.#login ? this.#login.before : current }
    // the cookies are still those of the one who was there, also where that was another tab's user
    const { at, before = principal } = this.#failedLogin ?? { at: declaredAt }
    await principals.switchTo(before, () => declaredAsOf(at, settings.clock))
    this.#isUntold = false
    if (switching) return
    this.#toldAt = declaredAt
    this.#login = undefined
  }

  /** The login that was under way, where it has failed: the queue's declaration is the one before it again. */
  get #failedLogin(): Login | undefined {
    const { switching, declaredAt } = this.#state.runner.host
    const login = this.#login
    if (switching || !login) return undefined
    return declaredAt === this.#toldAt || declaredAt.monotonic < login.at.monotonic ? login : undefined
  }

  async #ask(): Promise<void> {
    const { store, runner } = this.#state
    const current = await store.principals?.current()
    const { principal, switching } = runner.host
    if (current !== undefined) this.#isOther = current !== principal
    // a login is over once the store has been told how it ended
    this.#set(this.#isOther || switching !== undefined)
  }

  #askLater(): void {
    const { runner } = this.#state
    this.askAt = runner.host.now() + ASK_AGAIN_MS
    runner.arm()
  }

  #set(isForeign: boolean): void {
    const { runner } = this.#state
    this.#isForeign = isForeign
    runner.guard(() => runner.lanes.standBack(runner.host.now(), isForeign))
  }
}

/** A declaration on the wall clock as it is now. */
function declaredAsOf({ wall, monotonic }: Instant, clock: Clock): Declared {
  const now = instantOf(clock)
  const behindMs = now.monotonic - monotonic - (now.wall - wall)
  const setBackMs = behindMs > JITTER_MS ? behindMs : 0
  return { since: wall - setBackMs, now: now.wall + setBackMs }
}
