// Each way from a store to a server: a client for each kind of server, as the contract is run over them.
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { afterAll } from 'vitest'
import { redisStore } from '../../../js/stores/redis.ts'
import { type RedisCluster, type RedisServer, startCluster, startServer } from '../../redis/servers.ts'
import type { Open } from '../store-contract/kit.ts'

/** Stores over the client that `connect` makes, each with a name of its own. The server ends with the file. */
function opener(connect: () => Promise<unknown>): Open {
  let client: Promise<unknown> | undefined
  let stores = 0
  return async (terms) => {
    client ??= connect()
    return redisStore({ client: await client, name: `contract-${++stores}`, ...terms })
  }
}

export type Kind = 'node-redis' | 'ioredis'

export function singleServer(kind: Kind, binary?: string): Open {
  let server: RedisServer | undefined
  afterAll(() => server?.end())
  return opener(async () => {
    server = await startServer(binary === undefined ? {} : { binary })
    return kind === 'ioredis' ? new Redis(server.port, { lazyConnect: true }) : createClient({ url: server.url })
  })
}

export function cluster(kind: Kind): Open {
  let nodes: RedisCluster | undefined
  afterAll(() => nodes?.end())
  return opener(async () => {
    nodes = await startCluster()
    const addresses = nodes.nodes.map(({ address }) => address)
    return kind === 'ioredis'
      ? new Cluster(addresses, { lazyConnect: true })
      : createCluster({ rootNodes: addresses.map((socket) => ({ socket })) })
  })
}
