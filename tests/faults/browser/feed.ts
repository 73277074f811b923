/** What tabs are given to do, and how long it takes them. */

import type { Producer } from '../producer.ts'
import { drain, type Say, wait } from '../runner.ts'
import { type Look, lookInto } from './evidence.ts'
import type { Fleet } from './fleet.ts'
import type { Calls } from './orders.ts'

const LOOK_MS = 25
/** Nothing has changed for so long: it will not. */
const STALLED_MS = 30_000

/** Tasks come in as the blows fall, so that there is work under each of them however fast the machine is. */
export async function feed(
  fleet: Fleet,
  producer: Producer,
  calls: Calls,
  share: () => number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const now = share()
    producer.give(now, (order) => fleet.give({ ...order, via: 'enqueue' }))
    calls.give(now, (order) => fleet.give(order))
    await wait(LOOK_MS)
  }
}

/** A browser left alone, and time: true once nothing is left. */
export function leftAlone(fleet: Fleet, producer: Producer, calls: Calls, say: Say): Promise<boolean> {
  const look = async () => {
    const { pending, inFlight, succeeded } = (await lookInto<Look>(fleet, false)).counts
    return {
      isDone: producer.done && calls.done && pending + inFlight === 0,
      state: [producer.acknowledged.size, calls.settled, pending, inFlight, succeeded],
      words: `left alone: ${succeeded} succeeded, ${pending + inFlight} to go, ${calls.waiting.length} callers wait`,
    }
  }
  return drain(look, { stalledMs: STALLED_MS, say })
}
