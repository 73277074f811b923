/** What is in the database, and what is asked of it. */
import { expect, vi } from 'vitest'
import { RECORD_SCHEMA, type TaskStore } from '../../../js/api/store.ts'
import { done } from '../../../js/stores/indexeddb/transact.ts'
import { indexedDbStore } from '../../../js/stores/indexeddb.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import {
  at,
  claimOf,
  idOf,
  NOT_RETRYABLE,
  newTask,
  retryIn,
  SUCCEEDED,
  settlementOf,
  TERMS,
} from '../store-contract/kit.ts'
import { testIn } from '../test-in.ts'
import { asked, drop, edit, editRow, freshName, openInOtherTab, openStore, rowOf } from './setup.ts'

const countsIn = (name: string): Promise<Record<string, number>> =>
  edit(name, async (tx) => {
    const names = ['tasks', 'bodies', 'attempts', 'lanes']
    const counts = await Promise.all(names.map((store) => done(tx.objectStore(store).count())))
    return Object.fromEntries(names.map((store, i) => [store, counts[i] ?? 0]))
  })

const claimAll = async (store: TaskStore) => (await store.turn({ ...STEP, claim: claimOf() })).claimed

const STEP = { owner: 'runner', settle: [], renew: [], claim: null }

function fresh() {
  const name = freshName()
  return { name, store: openStore(name) }
}

const test = testIn(fresh)

test('S1 everything is still there for who opens the database anew', async () => {
  const name = freshName()
  const clock = fakeClock()
  const first = openStore(name, { clock })
  const large = new Uint8Array(100_000).fill(7)
  await first.enqueue([newTask(1, { body: new Uint8Array([1, 2]) }), newTask(2, { dueInMs: 9_000, body: large })])
  await first.principals?.switchTo(null, at(clock.now()))
  const before = await first.list({ limit: 9 })
  await first.close()
  const second = await openInOtherTab(name, { clock })
  expect(await second.list({ limit: 9 })).toEqual(before)
  expect(await second.body(idOf(1))).toEqual(new Uint8Array([1, 2]))
  expect(await second.body(idOf(2))).toEqual(large)
  expect(await second.principals?.current()).toEqual({ principal: null })
  expect((await claimAll(second)).map(({ lease }) => lease)).toMatchObject([{ taskId: idOf(1), token: 1 }])
})

test('a body is copied at the call, and each time it is asked for', async () => {
  for (const size of [3, 10_000]) {
    const store = openStore(freshName())
    const buffer = new Uint8Array(size + 5)
    const body = buffer.subarray(5).fill(1)
    const stored = store.enqueue([newTask(1, { body })])
    body.fill(2)
    await stored
    const given = await store.body(idOf(1))
    expect(given).toEqual(new Uint8Array(size).fill(1))
    expect(given?.buffer.byteLength).toBe(size)
    given?.fill(3)
    expect(await store.body(idOf(1))).toEqual(new Uint8Array(size).fill(1))
  }
})

test('S12 what will not be sent again is not kept: no headers, no body', async ({ name, store }) => {
  const bodies = [new Uint8Array(3), new Uint8Array(10_000)]
  await store.enqueue(bodies.map((body, i) => newTask(i + 1, { body, headers: { 'x-name': 'Ann' } })))
  for (const { lease } of await claimAll(store)) {
    await store.turn({ ...STEP, settle: [settlementOf(lease, SUCCEEDED)] })
  }
  for (const n of [1, 2]) expect(await rowOf(name, idOf(n))).toMatchObject({ headers: {}, body: null, bodyBytes: 0 })
  expect(await edit(name, async (tx) => tx.objectStore('bodies').count())).toMatchObject({ result: 0 })
})

test('a body of no bytes is a body, and leaves nothing behind', async ({ name, store }) => {
  await store.enqueue([newTask(1, { body: new Uint8Array(0) }), newTask(2)])
  expect([await store.body(idOf(1)), await store.body(idOf(2))]).toEqual([new Uint8Array(0), undefined])
  await store.purgeAll()
  expect(await countsIn(name)).toMatchObject({ tasks: 0, bodies: 0, lanes: 0 })
})

test('only of many lanes some are rows of their own, and an empty one is none', async ({ name, store }) => {
  const add = (from: number, count: number) =>
    store.enqueue(Array.from({ length: count }, (_, i) => newTask(from + i, { origin: `https://${from + i}.test` })))
  await add(1, 16)
  expect(await countsIn(name)).toMatchObject({ lanes: 0 })
  await add(17, 4)
  expect(await countsIn(name)).toMatchObject({ lanes: 4 })
  for (const n of [1, 2, 18]) await store.purge({ taskId: idOf(n) })
  await store.close()
  const again = openStore(name)
  expect(await countsIn(name)).toMatchObject({ lanes: 3 })
  const turn = await again.turn({ ...STEP, claim: claimOf({ limit: 99 }) })
  expect([turn.claimed.length, turn.lanes.length]).toEqual([17, 17])
})

test('S20 fields of a later version are carried along, in rows and in meta', async ({ name, store }) => {
  await store.enqueue([newTask(1)])
  await store.close()
  await editRow(name, idOf(1), { later: { deep: [1] } })
  await edit(name, async (tx) => {
    const meta = tx.objectStore('meta')
    meta.put('theirs', 'later')
    const request = meta.openCursor(IDBKeyRange.bound(['state'], ['state', []]))
    request.onsuccess = () => {
      const { result } = request
      const lanes = result?.value.lanes.map((lane: object) => ({ ...lane, later: 6 }))
      result?.update({ ...result.value, later: 5, lanes })
    }
  })
  for (const next of [retryIn(0), SUCCEEDED]) {
    for (const { lease } of await claimAll(store)) {
      await store.turn({ ...STEP, settle: [settlementOf(lease, next)] })
    }
  }
  expect(await rowOf(name, idOf(1))).toMatchObject({ status: 'SUCCEEDED', later: { deep: [1] } })
  const [state, theirs] = await edit(name, async (tx) => {
    const meta = tx.objectStore('meta')
    const requests = [meta.get(IDBKeyRange.bound(['state'], ['state', []])), meta.get('later')]
    await new Promise((resolve) => {
      meta.count().onsuccess = resolve
    })
    return requests.map(({ result }) => result)
  })
  expect([state.later, state.lanes[0].later, theirs]).toEqual([5, 6, 'theirs'])
})

test.for<[string, Record<string, unknown>]>([
  ['of a later version', { schema: RECORD_SCHEMA + 1 }],
  ['without headers', { headers: null }],
  ['without a policy', { policy: 'default' }],
  ['without a schema', { schema: undefined }],
])('S20 a record %s is left as it is, counted, and kept out of everything', async ([, change], { name, store }) => {
  await store.enqueue([newTask(1), newTask(2)])
  await editRow(name, idOf(1), change)
  const turn = await store.turn({ ...STEP, claim: claimOf() })
  expect([turn.claimed.map(({ task }) => task.taskId), turn.unreadable]).toEqual([[idOf(2)], 1])
  expect(await rowOf(name, idOf(1))).toMatchObject({ ...change, status: 'PENDING', idempotencyKey: 'key-1' })
  const said = [await store.get(idOf(1)), await store.cancel(idOf(1)), (await store.counts()).pending]
  expect(said).toEqual([undefined, 'gone', 1])
})

test('S20 what somebody else has put there is neither shown nor counted, and only purge deletes it', async () => {
  const { name, store } = fresh()
  await store.enqueue([newTask(1)])
  await edit(name, async (tx) => tx.objectStore('tasks').put({ taskId: 'theirs', status: 7 }))
  expect((await store.list({ limit: 9 })).tasks.map(({ taskId }) => taskId)).toEqual([idOf(1)])
  const lease = { taskId: 'theirs', token: 1, forMs: 5 }
  const step = { owner: 'runner', settle: [settlementOf(lease, SUCCEEDED)], renew: [lease], claim: null }
  expect(await store.turn(step)).toMatchObject({ settled: ['gone'], renewed: ['lost'] })
  expect(await store.purgeAll()).toBe(2)
  expect(await store.counts()).toMatchObject({ pending: 0, purged: 1, bytes: 0 })
})

test('S20 a database of a later version is not opened, and stays as it is', async () => {
  const name = freshName()
  const later = indexedDB.open(`redrive-${name}`, 2)
  later.onupgradeneeded = () => later.result.createObjectStore('theirs').put('kept', 1)
  await new Promise((resolve) => {
    later.onsuccess = resolve
  })
  later.result.close()
  const store = openStore(name)
  await expect(store.enqueue([newTask(1)])).rejects.toMatchObject({ code: 'STORAGE_NEWER' })
  const again = indexedDB.open(`redrive-${name}`)
  await new Promise((resolve) => {
    again.onsuccess = resolve
  })
  expect([again.result.version, [...again.result.objectStoreNames]]).toEqual([2, ['theirs']])
  again.result.close()
})

test('a database that was cleared under the store is told, and tasks are stored in the new one', async () => {
  const { name, store } = fresh()
  const report = vi.fn()
  store.configure?.(TERMS, report)
  await store.enqueue([newTask(1)])
  await drop(name)
  expect(await store.enqueue([newTask(2)])).toEqual([{ taskId: idOf(2), outcome: 'stored' }])
  expect(report.mock.calls).toEqual([['storage_evicted', expect.stringContaining('cleared')]])
  expect(await store.counts()).toMatchObject({ pending: 1 })
  await store.enqueue([newTask(3)])
  expect(report).toHaveBeenCalledOnce()
})

test('the browser is asked once to keep the database, after the first task', async () => {
  const persist = vi.fn(() => Promise.reject(new Error('no')))
  vi.stubGlobal('navigator', { storage: { persist } })
  const { name, store } = fresh()
  await store.turn(STEP)
  expect(persist).not.toHaveBeenCalled()
  await store.enqueue([newTask(1)])
  await store.enqueue([newTask(2)])
  await store.close()
  const again = openStore(name)
  await again.enqueue([newTask(3)])
  expect(persist).toHaveBeenCalledOnce()
  vi.unstubAllGlobals()
})

test('an enqueue of a known database writes at once: one transaction, and nothing is read before', async () => {
  const store = openStore(freshName())
  await store.enqueue([newTask(1)])
  // what is kept for a full quota is written by now
  await store.turn(STEP)
  // the task, and the counters
  expect(await asked(() => store.enqueue([newTask(2)]))).toEqual({ transactions: 1, requests: 2, rows: 0 })
})

test('a turn asks as much of ten tasks as of two thousand', async () => {
  const counts = []
  for (const size of [10, 2_000]) {
    const store = openStore(freshName())
    const origins = ['https://a.test', 'https://b.test']
    await store.enqueue(Array.from({ length: size }, (_, i) => newTask(i + 1, { origin: origins[i % 2] ?? '' })))
    const step = { ...STEP, claim: claimOf({ limit: 4 }) }
    const { claimed } = await store.turn(step)
    const nexts = [SUCCEEDED, NOT_RETRYABLE, retryIn(9)]
    const settle = claimed.map(({ lease }, i) => settlementOf(lease, nexts[i % 3] ?? SUCCEEDED))
    counts.push(await asked(() => store.turn({ ...step, settle })))
  }
  expect(counts[1]).toEqual(counts[0])
})

test('due tasks of a held lane are not looked at', async () => {
  const store = openStore(freshName())
  await store.enqueue([newTask(1, { holdLaneForMs: 60_000 }), newTask(2), newTask(3)])
  const step = { ...STEP, claim: claimOf() }
  await store.turn(step)
  expect((await asked(() => store.turn(step))).rows).toBe(0)
})

test('an empty store is asked for nothing but whether it still is', async () => {
  const store = openStore(freshName())
  const step = { ...STEP, claim: claimOf() }
  await store.turn(step)
  expect(await asked(() => store.turn(step))).toEqual({ transactions: 1, requests: 1, rows: 0 })
})

test('S2 a database that was cleared and made anew by another tab is taken as it is', async ({ name, store }) => {
  await store.enqueue([newTask(1)])
  await done(indexedDB.deleteDatabase(`redrive-${name}`))
  const other = await openInOtherTab(name)
  for (const n of [2, 3]) await other.enqueue([newTask(n)])
  await store.enqueue([newTask(4)])
  expect(await other.counts()).toMatchObject({ pending: 3 })
})

test.for([undefined, 'strict', 'relaxed'] as const)(
  'durability %s is asked of the browser and told',
  async (durability) => {
    const asked = vi.spyOn(IDBDatabase.prototype, 'transaction')
    const store = openStore(freshName(), durability ? { durability } : {})
    await store.enqueue([newTask(1)])
    expect(store.durability).toBe(durability ?? 'strict')
    expect(asked.mock.calls.map(([, mode, options]) => mode === 'readwrite' && options?.durability)).toContain(
      durability ?? 'strict',
    )
    asked.mockClear()
    await store.cancel(idOf(1))
    expect(asked.mock.calls.at(-1)?.[2]).toEqual({ durability: durability ?? 'strict' })
    asked.mockRestore()
  },
)

test.for([
  [{ durability: 'fast' }, RangeError, "indexedDbStore.durability: expected 'strict' or 'relaxed'"],
  [{ name: '' }, RangeError, 'indexedDbStore.name: expected a name'],
  [{ name: 7 }, TypeError, 'indexedDbStore.name: expected a name'],
  [{ capacity: 0 }, RangeError, 'indexedDbStore.capacity: expected'],
  [{ path: 'x' }, TypeError, 'indexedDbStore.path: no such option'],
] as const)('%o is refused when the store is made', ([options, kind, message]) => {
  expect(() => indexedDbStore(options as object)).toThrow(kind)
  expect(() => indexedDbStore(options as object)).toThrow(message)
})
