/** Counters and lanes are held against the tasks: few with the first write, many once the queue is quiet. */
import { expect, onTestFinished, test, vi } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import { done } from '../../../js/stores/indexeddb/transact.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import { claimOf, newTask } from '../store-contract/kit.ts'
import { edit, freshName, openInOtherTab, openStore } from './setup.ts'

const STATE = IDBKeyRange.bound(['state'], ['state', []])

async function filled(tasks: number) {
  const [name, clock] = [freshName(), fakeClock()]
  const store = openStore(name, { clock })
  for (let n = 0; n < tasks; n += 100) {
    await store.enqueue(Array.from({ length: Math.min(100, tasks - n) }, (_, i) => newTask(n + i + 1)))
  }
  await store.close()
  return { name, clock }
}

/** As other code may leave it that agrees with itself: so many tasks fewer in all counters. */
const hide = (name: string, tasks: number): Promise<void> =>
  edit(name, async (tx) => {
    const cursor = await done(tx.objectStore('meta').openCursor(STATE))
    const state = cursor?.value
    const [lane] = state.lanes
    for (const counts of [state, lane]) counts.pending -= tasks
    lane.tasks -= tasks
    lane.queues[0].tasks -= tasks
    await done(cursor?.update(state) as IDBRequest)
  })

/** How often the tasks that are due have been counted. */
function countsOfDue() {
  const spy = vi.spyOn(IDBIndex.prototype, 'count')
  onTestFinished(() => spy.mockRestore())
  return () => spy.mock.contexts.filter((index) => (index as IDBIndex).name === 'due').length
}

const claimOne = (store: TaskStore) =>
  store.turn({ owner: 'runner', settle: [], renew: [], claim: claimOf({ limit: 1 }) })

const dueHint = (store: TaskStore) =>
  new Promise<void>((resolve) => store.subscribe?.(({ kind }) => kind === 'due' && resolve()))

test.each([500, 501])('S20 counters of %i tasks that other code has changed are made anew', async (tasks) => {
  const { name, clock } = await filled(tasks)
  await hide(name, 400)
  const store = await openInOtherTab(name, { clock })
  await claimOne(store)
  if (tasks > 500) {
    const heard = dueHint(store)
    await clock.advance(1_000)
    await heard
  }
  expect(await store.counts()).toMatchObject({ pending: tasks - 1, inFlight: 1 })
  expect((await claimOne(store)).lanes).toMatchObject([{ pending: tasks - 2, inFlight: 2 }])
})

test('a first turn does not wait until many tasks have been counted, nor does one while the queue is busy', async () => {
  const { name, clock } = await filled(501)
  const store = await openInOtherTab(name, { clock })
  const counted = countsOfDue()
  for (let turn = 0; turn < 4; turn++) {
    expect((await claimOne(store)).claimed).toHaveLength(1)
    await clock.advance(900)
  }
  expect(counted()).toBe(0)
  await clock.advance(100)
  await store.counts()
  await vi.waitFor(() => expect(counted()).toBeGreaterThan(0))
  const once = counted()
  expect((await claimOne(store)).claimed).toHaveLength(1)
  await clock.advance(2_000)
  await store.close()
  expect(counted()).toBe(once)
  expect(clock.timers).toBe(0)
})

test('a page that is put away counts nothing, and does so when it is back', async () => {
  const { name, clock } = await filled(501)
  const store = await openInOtherTab(name, { clock })
  const counted = countsOfDue()
  await claimOne(store)
  store.suspend?.()
  await clock.advance(10_000)
  expect(counted()).toBe(0)
  await claimOne(store)
  await clock.advance(1_000)
  await vi.waitFor(() => expect(counted()).toBeGreaterThan(0))
})
