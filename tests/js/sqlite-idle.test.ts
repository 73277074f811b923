/** A file in which nothing happens costs next to nothing, and what another process puts there is found all the same. */

import { symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { expect, onTestFinished, test, vi } from 'vitest'
import { RetryQueue } from '../../js/index.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { type FakeClock, fakeClock, scriptedServer } from '../../js/testing.ts'
import { heard, NO_GATES, ORDERS } from './setup.ts'
import { freshPath, openStore } from './sqlite/setup.ts'
import { claiming, succeeded, taskOf } from './sqlite/words.ts'

const SECONDS = 50

/** Counts every statement that SQLite is given. */
function countStatements(): () => number {
  const spies = [
    ...(['get', 'all', 'run', 'iterate'] as const).map((name) => vi.spyOn(StatementSync.prototype, name)),
    vi.spyOn(DatabaseSync.prototype, 'exec'),
  ]
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore()
  })
  return () => spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0)
}

async function openQueue(path: string, clock: FakeClock) {
  const server = scriptedServer({ clock })
  const store = sqliteStore({ path, clock })
  const queue = new RetryQueue({ clock, fetch: server.fetch, seed: 1n, principal: null, store, ...NO_GATES })
  const events = heard(queue, clock)
  await queue.ready
  return { queue, server, events }
}

async function pass(clock: FakeClock, seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) await clock.advance(1_000)
}

test.for([
  ['is empty', 200, {}],
  ['has only tasks that wait for later', 503, { 'retry-after': '3600' }],
] as const)('a queue that %s asks its file one question a second', async ([, status, headers]) => {
  const clock = fakeClock()
  const { queue, server } = await openQueue(freshPath(), clock)
  server.reply(status, headers)
  await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await pass(clock, 5)
  expect(server.hits).toBe(1)
  const count = countStatements()
  await pass(clock, SECONDS)
  expect(count()).toBeLessThanOrEqual(SECONDS)
})

test('L1 a task that another process puts into the file is found by the next look', async () => {
  const clock = fakeClock()
  const path = freshPath()
  const { server } = await openQueue(path, clock)
  await pass(clock, 10)
  server.reply(200)
  await openStoreUnheard(path, clock).enqueue([taskOf(1)])
  expect(server.hits).toBe(0)
  await pass(clock, 1)
  expect(server.hits).toBe(1)
})

test('retention goes on in a file that is idle, within a minute', async () => {
  const clock = fakeClock()
  const path = freshPath()
  const other = openStoreUnheard(path, clock)
  await other.enqueue([taskOf(1)])
  const { claimed } = await other.turn(claiming(1, 'other'))
  await other.turn({ owner: 'other', settle: claimed.map(({ lease }) => succeeded(lease)), renew: [], claim: null })
  await openQueue(path, clock)
  await pass(clock, 5)
  expect(await other.counts()).toMatchObject({ succeeded: 1, purged: 0 })
  clock.step(30 * 86_400_000)
  await pass(clock, 61)
  expect(await other.counts()).toMatchObject({ succeeded: 0, purged: 1 })
})

/** As from another process: those of one process hear each other by the path of the file, and this one comes by another. */
function openStoreUnheard(path: string, clock: FakeClock) {
  const link = join(dirname(path), 'same.db')
  writeFileSync(path, '', { flag: 'a' })
  symlinkSync(path, link)
  return openStore(link, { clock })
}
