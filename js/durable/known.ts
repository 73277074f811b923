/** Which tasks this queue has made or taken up already, so that only others show as resumed. */

/** One forgotten shows as resumed once more. */
const MAX_KNOWN = 100_000

export class SeenTasks {
  readonly #ids = new Set<string>()

  /** Whether it was known before; from now on it is. */
  add(taskId: string): boolean {
    if (this.#ids.has(taskId)) return true
    this.#ids.add(taskId)
    const [oldest] = this.#ids.size > MAX_KNOWN ? this.#ids : []
    if (oldest !== undefined) this.#ids.delete(oldest)
    return false
  }

  delete(taskId: string): void {
    this.#ids.delete(taskId)
  }
}
