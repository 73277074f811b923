/**
 * Whose requests are sent. A browser has one set of cookies for all its tabs: where the store knows who is there, a queue of
 * anybody else sends nothing of its tasks until its own principal is back (S16).
 */

import type { TaskStore } from '../api/store.ts'
import type { Runner } from '../runner/runner.ts'

/** A store that cannot say who is there is asked again so much later. */
const AGAIN_MS = 1_000
const FOREVER = Number.POSITIVE_INFINITY

export class PrincipalGuard {
  readonly #store: TaskStore
  readonly #runner: Runner
  readonly #failed: (error: unknown) => void
  #isForeign = false
  /** When to ask again. */
  askAt: number = FOREVER

  constructor(store: TaskStore, runner: Runner, failed: (error: unknown) => void) {
    this.#store = store
    this.#runner = runner
    this.#failed = failed
  }

  /** Somebody else is there, or it is not known yet: nothing is sent here, be it stored or in memory. */
  get isForeign(): boolean {
    return this.#isForeign
  }

  /** `host.principal` is there now: says so to all who share the store. */
  async declare(): Promise<void> {
    const { principals } = this.#store
    const { principal } = this.#runner.host
    const isNews = principals && (await principals.current()) !== principal
    // a queue that was closed meanwhile has no say any more
    if (isNews && !this.#runner.closing.aborted) await principals.switchTo(principal)
    this.#set(false)
  }

  /** Another tab may have said that somebody else is there. Whether it is known that this queue may go on. */
  async check(): Promise<boolean> {
    this.askAt = FOREVER
    try {
      const current = await this.#store.principals?.current()
      this.#set(current !== undefined && current !== this.#runner.host.principal)
      return !this.#isForeign
    } catch (error) {
      this.#failed(error)
      if (this.#isForeign) this.askAt = this.#runner.host.now() + AGAIN_MS
      this.#runner.arm()
      return false
    }
  }

  /** Until it is known who is there. */
  suspect(): void {
    this.#set(true)
  }

  #set(isForeign: boolean): void {
    const { lanes, host } = this.#runner
    if (this.#isForeign === isForeign) return
    this.#isForeign = isForeign
    this.#runner.guard(() => lanes.standBack(host.now(), isForeign))
  }
}
