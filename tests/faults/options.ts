/** What a run is asked for. */

import { choice, count, helpFor, read, seed } from './settings.ts'

/** How long a lease lasts here: long enough for a loaded machine to renew it, short enough for a run of a minute. */
export const LEASE_MS = 1_000
/** A process that is stopped for so long has lost what it held. */
export const FREEZE_MS: number = 2.5 * LEASE_MS
export const PROCESSES = 3
/** In flight over all processes. */
export const CONCURRENCY = 4

/** What may be wrong on purpose, to see that the judge notices. */
export type Break = 'no-lease' | 'no-key'
const BREAKS: readonly Break[] = ['no-lease', 'no-key']

const TABLE = {
  tasks: count(400, [1, 1_000_000], 'tasks that are enqueued'),
  kills: count(24, [0, 100_000], 'SIGKILLs meanwhile'),
  takeovers: count(8, [0, 10_000], 'kills, one by one, after which is measured how soon others go on'),
  seed,
  break: choice(undefined, BREAKS, 'a store that gives a task to two, a server that ignores keys: the run must fail'),
} as const

export interface Options {
  readonly tasks: number
  readonly kills: number
  readonly takeovers: number
  readonly seed: number
  readonly breaks: Break | undefined
}

export const help: string = helpFor(
  'Kills and freezes processes that share one SQLite file, and lets the server and the file say what became of the tasks.',
  'npm run test:faults --',
  TABLE,
)

export function readOptions(args: readonly string[]): Options | undefined {
  const asked = read(args, TABLE)
  if (!asked) return undefined
  const { break: breaks, takeovers, ...others } = asked
  return { ...others, breaks, takeovers: breaks ? 0 : takeovers }
}

/** Numbers in [0, 1) that depend on the seed alone. */
export function chance(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Of things that have each a share of all, the one at `draw`, which is in [0, 1); undefined: the rest. */
export function sharedBy<T>(shares: readonly (readonly [share: number, thing: T])[], draw: number): T | undefined {
  let left = draw
  for (const [share, thing] of shares) {
    left -= share
    if (left < 0) return thing
  }
  return undefined
}
