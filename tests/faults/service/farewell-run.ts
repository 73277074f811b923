/** After the blows of a run: a process is told to end, again and again, while clients post to it as fast as they can. */

import { startServer } from '../../redis/servers.ts'
import { type Check, none } from '../checks.ts'
import { inFolder } from '../frame.ts'
import { chance } from '../options.ts'
import { conclude, type Say } from '../runner.ts'
import { type Farewell, farewell, storeIn } from './farewell.ts'
import { isMutant } from './mutants.ts'
import { EXIT_MS, type Options } from './options.ts'

/** From the first post to the signal. */
const LEAST_MS = 500
const MOST_MS = 2_000

export async function farewellRun({ store, farewells, seed, breaks }: Options, say: Say): Promise<void> {
  const random = chance(seed ^ 0xfa4e)
  const all: Farewell[] = []
  for (let i = 0; i < farewells; i++) {
    const afterMs = Math.round(LEAST_MS + random() * (MOST_MS - LEAST_MS))
    await inFolder(
      { name: 'farewell', breaks, leaves: 'The store, and what each process wrote down' },
      async (folder) => {
        await using redis =
          store === 'redis' ? await startServer({ appendonly: true, appendfsync: 'always' }) : undefined
        const mutant = isMutant(breaks) ? breaks : undefined
        const told = await farewell({ folder, store: redis?.url ?? storeIn(folder), afterMs, mutant })
        all.push(told)
        say(
          `told to end ${afterMs} ms after the first post: ${told.accepted.length} tasks accepted, ${told.cut.length} answers cut`,
        )
        return farewellChecks([told]).filter(({ ok }) => !ok)
      },
    )
  }
  const sum = (of: (each: Farewell) => number) => all.reduce((total, each) => total + of(each), 0)
  const slowest = Math.max(0, ...all.map(({ tookMs }) => tookMs))
  conclude(
    [
      ['told to end under load', all.length, `the slowest took ${slowest} ms`],
      ['requests', sum(({ requests }) => requests), ''],
      ['tasks accepted', sum(({ accepted }) => accepted.length), ''],
      ['told that the process stops', sum(({ draining }) => draining), ''],
    ],
    farewellChecks(all),
  )
}

/** Every request got a whole answer or no connection, and all that was accepted is there. */
export function farewellChecks(all: readonly Farewell[]): readonly Check[] {
  return [
    none(
      'SIGTERM: answers cut',
      all.flatMap(({ cut }) => cut),
    ),
    none(
      'SIGTERM: accepted and lost',
      all.flatMap(({ lost }) => lost),
    ),
    none(
      'SIGTERM: answers that say neither',
      all.flatMap(({ strange }) => strange),
    ),
    none(
      'SIGTERM: ended otherwise than with 0, or too late',
      all.flatMap(({ code, signal, tookMs }) => {
        return code === 0 && tookMs <= EXIT_MS ? [] : [`ended with ${signal ?? code} after ${tookMs} ms`]
      }),
    ),
    {
      label: 'SIGTERM: tasks accepted before each',
      found: String(Math.min(...all.map(({ accepted }) => accepted.length))),
      wanted: 'some',
      ok: all.every(({ accepted }) => accepted.length > 0),
      offenders: [],
    },
  ]
}
