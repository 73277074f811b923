/**
 * Series, as Prometheus calls them: numbers under a name and labels. Their number is bounded from the start, whatever the queue is
 * asked to do: each value of a label costs the user's database a series.
 */

export type Labels = Readonly<Record<string, string>>

export interface Sample {
  /** The family's, and with a histogram what stands for the part: `_bucket`, `_sum`, `_count`. */
  readonly name: string
  readonly labels: Labels
  readonly value: number
}

/** All that comes after the last place is taken. */
export const OTHER = 'other'

/** The first so many names as they are; every later one is `other`. */
export class Names {
  readonly #known = new Set<string>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  of(name: string): string {
    if (this.#known.has(name)) return name
    if (this.#known.size >= this.#most) return OTHER
    this.#known.add(name)
    return name
  }
}

/** A number that only grows. Known labels start at 0, so that the first event already is an increase. */
export class Counter {
  readonly #counts = new Map<string, { readonly labels: Labels; value: number }>()

  add(labels: Labels, by = 1): void {
    const key = Object.values(labels).join('\n')
    const known = this.#counts.get(key)
    if (known) known.value += by
    else this.#counts.set(key, { labels, value: by })
  }

  *samples(name: string, base: Labels): Generator<Sample> {
    for (const { labels, value } of this.#counts.values()) yield { name, labels: { ...base, ...labels }, value }
  }
}

/** Observations by their outcome, each counted in every bucket whose upper bound it does not pass. */
export class Histogram {
  readonly #bounds: readonly number[]
  readonly #rows = new Map<string, { readonly counts: number[]; sum: number; count: number }>()

  /** @param bounds ascending; the last bucket, without a bound, is not among them. */
  constructor(bounds: readonly number[], outcomes: readonly string[]) {
    this.#bounds = bounds
    for (const outcome of outcomes) this.#row(outcome)
  }

  observe(outcome: string, value: number): void {
    const row = this.#row(outcome)
    const at = this.#bounds.findIndex((bound) => value <= bound)
    if (at >= 0) row.counts[at] = (row.counts[at] ?? 0) + 1
    row.sum += value
    row.count++
  }

  *samples(name: string, base: Labels): Generator<Sample> {
    for (const [outcome, { counts, sum, count }] of this.#rows) {
      const labels = { ...base, outcome }
      let below = 0
      for (const [i, bound] of this.#bounds.entries()) {
        below += counts[i] ?? 0
        yield { name: `${name}_bucket`, labels: { ...labels, le: String(bound) }, value: below }
      }
      yield { name: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: count }
      yield { name: `${name}_sum`, labels, value: sum }
      yield { name: `${name}_count`, labels, value: count }
    }
  }

  #row(outcome: string) {
    const known = this.#rows.get(outcome)
    if (known) return known
    const row = { counts: this.#bounds.map(() => 0), sum: 0, count: 0 }
    this.#rows.set(outcome, row)
    return row
  }
}
