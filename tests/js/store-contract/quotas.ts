import { expect, test } from 'vitest'
import type { Enqueued, NewTask, Quota, StoreTerms, TaskStore } from '../../../js/api/store.ts'
import {
  ann,
  bob,
  claimOf,
  idOf,
  LEASE_MS,
  NOT_RETRYABLE,
  newTask,
  type Open,
  retryIn,
  SUCCEEDED,
  setup,
  TERMS,
  type Wanted,
} from './kit.ts'
import { openPair, type Pair } from './registry.ts'

/** Quotas by principal; `rest`: of all others. */
const by =
  (quotas: Readonly<Record<string, Quota>>, rest?: Quota): NonNullable<StoreTerms['quotaOf']> =>
  (principal) =>
    (principal !== null && quotas[principal]) || rest

const body = (bytes: number): Pick<NewTask, 'body'> => ({ body: new Uint8Array(bytes) })
const outcomes = (said: readonly Enqueued[]) => said.map(({ outcome, of }) => (of ? `${outcome} of ${of}` : outcome))

async function withQuota(open: Open, quotaOf: StoreTerms['quotaOf'], terms: Partial<StoreTerms> = {}) {
  const kit = await setup(open)
  kit.store.configure?.({ ...TERMS, ...terms, ...(quotaOf && { quotaOf }) })
  let count = 0
  const put = async (...wanted: readonly Wanted[]) =>
    outcomes(await kit.store.enqueue(wanted.map((each) => newTask(++count, each))))
  return { ...kit, put }
}

/** Stores that are not for everyone. */
export function unlessForEveryone(open: Open): void {
  test('in a store of own lines no principal has a quota', async () => {
    const { put } = await withQuota(open, () => ({ capacity: 0, capacityBytes: 0 }))
    expect(await put(ann, { ...ann, ...body(9) })).toEqual(['stored', 'stored'])
  })
}

export function quotaRules(open: Open, pair?: Pair): void {
  test('S17 a task over the quota of its principal is refused, and says so; those of others are not', async () => {
    const { put, store } = await withQuota(open, by({ ann: { capacity: 2 } }))
    expect(await put(ann, bob, ann, ann, bob, {})).toEqual([
      ...['stored', 'stored', 'stored', 'full of principal', 'stored', 'stored'],
    ])
    expect(await store.get(idOf(4))).toBeUndefined()
    expect(await put({ ...ann, origin: 'https://third.test' })).toEqual(['full of principal'])
    expect(await store.counts()).toMatchObject({ pending: 5 })
  })

  test('S17 it counts what is pending, in flight or a dead letter; what has ended otherwise or is gone gives room', async () => {
    const { put, claim, settle, store, turn, pass, two } = await withQuota(open, by({ ann: { capacity: 4 } }))
    expect(await put(ann, ann, { ...ann, deadlineInMs: 10 }, ann)).toEqual(Array(4).fill('stored'))
    const [one, other] = await two({ limit: 2 })
    expect(await put(ann)).toEqual(['full of principal'])
    await settle(one.lease, NOT_RETRYABLE)
    await settle(other.lease, retryIn(60_000))
    pass(11)
    await turn()
    // two dead letters, one that waits for its curve, one that is due
    expect(await store.countsOf?.('ann')).toMatchObject({ pending: 2, exhausted: 2 })
    expect(await put(ann)).toEqual(['full of principal'])
    const [last] = await claim()
    if (last) await settle(last.lease, SUCCEEDED)
    expect(await put(ann, ann)).toEqual(['stored', 'full of principal'])
    await store.cancel(idOf(2))
    expect(await put(ann, ann)).toEqual(['stored', 'full of principal'])
    await store.purge({ principal: 'ann', status: 'EXHAUSTED' })
    expect(await put(ann, ann, ann)).toEqual(['stored', 'stored', 'full of principal'])
  })

  test('S17 a task that no quota is asked about is stored and counts; the room of the store it needs', async () => {
    const terms = { capacity: 4 }
    const { put, store } = await withQuota(open, by({ ann: { capacity: 1, capacityBytes: 4 } }), terms)
    const exempt: Wanted = { ...ann, quotaExempt: true }
    expect(await put(ann, ann, exempt, ann, { ...exempt, ...body(9) })).toEqual([
      ...['stored', 'full of principal', 'stored', 'full of principal', 'stored'],
    ])
    expect(await store.countsOf?.('ann')).toMatchObject({ pending: 3, bytes: 9 })
    expect(await store.get(idOf(3))).not.toHaveProperty('quotaExempt')
    expect(await put(exempt, exempt)).toEqual(['stored', 'full'])
    await store.purge({ taskId: idOf(1) })
    expect(await put(ann)).toEqual(['full of principal'])
  })

  test('S17 a dead letter that goes back, or succeeds late, counts as it is then; room has no say in that', async () => {
    const { put, lease, pass, turn, settle, store, clock } = await withQuota(open, by({ ann: { capacity: 1 } }))
    await put({ ...ann, policy: { policyId: 'one', maxAttempts: 1 } })
    const held = await lease()
    pass(LEASE_MS)
    await turn()
    expect(await put(ann)).toEqual(['full of principal'])
    const terms = { ...TERMS, quotaOf: by({ ann: { capacity: 0 } }) }
    store.configure?.(terms)
    expect(await store.redrive([idOf(1)], { spacingMs: 0, acceptDuplicateRisk: false })).toEqual(['redriven'])
    await store.cancel(idOf(1), 'closed')
    store.configure?.({ ...TERMS, quotaOf: by({ ann: { capacity: 1 } }) })
    expect(await put(ann)).toEqual(['full of principal'])
    expect(await settle(held, SUCCEEDED)).toBe('applied')
    expect(await put(ann, ann)).toEqual(['stored', 'full of principal'])
    expect(clock.now()).toBeGreaterThan(0)
  })

  test('S17 its bytes are those of the bodies of what it has, to the last one', async () => {
    const { put, lease, settle, store } = await withQuota(open, by({ ann: { capacityBytes: 10 } }))
    expect(await put({ ...ann, ...body(6) }, { ...ann, ...body(5) }, { ...bob, ...body(50) })).toEqual([
      ...['stored', 'full of principal', 'stored'],
    ])
    expect(await put({ ...ann, ...body(4) }, { ...ann, ...body(1) }, ann)).toEqual([
      ...['stored', 'full of principal', 'stored'],
    ])
    if (store.countsOf) {
      expect(await store.countsOf('ann')).toMatchObject({ pending: 3, bytes: 10 })
      expect(await store.countsOf('bob')).toMatchObject({ pending: 1, bytes: 50 })
      expect(await store.countsOf('nobody')).toMatchObject({ bytes: 0 })
    }
    await store.cancel(idOf(4))
    await store.cancel(idOf(1), 'closed')
    expect(await put({ ...ann, ...body(5) }, { ...ann, ...body(4) })).toEqual(['full of principal', 'stored'])
    for (const n of [3, 6, 8]) await store.cancel(idOf(n))
    await store.purge({ taskId: idOf(1) })
    await put({ ...ann, ...body(10) })
    expect(await settle(await lease(), SUCCEEDED)).toBe('applied')
    expect((await store.countsOf?.('ann'))?.bytes).toBe(store.countsOf && 0)
  })

  test('S6 S17 what is here already is said before that: a duplicate, or a conflict', async () => {
    const { put, store } = await withQuota(open, by({ ann: { capacity: 1 } }))
    await put({ ...ann, idempotencyKey: 'k' })
    const again = (given: Wanted) => newTask(7, { ...ann, idempotencyKey: 'k', ...given })
    expect(outcomes(await store.enqueue([again({}), again({ fingerprint: 'x' }), newTask(1, ann)]))).toEqual([
      ...['duplicate', 'conflict', 'duplicate'],
    ])
  })

  test('S17 where the store is full it says that, unless the quota of the principal is met too', async () => {
    const { put } = await withQuota(open, by({ ann: { capacity: 1 } }), { capacity: 2 })
    expect(await put(ann, bob, bob, ann)).toEqual(['stored', 'stored', 'full', 'full of principal'])
  })

  test('S16 no principal and the one of no letters are two, and so are those whose names begin alike', async () => {
    const { put } = await withQuota(open, () => ({ capacity: 1 }))
    const all = [null, '', ' ', 'a', 'a b', 'a ', 'https://api.test'].map((principal): Wanted => ({ principal }))
    expect(await put(...all)).toEqual(all.map(() => 'stored'))
    expect(await put(...all)).toEqual(all.map(() => 'full of principal'))
  })

  test('S17 with a lease too, and a task that starts at once counts as any other', async () => {
    const { store } = await withQuota(open, () => ({ capacity: 2 }))
    const tasks = [1, 2, 3].map((n) => newTask(n, ann))
    const said = await store.enqueue(tasks, { owner: 'runner', leaseMs: LEASE_MS })
    expect(said.map(({ outcome, lease }) => [outcome, lease !== undefined])).toEqual([
      ...[['stored', true] as const, ['stored', true] as const, ['full', false] as const],
    ])
  })

  test('quotas are those of the last terms, from the next enqueue on', async () => {
    const { put, store } = await withQuota(open, undefined)
    expect(await put(ann, ann)).toEqual(['stored', 'stored'])
    store.configure?.({ ...TERMS, quotaOf: () => ({ capacity: 2 }) })
    expect(await put(ann, bob)).toEqual(['full of principal', 'stored'])
    store.configure?.({ ...TERMS, quotaOf: () => ({}) })
    expect(await put(ann)).toEqual(['stored'])
    store.configure?.({ ...TERMS, quotaOf: () => ({ capacity: 0 }) })
    expect(await put(ann, { principal: 'new' })).toEqual(['full of principal', 'full of principal'])
  })

  test('S17 after the store was closed and opened again the same is counted', async () => {
    const { put, store, claim, settle } = await withQuota(open, by({ ann: { capacity: 3, capacityBytes: 20 } }))
    await put({ ...ann, ...body(8) }, { ...ann, ...body(8) }, ann)
    const [first] = await claim({ limit: 1 })
    if (first) await settle(first.lease, NOT_RETRYABLE)
    await store.close()
    expect(await put(ann)).toEqual(['full of principal'])
    await store.cancel(idOf(3))
    expect(await put({ ...ann, ...body(5) }, { ...ann, ...body(4) })).toEqual(['full of principal', 'stored'])
  })

  test('S17 over two handles: each counts what the other has taken, started and ended', async () => {
    if (!pair) return
    const [one, two] = await openPair(pair)
    const quotaOf = by({ ann: { capacity: 3, capacityBytes: 30 } })
    for (const store of [one, two]) store.configure?.({ ...TERMS, quotaOf })
    const take = async (store: TaskStore, n: number, bytes = 10) =>
      outcomes(await store.enqueue([newTask(n, { ...ann, ...body(bytes) })]))[0]
    expect([await take(one, 1), await take(two, 2), await take(one, 3, 11), await take(two, 4)]).toEqual([
      ...['stored', 'stored', 'full of principal', 'stored'],
    ])
    expect([await take(one, 5, 0), await take(two, 6, 0)]).toEqual(['full of principal', 'full of principal'])
    const step = { owner: 'runner', settle: [], renew: [] }
    const { claimed } = await one.turn({ ...step, claim: claimOf({ limit: 1 }) })
    expect(claimed.length).toBe(1)
    expect(await take(two, 7)).toBe('full of principal')
    await two.cancel(idOf(4))
    expect([await take(one, 8), await take(two, 9, 0)]).toEqual(['stored', 'full of principal'])
  })
}
