/** The settings of a run, and the limits that its processes are given. */

import { parseArgs } from 'node:util'
import { whole } from '../options.ts'
import { MUTANTS, type Mutant } from './mutants.ts'

/** Faults of the run itself that its judge must notice, beside those of the service. */
const OWN_BREAKS = ['no-key', 'no-file'] as const
export type Break = (typeof OWN_BREAKS)[number] | Mutant
export const BREAKS: readonly Break[] = [...OWN_BREAKS, ...MUTANTS]

export type StoreKind = 'sqlite' | 'redis'

export interface Options {
  readonly store: StoreKind
  readonly tasks: number
  /** SIGKILLs of service processes. */
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

export const help = `Kills, stops and drains processes of \`redrive serve\` that share a store while clients post to them and targets fail, and lets clients, target and API say what became of the tasks.

  node tests/faults/service/run.ts [options]

  --store X        sqlite or redis, which syncs its file before it answers   (default sqlite)
  --tasks N        how many tasks are posted                        (default 25 for each blow, at least 100)
  --kills N        how many SIGKILLs of service processes           (default 12)
  --stops N        how many are stopped for longer than a lease     (default a third of --kills)
  --drains N       how many are told to end and start again         (default a third of --kills)
  --redis-kills N  how many SIGKILLs of Redis                       (default a quarter of --kills, with redis)
  --processes N    how many share the store                         (default 3)
  --farewells N    how often a process is told to end, afterwards, while clients post (default 2)
  --seed N         which blow falls when, and what goes wrong at targets (default 1)
  --break X        something is wrong on purpose, and the run must fail:
                   ${BREAKS.slice(0, 8).join(', ')},
                   ${BREAKS.slice(8).join(', ')}
  --help           this text
`

/** undefined: only help was asked for. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: 'string', default: 'sqlite' },
      tasks: { type: 'string' },
      kills: { type: 'string', default: '12' },
      stops: { type: 'string' },
      drains: { type: 'string' },
      'redis-kills': { type: 'string' },
      processes: { type: 'string', default: '3' },
      farewells: { type: 'string' },
      seed: { type: 'string', default: '1' },
      break: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const store = oneOf('store', values.store, ['sqlite', 'redis'])
  const kills = whole('kills', values.kills, 0, 10_000)
  const stops = whole('stops', values.stops ?? `${Math.ceil(kills / 3)}`, 0, 10_000)
  const drains = whole('drains', values.drains ?? `${Math.ceil(kills / 3)}`, 0, 10_000)
  const redisKills = whole('redis-kills', values['redis-kills'] ?? `${redisShare(store, kills)}`, 0, 1_000)
  if (redisKills > 0 && store !== 'redis') throw new RangeError('--redis-kills: expected 0 without --store redis')
  const breaks = values.break === undefined ? undefined : oneOf('break', values.break, BREAKS)
  const isHeard = breaks === undefined || breaks === 'cuts-answers'
  const blows = kills + stops + drains + redisKills
  return {
    store,
    kills,
    stops,
    drains,
    redisKills,
    tasks: whole('tasks', values.tasks ?? `${Math.max(100, 25 * blows)}`, 1, 100_000),
    processes: whole('processes', values.processes, 2, 8),
    seed: whole('seed', values.seed, 0, 2 ** 32 - 1),
    farewells: whole('farewells', values.farewells ?? (isHeard ? '2' : '0'), 0, 1_000),
    breaks,
  }
}

const redisShare = (store: StoreKind, kills: number): number => (store === 'redis' ? Math.ceil(kills / 4) : 0)

function oneOf<T extends string>(name: string, text: string, all: readonly T[]): T {
  const found = all.find((each) => each === text)
  if (found === undefined) throw new RangeError(`--${name}: expected ${all.join(', ')}, got '${text}'`)
  return found
}
