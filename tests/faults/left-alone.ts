/** Gives processes time, and no more blows. */

import { builtPackage, storeFile } from './built.ts'
import type { Crew } from './crew.ts'
import type { Producer } from './producer.ts'
import { drain, type Say } from './runner.ts'

/** Nothing has changed for so long: it will not. */
const STALLED_MS = 30_000
const LOOK_MS = 25

/** True once nothing is left. `who`: who works on. */
export async function leftAlone(
  crew: Crew,
  producer: Producer,
  folder: string,
  say: Say,
  who: string,
): Promise<boolean> {
  const { sqliteStore } = await builtPackage()
  const store = sqliteStore({ path: storeFile(folder) })
  const look = async () => {
    producer.give(1, (order) => crew.give(order))
    const { pending, inFlight, succeeded } = await store.counts()
    return {
      isDone: producer.done && pending + inFlight === 0,
      state: [producer.acknowledged.size, pending, inFlight, succeeded],
      words: `${who}: ${succeeded} succeeded, ${pending + inFlight} to go`,
    }
  }
  try {
    return await drain(look, { stalledMs: STALLED_MS, say, lookMs: LOOK_MS })
  } finally {
    await store.close()
  }
}
