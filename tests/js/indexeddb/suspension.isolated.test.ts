/** A store and its tabs: leases of one that has died, hints, and what is held when nothing waits. On Node's own Web Locks. */
import 'fake-indexeddb/auto'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import { type IndexedDbStoreOptions, indexedDbStore } from '../../../js/stores/indexeddb.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import { bySize } from '../../size.ts'
import { claimOf, idsOf, newTask } from '../store-contract/kit.ts'

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
  const moments = Array.from({ length: bySize(10, 40) }, (_, n) => n * bySize(4, 1))
  let given = 0
  for (const moment of moments) {
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
  expect(given).toBeLessThan(moments.length)
})

test('a turn that claims nothing takes no lock', async () => {
  const { open, locks } = setup()
  const store = open()
  await store.enqueue([newTask(1)])
  await turn(store, 'one', { claim: null })
  expect(await locks()).toEqual([])
})
