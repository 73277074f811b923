import { expect, onTestFinished, test } from 'vitest'
import { laneName, type TaskStore } from '../../../js/api/store.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import { ann, claimOf, idOf, idsOf, newTask, ORIGIN, retryIn, settlementOf } from './kit.ts'
import type { Pair } from './registry.ts'

const step = { owner: 'runner', settle: [], renew: [], claim: null }
const OTHER_LINE = { code: 'STORAGE_OTHER_LINE' }

/** A line for each principal, or one for everyone: a store keeps to that in which its tasks were stored. */
export function lineRules(either: Pair): void {
  /** The one way to open it, then the other. */
  async function opened(first: string) {
    const clock = fakeClock()
    const stores = await either({ clock })
    for (const store of stores) onTestFinished(() => store.close())
    const [own, all] = stores
    const [store, other] = first === 'one line' ? [all, own] : [own, all]
    return { clock, store, other }
  }

  test.for(['lines of their own', 'one line'])(
    'S1 S16 a store with tasks in %s is refused where it is opened in the other way, and stays as it is',
    async (first) => {
      const { store, other } = await opened(first)
      await store.enqueue([newTask(1), newTask(2, ann)])
      const refused = async (by: TaskStore) => {
        const advice = by.everyone ? /\b(leave out|without) everyone: true/ : /\b(give|with) everyone: true/
        const message = expect.stringMatching(advice)
        for (const work of [
          () => by.enqueue([newTask(3)]),
          () => by.turn({ ...step, claim: claimOf() }),
          () => by.counts(),
          () => by.list({ limit: 1 }),
          () => by.purgeAll(),
          async () => by.registry?.read({ prefix: '' }),
          async () => by.pauses?.put({ id: 'p', at: 0 }),
        ])
          await expect(work()).rejects.toMatchObject({ ...OTHER_LINE, message })
      }
      await refused(other)
      expect(await store.counts()).toMatchObject({ pending: 2, purged: 0 })
      // what has ended counts too
      for (const n of [1, 2]) await store.cancel(idOf(n))
      await refused(other)
      await store.purgeAll()
      // a question stores nothing, and so decides nothing
      for (const each of [other, store]) expect(await each.counts()).toMatchObject({ pending: 0, purged: 2 })
      await other.enqueue([newTask(4), newTask(5, ann)])
      const { claimed } = await other.turn({ ...step, claim: claimOf({ principal: 'ann' }) })
      expect(idsOf(claimed)).toEqual(other.everyone ? [idOf(4), idOf(5)] : [idOf(5)])
      await refused(store)
    },
  )

  test.for(['lines of their own', 'one line'])(
    'S9 the holds of tasks in %s outlive them, and hold in the other way too',
    async (first) => {
      const { clock, store, other } = await opened(first)
      await store.enqueue([newTask(1)])
      const [task] = (await store.turn({ ...step, claim: claimOf() })).claimed
      if (!task) throw new Error('a task was due')
      const settle = [settlementOf(task.lease, retryIn(0), { holdLaneForMs: 1_000 })]
      await store.turn({ ...step, settle, hold: [{ lane: laneName('ann', ORIGIN), forMs: 5_000 }] })
      await store.purgeAll()
      await other.enqueue([newTask(2), newTask(3, ann)])
      const claim = async (principal: string | null) => other.turn({ ...step, claim: claimOf({ principal }) })
      expect(await claim(null)).toMatchObject({ claimed: [], nextInMs: 1_000 })
      clock.step(1_000)
      expect(idsOf((await claim(null)).claimed)).toEqual([idOf(2)])
      expect((await claim('ann')).claimed).toEqual([])
      clock.step(4_000)
      expect(idsOf((await claim('ann')).claimed)).toEqual([idOf(3)])
      expect(await other.purgeAll()).toBe(2)
      clock.step(60_000)
      expect(await claim(null)).toMatchObject({ claimed: [], lanes: [], nextInMs: null })
    },
  )
}
