// What every store passes, over the clients that users have, to each kind of server.
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { afterAll } from 'vitest'
import { type RedisStoreOptions, redisStore } from '../../../js/stores/redis.ts'
import { type RedisCluster, type RedisServer, startCluster, startServer, valkeyProgram } from '../../redis/servers.ts'
import { sharedStoreContract } from '../store-contract.ts'

const RUNS = 20

/** Over the client that `connect` makes. The server ends with the file. */
function contractOver(name: string, connect: () => Promise<unknown>): void {
  let client: Promise<unknown> | undefined
  let stores = 0
  const openIn = async (place: string, terms: Omit<RedisStoreOptions, 'client' | 'name'>) => {
    client ??= connect()
    return redisStore({ client: await client, name: place, ...terms })
  }
  sharedStoreContract(name, () => `contract-${++stores}`, openIn, RUNS)
}

type Kind = 'node-redis' | 'ioredis'

function singleServer(kind: Kind, binary?: string): () => Promise<unknown> {
  let server: RedisServer | undefined
  afterAll(() => server?.end())
  return async () => {
    server = await startServer(binary === undefined ? {} : { binary })
    return kind === 'ioredis' ? new Redis(server.port, { lazyConnect: true }) : createClient({ url: server.url })
  }
}

function cluster(kind: Kind): () => Promise<unknown> {
  let nodes: RedisCluster | undefined
  afterAll(() => nodes?.end())
  return async () => {
    nodes = await startCluster()
    const addresses = nodes.nodes.map(({ address }) => address)
    return kind === 'ioredis'
      ? new Cluster(addresses, { lazyConnect: true })
      : createCluster({ rootNodes: addresses.map((socket) => ({ socket })) })
  }
}

const valkey = valkeyProgram()
if (valkey === undefined) throw new Error('no valkey-server: npm test installs one; VALKEY_PATH names another')

contractOver('redis, node-redis', singleServer('node-redis'))
contractOver('redis, ioredis', singleServer('ioredis'))
contractOver('redis, node-redis, a cluster', cluster('node-redis'))
contractOver('redis, ioredis, a cluster', cluster('ioredis'))
contractOver('valkey, ioredis', singleServer('ioredis', valkey))
