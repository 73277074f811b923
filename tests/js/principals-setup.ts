/** A queue of one user after another, on a real file and virtual time. */

import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { TaskStore } from '../../js/api/store.ts'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { type FakeClock, fakeClock, type ScriptedServer, scriptedServer } from '../../js/testing.ts'
import { closeNow, Events, PLAIN_CURVE } from './setup.ts'
import { QUICK_FOLDER } from './sqlite/quick-folder.ts'

export interface Device {
  readonly clock: FakeClock
  readonly server: ScriptedServer
  /** For looking into the file; queues have one each. */
  readonly store: TaskStore
  open(options?: RetryQueueOptions): Promise<{ readonly queue: RetryQueue; readonly events: Events }>
  close(queue: RetryQueue): Promise<void>
}

export const DAY_MS = 86_400_000
/** Longer than any wait of a test, shorter than any budget. */
export const LONG_MS = 60_000

export function device(): Device {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const folder = mkdtempSync(join(QUICK_FOLDER, 'redrive-principals-'))
  const path = join(folder, 'tasks.db')
  const store = sqliteStore({ path, clock })
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })
  return {
    clock,
    server,
    store,
    async open(options = {}) {
      const policy = { ...PLAIN_CURVE, ...options.policy }
      const given = { clock, fetch: server.fetch, store: sqliteStore({ path, clock }), principal: 'ann', seed: 1n }
      const queue = new RetryQueue({ ...given, ...options, policy })
      const events = new Events()
      events.listen(queue)
      onTestFinished(() => closeNow(queue, clock))
      await queue.ready
      return { queue, events }
    },
    close: (queue) => closeNow(queue, clock),
  }
}
