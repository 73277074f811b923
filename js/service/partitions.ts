/**
 * A service over several stores: each task lies in one of them, and each has a runner of its own. The scripts of a Redis run one at a time, so
 * this is how a service gets more than one core of it.
 *
 * Only the API sees the stores as one, which is what is made here. An id says nothing of its partition: what is asked by id is asked of all at
 * once, and those that do not have the task say so.
 */

import { crc32 } from 'node:zlib'
import { type OriginStats, RedriveError, type TaskStore } from 'redrive'
import { show } from 'redrive/internal'
import type { Counts, NewTask, OwnCounts, StoredTask, StoreRoom, TaskFilter } from 'redrive/store'
import type { ApiQueue, ApiStore } from './api/context.ts'

/** The part of a task that says where it lies: all tasks of a tenant, of a policy, or of a tenant's requests to one origin lie together. */
export type PartitionBy = 'tenant' | 'policy' | 'lane'

/** More would be asked at once for each id. */
export const MOST_PARTITIONS = 64

/** Throws a TypeError that names the option. */
export function storesOf(given: TaskStore | readonly TaskStore[]): readonly TaskStore[] {
  const stores = Array.isArray(given) ? (given as readonly TaskStore[]) : [given as TaskStore]
  if (stores.length === 0 || stores.length > MOST_PARTITIONS || new Set(stores).size < stores.length) {
    const got = `${stores.length}${new Set(stores).size < stores.length ? ', some of them twice' : ''}`
    throw new TypeError(`createService.store: expected one store, or a list of 1 to ${MOST_PARTITIONS}, got ${got}`)
  }
  return stores
}

const KEYS: Readonly<Record<PartitionBy, (task: NewTask) => string>> = {
  tenant: ({ principal }) => principal ?? '',
  policy: ({ policy }) => policy.policyId,
  lane: ({ lane }) => lane,
}

/** @throws TypeError with what was expected */
export function assertPartitionBy(by: unknown): asserts by is PartitionBy {
  if (typeof by === 'string' && Object.hasOwn(KEYS, by)) return
  throw new TypeError(`createService.partitionBy: expected ${Object.keys(KEYS).join(', ')}, got ${show(by)}`)
}

/** The partition of a new task, from 0 on. */
export const partitionOf = (task: NewTask, by: PartitionBy, count: number): number => crc32(KEYS[by](task)) % count

/** The part of a limit of the whole service that each partition keeps to, rounded up. One that is no whole number is left to the queue to refuse. */
export const shareOf = (limit: number, count: number): number =>
  count === 1 || !Number.isInteger(limit) ? limit : Math.ceil(limit / count)

const NOTE = 'partitions'

interface Note {
  readonly count: number
  readonly by?: PartitionBy
}

/**
 * Writes down in the first store how tasks are divided, or finds that it is so. Rejects with 'PARTITIONS_DIFFER' where they are divided in
 * another way: tasks would be looked for where they are not, and equal keys would be two tasks.
 */
export async function agreeOnPartitions(store: ApiStore, count: number, by: PartitionBy): Promise<void> {
  const wanted: Note = count === 1 ? { count } : { count, by }
  for (;;) {
    const found = await noted(store)
    if (found) {
      if (found.count === count && found.by === wanted.by) return
      throw differ(found, wanted)
    }
    if ((await store.registry.write(NOTE, wanted, 0)) === 'written') return
  }
}

/** Writes it down again in a store that was emptied, where tasks may have come since. */
export async function noteAgain(store: ApiStore, count: number, by: PartitionBy): Promise<void> {
  if (count > 1) await store.registry.write(NOTE, { count, by }, 0)
}

/** A store with tasks and without a note has never been divided. */
async function noted(store: ApiStore): Promise<Note | undefined> {
  const { entries = [] } = await store.registry.read({ prefix: NOTE })
  const entry = entries.find(({ name }) => name === NOTE)
  if (entry) return entry.value as Note
  const { pending, inFlight, succeeded, exhausted, cancelled } = await store.counts()
  return pending + inFlight + succeeded + exhausted + cancelled > 0 ? { count: 1 } : undefined
}

function differ(found: Note, wanted: Note): RedriveError {
  const flags = ({ count, by }: Note): string => `--partitions ${count}${by ? ` --partition-by ${by}` : ''}`
  const why = `its tasks are divided by ${flags(found)}, and ${flags(wanted)} would look for them where they are not`
  return new RedriveError('PARTITIONS_DIFFER', `${why}; start it as it was, or name an empty one with --name`)
}

/** Stores as the API sees them: one. `stores`: two or more, each a partition. */
export function oneStore(stores: readonly ApiStore[], by: PartitionBy): ApiStore {
  const [first] = stores as readonly [ApiStore, ...ApiStore[]]
  const all = <T>(ask: (store: ApiStore) => Promise<T>): Promise<T[]> => Promise.all(stores.map(ask))
  const sum = async (ask: (store: ApiStore) => Promise<number>): Promise<number> => total(await all(ask))
  /** The answer of the one store that has it, for each id. */
  const each = async <T>(taskIds: readonly string[], ask: (store: ApiStore) => Promise<readonly (T | 'gone')[]>) => {
    const answers = await all(ask)
    return taskIds.map((_, i) => answers.map((said) => said[i]).find((said) => said !== 'gone') ?? 'gone')
  }
  return {
    // that of a Redis is known once it was asked
    get durability() {
      return first.durability
    },
    idleCheckMs: null,
    everyone: true,
    async enqueue(tasks, lease) {
      const at = tasks.map((task) => partitionOf(task, by, stores.length))
      const answers = await Promise.all(
        stores.map((store, n) => {
          const own = tasks.filter((_, i) => at[i] === n)
          return own.length > 0 ? store.enqueue(own, lease) : []
        }),
      )
      const next = answers.map(() => 0)
      return at.map((n) => answers[n]?.[(next[n] as number)++] as Awaited<ReturnType<TaskStore['enqueue']>>[number])
    },
    // each store has a runner of its own
    turn: () => Promise.reject(new TypeError('a turn is one of one partition')),
    async cancel(taskId, as) {
      const said = await all((store) => store.cancel(taskId, as))
      return said.find((one) => one !== 'gone') ?? 'gone'
    },
    async redrive(taskIds, how) {
      if (how.spacingMs === 0 || taskIds.length < 2) return each(taskIds, (store) => store.redrive(taskIds, how))
      // each store counts its own from 0: those that have fewer take longer steps, so that together they keep the pace
      const owned = await all(async (store) => {
        const found = await Promise.all(taskIds.map((taskId) => store.get(taskId)))
        return taskIds.filter((_, i) => found[i] !== undefined)
      })
      const count = total(owned.map(({ length }) => length))
      const said = await Promise.all(
        stores.map(async (store, n) => {
          const own = owned[n] ?? []
          const spacingMs = Math.round((how.spacingMs * count) / own.length)
          return own.length === 0 ? [] : store.redrive(own, { ...how, spacingMs })
        }),
      )
      const answers = new Map(
        owned.flatMap((own, n) => own.map((taskId, i) => [taskId, said[n]?.[i] ?? 'gone'] as const)),
      )
      return taskIds.map((taskId) => answers.get(taskId) ?? 'gone')
    },
    due: (taskIds, inMs) => each(taskIds, (store) => store.due(taskIds, inMs)),
    flush: (lane) => sum((store) => store.flush(lane)),
    unpark: (filter) => sum(async (store) => (await store.unpark?.(filter)) ?? 0),
    purge: (filter) => sum((store) => store.purge(filter)),
    purgeAll: () => sum((store) => store.purgeAll()),
    body: async (taskId) => (await all((store) => store.body(taskId))).find((body) => body !== undefined),
    get: async (taskId) => (await all((store) => store.get(taskId))).find((task) => task !== undefined),
    async find(key, principal) {
      const found = (await all((store) => store.find(key, principal))).flatMap((task) => task ?? [])
      return found.sort((a, b) => (a.taskId < b.taskId ? 1 : -1))[0]
    },
    list: async (filter) => merged(filter, await all((store) => store.list(filter))),
    async attempts(taskId, page) {
      const pages = await all((store) => store.attempts(taskId, page))
      return pages.find(({ attempts }) => attempts.length > 0) ?? { attempts: [] }
    },
    async history(taskId, most) {
      const all = await Promise.all(stores.map(async (store) => (await store.history?.(taskId, most)) ?? []))
      return all.find((lines) => lines.length > 0) ?? []
    },
    untold: async (limit, taskIds) =>
      (await all((store) => store.untold(limit, taskIds)))
        .flat()
        .sort((a, b) => a.endedAt - b.endedAt)
        .slice(0, limit),
    told: async (ends) => void (await all((store) => store.told(ends))),
    ...(first.room && {
      async room() {
        const rooms = (await all(async (store) => store.room?.())).flatMap((room) => room ?? [])
        return rooms.find(({ unsafe }) => unsafe !== undefined) ?? (rooms[0] as StoreRoom)
      },
    }),
    ...(first.now && { now: () => (first as Required<ApiStore>).now() }),
    counts: async () => countsTogether(await all((store) => store.counts())),
    async countsOf(principal) {
      const own = await all(async (store) => (await store.countsOf?.(principal)) ?? NONE)
      const of = (name: keyof OwnCounts): number => total(own.map((counts) => counts[name] ?? 0))
      return { pending: of('pending'), inFlight: of('inFlight'), exhausted: of('exhausted'), bytes: of('bytes') }
    },
    subscribe(listener) {
      const ends = stores.map((store) => store.subscribe?.(listener))
      return () => {
        for (const end of ends) end?.()
      }
    },
    registry: first.registry,
    pauses: {
      put: async (pause) => void (await all(({ pauses }) => pauses.put(pause))),
      lift: async (id) => (await all(({ pauses }) => pauses.lift(id))).includes(true),
      list: () => first.pauses.list(),
    },
    close: async () => void (await all((store) => store.close())),
  }
}

const NONE: OwnCounts = { pending: 0, inFlight: 0, exhausted: 0 }
const total = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0)

function countsTogether(all: readonly Counts[]): Counts {
  const of = (name: keyof Counts): number => total(all.map((counts) => counts[name] ?? 0))
  const [unreadable, pendingAside] = [of('unreadable'), of('pendingAside')]
  return {
    pending: of('pending'),
    inFlight: of('inFlight'),
    succeeded: of('succeeded'),
    exhausted: of('exhausted'),
    cancelled: of('cancelled'),
    purged: of('purged'),
    bytes: of('bytes'),
    ...(unreadable > 0 && { unreadable, pendingAside }),
  }
}

type Page = Awaited<ReturnType<TaskStore['list']>>

/** A page that has a cursor is known up to that id and no farther, and so is what is made of several. */
function merged({ order = 'rising', limit }: TaskFilter, pages: readonly Page[]): Page {
  const sign = order === 'rising' ? 1 : -1
  const compare = (a: string, b: string): number => (a < b ? -sign : a > b ? sign : 0)
  const [end] = pages.flatMap(({ cursor }) => cursor ?? []).sort(compare)
  const known = pages
    .flatMap(({ tasks }) => tasks)
    .filter(({ taskId }) => end === undefined || compare(taskId, end) <= 0)
    .sort((a, b) => compare(a.taskId, b.taskId))
  const tasks: readonly StoredTask[] = known.slice(0, Math.max(1, limit))
  const cursor = tasks.length < known.length ? tasks.at(-1)?.taskId : end
  return { tasks, ...(cursor !== undefined && { cursor }) }
}

/** The queues of the stores as the API sees them: one. */
export function oneQueue(queues: readonly ApiQueue[]): ApiQueue {
  const all = <T>(ask: (queue: ApiQueue) => Promise<T>): Promise<T[]> => Promise.all(queues.map(ask))
  return {
    async attempts(taskId, page) {
      const pages = await all((queue) => queue.attempts(taskId, page))
      return pages.find(({ attempts }) => attempts.length > 0) ?? { attempts: [] }
    },
    async cancel(taskId, scope) {
      const said = await all((queue) => queue.cancel(taskId, scope))
      return said.find((one) => one !== 'gone') ?? 'gone'
    },
    async explain(taskId, scope) {
      const said = await all((queue) => queue.explain(taskId, scope))
      return said.find((decisions) => decisions.length > 0) ?? []
    },
    flush: async () => total(await all((queue) => queue.flush())),
    stats(scope) {
      const each = queues.map((queue) => queue.stats(scope))
      const failingSince = each.flatMap(({ storeFailingSinceAt }) => storeFailingSinceAt ?? [])
      const origins: Record<string, OriginStats> = {}
      for (const stats of each) {
        for (const [origin, one] of Object.entries(stats.origins)) {
          const other = origins[origin]
          origins[origin] = other ? worse(other, one) : one
        }
      }
      return {
        capacity: total(each.map(({ capacity }) => capacity)),
        origins,
        ...(failingSince.length > 0 && { storeFailingSinceAt: Math.min(...failingSince) }),
      }
    },
  }
}

const CIRCUITS = ['CLOSED', 'HALF_OPEN', 'OPEN'] as const

/** Each runner learns by itself how a server does: shown is the one that has learned the worst. */
function worse(a: OriginStats, b: OriginStats): OriginStats {
  const later = (one: number | null, other: number | null): number | null =>
    one === null && other === null ? null : Math.max(one ?? 0, other ?? 0)
  const rank = Math.max(CIRCUITS.indexOf(a.circuit), CIRCUITS.indexOf(b.circuit))
  return {
    ...a,
    ...(b.gate && { gate: b.gate, gateUntilAt: b.gateUntilAt ?? null }),
    depth: a.depth + b.depth,
    inFlight: a.inFlight + b.inFlight,
    circuit: CIRCUITS[rank] ?? 'CLOSED',
    heldUntilAt: later(a.heldUntilAt, b.heldUntilAt),
    shutUntilAt: later(a.shutUntilAt, b.shutUntilAt),
    retryBudget: Math.min(a.retryBudget, b.retryBudget),
  }
}
