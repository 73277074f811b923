/** What a soak is asked for. */

import { parseArgs } from 'node:util'
import { whole } from '../faults/options.ts'

export interface Options {
  readonly seconds: number
  /** Tasks, over all processes. */
  readonly perSecond: number
  /** Attempts of a hundred that the server fails. */
  readonly failing: number
  readonly processes: number
  readonly seed: number
}

/** Every wait between two attempts, so that the server itself knows when the next one is due. */
export const RETRY_MS = 500
/** In flight over all processes. */
export const CONCURRENCY = 64

export const help = `Processes that share one SQLite file and enqueue at a steady rate to a server of which some attempts fail: do their memory, the
file and the lateness of attempts stay as they are? Judged from two minutes on.

  npm run soak -- [options]

  --minutes N     for how long                               (default 15)
  --seconds N     the same
  --per-second N  tasks, over all processes                  (default 200)
  --failing N     of a hundred attempts                      (default 20)
  --processes N                                              (default 4)
  --seed N        which of them                              (default 1)
  --help          this text
`

/** undefined: only help was asked for. */
export function readOptions(args: readonly string[]): Options | undefined {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { ...text, default: '15' },
      seconds: text,
      'per-second': { ...text, default: '200' },
      failing: { ...text, default: '20' },
      processes: { ...text, default: '4' },
      seed: { ...text, default: '1' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  return {
    seconds:
      values.seconds === undefined
        ? 60 * whole('minutes', values.minutes, 1, 10_000)
        : whole('seconds', values.seconds, 1, 600_000),
    perSecond: whole('per-second', values['per-second'], 1, 100_000),
    failing: whole('failing', values.failing, 0, 90),
    processes: whole('processes', values.processes, 1, 100),
    seed: whole('seed', values.seed, 0, 2 ** 32 - 1),
  }
}
