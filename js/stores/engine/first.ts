/** The first few of many, by an order: without sorting what is not among them. */
export class First<T> {
  readonly #most: number
  readonly #order: (a: T, b: T) => number
  #found: T[] = []
  /** None of those that come after it is among the first. */
  #last: T | undefined

  constructor(most: number, order: (a: T, b: T) => number) {
    this.#most = most
    this.#order = order
  }

  add(one: T): void {
    if (this.#last !== undefined && this.#order(one, this.#last) >= 0) return
    this.#found.push(one)
    // sorted once for as many as are kept
    if (this.#found.length >= 2 * this.#most) this.#last = this.all().at(-1)
  }

  /** In order. */
  all(): readonly T[] {
    this.#found.sort(this.#order).splice(this.#most)
    return this.#found
  }
}
