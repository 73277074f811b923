/** Rows by rising id, for lists that look at no others. Ids mostly rise as they come, so most are put at the end. */

interface Row {
  readonly taskId: string
  readonly given: { readonly principal: string | null }
}

class ById<R extends Row> {
  readonly #rows: R[] = []

  get size(): number {
    return this.#rows.length
  }

  at(index: number): R {
    return this.#rows[index] as R
  }

  /** Where the first row is whose id is no less than this, or with `isPast` whose id is more. */
  indexOf(taskId: string, isPast = false): number {
    let [low, high] = [0, this.#rows.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const id = this.at(middle).taskId
      if (id < taskId || (isPast && id === taskId)) low = middle + 1
      else high = middle
    }
    return low
  }

  add(row: R): void {
    this.#rows.splice(this.indexOf(row.taskId), 0, row)
  }

  remove(row: R): void {
    this.#rows.splice(this.indexOf(row.taskId), 1)
  }
}

/** All rows by id, and those of each principal. */
export class Ids<R extends Row> {
  readonly #all = new ById<R>()
  readonly #own = new Map<string | null, ById<R>>()

  /** Those of one principal, or of all. */
  of(principal: string | null | undefined): ById<R> {
    return principal === undefined ? this.#all : (this.#own.get(principal) ?? new ById())
  }

  add(row: R): void {
    const { principal } = row.given
    this.#all.add(row)
    const own = this.of(principal)
    own.add(row)
    this.#own.set(principal, own)
  }

  remove(row: R): void {
    const { principal } = row.given
    this.#all.remove(row)
    const own = this.of(principal)
    own.remove(row)
    if (own.size === 0) this.#own.delete(principal)
  }
}
