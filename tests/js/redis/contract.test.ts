// What every store passes, with the scripts in a real server. Over real clients it is run by contract-*.test.ts.
import { type RedisStoreOptions, redisStore } from '../../../js/stores/redis.ts'
import { SyncPort, syncConnection } from '../../redis/sync-port.ts'
import { storeContract } from '../store-contract.ts'

let stores = 0

const openAs = async (name: string, given: Omit<RedisStoreOptions, 'client' | 'name'>) =>
  redisStore({ client: new SyncPort(await syncConnection()), name, ...given })

storeContract('redis', (terms) => openAs(`contract-${++stores}`, terms), undefined, {
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
})
