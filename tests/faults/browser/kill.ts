/** The browser is killed, all its processes at once, and started again on the same profile, while tasks come in and are sent. */

import { chance, sharedBy } from '../options.ts'
import { wait } from '../runner.ts'
import type { Story } from './evidence.ts'
import { fleetRun, type RunOptions } from './feed.ts'
import { CONCURRENCY } from './options.ts'

export interface KillOptions extends RunOptions {
  readonly tasks: number
  readonly kills: number
}

/** Of the tasks, those that begin as a call. */
const CALLED_SHARE = 0.25
/** When it is struck: at any moment; while it starts; right after the server has answered, or a task was acknowledged. */
const MOMENTS = [
  [0.3, 'any'],
  [0.1, 'starting'],
  [0.3, 'answered'],
  [0.3, 'acknowledged'],
] as const
const MOST_MS = 1_200
const STARTING_MS = 600
/** A moment that does not come is not waited for. */
const AIM_MS = 1_500

export function killRun(options: KillOptions): Promise<Story> {
  const { tasks, kills, seed, server, say } = options
  const called = Math.floor(tasks * CALLED_SHARE)
  let acknowledged = () => {}
  const asked = {
    ...{ tasks: tasks - called, calls: called, limit: CONCURRENCY },
    told: ({ what }: { readonly what: string }) => {
      if (what === 'accepted') acknowledged()
    },
  }
  const random = chance(seed)
  const aimed = new Map<string, number>()
  return fleetRun(
    options,
    asked,
    async ({ fleet, producer, calls, feed }) => {
      feed(() => Math.min(1, 0.1 + (0.9 * fleet.kills) / Math.max(1, kills)))
      while (fleet.kills < kills) {
        const [moment, delayMs] = [sharedBy(MOMENTS, random()) ?? 'any', random() * MOST_MS]
        aimed.set(moment, (aimed.get(moment) ?? 0) + 1)
        const starting = fleet.start()
        if (moment === 'starting') {
          // killed under it
          starting.catch(() => {})
          await wait((delayMs / MOST_MS) * STARTING_MS)
        } else {
          await starting
          await wait(delayMs)
          const heard = new Promise<void>((resolve) => {
            acknowledged = resolve
          })
          const next = moment === 'answered' ? server.nextAnswer() : moment === 'acknowledged' ? heard : undefined
          if (next) await Promise.race([next, wait(AIM_MS)])
        }
        await fleet.kill()
        const done = `${producer.acknowledged.size + calls.acknowledged.size} acknowledged`
        say(`${fleet.kills} of ${kills} kills (${moment}), ${done}, ${calls.settled} calls settled`)
      }
      await fleet.start()
    },
    async ({ fleet }) => ({
      figures: [
        ['browsers killed', fleet.kills, `${options.tabs} tabs each`],
        ...MOMENTS.map(([, moment]) => [`  ${WORDS[moment]}`, aimed.get(moment) ?? 0, ''] as const),
      ],
    }),
  )
}

const WORDS = {
  any: 'at any moment',
  starting: 'while it started',
  answered: 'right after an answer was sent',
  acknowledged: 'right after an acknowledgement',
} as const
