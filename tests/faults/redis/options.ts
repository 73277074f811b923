/** What a run is asked for. */

import { parseArgs } from 'node:util'
import { whole } from '../options.ts'
import { KINDS, type Kind } from './nemesis.ts'

/** What is wrong on purpose, to see that the judge notices. */
export const BREAKS = ['no-lease', 'no-key', 'no-limit', 'no-wait', 'no-file'] as const
export type Break = (typeof BREAKS)[number]

export type Fsync = 'everysec' | 'always'

export interface Options {
  readonly tasks: number
  /** SIGKILLs of queue processes, and of Redis. */
  readonly kills: number
  readonly redisKills: number
  readonly failovers: number
  /** At least so long: blows fall until then. */
  readonly seconds: number
  readonly fsync: Fsync
  readonly seed: number
  /** What else befalls the server, and the way to it. */
  readonly kinds: readonly Kind[]
  /** The program of the server; undefined: a Redis. */
  readonly binary: string | undefined
  readonly breaks: Break | undefined
}

export const help = `Kills and freezes queue processes that share a Redis, kills that Redis, breaks the way to it, and lets the server that is sent to and the store say what became of the tasks.

  npm run test:faults -- redis [options]

  --tasks N        how many tasks are enqueued                          (default 400)
  --kills N        how many SIGKILLs of queue processes                 (default 24)
  --redis-kills N  how many SIGKILLs of Redis, which starts again in its folder (default 3)
  --failovers N    how many times a replica that is held behind becomes the primary (default 0)
  --minutes M      goes on for at least so long                         (default: until all kills are made)
  --fsync X        always or everysec: how Redis syncs its file         (default always)
  --only A,B       which other trouble there is: ${KINDS.join(', ')}, or none (default all)
  --valkey PATH    that program in place of Redis
  --seed N         which faults the server makes, what befalls whom when (default 1)
  --break X        ${BREAKS.join(', ')}: something is wrong on purpose, and the run must fail
  --help           this text
`

/** undefined: only help was asked for. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      tasks: { type: 'string', default: '400' },
      kills: { type: 'string', default: '24' },
      'redis-kills': { type: 'string', default: '3' },
      failovers: { type: 'string', default: '0' },
      minutes: { type: 'string', default: '0' },
      fsync: { type: 'string', default: 'always' },
      only: { type: 'string' },
      valkey: { type: 'string' },
      seed: { type: 'string', default: '1' },
      break: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const minutes = Number(values.minutes)
  if (!(minutes >= 0)) throw new RangeError(`--minutes: expected a number from 0 up, got '${values.minutes}'`)
  return {
    tasks: whole('tasks', values.tasks, 1, 1_000_000),
    kills: whole('kills', values.kills, 0, 100_000),
    redisKills: whole('redis-kills', values['redis-kills'], 0, 10_000),
    failovers: whole('failovers', values.failovers, 0, 1_000),
    seconds: minutes * 60,
    fsync: oneOf('fsync', values.fsync, ['everysec', 'always']),
    seed: whole('seed', values.seed, 0, 2 ** 32 - 1),
    kinds: kindsIn(values.only),
    binary: values.valkey,
    breaks: values.break === undefined ? undefined : oneOf('break', values.break, BREAKS),
  }
}

function kindsIn(text: string | undefined): readonly Kind[] {
  if (text === undefined) return KINDS
  return text === 'none' ? [] : text.split(',').map((name) => oneOf('only', name, KINDS))
}

function oneOf<T extends string>(name: string, text: string, all: readonly T[]): T {
  const found = all.find((each) => each === text)
  if (found === undefined) throw new RangeError(`--${name}: expected ${all.join(', ')}, got '${text}'`)
  return found
}
