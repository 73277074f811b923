/** What a run is asked for. */

import { type Asked, choice, count, helpFor, minutes, read, type Setting, seed, several } from '../settings.ts'
import { KINDS } from './nemesis.ts'

/** What is wrong on purpose, to see that the judge notices. */
export type Break = 'no-lease' | 'no-key' | 'no-limit' | 'no-wait' | 'no-file'
const BREAKS: readonly Break[] = ['no-lease', 'no-key', 'no-limit', 'no-wait', 'no-file']

export type Fsync = 'everysec' | 'always'

const path: Setting<string | undefined> = {
  sign: 'PATH',
  words: 'that program in place of Redis',
  read: (_, text) => text,
}

const TABLE = {
  tasks: count(400, [1, 1_000_000], 'tasks that are enqueued'),
  kills: count(24, [0, 100_000], 'SIGKILLs of queue processes'),
  'redis-kills': count(3, [0, 10_000], 'SIGKILLs of Redis, which starts again in its folder'),
  failovers: count(0, [0, 1_000], 'how many times a replica that is held behind becomes the primary'),
  minutes: minutes(0, 'goes on, with blows, for at least so long'),
  fsync: choice('always', ['everysec', 'always'] satisfies Fsync[], 'how Redis syncs its file'),
  only: several(KINDS, 'which other trouble there is'),
  valkey: path,
  seed,
  break: choice(undefined, BREAKS, 'something is wrong on purpose, and the run must fail'),
} as const

export type Options = Asked<typeof TABLE>

export const help: string = helpFor(
  'Kills and freezes queue processes that share a Redis, kills that Redis, breaks the way to it, and lets the server that is sent to and the store say what became of the tasks.',
  'npm run test:faults -- redis',
  TABLE,
)

export const readOptions = (args: readonly string[]): Options | undefined => read(args, TABLE)
