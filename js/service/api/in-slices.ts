/** Work on many tasks with breaks: in one go, a batch of one tenant would keep the requests of all others waiting. */

/** Tasks between two breaks: about a millisecond of work. */
const SLICE = 8
/** Bytes of them, where some are large. */
export const SLICE_BYTES = 65_536

/** Those that have more to do, each with its next slice. */
const waiting: (() => void)[] = []

/** Resolves once other requests have had their turn. One of all that wait here goes on in each round of the event loop, however many there are. */
export const afterOthers = (): Promise<void> =>
  new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(goOn)
  })

function goOn(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(goOn)
}

/** Does the work for each, in order. Other requests have their turn after each slice. */
export async function inSlices<T, R>(
  all: readonly T[],
  work: (each: T, at: number) => R | Promise<R>,
  bytesOf: (each: T) => number = () => 0,
): Promise<R[]> {
  const done: R[] = []
  let bytes = 0
  for (const [at, each] of all.entries()) {
    bytes += bytesOf(each)
    if (bytes > SLICE_BYTES || (at > 0 && at % SLICE === 0)) {
      await afterOthers()
      bytes = bytesOf(each)
    }
    done.push(await work(each, at))
  }
  return done
}
