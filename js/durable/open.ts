/** What only a queue with a store needs, as one chunk. */

import { errorText } from '../error-text.ts'
import { random128 } from '../ids.ts'
import type { StoreModule } from '../loader.ts'
import { afterIdle } from '../wake.ts'
import { StoredDesk } from './desk.ts'
import { Durable } from './durable.ts'
import { Keeping } from './keeping.ts'

const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 30_000

export const openStore: StoreModule['openStore'] = async (store, runner, intake, opened) => {
  const { closing, host } = runner
  const open = async (againMs: number): Promise<void> => {
    // closed meanwhile
    if (runner.stopped) return
    const durable = new Durable(store, random128(host.draw), runner)
    runner.durable = durable
    try {
      await durable.begin()
      intake.keeping = new Keeping(durable, intake)
      opened(new StoredDesk(durable))
    } catch (error) {
      runner.durable = undefined
      // it may have begun to look by itself
      durable.stop(error)
      if (closing.aborted) return
      const until = 'until it can, tasks stay in memory and end with the process'
      const message = `the store cannot be opened (${errorText(error)}): ${until}`
      host.degraded('storage_unavailable', message, 'memory')
      // another process may hold it for a while, or its disk be away: tasks that come later are to be stored
      const disarm = afterIdle(host.settings.clock, againMs, () => {
        closing.removeEventListener('abort', disarm)
        void open(Math.min(LAST_RETRY_MS, againMs * 2))
      })
      closing.addEventListener('abort', disarm)
    }
  }
  await open(FIRST_RETRY_MS)
}
