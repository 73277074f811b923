/**
 * Stops a queue from sending under another user's cookies (S16).
 *
 * A browser has one set of cookies for all its tabs. Where the store knows which principal is there, a queue of any other
 * principal sends none of its tasks, stored or in memory, until its own is back.
 */

import { FOREVER } from '../platform/clock.ts'
import type { Task } from '../tasks/task.ts'
import type { StoredState } from './state.ts'

/** A store that cannot say which principal is there is asked again this much later. */
const ASK_AGAIN_MS = 1_000

export class PrincipalGuard {
  readonly #state: StoredState
  #isForeign = false
  /** When to ask again. */
  askAt: number = FOREVER

  constructor(state: StoredState) {
    this.#state = state
  }

  /** Whether another principal is there, or it is not known yet which: nothing is sent then. */
  get isForeign(): boolean {
    return this.#isForeign || this.#state.runner.host.switching !== undefined
  }

  /** Tells every process of the store that `host.principal` is there now. */
  async declare(): Promise<void> {
    const { store, runner } = this.#state
    const { principals } = store
    const { principal } = runner.host
    const isNews = principals && (await principals.current()) !== principal
    // a queue that was closed meanwhile has no say any more
    if (isNews && !runner.closing.aborted) await principals.switchTo(principal)
    this.#set(false)
  }

  /** Asks the store which principal is there; resolves with whether it is certain that this queue may go on. */
  async check(): Promise<boolean> {
    const { store, runner, failed } = this.#state
    this.askAt = FOREVER
    try {
      const current = await store.principals?.current()
      this.#set(current !== undefined && current !== runner.host.principal)
      return !this.isForeign
    } catch (error) {
      failed(error)
      if (this.#isForeign) this.askAt = runner.host.now() + ASK_AGAIN_MS
      runner.arm()
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

  #set(isForeign: boolean): void {
    const { lanes, host } = this.#state.runner
    if (this.#isForeign === isForeign) return
    this.#isForeign = isForeign
    this.#state.runner.guard(() => lanes.standBack(host.now(), isForeign))
  }
}
