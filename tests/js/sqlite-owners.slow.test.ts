// Leases of processes that are gone; the core of it is in sqlite-processes.test.ts. The processes and their ends are real, the time in which they are noticed is not.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import type { TaskStore } from '../../js/api/store.ts'
import { RetryQueue } from '../../js/index.ts'
import { OwnerLocks } from '../../js/stores/sqlite/owner-locks.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { type FakeClock, fakeClock, scriptedServer } from '../../js/testing.ts'
import { kill, linesOf, start } from './processes/run.ts'
import { closeNow, NO_GATES } from './setup.ts'
import { freshPath, holder, openStore } from './sqlite/setup.ts'
import { claiming, succeeded, taskOf } from './sqlite/words.ts'

const LEASE_MS = 30_000
const CHECK_MS = 1_000

interface World {
  readonly path: string
  readonly folder: string
  readonly clock: FakeClock
  readonly store: TaskStore
  /** Tasks that a turn of this process claims. */
  claim(owner?: string): Promise<number>
}

/** A file with two tasks. */
async function setup(path = freshPath()): Promise<World> {
  const clock = fakeClock()
  const store = openStore(path, { clock, idleCheckMs: CHECK_MS })
  await store.enqueue([taskOf(1), taskOf(2)])
  const claim = async (owner = 'here') => (await store.turn(claiming(100, owner))).claimed.length
  return { path, folder: `${path}-owners`, clock, store, claim }
}

test('L2 a busy process looks once in half an idle check, however many turns it makes', async () => {
  const { path, clock, claim } = await setup()
  const child = await holder(path, 2)
  await claim()
  await kill(child)
  await clock.advance(CHECK_MS / 2 - 1)
  expect(await claim()).toBe(0)
  await clock.advance(1)
  expect(await claim()).toBe(2)
})

test('S3 a process that is stopped keeps its leases until they run out', async () => {
  const { path, clock, claim } = await setup()
  const child = await holder(path, 2)
  child.kill('SIGSTOP')
  await clock.advance(LEASE_MS - 1)
  expect(await claim()).toBe(0)
  await clock.advance(1)
  expect(await claim()).toBe(2)
})

test('L3 a killed process is no home any more, and what was left to it is claimed', async () => {
  const { path, clock, store } = await setup()
  await store.enqueue([taskOf(3, { home: 'there', dueInMs: 5_000 })])
  const child = await holder(path, 2, 'there', 'home')
  await clock.advance(5_000)
  expect(await store.homes?.live()).toEqual(['there'])
  await kill(child)
  await clock.advance(CHECK_MS)
  expect(await store.homes?.live()).toEqual([])
  const { claimed } = await store.turn(claiming(100, 'here'))
  expect(claimed).toHaveLength(3)
})

test('L2 L3 an idle queue sends what a killed process had in flight within two checks', async () => {
  const { path, clock, store } = await setup()
  const child = await holder(path, 2)
  const server = scriptedServer({ clock }).reply(200).reply(200)
  const queue = new RetryQueue({ clock, fetch: server.fetch, principal: null, store, ...NO_GATES })
  onTestFinished(() => closeNow(queue, clock))
  await queue.ready
  await clock.advance(10 * CHECK_MS)
  expect(server.hits).toBe(0)
  await kill(child)
  await clock.advance(2 * CHECK_MS)
  expect(server.hits).toBe(2)
})

test('L2 a path that is a link leads to the same locks', async () => {
  const { path, clock } = await setup()
  const child = await holder(path, 2)
  symlinkSync(path, `${path}-link`)
  const other = openStore(`${path}-link`, { clock })
  expect((await other.turn(claiming(100, 'other'))).claimed).toHaveLength(0)
  await kill(child)
  await clock.advance(CHECK_MS)
  expect((await other.turn(claiming(100, 'other'))).claimed).toHaveLength(2)
})

test('L2 a clock that was set back by a day does not hold up a takeover', async () => {
  const { path, clock, claim } = await setup()
  const child = await holder(path, 2)
  await claim()
  clock.step(-86_400_000)
  await kill(child)
  await clock.advance(CHECK_MS)
  expect(await claim()).toBe(2)
})

test('S4 what comes from a process after its leases were taken back changes nothing but a success', async () => {
  const { store, clock, path } = await setup()
  const { claimed } = await store.turn(claiming(100, 'here'))
  // this process looks gone: its lock is let go of as the system lets go of it
  const other = openStore(path, { clock })
  const folder = `${path}-owners`
  const [own = ''] = readdirSync(folder)
  renameSync(join(folder, own), `${path}-kept`)
  writeFileSync(join(folder, own), '')
  const taken = await other.turn(claiming(100, 'other'))
  expect(taken.claimed).toHaveLength(2)
  const [first, second] = claimed
  if (!first || !second) throw new Error('nothing was claimed')
  const failed = { ...succeeded(first.lease), next: { kind: 'retry', delayMs: 0 } as const }
  const { settled, renewed } = await store.turn({
    owner: 'here',
    settle: [failed, succeeded(second.lease)],
    renew: [first.lease],
    claim: null,
  })
  expect(settled).toEqual(['stale', 'applied'])
  expect(renewed).toEqual(['lost'])
})

test('S3 of two store objects in one process neither takes the other for gone', async () => {
  const { path, clock, claim } = await setup()
  const other = openStore(path, { clock })
  expect((await other.turn(claiming(100, 'other'))).claimed).toHaveLength(2)
  await clock.advance(CHECK_MS)
  expect(await claim()).toBe(0)
})

test('S3 L2 a thread holds its leases for as long as it runs, in the eyes of its own process too', async () => {
  const { path, clock, claim } = await setup()
  const thread = new Worker(new URL('./sqlite/holder.ts', import.meta.url), { workerData: [path, 'thread', 'runner'] })
  onTestFinished(() => void thread.terminate())
  expect(await once(thread, 'message')).toEqual([2])
  expect(await claim()).toBe(0)
  expect(seenByOthers(path)).toBe(0)
  await thread.terminate()
  await clock.advance(CHECK_MS)
  expect(await claim()).toBe(2)
})

/** Tasks that one more process can claim. */
function seenByOthers(path: string): number {
  const script = new URL('./sqlite/taker.ts', import.meta.url).pathname
  const { stdout } = spawnSync(process.execPath, [script, path], { encoding: 'utf8' })
  return Number(stdout)
}

test('S3 a store that two queues use keeps the leases of one when the other closes it', async () => {
  const { path, clock, store, claim } = await setup()
  expect(await claim()).toBe(2)
  await store.close()
  await clock.advance(CHECK_MS)
  expect(seenByOthers(path)).toBe(0)
})

test('S3 an owner that two processes have by mistake is gone when both are', async () => {
  const { path, clock, store, claim } = await setup()
  const first = await holder(path, 2, 'twin')
  await store.enqueue([taskOf(3)])
  const second = await holder(path, 1, 'twin')
  await kill(first)
  await clock.advance(CHECK_MS)
  expect(await claim()).toBe(0)
  await kill(second)
  await clock.advance(CHECK_MS)
  expect(await claim()).toBe(3)
})

test('nothing is left beside a file once its last store is closed', async () => {
  const path = freshPath()
  const stores = ['one', 'two'].map((owner) => ({ owner, store: sqliteStore({ path, clock: fakeClock() }) }))
  for (const { owner, store } of stores) await store.turn(claiming(1, owner))
  expect(readdirSync(`${path}-owners`)).toHaveLength(2)
  for (const { store } of stores) await store.close()
  expect(readdirSync(dirname(path))).toEqual(['tasks.db'])
})

test('a store that claims nothing makes no lock', async () => {
  const { folder, store } = await setup()
  await store.counts()
  await store.turn({ owner: 'here', settle: [], renew: [], claim: null })
  expect(existsSync(folder)).toBe(false)
})

test('the files of killed processes are removed, those without leases too', async () => {
  const { path, clock, claim, folder } = await setup()
  await claim()
  const idle = [await holder(path, 0, 'idle-1'), await holder(path, 0, 'idle-2')]
  expect(readdirSync(folder)).toHaveLength(3)
  for (const child of idle) await kill(child)
  await clock.advance(CHECK_MS)
  await claim()
  expect(readdirSync(folder)).toHaveLength(1)
})

test('a lock is held in the file that others see, though they remove what they find free while it is made', async () => {
  const path = freshPath()
  writeFileSync(path, '', { mode: 0o600 })
  const rounds = linesOf(start('sqlite/remover.ts', path))
  await rounds.next()
  const locks = new OwnerLocks(path)
  for (let batch = 0; batch < 10; batch++) {
    const owners = Array.from({ length: 30 }, (_, n) => `owner-${n}`).filter((owner) => locks.take(owner))
    // three made in vain one after another is bad luck that a queue bears
    expect(owners.length).toBeGreaterThan(20)
    for (let looks = 0; looks < 3; looks++) await rounds.next()
    const seen = readdirSync(`${path}-owners`).map((name) => name.slice(18))
    expect(seen.sort()).toEqual(owners.sort())
    for (const owner of owners) locks.drop(owner)
  }
})

test('S12 locks hold nothing, and no other user may open them', async () => {
  const { claim, folder } = await setup()
  await claim()
  const [lock = ''] = readdirSync(folder)
  const { mode, size } = statSync(join(folder, lock))
  expect({ mode: mode & 0o777, size }).toEqual({ mode: 0o600, size: 0 })
  expect(statSync(folder).mode & 0o777).toBe(0o700)
})

test('a group that may write the file may see who is gone', async () => {
  const { path, claim, folder } = await setup()
  chmodSync(path, 0o660)
  await claim()
  const [lock = ''] = readdirSync(folder)
  expect(statSync(join(folder, lock)).mode & 0o777).toBe(0o660)
  expect(statSync(folder).mode & 0o777).toBe(0o770)
})

/** The other process has the lock in a folder that says nothing to this one, or none. */
const UNSEEN: readonly (readonly [how: string, before: (path: string) => void, after: (path: string) => void])[] = [
  ['could not make its lock', (path) => writeFileSync(`${path}-owners`, ''), () => {}],
  [
    'has a folder into which all may write',
    (path) => {
      mkdirSync(`${path}-owners`)
      chmodSync(`${path}-owners`, 0o777)
    },
    () => {},
  ],
  [
    'runs under another kernel, whose locks do not reach this one',
    () => {},
    (path) => {
      const [lock = ''] = readdirSync(`${path}-owners`)
      renameSync(join(`${path}-owners`, lock), join(`${path}-owners`, `00000000${lock.slice(8)}`))
    },
  ],
  ['lost its lock to a hand that deletes files', () => {}, (path) => renameSync(`${path}-owners`, `${path}-elsewhere`)],
]

test.each(UNSEEN)('L2 S3 a killed process that %s: its leases run out', async (_, before, after) => {
  const path = freshPath()
  before(path)
  const { clock, claim } = await setup(path)
  const child = await holder(path, 2)
  after(path)
  await kill(child)
  await clock.advance(LEASE_MS - 1)
  expect(await claim()).toBe(0)
  await clock.advance(1)
  expect(await claim()).toBe(2)
})

/** What may become of the folder of locks while processes use it. */
const TAKEN: readonly (readonly [how: string, (folder: string) => void])[] = [
  ['deleted', (folder) => rmSync(folder, { recursive: true })],
  [
    'emptied',
    (folder) => {
      for (const name of readdirSync(folder)) rmSync(join(folder, name))
    },
  ],
  ['moved away', (folder) => renameSync(folder, `${folder}-elsewhere`)],
]

test.each(TAKEN)('L2 a folder of locks that was %s is made anew by the next turn that claims', async (_, take) => {
  const { path, folder, store, claim, clock } = await setup()
  expect(await claim()).toBe(2)
  take(folder)
  await store.turn(claiming(1, 'here'))
  expect(readdirSync(folder)).toHaveLength(1)
  // and held: a process that looks takes nothing
  await clock.advance(CHECK_MS)
  expect(seenByOthers(path)).toBe(0)
})

test.runIf(process.getuid?.() === 0)("what root makes beside the file of another user is that user's", async () => {
  const { path, folder, claim, store } = await setup()
  chownSync(path, 65_534, 65_533)
  rmSync(`${path}-reserve`)
  await store.enqueue([taskOf(3)])
  await claim()
  const [lock = ''] = readdirSync(folder)
  for (const made of [folder, join(folder, lock), `${path}-reserve`]) {
    expect(statSync(made)).toMatchObject({ uid: 65_534, gid: 65_533 })
  }
})

test('locks that another kernel has left behind are removed after a day', async () => {
  const { clock, claim, folder } = await setup()
  mkdirSync(folder, { mode: 0o700 })
  const [old, young] = ['00000000-00000000-old', '00000000-00000000-young']
  for (const name of [old, young]) writeFileSync(join(folder, name), '')
  const yesterday = clock.now() / 1_000 - 86_401
  utimesSync(join(folder, old), yesterday, yesterday)
  utimesSync(join(folder, young), yesterday + 2, yesterday + 2)
  await claim()
  expect(readdirSync(folder)).not.toContain(old)
  expect(readdirSync(folder)).toContain(young)
})
