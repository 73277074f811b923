/** What a soak is asked for. */

import { count, helpFor, minutes, read, seed } from '../faults/settings.ts'

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

const TABLE = {
  minutes: minutes(900, 'for how long (default 15)'),
  seconds: count(undefined, [1, 600_000], 'the same'),
  'per-second': count(200, [1, 100_000], 'tasks, over all processes'),
  failing: count(20, [0, 90], 'of a hundred attempts'),
  processes: count(4, [1, 100], 'of them'),
  seed,
} as const

export const help: string = helpFor(
  'Processes that share one SQLite file and enqueue at a steady rate to a server of which some attempts fail: do their memory, the\nfile and the lateness of attempts stay as they are? Judged from two minutes on.',
  'npm run soak --',
  TABLE,
)

export function readOptions(args: readonly string[]): Options | undefined {
  const asked = read(args, TABLE)
  if (!asked) return undefined
  const { minutes: usual, seconds = usual, 'per-second': perSecond, ...others } = asked
  return { ...others, seconds, perSecond }
}
