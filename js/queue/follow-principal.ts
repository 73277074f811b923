/**
 * Lets a service worker's queue follow the principal of the pages. A service worker cannot know who has logged in: a page
 * declares the principal, and the store keeps it. Unless it was given a principal of its own, the service worker sends as the
 * declared one, and sends nothing while none is declared (S16).
 */

import type { Principals, Step, TaskStore, Turn } from '../api/store.ts'

export class FollowPrincipal {
  /** The store, as the queue of a service worker sees it. */
  readonly store: TaskStore
  readonly #principals: Principals
  readonly #subscribe: TaskStore['subscribe']
  readonly #follows: boolean
  readonly #switchTo: (principal: string | null) => Promise<void>
  #named: string | null | undefined
  #learning: Promise<void> = Promise.resolve()
  /** The next look, which has not begun. */
  #next: Promise<void> | undefined
  #hears = false

  /** `principal`: the queue's own, if it was given one. `switchTo`: gives the queue another, at once, whenever its promise resolves. */
  constructor(
    store: TaskStore,
    principals: Principals,
    principal: string | null | undefined,
    switchTo: (principal: string | null) => Promise<void>,
  ) {
    this.#switchTo = switchTo
    this.#principals = principals
    this.#subscribe = store.subscribe?.bind(store)
    this.#follows = principal === undefined
    this.#named = principal
    const own: Pick<TaskStore, 'turn' | 'principals'> = {
      turn: (step) => this.#turn(store, step),
      principals: { current: () => principals.current(), switchTo: async () => {}, logIn: async () => {} },
    }
    this.store = new Proxy(store, {
      get(_, name) {
        const value: unknown = Reflect.get(own, name) ?? Reflect.get(store, name)
        return typeof value === 'function' ? value.bind(store) : value
      },
    })
  }

  /** Asks the store for the principal and tells the queue where it has changed. Resolves with the one whose tasks are sent now; never rejects. */
  async learn(): Promise<string | null | undefined> {
    if (!this.#follows) return this.#named
    if (!this.#hears) this.#subscribe?.(({ kind }) => void (kind === 'principal' && this.learn()))
    this.#hears = true
    // one after the other: the last answer counts. Those who ask meanwhile share one look
    this.#next ??= this.#learning.then(() => {
      this.#next = undefined
      return this.#learn()
    })
    this.#learning = this.#next
    await this.#learning
    return this.#named
  }

  async #learn(): Promise<void> {
    try {
      const { principal: named } = await this.#principals.current()
      if (named === this.#named) return
      this.#named = named
      // not waited for: a queue that opens waits for this; one that is closed needs none
      if (named !== undefined) this.#switchTo(named).catch(() => {})
    } catch {
      // the queue's own questions to this store fail too, and report it
    }
  }

  async #turn(store: TaskStore, step: Step): Promise<Turn> {
    if (this.#named !== undefined) return store.turn(step)
    // whatever is due: without a declared principal nothing may be claimed
    return { ...(await store.turn({ ...step, claim: null })), nextInMs: null }
  }
}
