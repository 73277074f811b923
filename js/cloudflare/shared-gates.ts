/**
 * What the requests of one isolate have seen of each origin, so that their retries together add no more to its load than the
 * budget allows. A request is over too soon to judge a server: what must not be tried again from here goes to the origin's
 * object, which can.
 *
 * Numbers only: timers and promises of a Worker belong to the request that made them, and none is kept here.
 */

import type { Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import type { CoreQueue } from '../core/generated/queue/glue.js'
import { instantiate } from '../core/static.ts'
import type { Settings } from '../options/queue-options.ts'
import { steady } from '../platform/clock.ts'
import type { QueueContext } from '../runner/context.ts'
import { gateNumbers } from '../runner/gates.ts'
import { Rulings } from '../tasks/ruling.ts'

/** Beyond so many origins everything is forgotten: a Worker that calls whatever it is told must not grow. */
const MOST_ORIGINS = 1_000
/** The same of Workers whose options differ from request to request. */
const MOST_RULES = 16

interface Seen {
  readonly core: CoreQueue
  readonly rulings: Rulings
  readonly lanes: Map<string, number>
  readonly now: () => number
}

/** By the rules of their gates: mostly a Worker has one set of them. */
const byRules = new Map<string, Seen>()

export class Isolate {
  readonly #settings: Settings
  readonly #numbers: Float64Array
  readonly #rules: string

  /** Hears of every attempt of `host`. */
  constructor(host: QueueContext, gates: Pick<Settings, 'breaker' | 'retryBudget'>) {
    this.#settings = host.settings
    this.#numbers = gateNumbers({ ...host.settings, ...gates })
    this.#rules = this.#numbers.join()
    const attempt = host.attempt.bind(host)
    host.attempt = async (call, plan) => {
      const finished = await attempt(call, plan)
      await this.#hear(call, finished)
      return finished
    }
  }

  /** Whether a call to this origin may be tried again from here, at `nextAt`: it costs a token. */
  mayRetry(origin: string, nextAt: number): boolean {
    const seen = byRules.get(this.#rules)
    if (!seen) return true
    const lane = laneOf(seen, origin)
    const now = seen.now()
    return nextAt >= seen.core.heldUntil(lane, now) && seen.core.pays(now, lane)
  }

  async #hear(call: Call, finished: Finished): Promise<void> {
    const hasFailed = !finished.answer || finished.status >= 400
    // an isolate that has seen no failure knows all that there is to know
    if (!byRules.has(this.#rules) && !hasFailed) return
    try {
      const seen = await this.#open()
      const now = seen.now()
      seen.rulings.observeUntracked(finished, laneOf(seen, call.origin), call.policy, now)
      // what it has to tell of a circuit is told to nobody
      seen.core.poll(now)
    } catch {
      // the same is met by the queue of the call, which says so
    }
  }

  async #open(): Promise<Seen> {
    const engine = await instantiate()
    const known = byRules.get(this.#rules)
    if (known && known.lanes.size < MOST_ORIGINS) return known
    known?.core.free()
    byRules.delete(this.#rules)
    if (byRules.size >= MOST_RULES) forget()
    const core = new engine.glue.CoreQueue(1, 1, 1, 0, this.#settings.seed)
    core.gates(this.#numbers)
    const rulings = new Rulings(engine, core, () => '')
    const seen = { core, rulings, lanes: new Map(), now: steady(this.#settings.clock) }
    byRules.set(this.#rules, seen)
    return seen
  }
}

function forget(): void {
  for (const { core } of byRules.values()) core.free()
  byRules.clear()
}

function laneOf({ core, lanes }: Seen, origin: string): number {
  const known = lanes.get(origin)
  if (known !== undefined) return known
  const lane = core.lane()
  lanes.set(origin, lane)
  return lane
}
