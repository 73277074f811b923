/** A service over several stores: where tasks lie, what is asked of all, and that their number is agreed on once. */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { TaskFilter } from '../../../js/api/store.ts'
import type { ApiStore } from '../../../js/service/api/context.ts'
import { agreeOnPartitions, oneStore, type PartitionBy, partitionOf } from '../../../js/service/partitions.ts'
import { createService } from '../../../js/service.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import { bySize } from '../../size.ts'
import { claimOf, idOf, newTask, SUCCEEDED, settlementOf } from '../store-contract/kit.ts'

const clock = fakeClock()
const storesOf = (count: number): ApiStore[] =>
  Array.from({ length: count }, () => memoryStore({ clock, everyone: true }) as ApiStore)

/** Three stores, and the one that they make. */
const three = () => {
  const stores = storesOf(3)
  return { stores, one: oneStore(stores, 'tenant') }
}
const STEP = { owner: 'one', settle: [], renew: [], claim: null }

/** Claims what is due, and settles it so. */
async function settleAll(store: ApiStore, next: Parameters<typeof settlementOf>[1]): Promise<void> {
  const { claimed } = await store.turn({ ...STEP, claim: claimOf() })
  await store.turn({ ...STEP, settle: claimed.map(({ lease }) => settlementOf(lease, next)) })
}

describe('where a task lies', () => {
  const task = newTask(1, { principal: 'ann', origin: 'https://a.test' })

  test.for<[PartitionBy, string, object, boolean]>([
    ['tenant', 'another origin', { principal: 'ann', origin: 'https://b.test' }, true],
    ['tenant', 'another policy', { principal: 'ann', policy: { policyId: 'other' } }, true],
    ['policy', 'another tenant', { principal: 'bob' }, true],
    ['lane', 'another policy', { principal: 'ann', origin: 'https://a.test', policy: { policyId: 'other' } }, true],
  ])('by %s, with the same of it and %s, is the same partition', ([by, , more]) => {
    expect(partitionOf(newTask(2, more), by, 64)).toBe(partitionOf(task, by, 64))
  })

  test('tasks are spread: of a thousand tenants none of eight partitions gets twice its share', () => {
    const counts = new Array<number>(8).fill(0)
    for (let n = 0; n < 1_000; n++) {
      const at = partitionOf(newTask(n, { principal: `tenant-${n}` }), 'tenant', 8)
      counts[at] = (counts[at] ?? 0) + 1
    }
    expect(Math.max(...counts)).toBeLessThan(250)
    expect(counts.reduce((sum, count) => sum + count)).toBe(1_000)
  })

  test('it never changes: a released version looks where another has put it', () => {
    const of = (principal: string | null) => partitionOf(newTask(1, { principal }), 'tenant', 8)
    expect(['acme', 'globex', null, ''].map(of)).toEqual([6, 2, 0, 0])
  })
})

test('tasks of one call are taken each by its store, and answered in their order', async () => {
  const { stores, one } = three()
  const tasks = Array.from({ length: 30 }, (_, n) => newTask(n, { principal: `t${n}` }))
  const outcomes = await one.enqueue([...tasks, ...tasks.slice(0, 5)])
  expect(outcomes.map(({ taskId }) => taskId)).toEqual([...tasks, ...tasks.slice(0, 5)].map(({ taskId }) => taskId))
  expect(outcomes.slice(30).map(({ outcome }) => outcome)).toEqual(new Array(5).fill('duplicate'))
  expect((await one.counts()).pending).toBe(30)
  const shares = await Promise.all(stores.map(async (store) => (await store.counts()).pending))
  expect(shares.filter((pending) => pending > 0)).toHaveLength(3)
})

test('dead letters go back at the pace that was asked for, whatever store they are in', async () => {
  const { stores, one } = three()
  const ids = Array.from({ length: 30 }, (_, n) => idOf(n))
  await one.enqueue(ids.map((_, n) => newTask(n, { principal: `t${n}` })))
  for (const store of stores) await settleAll(store, { kind: 'exhausted', reason: 'not_retryable' })
  const said = await one.redrive([...ids, 'no-such-task'], { spacingMs: 100, acceptDuplicateRisk: false })
  expect(said).toEqual([...ids.map(() => 'redriven'), 'gone'])
  const { tasks } = await one.list({ limit: 100 })
  const due = tasks.map(({ dueAt }) => (dueAt as number) - clock.now())
  // one each 100 ms would end at 2.9 s
  expect(Math.max(...due)).toBeGreaterThanOrEqual(2_700)
  const inFirst = (ms: number) => due.filter((at) => at < ms).length
  // each store begins with one at once
  expect(inFirst(300)).toBeLessThanOrEqual(3 + 3)
  expect(inFirst(1_500)).toBeLessThanOrEqual(15 + 3)
})

test('so do those of one tenant, which lie together', async () => {
  const { stores, one } = three()
  const ids = Array.from({ length: 10 }, (_, n) => idOf(n))
  await one.enqueue(ids.map((_, n) => newTask(n, { principal: 'ann', deadlineInMs: 0 })))
  clock.step(1)
  for (const store of stores) await store.turn(STEP)
  await one.redrive(ids, { spacingMs: 100, acceptDuplicateRisk: true })
  const { tasks } = await one.list({ limit: 100 })
  expect(tasks.map(({ dueAt }) => (dueAt as number) - clock.now())).toEqual(ids.map((_, n) => n * 100))
})

test('a pause holds in every store, and is lifted in every store', async () => {
  const { stores, one } = three()
  await one.enqueue(Array.from({ length: 30 }, (_, n) => newTask(n, { principal: `t${n}` })))
  await one.pauses.put({ id: 'p', at: 0 })
  const claimed = async () => {
    const turns = stores.map((store) => store.turn({ ...STEP, claim: claimOf() }))
    return (await Promise.all(turns)).flatMap((turn) => turn.claimed).length
  }
  expect([await claimed(), (await one.pauses.list()).length]).toEqual([0, 1])
  expect([await one.pauses.lift('p'), await one.pauses.lift('p'), await claimed()]).toEqual([true, false, 30])
})

test('pages of all stores are the pages of one, in either order, whatever is asked for', async () => {
  const filters = fc.record<Partial<TaskFilter>>(
    {
      order: fc.constantFrom('rising', 'falling'),
      status: fc.constantFrom('PENDING', 'SUCCEEDED'),
      principal: fc.constantFrom('t1', 't2'),
      tags: fc.constant(['even']),
    },
    { requiredKeys: [] },
  )
  const made = fc.record({
    tasks: fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { maxLength: 40 }),
    filter: filters,
    limit: fc.integer({ min: 1, max: 7 }),
    count: fc.integer({ min: 2, max: 5 }),
  })
  await fc.assert(
    fc.asyncProperty(made, async ({ tasks, filter, limit, count }) => {
      const stores = storesOf(count)
      const [divided, whole] = [oneStore(stores, 'lane'), storesOf(1)[0] as ApiStore]
      const records = tasks.map((n) =>
        newTask(n, { principal: `t${n % 9}`, ...(n % 2 === 0 && { tags: ['even'] }), dueInMs: n % 3 }),
      )
      for (const store of [divided, whole]) await store.enqueue(records)
      for (const store of [...stores, whole]) await settleAll(store, SUCCEEDED)
      const pagesOf = async (store: ApiStore) => {
        const ids: string[] = []
        let cursor: string | undefined
        for (let pages = 0; pages < 200; pages++) {
          const page = await store.list({ ...filter, limit, ...(cursor !== undefined && { cursor }) })
          expect(page.tasks.length).toBeLessThanOrEqual(limit)
          ids.push(...page.tasks.map(({ taskId }) => taskId))
          cursor = page.cursor
          if (cursor === undefined) return ids
        }
        throw new Error('the pages have no end')
      }
      expect(await pagesOf(divided)).toEqual(await pagesOf(whole))
    }),
    { numRuns: bySize(64, 150) },
  )
})

describe('the number of partitions', () => {
  test('is written down with the first start, and another is refused from then on', async () => {
    const [store] = storesOf(1) as [ApiStore]
    await agreeOnPartitions(store, 8, 'tenant')
    await agreeOnPartitions(store, 8, 'tenant')
    const found = /divided by --partitions 8 --partition-by tenant, and --partitions 4 --partition-by lane would look/
    await expect(agreeOnPartitions(store, 4, 'lane')).rejects.toThrow(found)
    await expect(agreeOnPartitions(store, 8, 'lane')).rejects.toMatchObject({ code: 'PARTITIONS_DIFFER' })
    await expect(agreeOnPartitions(store, 1, 'tenant')).rejects.toMatchObject({ code: 'PARTITIONS_DIFFER' })
  })

  test('of a store that was never divided, and has tasks, is one', async () => {
    const [store] = storesOf(1) as [ApiStore]
    await store.enqueue([newTask(1)])
    await expect(agreeOnPartitions(store, 2, 'tenant')).rejects.toThrow('divided by --partitions 1, and')
    await agreeOnPartitions(store, 1, 'tenant')
  })

  test('is one of those that two processes ask for at once, for both', async () => {
    const [store] = storesOf(1) as [ApiStore]
    const both = await Promise.allSettled([2, 3].map((count) => agreeOnPartitions(store, count, 'tenant')))
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  test('is agreed on before anything is sent, deleted or given up: a start that is refused makes no turn', async () => {
    const stores = storesOf(3)
    await agreeOnPartitions(stores[0] as ApiStore, 2, 'tenant')
    let turns = 0
    for (const store of stores) {
      const { turn } = store
      const counted: typeof turn = (step) => {
        turns++
        return turn.call(store, step)
      }
      Object.assign(store, { turn: counted })
    }
    const service = createService({ store: stores })
    await expect(service.ready).rejects.toMatchObject({ code: 'PARTITIONS_DIFFER' })
    await service.close({ drainMs: 0 })
    expect(turns).toBe(0)
  })

  test('and what they go by, and limits, are checked before they are shared out', () => {
    const [one, other] = storesOf(2) as [ApiStore, ApiStore]
    const store = [one, other]
    expect(() => createService({ store, partitionBy: 'tenants' as never })).toThrow(
      "createService.partitionBy: expected tenant, policy, lane, got 'tenants'",
    )
    for (const wrong of ['200', 0.5, true, null])
      expect(() => createService({ store, concurrency: wrong as never })).toThrow(/concurrency/)
  })

  test.for([
    [[], /expected one store, or a list of 1 to 64, got 0/],
    [Array.from({ length: 65 }, () => memoryStore({ everyone: true })), /got 65/],
    [new Array(2).fill(memoryStore({ everyone: true })), /got 2, some of them twice/],
  ] as const)('%# is checked at once', ([store, message]) => {
    expect(() => createService({ store })).toThrow(message)
  })
})
