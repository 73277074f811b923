/** Queues of one user over one SQLite file, one after another, whose rows a test may change in between. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { RetryQueueOptions } from '../../js/index.ts'
import { RetryQueue } from '../../js/index.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { closeNow, Events, NO_GATES, PLAIN_CURVE } from './setup.ts'

export function openSqlite() {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const folder = mkdtempSync(join(tmpdir(), 'redrive-credentials-'))
  const path = join(folder, 'tasks.db')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return {
    clock,
    server,
    path,
    async open(options: RetryQueueOptions = {}) {
      const policy = { ...PLAIN_CURVE, ...options.policy }
      const store = sqliteStore({ path, clock })
      const own = { clock, fetch: server.fetch, store, principal: 'ann', seed: 1n, ...NO_GATES }
      const queue = new RetryQueue({ ...own, ...options, policy })
      const events = new Events()
      events.listen(queue)
      let closed: Promise<void> | undefined
      const close = () => {
        closed ??= closeNow(queue, clock)
        return closed
      }
      onTestFinished(close)
      await queue.ready
      return { queue, events, close }
    },
  }
}
