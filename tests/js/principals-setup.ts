/** A queue of one user after another, on a real file and virtual time. */

import type { TaskStore } from '../../js/api/store.ts'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { type FakeClock, fakeClock, type ScriptedServer, scriptedServer } from '../../js/testing.ts'
import { closeNow, type Events, type HitsAfter, heard, hitsOf, PLAIN_CURVE } from './setup.ts'
import { QUICK_FOLDER } from './sqlite/quick-folder.ts'
import { freshPath, openStore } from './sqlite/setup.ts'

export interface Device {
  readonly clock: FakeClock
  readonly server: ScriptedServer
  /** For looking into the file; queues have one each. */
  readonly store: TaskStore
  open(options?: RetryQueueOptions): Promise<{ readonly queue: RetryQueue; readonly events: Events }>
  close(queue: RetryQueue): Promise<void>
  readonly hitsAfter: HitsAfter
}

export const DAY_MS = 86_400_000
/** Longer than any wait of a test, shorter than any budget. */
export const LONG_MS = 60_000

export function device(): Device {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const path = freshPath(QUICK_FOLDER)
  const store = openStore(path, { clock })
  return {
    clock,
    server,
    store,
    async open(options = {}) {
      const policy = { ...PLAIN_CURVE, ...options.policy }
      const given = { clock, fetch: server.fetch, store: sqliteStore({ path, clock }), principal: 'ann', seed: 1n }
      const queue = new RetryQueue({ ...given, ...options, policy })
      const events = heard(queue, clock)
      await queue.ready
      return { queue, events }
    },
    close: (queue) => closeNow(queue, clock),
    hitsAfter: hitsOf(clock, server),
  }
}
