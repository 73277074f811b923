/** Beside a file of SQLite that another program holds. The 50 ms are held to in virtual time: a machine that is busy is given more. */

import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pass } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { RetryQueue } from '../../js/index.ts'
import { systemClock } from '../../js/platform/clock.ts'
import { scriptedServer } from '../../js/testing.ts'
import { eventually } from './eventually.ts'
import { always, NO_GATES, ORDERS } from './setup.ts'
import { freshPath, openStore } from './sqlite/setup.ts'

const END_MS = 300
const MOST_MS = 1_500

const ENDS = ['an abort', 'AbortSignal.timeout', 'waitMs'] as const
const MODES = ['await', 'defer', 'enqueue'] as const

test.each(MODES.flatMap((mode) => ENDS.map((end) => [mode, end] as const)))('%s, %s', async (mode, end) => {
  const path = freshPath()
  const store = openStore(path)
  const server = scriptedServer({ clock: systemClock })
  always(server, 503)
  const policy = { initialDelayMs: 10, jitterType: 'NONE' } as const
  const queue = new RetryQueue({ fetch: server.fetch, store, principal: null, warn: false, ...NO_GATES, policy })
  onTestFinished(() => queue.close({ drainMs: 0 }))
  await queue.ready
  const other = new DatabaseSync(path)
  onTestFinished(() => other.close())
  other.exec('BEGIN IMMEDIATE')

  const controller = new AbortController()
  const left = new Error('the user left')
  if (end === 'an abort') setTimeout(() => controller.abort(left), END_MS)
  const signal = end === 'AbortSignal.timeout' ? AbortSignal.timeout(END_MS) : controller.signal
  const waits = end === 'waitMs' ? { waitMs: END_MS } : {}
  const began = performance.now()
  const init = { method: 'POST', body: 'A-1', signal }
  const call =
    mode === 'enqueue'
      ? queue.enqueue(ORDERS, { ...init, redrive: waits })
      : queue.fetch(ORDERS, { ...init, redrive: { ...waits, mode } })
  const told = await call.then(
    (given) => (given instanceof Response ? given.status : 'a receipt'),
    (error) => (error === left ? 'its reason' : (error.code ?? error.name)),
  )
  const patience = mode === 'defer' && end === 'waitMs' ? 2_000 : END_MS
  expect(performance.now() - began).toBeLessThan(patience + MOST_MS)
  const overdue = mode === 'enqueue' ? 'WAIT_EXCEEDED' : 503
  expect(told).toBe(end === 'an abort' ? 'its reason' : end === 'waitMs' ? overdue : signal.reason.code)

  const { hits } = server
  other.exec('COMMIT')
  await eventually(() => queue.stats().depth).toBe(0)
  await pass(200)
  // one that a turn has claimed before its caller's end was written goes back with the next turn
  await eventually(async () => (await store.list({ active: true, limit: 10 })).tasks).toEqual([])
  expect(server.hits).toBe(hits)
})
