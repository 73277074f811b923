/**
 * How full the stores of a service are: as numbers all the time, and in the log before new tasks are refused. It refuses nothing; that
 * is the store's.
 */

import type { Clock } from 'redrive'
import type { StoreRoom } from 'redrive/store'
import type { ApiStore } from './api/context.ts'
import type { ServiceLogEntry } from './service-options.ts'

const LOOK_MS = 15_000
/** The part of a limit from which on an operator should make room. */
const NEARLY = 0.9

/** One of the things that may run out. */
export interface Filling {
  readonly resource: 'tasks' | 'body_bytes' | 'ended_tasks' | 'disk_bytes' | 'memory_bytes'
  readonly used: number
  /** Where new tasks are refused. Absent: nowhere. */
  readonly limit?: number
}

const ADVICE: Readonly<Record<Filling['resource'], string>> = {
  tasks: 'purge or redrive dead letters, or raise --capacity',
  body_bytes: 'purge or redrive dead letters, or raise --capacity-bytes',
  ended_tasks: '',
  disk_bytes: 'make room on the disk',
  memory_bytes: "raise the server's maxmemory",
}

interface Options {
  readonly stores: readonly ApiStore[]
  /** The limits of each store. */
  readonly tasks: number
  readonly bodyBytes: number
  readonly clock: Clock
  log(entry: ServiceLogEntry): void
  /** `n`: the number of the store, from 0 on. */
  filled(n: number, filling: Filling): void
}

/** Looks each 15 s, from `start` on. `stop` resolves once nothing looks any more. */
export function fullnessOf(options: Options): { start(): void; stop(): Promise<void> } {
  const { stores, clock, log, filled } = options
  let disarm = (): void => {}
  let isStopped = false
  let looking: Promise<unknown> = Promise.resolve()
  /** Warnings that were given and still hold, by partition and resource. */
  const told = new Set<string>()
  const look = async (store: ApiStore, n: number): Promise<void> => {
    for (const filling of await fillingsOf(store, options)) {
      filled(n, filling)
      const { resource, used, limit = Number.POSITIVE_INFINITY } = filling
      const key = `${n} ${resource}`
      const isNearly = used >= NEARLY * limit
      if (isNearly && !told.has(key)) {
        const message = `the store is nearly full: ${used} of ${limit} (${resource}); at the limit new tasks are refused: ${ADVICE[resource]}`
        const partition = stores.length > 1 ? { partition: n } : {}
        log({ level: 'warn', event: 'store_filling', resource, used, limit, ...partition, message })
      }
      if (isNearly) told.add(key)
      else told.delete(key)
    }
  }
  const again = (): void => {
    // the store's own calls report that it does not answer
    looking = Promise.allSettled(stores.map(look)).then(() => {
      if (!isStopped) disarm = clock.after(LOOK_MS, again, true)
    })
  }
  return {
    start: again,
    async stop() {
      isStopped = true
      disarm()
      await looking
    },
  }
}

async function fillingsOf(store: ApiStore, { tasks, bodyBytes }: Options): Promise<readonly Filling[]> {
  // where the disk cannot be asked the counts are known all the same
  const [counts, room] = await Promise.all([store.counts(), store.room?.().catch(() => undefined)])
  const { pending, inFlight, exhausted, succeeded, cancelled, bytes } = counts
  return [
    { resource: 'tasks', used: pending + inFlight + exhausted, limit: tasks },
    { resource: 'body_bytes', used: bytes, limit: bodyBytes },
    { resource: 'ended_tasks', used: succeeded + cancelled },
    ...(room ? [ofRoom(room)] : []),
  ]
}

const ofRoom = ({ of, usedBytes, limitBytes }: StoreRoom): Filling => ({
  resource: `${of}_bytes`,
  used: usedBytes,
  ...(limitBytes !== undefined && { limit: limitBytes }),
})
