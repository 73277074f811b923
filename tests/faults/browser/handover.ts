/**
 * How fast waiting work gets into other hands: a task has failed once and is due soon, and the tab that would send it is
 * closed or crashes. Measured from its due time to the request of another tab at the server.
 */

import { decide, faultConfig } from '../../servers/faults.mjs'
import type { FaultOptions, Visit } from '../../servers/start.mjs'
import { atMost, type Check } from '../checks.ts'
import type { Figure } from '../evidence.ts'
import { wait, within } from '../runner.ts'
import type { Fleet, Place } from './fleet.ts'
import { lifeOf } from './lives.ts'
import type { Calls, Order } from './orders.ts'
import type { Told } from './told.ts'

/** Who is gone: the tab that pumps, or the one whose caller waits. */
export type Holder = 'pump' | 'home'

interface Handover {
  readonly intent: string
  readonly holder: Holder
  readonly from: string
  readonly goneAt: number
  readonly dueAt: number
}

const DELAY_MS = 700
/** To see who pumps, or that a call has failed. */
const PATIENCE_MS = 5_000
const SEEN_MS = 800
const P50_MS = 1_000
const MOST_MS = 5_000

export class Handovers {
  readonly #fleet: Fleet
  readonly #calls: Calls
  readonly #pump: RegExp
  readonly #names: Iterator<string>
  readonly #dueAt = new Map<string, { readonly at: number; readonly life: string }>()
  readonly #done: Handover[] = []
  /** Nobody was there to take it from. */
  missed = 0

  constructor(fleet: Fleet, calls: Calls, queue: string, faults: FaultOptions) {
    this.#fleet = fleet
    this.#calls = calls
    this.#pump = leaderLock(queue)
    this.#names = failingOnce(faults)
  }

  told(told: Told): void {
    if (told.what !== 'queued' || told.dueAt === null) return
    this.#dueAt.set(told.intent, { at: told.dueAt, life: told.life })
  }

  /** `gone`: closes or crashes it. Resolves when another tab had time to take over; the place is empty. */
  async once(holder: Holder, gone: (place: Place) => Promise<void>): Promise<Place | undefined> {
    const intent = this.#names.next().value
    const order: Order = {
      intent,
      key: undefined,
      via: holder === 'home' ? 'await' : 'defer',
      // before all others that are due
      task: { priority: 1_000, policy: { initialDelayMs: DELAY_MS, maxDelayMs: DELAY_MS, jitterType: 'NONE' } },
    }
    if (!this.#fleet.give(order)) return undefined
    this.#calls.add(order)
    let place: Place | undefined
    await within(PATIENCE_MS, async () => {
      const due = this.#dueAt.get(intent)
      if (!due) return false
      place = holder === 'home' ? this.#placeOf(due.life) : await this.#pumping()
      return place !== undefined
    })
    const due = this.#dueAt.get(intent)
    if (!place?.life || !due) {
      this.missed++
      return undefined
    }
    this.#done.push({ intent, holder, from: place.life.name, goneAt: Date.now(), dueAt: due.at })
    await gone(place)
    await wait(Math.max(0, due.at - Date.now()) + SEEN_MS)
    return place
  }

  judge(visits: readonly Visit[]): { readonly checks: readonly Check[]; readonly figures: readonly Figure[] } {
    const late = (holder: Holder) =>
      this.#done
        .filter((each) => each.holder === holder && !this.#calls.turnedAway.has(each.intent))
        .flatMap(({ intent, from, goneAt, dueAt }) => {
          const [, second] = visits.filter((visit) => visit.intent === intent)
          // sent by the tab itself, in its last moment
          if (second && lifeOf(second) === from) return []
          return [second ? Math.max(0, Math.round(second.startedAt - Math.max(dueAt, goneAt))) : MOST_MS * 100]
        })
        .sort((a, b) => a - b)
    const each = { pump: late('pump'), home: late('home') }
    const all = [...each.pump, ...each.home].sort((a, b) => a - b)
    const words = (list: readonly number[]) => `p50 ${middle(list)} ms, most ${list.at(-1) ?? '-'} ms`
    return {
      checks: [
        { ...atMost('waiting work handed over, times', all.length, 1_000_000), ok: all.length > 0, wanted: 'some' },
        atMost('handed over within, p50 ms', middle(all), P50_MS),
        atMost('handed over within, at most ms', all.at(-1) ?? 0, MOST_MS),
      ],
      figures: [
        ['waiting work handed over', all.length, words(all)],
        ['  by the tab that pumped', each.pump.length, words(each.pump)],
        ['  by the tab whose caller waited', each.home.length, words(each.home)],
        ['  or by nobody', this.missed, 'none could be found that pumped'],
      ],
    }
  }

  async #pumping(): Promise<Place | undefined> {
    return holderOf(this.#fleet, this.#pump)
  }

  #placeOf(name: string): Place | undefined {
    return this.#fleet.ready.find(({ life }) => life?.name === name)
  }
}

/** The tab that holds a lock; `undefined`: none that is ready does. */
export async function holderOf({ ready }: Fleet, name: RegExp): Promise<Place | undefined> {
  const held = await ready[0]?.tab?.run<readonly { lock: string; clientId: string }[]>('held()')
  const holder = held?.find(({ lock }) => name.test(lock))
  return ready.find(({ life }) => holder !== undefined && life?.client === holder.clientId)
}

/** The lock of the tab that sends what no caller waits for. */
export const leaderLock = (queue: string): RegExp => new RegExp(`^redrive/${queue}( .*)?$`)

const middle = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length / 2)] ?? 0

/** Intents of which the server fails the first attempt, and no other. */
function* failingOnce(faults: FaultOptions): Iterator<string, never> {
  const config = faultConfig(faults)
  const kind = (intent: string, attempt: number) => decide(config, intent, attempt, attempt - 1)
  for (let at = 1; ; at++) {
    const intent = `handed-over-${at}`
    const [first, second] = [kind(intent, 1), kind(intent, 2)]
    if (first.kind === 'unavailable' && !first.slow && second.kind === null && !second.slow) yield intent
  }
}
