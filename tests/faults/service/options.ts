/** The settings of a run, and the limits that its processes are given. */

import { choice, count, helpFor, read, seed } from '../settings.ts'
import { MUTANTS, type Mutant } from './mutants.ts'

/** Faults of the run itself that its judge must notice, beside those of the service. */
const OWN_BREAKS = ['no-key', 'no-file'] as const
export type Break = (typeof OWN_BREAKS)[number] | Mutant
const BREAKS: readonly Break[] = [...OWN_BREAKS, ...MUTANTS]

export type StoreKind = 'sqlite' | 'redis'

export interface Options {
  readonly store: StoreKind
  readonly tasks: number
  readonly kills: number
  /** SIGSTOPs that outlast a lease, and SIGTERMs. */
  readonly stops: number
  readonly drains: number
  /** SIGKILLs of Redis, which starts again in its folder. */
  readonly redisKills: number
  readonly processes: number
  /** How often one process is told to end while clients post to it as fast as they can. */
  readonly farewells: number
  readonly seed: number
  readonly breaks: Break | undefined
}

/** How long a lease lasts here: long enough for a loaded machine to renew it, short enough for a run of a minute. */
export const LEASE_MS = 2_000
/** A process that is stopped for so long has lost what it held. */
export const STOP_MS: number = 2.5 * LEASE_MS
/** How long a process that is told to end may let its attempts go on. */
export const DRAIN_MS = 3_000
/** How long after its signal such a process may take altogether: answers under way, attempts in flight, and a machine with other work. */
export const EXIT_MS: number = 2 * DRAIN_MS + 6_000
/** In flight over all processes, and to one origin: of a tenant over all processes, and of all tenants by one process. */
export const CONCURRENCY = 8
export const PER_ORIGIN = 3
/** The time limit of an attempt: targets that hang keep one for so long. */
export const ATTEMPT_MS = 5_000
/** The wait that a target asks for, in whole seconds as the header has it. */
export const RETRY_AFTER_S = 1

const TABLE = {
  store: choice('sqlite', ['sqlite', 'redis'] satisfies StoreKind[], 'Redis syncs its file before it answers'),
  tasks: count(undefined, [1, 100_000], 'tasks that are posted (default 25 for each blow, at least 100)'),
  kills: count(12, [0, 10_000], 'SIGKILLs of service processes'),
  stops: count(undefined, [0, 10_000], 'how many are stopped for longer than a lease (default a third of --kills)'),
  drains: count(undefined, [0, 10_000], 'how many are told to end and start again (default a third of --kills)'),
  'redis-kills': count(undefined, [0, 1_000], 'SIGKILLs of Redis (default a quarter of --kills, with redis)'),
  processes: count(3, [2, 8], 'how many share the store'),
  farewells: count(undefined, [0, 1_000], 'how often one is told to end, afterwards, while clients post (default 2)'),
  seed,
  break: choice(undefined, BREAKS, 'something is wrong on purpose, and the run must fail'),
} as const

export const help: string = helpFor(
  'Kills, stops and drains processes of `redrive serve` that share a store while clients post to them and targets fail, and lets clients, target and API say what became of the tasks.',
  'node tests/faults/service/run.ts',
  TABLE,
)

/** undefined: only help was asked for. */
export function readOptions(args: readonly string[]): Options | undefined {
  const asked = read(args, TABLE)
  if (!asked) return undefined
  const { store, kills, processes, seed, break: breaks } = asked
  const { stops = Math.ceil(kills / 3), drains = Math.ceil(kills / 3) } = asked
  const redisKills = asked['redis-kills'] ?? (store === 'redis' ? Math.ceil(kills / 4) : 0)
  if (redisKills > 0 && store !== 'redis') throw new RangeError('--redis-kills: expected 0 without --store redis')
  const isHeard = breaks === undefined || breaks === 'cuts-answers'
  const { tasks = Math.max(100, 25 * (kills + stops + drains + redisKills)), farewells = isHeard ? 2 : 0 } = asked
  return { store, tasks, kills, stops, drains, redisKills, processes, farewells, seed, breaks }
}
