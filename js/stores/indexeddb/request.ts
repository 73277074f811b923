/** A request of IndexedDB as a promise that can tell its own failure from a mistake of ours, and counts as progress. */

const failures = new WeakSet<object>()
const answers = new WeakMap<IDBTransaction, number>()

/**
 * The result of one request; rejects with its error. Whoever does not await it loses nothing: its error aborts the
 * transaction, and that is heard.
 */
export function done<T>(request: IDBRequest<T>): Promise<T> {
  const answer = new Promise<T>((resolve, reject) => {
    request.onsuccess = () => {
      const { transaction } = request
      if (transaction) answers.set(transaction, answersIn(transaction) + 1)
      resolve(request.result)
    }
    request.onerror = () => {
      const { error } = request
      if (error) failures.add(error)
      reject(error)
    }
  })
  answer.catch(() => {}) // as above: nobody has to await it
  return answer
}

/** Whether `done` has rejected with it: the storage failed, and not what was asked of it. */
export function isOfRequest(error: unknown): boolean {
  return typeof error === 'object' && error !== null && failures.has(error)
}

/** Requests of `tx` that have been answered so far, of those that went through `done`. */
export function answersIn(tx: IDBTransaction): number {
  return answers.get(tx) ?? 0
}
