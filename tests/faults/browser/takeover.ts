/**
 * Tabs whose process is crashed one by one, while others of the queue are there: how soon do they go on with what was in flight?
 * There is room for all that comes, so that a task that is taken back does not wait for others.
 */

import type { Visit } from '../../servers/start.mjs'
import { FOREVER } from '../checks.ts'
import { chance } from '../options.ts'
import { wait } from '../runner.ts'
import { judgeTakeovers, P99_MS } from '../takeover.ts'
import type { Story } from './evidence.ts'
import { fleetRun, type RunOptions } from './feed.ts'
import { holderOf, leaderLock } from './handover.ts'
import { isFirst, lifeOf } from './lives.ts'

export interface TakeoverOptions extends RunOptions {
  readonly takeovers: number
}

export const TAKEOVER_LIMIT = 12
/** A browser has six connections to a server: fewer than that are busy at once. */
const PER_SECOND = 5
/** Of the blows. */
const LEADER_SHARE = 0.75
/** Before a blow, once all tabs are there. */
const CALM_MS = 500

/** A crash: when it was asked for, and when it had come. */
export interface Crash {
  readonly at: number
  readonly doneBy: number
}

export function takeoverRun(options: TakeoverOptions): Promise<Story> {
  const { takeovers, seed, server, say } = options
  const random = chance(seed)
  const { name } = options.queue as { readonly name: string }
  const forMs = takeovers * (P99_MS + 2 * CALM_MS)
  const crashes = new Map<string, Crash>()
  return fleetRun(
    options,
    { tasks: Math.ceil((forMs * PER_SECOND) / 1_000), calls: 0, limit: TAKEOVER_LIMIT },
    async ({ fleet, feed }) => {
      await fleet.start()
      const feedFrom = Date.now()
      feed(() => Math.min(1, (Date.now() - feedFrom) / forMs))
      while (crashes.size < takeovers) {
        await wait(CALM_MS + random() * CALM_MS)
        // most is in flight in the leader; what another has claimed as it enqueued it counts too
        const leader = random() < LEADER_SHARE ? await holderOf(fleet, leaderLock(name)) : undefined
        const place = leader ?? fleet.ready[Math.floor(random() * fleet.ready.length)]
        if (!place?.life) continue
        const { name: life } = place.life
        const at = Date.now()
        await fleet.crash(place)
        crashes.set(life, { at, doneBy: Date.now() })
        await wait(P99_MS)
        await fleet.open(place)
      }
      say(`${takeovers} tabs crashed one by one`)
    },
    async () => {
      const { visits = [] } = await server.report({ visits: true })
      return judgeTakeovers('crashed tabs', takeoversOf(visits, crashes))
    },
  )
}

/** From a crash to the next attempt, of each task that was in flight in the tab: milliseconds, from the least to the most. */
export function takeoversOf(visits: readonly Visit[], crashes: ReadonlyMap<string, Crash>): readonly number[] {
  return visits
    .flatMap((visit) => {
      const crash = crashes.get(lifeOf(visit))
      const endedAt = visit.endedAt ?? FOREVER
      if (!crash || isFirst(visit) || endedAt <= crash.at) return []
      const next = visits.find(({ intent, startedAt }) => intent === visit.intent && startedAt >= crash.at)
      // told in the tab's last moment
      if (!next && endedAt <= crash.doneBy) return []
      return [Math.round((next?.startedAt ?? FOREVER) - crash.at)]
    })
    .sort((a, b) => a - b)
}
