/** Long work on many tasks, a few at a time: without a break between, a batch of one tenant would keep the requests of all others waiting. */

/** Their work takes about a millisecond. */
const SLICE = 8

/** Does the work for each, in order; after every few other requests have their turn. */
export async function inSlices<T, R>(all: readonly T[], work: (each: T, at: number) => R | Promise<R>): Promise<R[]> {
  const done: R[] = []
  for (const [at, each] of all.entries()) {
    if (at > 0 && at % SLICE === 0) await new Promise<void>((resolve) => setImmediate(resolve))
    done.push(await work(each, at))
  }
  return done
}
