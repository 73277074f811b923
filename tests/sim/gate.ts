/**
 * Between a process and the world: everything that reaches a process comes through here, so that one that has crashed acts
 * no more, and one that is frozen acts on all of it at once when it thaws.
 */

import type { Page } from './page.ts'

export class Gate {
  readonly #page: Page | undefined
  #alive = true
  #frozen = false
  #held: (() => void)[] = []

  /** `page`: where what enters runs. */
  constructor(page?: Page) {
    this.#page = page
  }

  get alive(): boolean {
    return this.#alive
  }

  get frozen(): boolean {
    return this.#frozen
  }

  /** What is done there right now, whatever is held. */
  run<T>(work: () => T): T {
    return this.#page ? this.#page.run(work) : work()
  }

  enter(work: () => void): void {
    if (!this.#alive) return
    if (this.#frozen) this.#held.push(work)
    else this.run(work)
  }

  /** What the process sees of a promise. */
  answer<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      work.then(
        (value) => this.enter(() => resolve(value)),
        (error) => this.enter(() => reject(error)),
      )
    })
  }

  freeze(): void {
    this.#frozen = true
  }

  /** Gives back what came meanwhile, in the order in which it came. */
  thaw(): readonly (() => void)[] {
    this.#frozen = false
    const held = this.#held
    this.#held = []
    return held.map((work) => () => this.enter(work))
  }

  kill(): void {
    this.#alive = false
    this.#held = []
  }
}
