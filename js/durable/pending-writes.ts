/** Keeps news in order: of its own tasks a queue tells `queued` before the first attempt, and `resumed` only of those that it has not seen. */

/** Past this many the oldest task is forgotten, and would show as resumed once more. */
const MAX_SEEN = 100_000

/** Tasks that this queue has made or taken up already, so that only unknown ones show as resumed. */
export class SeenTasks {
  readonly #ids = new Set<string>()

  /** Remembers a task; gives whether it was seen before. */
  add(taskId: string): boolean {
    if (this.#ids.has(taskId)) return true
    this.#ids.add(taskId)
    const [oldest] = this.#ids.size > MAX_SEEN ? this.#ids : []
    if (oldest !== undefined) this.#ids.delete(oldest)
    return false
  }

  delete(taskId: string): void {
    this.#ids.delete(taskId)
  }
}

/**
 * Tasks whose enqueue, or redrive, the store has not answered yet. The store may have done it all the same, and a claim may bring
 * the task before the answer comes. Such a lease waits here until the caller and `queued` have had their turn.
 */
export class PendingWrites {
  readonly #leases = new Map<string, ((isStored: boolean) => void)[]>()
  #answered: (() => void)[] = []

  /** Resolves when the store has answered all that it was asked. */
  answered(): Promise<void> {
    return new Promise((resolve) => {
      this.#answered.push(resolve)
      this.#tellAnswered()
    })
  }

  begin(taskId: string): void {
    // two redrives of one task may be under way at once
    if (!this.#leases.has(taskId)) this.#leases.set(taskId, [])
  }

  /** `isStored`: leases that came meanwhile are started; else they are given back. */
  end(taskId: string, isStored: boolean): void {
    const leases = this.#leases.get(taskId) ?? []
    this.#leases.delete(taskId)
    for (const take of leases) take(isStored)
    this.#tellAnswered()
  }

  /** Gives back the leases that wait for an answer. */
  giveBack(): void {
    for (const leases of this.#leases.values()) for (const take of leases.splice(0)) take(false)
  }

  /** Has `take` start the lease of a task that a claim has brought, or give it back: now, or once its write is answered. */
  claimed(taskId: string, take: (isStored: boolean) => void): void {
    const leases = this.#leases.get(taskId)
    if (leases) leases.push(take)
    else take(true)
  }

  #tellAnswered(): void {
    if (this.#leases.size === 0) for (const tell of this.#answered.splice(0)) tell()
  }
}
