/**
 * A command as a generator: it yields wherever a store may have to wait for an answer, so that one text serves stores that
 * answer at once (SQLite, inside one synchronous transaction) and those that answer later (IndexedDB).
 *
 * A yield carries no value back. What is asked for ahead is then answered at once: `yield tx.load(ids)`, and `tx.row(id)`.
 */

/** Requests under way in the step's own transaction. `undefined`: nothing to wait for. */
export type Wait = PromiseLike<unknown> | undefined

export type Step<T> = Generator<Wait, T, void>

/** Runs a step of a store that answers at once, without giving way to anything else. */
export function runNow<T>(step: Step<T>): T {
  for (;;) {
    const { done, value } = step.next()
    if (done) return value
  }
}

/** Runs a step of a store that answers later. It awaits what the step yields, and nothing else. */
export async function runLater<T>(step: Step<T>): Promise<T> {
  for (;;) {
    const { done, value } = step.next()
    if (done) return value
    if (value) await value
  }
}

/** Several waits as one. */
export function together(waits: readonly Wait[]): Wait {
  return waits.some((wait) => wait !== undefined) ? Promise.all(waits) : undefined
}
