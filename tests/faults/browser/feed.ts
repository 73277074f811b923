/** A fleet of tabs that are given tasks and calls while something happens to them, and are then left alone. */

import type { Check } from '../checks.ts'
import type { Figure } from '../evidence.ts'
import { Producer } from '../producer.ts'
import { drain, type Say, wait } from '../runner.ts'
import { type Look, lookInto, type Story } from './evidence.ts'
import { Fleet, type FleetOptions, type Place } from './fleet.ts'
import { Calls, hear, leaveUnanswered } from './orders.ts'
import type { Told } from './told.ts'

const LOOK_MS = 25
/** Nothing has changed for so long: it will not. */
const STALLED_MS = 30_000

export interface RunOptions extends FleetOptions {
  readonly seed: number
  /** Where acknowledged ids are written down. */
  readonly file: string
  readonly say: Say
}

export interface Field {
  readonly fleet: Fleet
  readonly calls: Calls
  readonly producer: Producer
  readonly startedAt: number
  /** Gives out tasks and calls from now on, until `share` of them are; how much that is is asked again and again. */
  feed(share: () => number): void
}

export interface Asked {
  readonly tasks: number
  readonly calls: number
  /** In flight over all tabs, at most. */
  readonly limit: number
  /** Hears what the pages say. */
  readonly told?: (told: Told, place: Place) => void
}

interface Found {
  readonly figures: readonly Figure[]
  readonly checks?: readonly Check[]
}

/** `strike` ends once all has befallen the tabs; `judge` looks at them when nothing is left. */
export async function fleetRun<T>(
  options: RunOptions,
  asked: Asked,
  strike: (field: Field) => Promise<T>,
  judge: (field: Field, struck: T) => Promise<Found>,
): Promise<Story> {
  const startedAt = Date.now()
  const calls = new Calls(asked.calls)
  const producer = new Producer(asked.tasks, options.file)
  const fleet = new Fleet(options, {
    told(told, place) {
      hear(told, producer, calls)
      asked.told?.(told, place)
    },
    unanswered: (orders) => leaveUnanswered(orders, producer, calls),
  })
  const feeding = new AbortController()
  let fed: Promise<void> | undefined
  const field: Field = {
    ...{ fleet, calls, producer, startedAt },
    feed(share) {
      fed = feed(field, share, feeding.signal)
    },
  }
  try {
    const struck = await strike(field)
    const drained = await leftAlone(field, options.say)
    feeding.abort()
    await fed
    return { fleet, producer, calls, drained, startedAt, limit: asked.limit, ...(await judge(field, struck)) }
  } catch (error) {
    await fleet.stop()
    throw error
  } finally {
    feeding.abort()
    producer.close()
  }
}

/** Tasks come in as the blows fall, so that there is work under each of them however fast the machine is. */
async function feed({ fleet, producer, calls }: Field, share: () => number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const now = share()
    producer.give(now, (order) => fleet.give({ ...order, via: 'enqueue' }))
    calls.give(now, (order) => fleet.give(order))
    await wait(LOOK_MS)
  }
}

/** A browser left alone, and time: true once nothing is left. */
function leftAlone({ fleet, producer, calls }: Field, say: Say): Promise<boolean> {
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
