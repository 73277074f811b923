/** A store and its tabs: leases of one that has died, hints, and what is held when nothing waits. On Node's own Web Locks. */
import 'fake-indexeddb/auto'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Hint, TaskStore } from '../../../js/api/store.ts'
import { type IndexedDbStoreOptions, indexedDbStore } from '../../../js/stores/indexeddb.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import { claimOf, idsOf, newTask, SUCCEEDED, settlementOf } from '../store-contract/kit.ts'

let count = 0

/** Tabs of one queue. */
function setup(): { open(options?: IndexedDbStoreOptions): TaskStore; locks(): Promise<string[]> } {
  const name = `tabs-${++count}`
  return {
    open(options = {}) {
      const store = indexedDbStore({ name, ...options })
      onTestFinished(() => store.close())
      return store
    },
    async locks() {
      const { held = [], pending = [] } = await navigator.locks.query()
      return [...held, ...pending].flatMap((lock) => (lock.name?.includes(name) ? [lock.name] : []))
    },
  }
}

const turn = (store: TaskStore, owner: string, rest: object = {}) =>
  store.turn({ owner, settle: [], renew: [], claim: claimOf({ leaseMs: 105_000 }), ...rest })

test('L3 a lease of a tab that has let go is taken up at once, and under a higher token', async () => {
  const { open } = setup()
  const [one, two] = [open(), open()]
  await one.enqueue([newTask(1)])
  const [first] = (await turn(one, 'one')).claimed
  expect(first?.lease.token).toBe(1)
  const hints: Hint[] = []
  two.subscribe?.((hint) => hints.push(hint))
  expect((await turn(two, 'two')).claimed).toEqual([])
  one.suspend?.()
  await vi.waitFor(() => expect(hints).toContainEqual({ kind: 'due' }))
  const taken = (await turn(two, 'two')).claimed
  expect(taken[0]).toMatchObject({ task: { attemptNumber: 2 }, lease: { token: 2 } })
})

test('L3 what a browser that was killed had in flight is taken up by the next one at its first looks', async () => {
  const { open } = setup()
  const killed = open()
  await killed.enqueue([newTask(1), newTask(2)])
  expect((await turn(killed, 'killed')).claimed).toHaveLength(2)
  killed.suspend?.()
  const next = open()
  const heard = new Promise<Hint>((resolve) => next.subscribe?.(resolve))
  expect((await turn(next, 'next')).claimed).toEqual([])
  await heard
  expect(idsOf((await turn(next, 'next')).claimed)).toHaveLength(2)
})

test('L3 so is one that was itself taken up from a tab that has let go', async () => {
  const { open } = setup()
  const tabs = ['one', 'two', 'three'].map((owner) => ({ owner, store: open() }))
  await tabs[0]?.store.enqueue([newTask(1)])
  for (const [i, { owner, store }] of tabs.entries()) {
    await vi.waitFor(async () => expect(idsOf((await turn(store, owner)).claimed)).toHaveLength(1))
    const next = tabs[i + 1]
    // it looks, and learns who has it
    if (next) expect((await turn(next.store, next.owner)).claimed).toEqual([])
    store.suspend?.()
  }
})

test('L3 and one whose lease had run out before', async () => {
  const { open } = setup()
  const clock = fakeClock()
  const [one, two, three] = [open({ clock }), open({ clock }), open({ clock })]
  await one.enqueue([newTask(1)])
  expect((await turn(one, 'one')).claimed).toHaveLength(1)
  expect((await turn(two, 'two')).claimed).toEqual([])
  await clock.advance(105_001)
  expect((await turn(two, 'two')).claimed).toHaveLength(1)
  two.suspend?.()
  await vi.waitFor(async () => expect(idsOf((await turn(three, 'three')).claimed)).toHaveLength(1))
})

test('S3 a tab that was away and is back loses no lease that it got since', async () => {
  const { open } = setup()
  const [one, two] = [open(), open()]
  await one.enqueue([newTask(1)])
  await turn(one, 'one')
  const heard = new Promise<Hint>((resolve) => two.subscribe?.(resolve))
  await turn(two, 'two')
  one.suspend?.()
  await heard
  // back before anybody has looked: its old lease is as good as ever
  await one.enqueue([newTask(2)])
  const [again] = (await turn(one, 'one')).claimed
  expect(again?.task.taskId).toBe(newTask(2).taskId)
  expect((await turn(two, 'two')).claimed).toEqual([])
  const settle = [settlementOf(again?.lease as never, SUCCEEDED)]
  expect((await turn(one, 'one', { settle, claim: null })).settled).toEqual(['applied'])
})

test('L3 a page that is put away before its turn has come is given nothing, and holds no lock', async () => {
  const { open, locks } = setup()
  const [one, two] = [open(), open()]
  await one.enqueue([newTask(1)])
  const asked = turn(one, 'one')
  one.suspend?.()
  expect((await asked).claimed).toEqual([])
  expect(await locks()).toEqual([])
  expect((await turn(two, 'two')).claimed).toHaveLength(1)
  // back, it claims as before
  await one.enqueue([newTask(2)])
  expect((await turn(one, 'one')).claimed).toHaveLength(1)
})

test('L3 whenever a page is put away while it claims, what it was given is taken up at once', async () => {
  let given = 0
  for (let moment = 0; moment < 40; moment++) {
    const { open } = setup()
    const [one, two] = [open(), open()]
    await one.enqueue([newTask(1)])
    const asked = turn(one, 'one')
    for (let tasks = 0; tasks < moment; tasks++) await new Promise(setImmediate)
    one.suspend?.()
    given += (await asked).claimed.length
    await vi.waitFor(async () => expect((await turn(two, 'two')).claimed).toHaveLength(1))
  }
  expect(given).toBeGreaterThan(0)
  expect(given).toBeLessThan(40)
})

test('nothing is held once nothing waits', async () => {
  const { open, locks } = setup()
  const store = open()
  await store.enqueue([newTask(1)])
  const [claimed] = (await turn(store, 'one')).claimed
  expect(await locks()).not.toEqual([])
  await turn(store, 'one', { settle: [settlementOf(claimed?.lease as never, SUCCEEDED)] })
  await vi.waitFor(async () => expect(await locks()).toEqual([]))
})

test('a turn that claims nothing takes no lock', async () => {
  const { open, locks } = setup()
  const store = open()
  await store.enqueue([newTask(1)])
  await turn(store, 'one', { claim: null })
  expect(await locks()).toEqual([])
})

test('other tabs hear what is due before it is told here, so that a tab which dies at once has told', async () => {
  const { open } = setup()
  const [one, two] = [open(), open()]
  const hints: Hint[] = []
  two.subscribe?.((hint) => hints.push(hint))
  await one.enqueue([newTask(1)])
  await vi.waitFor(() => expect(hints).toContainEqual({ kind: 'due' }))
})
