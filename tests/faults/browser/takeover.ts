/**
 * Tabs whose process is crashed one by one, while others of the queue are there: how soon do they go on with what was in flight?
 * There is room for all that comes, so that a task that is taken back does not wait for others.
 */

import type { FaultOptions, Visit } from '../../servers/start.mjs'
import { type Check, FOREVER } from '../checks.ts'
import { chance } from '../options.ts'
import { Producer } from '../producer.ts'
import { wait } from '../runner.ts'
import { judgeTakeovers, P99_MS } from '../takeover.ts'
import type { Story } from './evidence.ts'
import { feed, leftAlone } from './feed.ts'
import { Fleet, type FleetOptions } from './fleet.ts'
import { holderOf, leaderLock } from './handover.ts'
import { isFirst, lifeOf } from './lives.ts'
import { Calls, hear, leaveUnanswered } from './orders.ts'

export interface TakeoverOptions extends FleetOptions {
  readonly takeovers: number
  readonly seed: number
  /** Where acknowledged ids are written down. */
  readonly file: string
  readonly say: (text: string) => void
}

export const TAKEOVER_LIMIT = 12
export const TAKEOVER_FAULTS: FaultOptions = {
  share: 0.1,
  weights: { unavailable: 20, unavailable_retry_after: 0, too_many_requests: 0, reset_before: 8, reset_after: 12 },
  // there is always something in flight
  latencyMs: [400, 1_000],
  slowShare: 0,
  slowMs: 0,
}
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

export async function takeoverRun(options: TakeoverOptions): Promise<Story & { readonly checks: readonly Check[] }> {
  const { takeovers, seed, server, say } = options
  const startedAt = Date.now()
  const random = chance(seed)
  const { name } = options.queue as { readonly name: string }
  const forMs = takeovers * (P99_MS + 2 * CALM_MS)
  const calls = new Calls(0)
  const producer = new Producer(Math.ceil((forMs * PER_SECOND) / 1_000), options.file)
  const fleet = new Fleet(options, {
    told: (told) => hear(told, producer, calls),
    unanswered: (orders) => leaveUnanswered(orders, producer, calls),
  })
  const crashes = new Map<string, Crash>()
  const feeding = new AbortController()
  try {
    await fleet.start()
    const feedFrom = Date.now()
    const fed = feed(fleet, producer, calls, () => Math.min(1, (Date.now() - feedFrom) / forMs), feeding.signal)
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
    const drained = await leftAlone(fleet, producer, calls, say)
    feeding.abort()
    await fed
    const { visits = [] } = await server.report({ visits: true })
    const { checks, figures } = judgeTakeovers('crashed tabs', takeoversOf(visits, crashes))
    return { fleet, producer, calls, drained, startedAt, figures, checks, limit: TAKEOVER_LIMIT }
  } catch (error) {
    await fleet.stop()
    throw error
  } finally {
    feeding.abort()
    producer.close()
  }
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
