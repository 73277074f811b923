// What every store passes, with the scripts in a real server. Over real clients it is run by contract-*.test.ts.
import { redisStore } from '../../../js/stores/redis.ts'
import { SyncPort, syncConnection } from '../../redis/sync-port.ts'
import { storeContract } from '../store-contract.ts'

let stores = 0

storeContract('redis', async (terms) => {
  return redisStore({ client: new SyncPort(await syncConnection()), name: `contract-${++stores}`, ...terms })
})
