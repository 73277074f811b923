// Ports over real servers: what their tests share.
import type { Buffer } from 'node:buffer'
import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import { onTestFinished } from 'vitest'
import { portOf } from '../../../js/stores/redis/client.ts'
import type { RedisPort } from '../../../js/stores/redis/port.ts'
import { type RedisStoreOptions, redisStore } from '../../../js/stores/redis.ts'
import { type RedisServer, type ServerOptions, startServer } from '../../redis/servers.ts'

export const KEY = '{redrive:ports}:m'
export const CHANNEL = '{redrive:ports}:h'

export const alone = async (options: ServerOptions = {}): Promise<RedisServer> => {
  const server = await startServer(options)
  onTestFinished(() => server.end())
  return server
}

/** A store that is closed when its test ends. */
export function open(options: RedisStoreOptions): ReturnType<typeof redisStore> {
  const store = redisStore(options)
  onTestFinished(() => store.close())
  return store
}

export const quiet = <T extends { on(event: 'error', listener: () => void): unknown }>(client: T): T => {
  client.on('error', () => {})
  return client
}

type User = { readonly username?: string; readonly password?: string }
/** Clients of a cluster, of `user` where one is given. */
export const CLUSTER_CLIENTS: readonly (readonly [string, (nodes: readonly RedisServer[], user?: User) => unknown])[] =
  [
    [
      'node-redis',
      (nodes, defaults = {}) =>
        quiet(createCluster({ rootNodes: nodes.map(({ address }) => ({ socket: address })), defaults })),
    ],
    [
      'ioredis',
      (nodes, redisOptions = {}) => {
        const addresses = nodes.map(({ address }) => address)
        return quiet(new Cluster(addresses, { redisOptions, lazyConnect: true }))
      },
    ],
  ]

export function portTo(client: unknown, subscriber?: unknown): RedisPort {
  const port = portOf(client, subscriber)
  onTestFinished(() => port.close())
  return port
}

export const subscribe = (port: RedisPort, heard: (message: Buffer) => void): Promise<() => Promise<void>> => {
  if (!port.subscribe) throw new Error('this port hears nothing')
  return port.subscribe(CHANNEL, heard)
}
