/** What a run is asked for. */

import { parseArgs } from 'node:util'

/** What may be wrong on purpose, to see that the judge notices. */
export type Break = 'no-lease' | 'no-key'

export interface Options {
  readonly tasks: number
  readonly kills: number
  /** Kills after which is measured how soon others go on. */
  readonly takeovers: number
  readonly seed: number
  readonly breaks: Break | undefined
}

/** How long a lease lasts here: long enough for a loaded machine to renew it, short enough for a run of a minute. */
export const LEASE_MS = 1_000
/** A process that is stopped for so long has lost what it held. */
export const FREEZE_MS: number = 2.5 * LEASE_MS
export const PROCESSES = 3
/** In flight over all processes. */
export const CONCURRENCY = 4

export const help = `Kills and freezes processes that share one SQLite file, and lets the server and the file say what became of the tasks.

  npm run test:faults -- [options]

  --tasks N    how many tasks are enqueued                       (default 400)
  --kills N    how many SIGKILLs while they are                  (default 24)
  --takeovers N  how many kills, one by one, after which is measured how soon others go on (default 8)
  --seed N     which faults the server makes, who is killed when (default 1)
  --break X    no-lease: a store that gives a task to two at once; no-key: a server that ignores keys.
               The run must fail then
  --help       this text
`

/** undefined: only help was asked for. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      tasks: { type: 'string', default: '400' },
      kills: { type: 'string', default: '24' },
      takeovers: { type: 'string', default: '8' },
      seed: { type: 'string', default: '1' },
      break: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const { break: wrong } = values
  if (wrong !== undefined && wrong !== 'no-lease' && wrong !== 'no-key') {
    throw new RangeError(`--break: expected no-lease or no-key, got '${wrong}'`)
  }
  return {
    tasks: whole('tasks', values.tasks, 1, 1_000_000),
    kills: whole('kills', values.kills, 0, 100_000),
    takeovers: wrong === undefined ? whole('takeovers', values.takeovers, 0, 10_000) : 0,
    seed: whole('seed', values.seed, 0, 2 ** 32 - 1),
    breaks: wrong,
  }
}

export function whole(name: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (text !== '' && Number.isInteger(value) && value >= least && value <= most) return value
  throw new RangeError(`--${name}: expected a whole number from ${least} to ${most}, got '${text}'`)
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
