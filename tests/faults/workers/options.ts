/** What a run is asked for. */

import { type Asked, choice, count, helpFor, read, seed } from '../settings.ts'

/** Each principal has an object of its own, or several. */
export const PRINCIPALS: readonly (string | null)[] = [null, 'ann', 'ben']
export const SHARDS = 2

const TABLE = {
  tasks: count(240, [1, 1_000_000], 'calls that are made in the Worker'),
  kills: count(5, [0, 100_000], 'SIGKILLs while they are; two aborts each'),
  seed,
  break: choice(undefined, ['no-key'], 'a server that ignores keys: the run must fail'),
} as const

export type Options = Asked<typeof TABLE>

export const help: string = helpFor(
  'Kills a workerd whose Durable Objects keep tasks, aborts objects while they work, and lets the server and the objects say what became of the tasks.',
  'npm run test:faults -- workers',
  TABLE,
)

export const readOptions = (args: readonly string[]): Options | undefined => read(args, TABLE)
