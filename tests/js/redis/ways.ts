// Each way from a store to a server: a client for each kind of server, as the contract is run over them.
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { afterAll } from 'vitest'
import { type RedisStoreOptions, redisStore } from '../../../js/stores/redis.ts'
import { type RedisCluster, type RedisServer, startCluster, startServer } from '../../redis/servers.ts'
import type { Open } from '../store-contract/kit.ts'
import { type Also, storeContract } from '../store-contract.ts'

/** A way to open stores, as the contract asks for them. */
interface Way extends Required<Also> {
  readonly open: Open
}

const RUNS = 20

export const contractOver = (name: string, { open, ...also }: Way): void => storeContract(name, open, RUNS, also)

/** Stores over the client that `connect` makes, each with a name of its own. The server ends with the file. */
function opener(connect: () => Promise<unknown>): Way {
  let client: Promise<unknown> | undefined
  let stores = 0
  const openAs = async (name: string, given: Omit<RedisStoreOptions, 'client' | 'name'>) => {
    client ??= connect()
    return redisStore({ client: await client, name, ...given })
  }
  return {
    open: (terms) => openAs(`contract-${++stores}`, terms),
    everyone: (terms) => openAs(`contract-${++stores}`, { ...terms, everyone: true }),
    async pair(terms) {
      const name = `contract-${++stores}`
      return [await openAs(name, terms), await openAs(name, terms)]
    },
    async pairOfAll(terms) {
      const name = `contract-${++stores}`
      const all = { ...terms, everyone: true } as const
      return [await openAs(name, all), await openAs(name, all)]
    },
  }
}

export type Kind = 'node-redis' | 'ioredis'

export function singleServer(kind: Kind, binary?: string): Way {
  let server: RedisServer | undefined
  afterAll(() => server?.end())
  return opener(async () => {
    server = await startServer(binary === undefined ? {} : { binary })
    return kind === 'ioredis' ? new Redis(server.port, { lazyConnect: true }) : createClient({ url: server.url })
  })
}

export function cluster(kind: Kind): Way {
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
