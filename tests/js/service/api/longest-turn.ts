/** How long work keeps the event loop from others, and how much of it is done meanwhile. */

import type { ApiStore } from '../../../../js/service/api/context.ts'

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

/** The most that was counted between two turns of the event loop. */
export function perTurn(): { readonly most: number; count(more: number): void } {
  let now = 0
  let most = 0
  const reset = (): void => {
    now = 0
  }
  return {
    get most() {
      return most
    },
    count(more) {
      if (now === 0) setImmediate(reset)
      now += more
      most = Math.max(most, now)
    },
  }
}

/** Counts the records that a store gives from now on. */
export function recordsRead(store: ApiStore): { readonly most: number } {
  const counted = perTurn()
  const [list, get] = [store.list.bind(store), store.get.bind(store)]
  store.list = async (filter) => {
    const page = await list(filter)
    counted.count(page.tasks.length)
    return page
  }
  store.get = (taskId) => {
    counted.count(1)
    return get(taskId)
  }
  return counted
}
