/** Work on many tasks with breaks: in one go, a batch of one tenant would keep the requests of all others waiting. */

/** Tasks between two breaks: about a millisecond of work. */
const SLICE = 8

/** Does the work for each, in order. Other requests have their turn after each slice. */
export async function inSlices<T, R>(all: readonly T[], work: (each: T, at: number) => R | Promise<R>): Promise<R[]> {
  const done: R[] = []
  for (const [at, each] of all.entries()) {
    if (at > 0 && at % SLICE === 0) await new Promise<void>((resolve) => setImmediate(resolve))
    done.push(await work(each, at))
  }
  return done
}
