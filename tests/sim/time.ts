/** Virtual time: a heap of what is to happen, and a way to let happen what needs no time. */

interface Entry {
  readonly at: number
  readonly order: number
  readonly run: () => void
  cancelled: boolean
}

export class VirtualTime {
  /** Milliseconds since the world began, whatever any clock shows. */
  elapsed = 0
  #order = 0
  readonly #heap: Entry[] = []

  /** Returns what takes it back. */
  after(ms: number, run: () => void): () => void {
    const entry: Entry = { at: this.elapsed + Math.max(0, ms), order: this.#order++, run, cancelled: false }
    this.#push(entry)
    return () => {
      entry.cancelled = true
    }
  }

  /** When the next thing happens. */
  get nextAt(): number {
    while (this.#heap[0]?.cancelled) this.#pop()
    return this.#heap[0]?.at ?? Number.POSITIVE_INFINITY
  }

  /** Goes on to the next thing and lets it happen. */
  runNext(): void {
    if (this.nextAt === Number.POSITIVE_INFINITY) return
    const entry = this.#pop()
    if (!entry) return
    this.elapsed = Math.max(this.elapsed, entry.at)
    entry.run()
  }

  #push(entry: Entry): void {
    const heap = this.#heap
    let at = heap.push(entry) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!isBefore(entry, heap[above])) break
      heap[at] = heap[above] as Entry
      at = above
    }
    heap[at] = entry
  }

  #pop(): Entry | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (!last || heap.length === 0) return first
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (isBefore(heap[below + 1], heap[below])) below++
      if (!isBefore(heap[below], last)) break
      heap[at] = heap[below] as Entry
      at = below
    }
    heap[at] = last
    return first
  }
}

function isBefore(a: Entry | undefined, b: Entry | undefined): boolean {
  return a !== undefined && (b === undefined || a.at < b.at || (a.at === b.at && a.order < b.order))
}

/** Lets happen what needs no time: one turn of the event loop, and more while `busy` (SQLite commits in turns of its own). */
export async function drain(busy: () => boolean): Promise<void> {
  do await new Promise<void>((done) => setImmediate(done))
  while (busy())
}
