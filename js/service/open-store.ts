/** Opens the store that an address names. Clients of Redis come with it, and only where they are needed. */

import { RedriveError, type TaskStore } from 'redrive'
import { systemClock } from 'redrive/internal'
import {
  accountIn,
  type ClusterUrl,
  clusterUrl,
  refusalIn,
  type SentinelUrl,
  sentinelUrl,
  withoutLogin,
} from './redis-urls.ts'

export interface OpenedStore {
  /** One for each partition. */
  readonly stores: readonly [TaskStore, ...TaskStore[]]
  /** The address without its user and password, for people. */
  readonly shown: string
  /** Ends what the store stands on, after the store was closed. Never rejects. */
  close(): Promise<void>
}

/** Longest wait for the first connection. */
const CONNECT_MS = 5_000

/**
 * `url`: `sqlite:PATH`, `redis[s]://...`, `redis-sentinel://HOST:PORT,HOST:PORT/NAME`,
 * `redis-cluster://HOST:PORT,HOST:PORT` or `memory:`. `name`: of the queue in it; of a
 * file it is no part. `partitions`: of a Redis, the first of them has the name itself and the others the name with `.1`, `.2` and so on.
 * Rejects with 'STORAGE_UNAVAILABLE' where it cannot be reached.
 */
export async function openStore(url: string, name: string, partitions = 1): Promise<OpenedStore> {
  if (url === 'memory:') {
    const { memoryStore } = await import('redrive/memory')
    return { stores: [memoryStore({ everyone: true })], shown: url, close: async () => {} }
  }
  if (url.startsWith('sqlite:')) {
    const { sqliteStore } = await import('redrive/sqlite')
    return {
      stores: [sqliteStore({ path: url.slice('sqlite:'.length), everyone: true })],
      shown: url,
      close: async () => {},
    }
  }
  return openRedis(url, name, partitions)
}

async function openRedis(url: string, name: string, partitions: number): Promise<OpenedStore> {
  const [{ redisStore }, { createClient, createCluster, createSentinel }] = await Promise.all([
    import('redrive/redis'),
    import('./redis-clients.ts'),
  ])
  const shown = withoutLogin(url)
  const socket = { connectTimeout: CONNECT_MS }
  const [watched, divided] = [sentinelUrl(url), clusterUrl(url)]
  const client = watched
    ? createSentinel(sentinelOptions(watched, shown))
    : divided
      ? createCluster(clusterOptions(divided))
      : createClient({ url, socket, disableOfflineQueue: true })
  let fault: unknown
  // node-redis ends the process where it has no listener, and connects again by itself
  client.on('error', (error) => {
    fault = error
  })
  const connecting = client.connect()
  const late = new Promise<never>((_, reject) => {
    const expire = () => reject(fault ?? new Error(`no answer within ${CONNECT_MS} ms`))
    const disarm = systemClock.after(CONNECT_MS, expire)
    connecting.then(disarm, disarm)
  })
  // of a cluster each node tells its own
  client.on('node-error', (error) => {
    fault = error
  })
  try {
    await Promise.race([connecting, late])
  } catch (error) {
    client.destroy()
    const { message } = error as Error
    const what = refusalIn(message) ?? `cannot be reached (${message}): start it, or name another with --store`
    throw new RedriveError('STORAGE_UNAVAILABLE', `${shown} ${what}`, { cause: error })
  }
  const named = (own: string): TaskStore => redisStore({ client, name: own, everyone: true })
  try {
    const others = Array.from({ length: partitions - 1 }, (_, n) => named(`${name}.${n + 1}`))
    return { stores: [named(name), ...others], shown, close: async () => client.destroy() }
  } catch (error) {
    client.destroy()
    throw error
  }
}

/** The options of a client that asks Sentinel where the primary is. */
function sentinelOptions({ login, sentinels, name }: SentinelUrl, shown: string) {
  if (name === '') {
    throw new RedriveError(
      'STORE_UNKNOWN',
      `${shown}: expected redis-sentinel://HOST:PORT,HOST:PORT/NAME-OF-THE-PRIMARY`,
    )
  }
  const nodeClientOptions = { ...accountIn(login), disableOfflineQueue: true }
  return { name, sentinelRootNodes: [...sentinels], nodeClientOptions }
}

/** The options of a client that any of these nodes tells about the others. */
function clusterOptions({ login, nodes }: ClusterUrl) {
  const socket = { connectTimeout: CONNECT_MS }
  return {
    rootNodes: nodes.map((node) => ({ socket: { ...socket, ...node } })),
    defaults: { ...accountIn(login), socket, disableOfflineQueue: true },
    // one that is away is no matter until it is asked
    minimizeConnections: true,
  }
}
