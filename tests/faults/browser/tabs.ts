/** Many tabs of one browser share a queue and go away in every way that tabs have, while tasks are enqueued and called. */

import type { FaultOptions } from '../../servers/start.mjs'
import { chance } from '../options.ts'
import { wait } from '../runner.ts'
import type { Story } from './evidence.ts'
import { type Field, fleetRun, type RunOptions } from './feed.ts'
import type { Fleet, Place } from './fleet.ts'
import { Handovers } from './handover.ts'
import { CONCURRENCY } from './options.ts'
import { judgeQuiet } from './quiet.ts'
import type { Told } from './told.ts'

export interface TabOptions extends RunOptions {
  readonly seconds: number
  readonly faults: FaultOptions
}

/** Of each. */
const PER_SECOND = 6
/** Between two acts. */
const LEAST_MS = 100
const MOST_MS = 600
const AWAY_MS = 1_500
/** Waiting work is handed over so often. */
const HANDOVER_MS = 4_500
const TELL_MS = 5_000

const ACTS = ['crash', 'close', 'reload', 'away', 'away', 'freeze', 'freeze', 'offline', 'show'] as const
type Act = (typeof ACTS)[number]

export function tabRun(options: TabOptions): Promise<Story> {
  const { seconds, server, say } = options
  const total = Math.ceil(seconds * PER_SECOND)
  const { name } = options.queue as { readonly name: string }
  let hear = (_: Told) => {}
  return fleetRun(
    options,
    { tasks: total, calls: total, limit: CONCURRENCY, told: (told) => hear(told) },
    async (field) => {
      const { fleet, calls, startedAt } = field
      const handovers = new Handovers(fleet, calls, name, options.faults)
      hear = (told) => handovers.told(told)
      await fleet.start()
      field.feed(() => Math.min(1, (Date.now() - startedAt) / (seconds * 1_000)))
      const acts = await upset(options, field, handovers)
      say('all tabs are left alone')
      return { acts, handovers }
    },
    async ({ fleet }, { acts, handovers }) => {
      const quiet = await judgeQuiet(fleet)
      const { visits = [] } = await server.report({ visits: true })
      const { checks, figures } = handovers.judge(visits)
      const counted = [...acts].map(([act, count]) => [`  ${act}`, count, ''] as const)
      return { figures: [['what was done to tabs', '', ''], ...counted, ...figures], checks: [...checks, ...quiet] }
    },
  )
}

/** Until the time is over; all tabs are there again, awake and with a network. How often what was done. */
async function upset(
  { seconds, seed, say }: TabOptions,
  { fleet, startedAt }: Field,
  handovers: Handovers,
): Promise<ReadonlyMap<string, number>> {
  const random = chance(seed)
  const done = new Map<string, number>()
  const endAt = startedAt + seconds * 1_000
  const busy = new Map<Place, Promise<void>>()
  const failures: unknown[] = []
  const begin = (place: Place, work: Promise<void>) => {
    const settled = work.catch((error) => failures.push(error)).then(() => void busy.delete(place))
    busy.set(place, settled)
  }
  const count = (what: string) => done.set(what, (done.get(what) ?? 0) + 1)
  let handoverAt = startedAt + HANDOVER_MS / 2
  let handedOver = 0
  let toldAt = startedAt
  // on a slow machine the run may not have come to a handover by then: it gets as long again
  const isOver = () => Date.now() >= (handedOver > 0 ? endAt : endAt + seconds * 1_000)
  while (!isOver() && failures.length === 0) {
    await wait(LEAST_MS + random() * (MOST_MS - LEAST_MS))
    if (Date.now() > handoverAt && !fleet.isOffline && fleet.ready.length > 1) {
      const holder = handedOver++ % 2 === 0 ? 'pump' : 'home'
      const crashes = fleet.ready[0]?.tab?.crash !== undefined && handedOver % 4 > 1
      const place = await handovers.once(holder, async (gone) => {
        await busy.get(gone)
        await (crashes ? fleet.crash(gone) : fleet.close(gone))
      })
      if (place) await fleet.open(place)
      handoverAt = Date.now() + HANDOVER_MS
      continue
    }
    const [act, pick, forMs] = [ACTS[Math.floor(random() * ACTS.length)] as Act, random(), random() * AWAY_MS]
    const free = fleet.ready.filter((place) => !busy.has(place))
    const place = free[Math.floor(pick * free.length)]
    if (!place) continue
    if (act === 'offline') {
      if (!fleet.canUnplug) continue
      // pages that are on their way would not come
      await Promise.all(busy.values())
      await afterwards(fleet.offline(true), forMs, () => fleet.offline(false))
    } else {
      const work = doIt(act, fleet, place, forMs, () => count('  kept for the way back'))
      if (!work) continue
      begin(place, work)
    }
    count(act)
    if (Date.now() < toldAt + TELL_MS) continue
    toldAt = Date.now()
    say([...done].map(([what, times]) => `${times} ${what}`).join(', '))
  }
  await Promise.all(busy.values())
  if (failures.length > 0) throw failures[0]
  return done
}

/** undefined: not now, or not in this browser. */
function doIt(act: Act, fleet: Fleet, place: Place, forMs: number, kept: () => void): Promise<void> | undefined {
  const { tab } = place
  // somebody has to be there to be asked
  if (!tab || (act !== 'show' && fleet.ready.length < 2)) return undefined
  if (act === 'crash' && tab.crash) return afterwards(fleet.crash(place), forMs, () => fleet.open(place))
  if (act === 'close') return afterwards(fleet.close(place), forMs, () => fleet.open(place))
  if (act === 'reload') return fleet.reload(place)
  if (act === 'away')
    return afterwards(fleet.leave(place), forMs, async () => void ((await fleet.back(place)) && kept()))
  if (act === 'freeze' && tab.freeze) {
    return afterwards(fleet.freeze(place), forMs, async () => {
      await fleet.thaw(place)
      // a frozen tab is a hidden one
      if (place.number % 2 === 0) await tab.show()
    })
  }
  return act === 'show' ? tab.show() : undefined
}

async function afterwards(first: Promise<void>, ms: number, then: () => Promise<void>): Promise<void> {
  await first
  await wait(ms)
  await then()
}
