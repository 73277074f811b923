// What every store passes, with the scripts in a real server. Over real clients: contract-ways.slow.test.ts.
import { redisStore } from '../../../js/stores/redis.ts'
import { SyncPort, syncConnection } from '../../redis/sync-port.ts'
import { bySize } from '../../size.ts'
import { sharedStoreContract } from '../store-contract.ts'

let stores = 0

sharedStoreContract(
  'redis',
  () => `contract-${++stores}`,
  async (name, terms) => redisStore({ client: new SyncPort(await syncConnection()), name, ...terms }),
  // each call goes to a server: fewer cases in quick
  bySize(24, 200),
)
