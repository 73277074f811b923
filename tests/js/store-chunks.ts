/** Ways to the chunks that only a queue with a store needs, as an entry gives them. */

import type { StoreModule } from '../../js/runner/manager.ts'
import type { PageStoreModule } from '../../js/runner/stored.ts'

export const storeChunks: [() => Promise<StoreModule>, () => Promise<PageStoreModule>] = [
  () => import('../../js/durable/open.ts'),
  () => import('../../js/stores/indexeddb.ts'),
]
