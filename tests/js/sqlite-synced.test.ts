// Nothing is said to be kept before the disk has it, and nothing else of the process waits for the disk.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { fakeClock } from '../../js/testing.ts'
import { freshPath, openStore } from './sqlite/setup.ts'
import { claiming, succeeded, taskOf } from './sqlite/words.ts'

type Ended = (error: NodeJS.ErrnoException | null) => void

/** Syncs of logs, each of which ends when the test says so. */
function heldSyncs(): Ended[] {
  const held: Ended[] = []
  const sync = vi.spyOn(fs, 'fdatasync').mockImplementation((_file, ended) => {
    held.push(ended)
  })
  syncBuiltinESMExports()
  onTestFinished(() => {
    sync.mockRestore()
    syncBuiltinESMExports()
  })
  return held
}

const FAILED = Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })
const UNSYNCED = { code: 'STORAGE_UNAVAILABLE', message: expect.stringContaining('did not confirm') }

/** The names of those that have their answer, by now and later, in the order of the answers. */
function answersTo(asked: Readonly<Record<string, Promise<unknown>>>): string[] {
  const answered: string[] = []
  for (const [name, promise] of Object.entries(asked)) {
    const ended = () => {
      answered.push(name)
    }
    promise.then(ended, ended)
  }
  return answered
}

/** Until nothing happens any more but for the disk. */
async function rounds(): Promise<void> {
  for (let n = 0; n < 20; n++) await setImmediate()
}

test('S1 an enqueue is answered once a sync has ended that began after its commit', async () => {
  const syncs = heldSyncs()
  const store = openStore(freshPath())
  const first = store.enqueue([taskOf(1)])
  await rounds()
  // finds its task, and has nothing to write
  const again = store.enqueue([taskOf(1)])
  await rounds()
  const second = store.enqueue([taskOf(2)])
  await rounds()
  const answered = answersTo({ first, again, second })
  await rounds()
  expect([syncs.length, answered]).toEqual([1, []])
  syncs[0]?.(null)
  await rounds()
  expect([syncs.length, answered]).toEqual([2, ['first']])
  syncs[1]?.(null)
  await rounds()
  expect([syncs.length, answered]).toEqual([2, ['first', 'again', 'second']])
  expect(await again).toMatchObject([{ outcome: 'duplicate' }])
})

test('turns and reads wait for no sync, and a turn claims what is being synced', async () => {
  const syncs = heldSyncs()
  const store = openStore(freshPath())
  const enqueued = store.enqueue([taskOf(1)])
  const { claimed } = await store.turn(claiming(1))
  expect(claimed).toHaveLength(1)
  const settle = claimed.map(({ lease }) => succeeded(lease))
  expect((await store.turn({ ...claiming(1), settle })).settled).toEqual(['applied'])
  expect(await store.counts()).toMatchObject({ succeeded: 1 })
  expect(answersTo({ enqueued })).toEqual([])
  syncs[0]?.(null)
  expect(await enqueued).toMatchObject([{ outcome: 'stored' }])
})

test('all posts that come during a sync share the next one, however many transactions they are', async () => {
  const syncs = heldSyncs()
  const store = openStore(freshPath())
  const first = store.enqueue([taskOf(0)])
  await rounds()
  const others = Array.from({ length: 100 }, (_, n) => store.enqueue([taskOf(n + 1)]))
  await rounds()
  syncs[0]?.(null)
  await first
  syncs[1]?.(null)
  await Promise.all(others)
  expect(syncs).toHaveLength(2)
})

test('S1 where a sync fails, none that waits for it or for the next one is answered as stored', async () => {
  const syncs = heldSyncs()
  const store = openStore(freshPath())
  const first = store.enqueue([taskOf(1)])
  await rounds()
  const second = store.enqueue([taskOf(2)])
  await rounds()
  const outcomes = Promise.allSettled([first, second])
  syncs[0]?.(FAILED)
  expect(await outcomes).toMatchObject([
    { status: 'rejected', reason: UNSYNCED },
    { status: 'rejected', reason: UNSYNCED },
  ])
  expect(syncs).toHaveLength(1)
  // what is there goes on
  expect((await store.turn(claiming(2))).claimed).toHaveLength(2)
})

test('S1 after a sync that failed nothing is taken before the file has all that the log had', async () => {
  const syncs = heldSyncs()
  const path = freshPath()
  const store = openStore(path)
  const first = store.enqueue([taskOf(1)])
  await rounds()
  const other = new DatabaseSync(path)
  onTestFinished(() => other.close())
  other.exec('BEGIN; SELECT * FROM tasks')
  syncs[0]?.(FAILED)
  await expect(first).rejects.toMatchObject(UNSYNCED)
  // the log cannot be emptied while another reads in it
  await expect(store.enqueue([taskOf(2)])).rejects.toMatchObject(UNSYNCED)
  other.exec('COMMIT')
  const third = store.enqueue([taskOf(3)])
  await rounds()
  syncs[1]?.(null)
  expect(await third).toMatchObject([{ outcome: 'stored' }])
  expect(await store.counts()).toMatchObject({ pending: 2 })
})

test('close waits for what is being synced', async () => {
  const syncs = heldSyncs()
  const store = openStore(freshPath())
  const enqueued = store.enqueue([taskOf(1)])
  await rounds()
  const closed = store.close()
  const answered = answersTo({ enqueued, closed })
  await rounds()
  expect(answered).toEqual([])
  syncs[0]?.(null)
  await closed
  expect(answered).toEqual(['enqueued', 'closed'])
})

test('in the time of a clock that a test moves a commit takes none', async () => {
  const syncs = heldSyncs()
  const store = sqliteStore({ path: freshPath(), clock: fakeClock() })
  onTestFinished(() => store.close())
  expect(await store.enqueue([taskOf(1)])).toMatchObject([{ outcome: 'stored' }])
  expect(syncs).toEqual([])
})
