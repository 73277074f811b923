/** How long work keeps the event loop from others. */

/** The longest turn that a request may cause. */
export const MOST_TURN_MS = 50

/** The longest turn of the event loop meanwhile, in milliseconds of this thread's own work: what other processes take is not counted. */
export async function longestTurn(work: () => Promise<void>): Promise<number> {
  let longestUs = 0
  let isOver = false
  let last = process.threadCpuUsage()
  const look = (): void => {
    const now = process.threadCpuUsage()
    longestUs = Math.max(longestUs, now.user + now.system - last.user - last.system)
    last = now
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  await work()
  // the last turn is looked at, too
  await new Promise((resolve) => setImmediate(resolve))
  isOver = true
  return longestUs / 1_000
}
