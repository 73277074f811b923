/** What only a queue with a store needs, as one chunk. */

import { random128 } from '../ids.ts'
import type { StoreModule } from '../loader.ts'
import { StoredDesk } from './desk.ts'
import { Durable } from './durable.ts'
import { Keeping } from './keeping.ts'

export const openStore: StoreModule['openStore'] = async (store, runner, intake) => {
  const durable = new Durable(store, random128(runner.host.draw), runner)
  runner.durable = durable
  try {
    await durable.begin()
  } catch (error) {
    runner.durable = undefined
    throw error
  }
  intake.keeping = new Keeping(durable, intake)
  return new StoredDesk(durable)
}
