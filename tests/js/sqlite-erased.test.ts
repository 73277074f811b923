/** S12: what was deleted is in no byte of the file, nor of those beside it, and no other user of the machine can read them. */

import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import type { NewTask, TaskStore } from '../../js/api/store.ts'
import { type FakeClock, fakeClock } from '../../js/testing/clock.ts'
import { QUICK_FOLDER } from './sqlite/quick-folder.ts'
import { freshPath, openStore } from './sqlite/setup.ts'
import { claimOf, succeeded, taskOf } from './sqlite/words.ts'

const STEP = { owner: 'test', settle: [], renew: [] } as const
const FILES = ['', '-wal', '-shm', '-journal']

/** Words that only task `n` has: in its URL, a header, its body, its key, its log. */
const canariesOf = (n: number) => ['url', 'header', 'body', 'key', 'log'].map((part) => `canary-${part}-${n}-`)

function marked(n: number, bodyBytes = 20): NewTask {
  const [url = '', header = '', body = '', key = '', log = ''] = canariesOf(n)
  return taskOf(n, {
    targetUrl: `https://api.test/orders?q=${url}`,
    headers: { 'content-type': header },
    body: new TextEncoder().encode(body.padEnd(bodyBytes, '.') + body),
    idempotencyKey: key,
    log: [
      {
        taskId: taskOf(n).taskId,
        attemptNumber: 1,
        startedAt: 0,
        durationMs: 1,
        responseStatus: 503,
        errorMessage: log,
        decision: 'x',
      },
    ],
  })
}

const left = (path: string, words: readonly string[]): string[] =>
  FILES.flatMap((end) => {
    if (!existsSync(path + end)) return []
    const bytes = readFileSync(path + end, 'latin1')
    return words.flatMap((word) => (bytes.includes(word) ? [`${word} in tasks.db${end}`] : []))
  })

const SIZES = [20, 900, 3_000, 70_000]
/** So few that no row has been moved: of what has ended, not purged, copies may stay. */
const FEW = 4
const all = Array.from({ length: 120 }, (_, i) => i + 1)

async function setup(most = all.length): Promise<{ path: string; store: TaskStore; clock: FakeClock }> {
  const path = freshPath(QUICK_FOLDER)
  const clock = fakeClock()
  const store = openStore(path, { clock })
  for (const n of all.slice(0, most)) await store.enqueue([marked(n, SIZES[n % SIZES.length])])
  expect(left(path, canariesOf(1))).not.toEqual([])
  return { path, store, clock }
}

test('S12 a task that was purged is in no byte', async () => {
  const { path, store } = await setup(1)
  await store.purge({ taskId: taskOf(1).taskId })
  expect(left(path, canariesOf(1))).toEqual([])
})

test('S12 of many that are purged one by one, none is in any byte a minute later', async () => {
  const { path, store, clock } = await setup()
  const gone = all.filter((n) => n % 3 !== 0)
  for (const n of gone) await store.purge({ taskId: taskOf(n).taskId })
  await clock.advance(60_000)
  await store.turn({ ...STEP, claim: null })
  expect(left(path, gone.flatMap(canariesOf))).toEqual([])
  expect(await store.body(taskOf(3).taskId)).toBeDefined()
})

test('S12 nor is any when all were purged at once', async () => {
  const { path, store } = await setup()
  await store.purge({ principal: null })
  expect(left(path, all.flatMap(canariesOf))).toEqual([])
})

test.for([
  [true, 5, 'when it is closed'],
  [true, 1, 'at once'],
  [false, 5, 'at once'],
] as const)(
  'S12 a file for everyone (%s) of %s MiB is written anew after a purge %s',
  async ([everyone, mib, when]) => {
    const path = freshPath(QUICK_FOLDER)
    const store = openStore(path, everyone ? { everyone } : {})
    for (const n of [1, 2]) await store.enqueue([marked(n, (mib / 2) * 2 ** 20)])
    const size = () => new DatabaseSync(path).prepare('PRAGMA page_count').get()?.page_count as number
    const whole = size()
    await store.purge({ taskId: taskOf(1).taskId })
    if (when === 'at once') expect(size()).toBeLessThan(0.6 * whole)
    else expect(size()).toBe(whole)
    await store.close()
    expect(size()).toBeLessThan(0.6 * whole)
    expect(left(path, canariesOf(1))).toEqual([])
  },
)

const ENDS: Readonly<Record<string, (store: TaskStore) => Promise<unknown>>> = {
  'was cancelled': (store) => Promise.all(all.slice(0, FEW).map((n) => store.cancel(taskOf(n).taskId))),
  async 'has succeeded'(store) {
    const { claimed } = await store.turn({ ...STEP, claim: claimOf(200) })
    await store.turn({ ...STEP, settle: claimed.map(({ lease }) => succeeded(lease)), claim: null })
  },
}

test.for(Object.entries(ENDS))(
  'S12 of a task that %s neither headers nor body are a minute later, and nothing is once its time is over',
  async ([, end]) => {
    const { path, store, clock } = await setup(FEW)
    await end(store)
    await clock.advance(60_000)
    await store.turn({ ...STEP, claim: null })
    const words = all.flatMap((n) => canariesOf(n).filter((word) => /header|body/.test(word)))
    expect(left(path, words)).toEqual([])
    for (const ms of [30 * 86_400_000, 60_000]) {
      await clock.advance(ms)
      await store.turn({ ...STEP, claim: null })
    }
    expect(left(path, all.flatMap(canariesOf))).toEqual([])
  },
)

test('S12 a process that is in the middle of reading delays that, and a later turn makes up for it', async () => {
  const { path, store, clock } = await setup(FEW)
  const reader = new DatabaseSync(path)
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM tasks').get()
  await store.purge({ taskId: taskOf(1).taskId })
  expect(left(path, canariesOf(1))).not.toEqual([])
  reader.close()
  await clock.advance(60_000)
  await store.turn({ ...STEP, claim: null })
  expect(left(path, canariesOf(1))).toEqual([])
})

const modes = (path: string) =>
  FILES.flatMap((end) => (existsSync(path + end) ? [statSync(path + end).mode & 0o777] : []))

test.skipIf(process.platform === 'win32')(
  'S12 file, -wal and -shm are their owner’s alone, whatever the umask',
  async () => {
    const before = process.umask(0)
    onTestFinished(() => void process.umask(before))
    const path = freshPath()
    const store = openStore(path)
    await store.enqueue([taskOf(1)])
    expect(modes(path)).toEqual([0o600, 0o600, 0o600])
  },
)

test.skipIf(process.platform === 'win32')(
  'S12 a file to which a link leads that was not there is its owner’s, too',
  async () => {
    const path = freshPath()
    symlinkSync(`${path}.there`, path)
    const store = openStore(path)
    await store.enqueue([taskOf(1)])
    expect(modes(`${path}.there`)).toEqual([0o600, 0o600, 0o600])
  },
)

test.skipIf(process.platform === 'win32').each([
  [0o644, 0o600],
  [0o666, 0o660],
  [0o660, 0o660],
  [0o640, 0o600],
  [0o600, 0o600],
])('S12 a file of mode %o that is there already gets %o: a group that may write is a choice', async (was, is) => {
  const path = freshPath()
  writeFileSync(path, '')
  chmodSync(path, was)
  const store = openStore(path)
  await store.enqueue([taskOf(1)])
  expect(modes(path)).toEqual([is, is, is])
})
