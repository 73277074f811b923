/** S17 a quota that is full lets nothing new in, and what is held out. The browser is one that counts as Chromium does. */
import 'fake-indexeddb/auto'
import { IDBObjectStore } from 'fake-indexeddb'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import { StorageFullError } from '../../../js/api/task-errors.ts'
import { indexedDbStore } from '../../../js/stores/indexeddb.ts'
import { claiming, succeeded, taskOf } from '../sqlite/words.ts'
import { dump } from './dump.ts'
import { engineAborts } from './faulty.ts'

interface Quota {
  /** What is written is refused from now on, until a transaction that has deleted the ballast is over. */
  isFull: boolean
}

function quota(): Quota {
  const state: Quota = { isFull: false }
  const { add, put, delete: remove } = IDBObjectStore.prototype
  for (const [method, write] of [
    ['put', put],
    ['add', add],
  ] as const) {
    vi.spyOn(IDBObjectStore.prototype, method).mockImplementation(function (this: IDBObjectStore, ...given) {
      if (state.isFull) engineAborts(this.transaction, 'QuotaExceededError')
      return write.apply(this, given)
    })
  }
  vi.spyOn(IDBObjectStore.prototype, 'delete').mockImplementation(function (this: IDBObjectStore, key) {
    if (key === 'ballast') {
      this.transaction.addEventListener('complete', () => {
        state.isFull = false
      })
    }
    return remove.call(this, key)
  })
  onTestFinished(() => {
    vi.restoreAllMocks()
  })
  return state
}

let names = 0

function open(name = `ballast-${++names}`): { readonly store: TaskStore; hasBallast(): Promise<boolean> } {
  const store = indexedDbStore({ name })
  onTestFinished(() => store.close())
  const hasBallast = async (): Promise<boolean> => {
    await store.close() // whatever is still being written is now
    const { stores } = await dump(`redrive-${name}`)
    return stores.some(({ name, records }) => name === 'meta' && records.some(({ key }) => key === 'ballast'))
  }
  return { store, hasBallast }
}

/** One that holds tasks and has its ballast, where nothing more can be written. */
async function openFull(tasks = 1, name?: string) {
  const full = quota()
  const { store, hasBallast } = open(name)
  await store.enqueue(Array.from({ length: tasks }, (_, i) => taskOf(i + 1)))
  expect(await hasBallast()).toBe(true)
  full.isFull = true
  return { full, store, hasBallast }
}

test('room is kept once a task is held, and not before', async () => {
  const { store, hasBallast } = open()
  await store.turn(claiming(1))
  expect(await hasBallast()).toBe(false)
  await store.enqueue([taskOf(1)])
  expect(await hasBallast()).toBe(true)
})

test('S17 what is held is claimed and settled though nothing can be written', async () => {
  const { store, hasBallast } = await openFull(2)
  const { claimed } = await store.turn(claiming(2))
  expect(claimed).toHaveLength(2)
  expect(await hasBallast()).toBe(false)
  const settle = claimed.map(({ lease }) => succeeded(lease))
  expect((await store.turn({ ...claiming(1), settle })).settled).toEqual(['applied', 'applied'])
})

test.for([
  ['cancel', (store: TaskStore) => store.cancel(taskOf(1).taskId), 'cancelled'],
  ['purge', (store: TaskStore) => store.purgeAll(), 1],
] as const)('S17 %s is done though nothing can be written', async ([, act, answer]) => {
  const { store } = await openFull()
  expect(await act(store)).toBe(answer)
})

test('S17 a new task is refused, and the room that is kept is not for it', async () => {
  const { full, store, hasBallast } = await openFull()
  await expect(store.enqueue([taskOf(2)])).rejects.toBeInstanceOf(StorageFullError)
  full.isFull = false
  expect(await hasBallast()).toBe(true)
  expect(await store.counts()).toMatchObject({ pending: 1 })
})

test('S17 once it is gone a turn says that there is no room, and loses nothing', async () => {
  const { full, store } = await openFull()
  await store.cancel(taskOf(1).taskId)
  await store.enqueue([taskOf(2)])
  full.isFull = true
  await expect(store.turn(claiming(1))).rejects.toBeInstanceOf(StorageFullError)
  expect(await store.counts()).toMatchObject({ pending: 1, cancelled: 1 })
  full.isFull = false
  expect((await store.turn(claiming(1))).claimed).toHaveLength(1)
})

test('what was thrown overboard is replaced by the next page that stores something', async () => {
  const first = await openFull(1, 'replaced')
  await first.store.cancel(taskOf(1).taskId)
  expect(await first.hasBallast()).toBe(false)
  const second = open('replaced')
  await second.store.enqueue([taskOf(2)])
  expect(await second.hasBallast()).toBe(true)
})
