/**
 * Tasks whose enqueue, or redrive, the store has not answered yet. It may have done it all the same, and a claim bring the
 * task before the answer comes: its caller and its `queued` come first, so what was claimed waits for them.
 */

export class PendingWrites {
  readonly #leases = new Map<string, (() => void)[]>()

  begin(taskId: string): void {
    this.#leases.set(taskId, [])
  }

  /** `stored`: leases that came meanwhile count; else they run out by themselves. */
  end(taskId: string, stored: boolean): void {
    const leases = this.#leases.get(taskId)
    this.#leases.delete(taskId)
    if (stored) for (const take of leases ?? []) take()
  }

  /** A claim has brought the task: `take` is called now, or once it has entered. */
  claimed(taskId: string, take: () => void): void {
    const leases = this.#leases.get(taskId)
    if (leases) leases.push(take)
    else take()
  }
}
