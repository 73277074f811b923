/** The door of the durable chunk: opens a queue's store, and tries again where it cannot be opened. */

import { assertNotAborted } from '../platform/abort.ts'
import { random128 } from '../platform/random.ts'
import type { StoreModule } from '../runner/parts.ts'
import { storeAway } from '../runner/refusals.ts'
import { untilDone } from '../runner/until-done.ts'
import { StorePlace } from './admission.ts'
import { StoredTaskManager } from './manager.ts'
import { StoredTasks } from './stored-tasks.ts'

const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 30_000
/** A browser that refuses to store will most likely go on refusing: it is asked less and less often. */
const LAST_RETRY_IN_PAGES_MS = 3_600_000

export const openStore: StoreModule['openStore'] = async (pages, runner, admission) => {
  const { closing, host } = runner
  const { clock, name, store: given } = host.settings
  const store = typeof given === 'object' ? given : pages?.indexedDbStore({ name, clock })
  if (!store) return
  const closeUnopened = async (): Promise<void> => {
    // what it holds open, such as a connection, would keep the process; a closed queue has no listeners that could hear of a failure
    if (!runner.stored) await store.close().catch(() => {})
  }
  await untilDone(runner, FIRST_RETRY_MS, async () => {
    // closed meanwhile
    if (runner.stopped) return 0
    const tasks = new StoredTasks(store, random128(host.draw), runner)
    try {
      assertNotAborted(closing)
      runner.stored = tasks
      await tasks.begin()
      admission.place = new StorePlace(tasks, admission)
      admission.stored = new StoredTaskManager(tasks)
      host.changed?.({ others: true })
      return 0
    } catch (error) {
      runner.stored = undefined
      // its loop may have begun
      tasks.stop(error)
      runner.news?.goByNews()
      if (closing.aborted) {
        // the queue closed while the store opened
        await closeUnopened()
        return 0
      }
      closing.addEventListener('abort', closeUnopened)
      const until = 'until it can, tasks stay in memory, and end with the page or process'
      admission.obstacle = storeAway(`the store cannot be opened (${runner.words(error)})`)
      host.degraded('storage_unavailable', `${admission.obstacle.why}: ${until}`, 'memory')
      // another process may hold it for a while, or its disk be away: tasks that come later are to be stored
      return store.idleCheckMs === null ? LAST_RETRY_IN_PAGES_MS : LAST_RETRY_MS
    }
  })
}
