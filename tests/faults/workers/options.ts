/** What a run is asked for. */

import { parseArgs } from 'node:util'
import { whole } from '../options.ts'

export interface Options {
  readonly tasks: number
  readonly kills: number
  readonly seed: number
  /** What is wrong on purpose, to see that the judge notices: the server does not honour keys. */
  readonly breaks: 'no-key' | undefined
}

/** Each principal has an object of its own, or several. */
export const PRINCIPALS: readonly (string | null)[] = [null, 'ann', 'ben']
export const SHARDS = 2

export const help = `Kills a workerd whose Durable Objects keep tasks, aborts objects while they work, and lets the server and the objects say what became of the tasks.

  npm run test:faults -- workers [options]

  --tasks N    how many calls are made in the Worker             (default 240)
  --kills N    how many SIGKILLs while they are; two aborts each (default 5)
  --seed N     which faults the server makes, what dies when     (default 1)
  --break X    no-key: a server that ignores keys. The run must fail then
  --help       this text
`

/** undefined: only help was asked for. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      tasks: { type: 'string', default: '240' },
      kills: { type: 'string', default: '5' },
      seed: { type: 'string', default: '1' },
      break: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const { break: wrong } = values
  if (wrong !== undefined && wrong !== 'no-key') throw new RangeError(`--break: expected no-key, got '${wrong}'`)
  return {
    tasks: whole('tasks', values.tasks, 1, 1_000_000),
    kills: whole('kills', values.kills, 0, 100_000),
    seed: whole('seed', values.seed, 0, 2 ** 32 - 1),
    breaks: wrong,
  }
}
