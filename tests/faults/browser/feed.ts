/** What tabs are given to do, and how long it takes them. */

import type { Producer } from '../producer.ts'
import { type Look, lookInto } from './evidence.ts'
import type { Fleet } from './fleet.ts'
import type { Calls } from './orders.ts'
import { until, wait } from './until.ts'

const LOOK_MS = 25
/** Nothing has changed for so long: it will not. */
const STALLED_MS = 30_000
const TELL_MS = 5_000

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
export async function drain(
  fleet: Fleet,
  producer: Producer,
  calls: Calls,
  say: (text: string) => void,
): Promise<boolean> {
  let last = ''
  let movedAt = Date.now()
  let toldAt = 0
  return await until(
    async () => {
      const { pending, inFlight, succeeded } = (await lookInto<Look>(fleet, false)).counts
      if (producer.done && calls.done && pending + inFlight === 0) return true
      const state = [producer.acknowledged.size, calls.settled, pending, inFlight, succeeded].join()
      if (state !== last) movedAt = Date.now()
      last = state
      if (Date.now() > toldAt + TELL_MS) {
        toldAt = Date.now()
        say(`left alone: ${succeeded} succeeded, ${pending + inFlight} to go, ${calls.waiting.length} callers wait`)
      }
      return false
    },
    () => Date.now() > movedAt + STALLED_MS,
  )
}
