import { expect, test } from 'vitest'
import { LIST_LOOKED_AT, type TaskStore } from '../../../js/api/store.ts'
import { idOf, type Kit, kitFor, many, type Open, OTHER, type Wanted } from './kit.ts'

type Filter = Omit<Parameters<TaskStore['list']>[0], 'limit' | 'cursor'>

const policy = (policyId: string) => ({ policyId, maxAttempts: 5, totalBudgetMs: 86_400_000, keyTtlMs: 86_400_000 })

/** All ids, page by page. */
async function allIds(store: TaskStore, filter: Filter, limit: number): Promise<readonly string[]> {
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await store.list({ ...filter, limit, ...(cursor === undefined ? {} : { cursor }) })
    expect(page.tasks.length).toBeLessThanOrEqual(limit)
    seen.push(...page.tasks.map(({ taskId }) => taskId))
    cursor = page.cursor
  } while (cursor !== undefined)
  return seen
}

/** Twelve tasks of two origins, principals and policies, of which some have ended. */
async function twelve({ add, store, two, turn, settle }: Kit): Promise<void> {
  await add(
    ...Array.from({ length: 12 }, (_, i) => ({
      dueInMs: i < 4 ? 0 : 60_000,
      policy: policy(i % 3 === 0 ? 'fast' : 'slow'),
      ...(i % 2 === 0 ? {} : { origin: OTHER }),
      ...(i % 4 === 3 ? { principal: 'ann', tags: ['a'] } : {}),
    })),
  )
  const [first, second] = await two()
  await settle(first.lease, { kind: 'exhausted', reason: 'vetoed' })
  await settle(second.lease, { kind: 'exhausted', reason: 'not_retryable' })
  await store.cancel(idOf(5), 'wait_exceeded')
  await store.cancel(idOf(6))
  await turn()
}

export function listRules(open: Open): void {
  const kit = kitFor(open)
  const { add, store } = kit
  test.for([
    [{}],
    [{ status: 'PENDING' }],
    [{ active: true }],
    [{ principal: 'ann' }],
    [{ origin: OTHER }],
    [{ tags: ['a'] }],
    [{ policyId: 'slow' }],
    [{ from: idOf(3), to: idOf(10) }],
    [{ active: true, policyId: 'fast', from: idOf(2) }],
  ] as const)('a falling list of %o is the rising one from its end, page by page', async ([filter]) => {
    await twelve(kit)
    const rising = await allIds(kit.store, filter, 3)
    expect(rising.length).toBeGreaterThan(1)
    expect(rising).toEqual(rising.toSorted())
    expect(await allIds(kit.store, { ...filter, order: 'rising' }, 2)).toEqual(rising)
    for (const limit of [1, 3, 50]) {
      expect(await allIds(kit.store, { ...filter, order: 'falling' }, limit)).toEqual(rising.toReversed())
    }
  })

  test('a falling list goes on below its cursor, whatever has come since', async () => {
    await add({}, {}, {}, {})
    const first = await store.list({ order: 'falling', limit: 2 })
    expect([first.tasks.map(({ taskId }) => taskId), first.cursor]).toEqual([[idOf(4), idOf(3)], idOf(3)])
    await add({})
    const second = await store.list({ order: 'falling', limit: 2, cursor: idOf(3) })
    expect([second.tasks.map(({ taskId }) => taskId), second.cursor]).toEqual([[idOf(2), idOf(1)], undefined])
  })

  test.for([
    [{ from: idOf(3) }, [3, 4, 5]],
    [{ to: idOf(3) }, [1, 2]],
    [{ from: idOf(2), to: idOf(4) }, [2, 3]],
    [{ from: '00000000-0000-7000-8000-0000000000', to: idOf(2) }, [1]],
    [{ from: idOf(4), to: idOf(2) }, []],
    [{ from: idOf(3), to: idOf(3) }, []],
    [{ from: idOf(9) }, []],
    [{ from: '', to: 'zzz' }, [1, 2, 3, 4, 5]],
  ] as const)('from is the first of a list, and to the first that is not in it: %o', async ([filter, expected]) => {
    await add({}, {}, {}, {}, {})
    for (const limit of [1, 9]) {
      expect(await allIds(store, filter, limit)).toEqual(expected.map(idOf))
      expect(await allIds(store, { ...filter, order: 'falling' }, limit)).toEqual(expected.map(idOf).toReversed())
      expect(await allIds(store, { ...filter, status: 'PENDING' }, limit)).toEqual(expected.map(idOf))
    }
  })

  test('a cursor counts within the bounds, in either order', async () => {
    await add({}, {}, {}, {}, {})
    const idsIn = async (filter: Filter & { readonly cursor: string }) =>
      (await store.list({ ...filter, limit: 9 })).tasks.map(({ taskId }) => taskId)
    expect(await idsIn({ from: idOf(3), cursor: idOf(1) })).toEqual([3, 4, 5].map(idOf))
    expect(await idsIn({ from: idOf(2), cursor: idOf(3) })).toEqual([4, 5].map(idOf))
    expect(await idsIn({ to: idOf(3), cursor: idOf(5), order: 'falling' })).toEqual([2, 1].map(idOf))
    expect(await idsIn({ to: idOf(5), cursor: idOf(3), order: 'falling' })).toEqual([2, 1].map(idOf))
  })

  test.for([
    [{ policyId: 'fast' }, [1, 4, 7, 10]],
    [{ policyId: 'fast', status: 'PENDING' }, [4, 7, 10]],
    [{ policyId: 'fast', origin: OTHER }, [4, 10]],
    [{ policyId: 'fas' }, []],
    [{ reason: 'vetoed' }, [1]],
    [{ reason: 'not_retryable' }, [2]],
    [{ reason: 'wait_exceeded' }, [5]],
    [{ reason: 'vetoed', status: 'EXHAUSTED' }, [1]],
    [{ reason: 'vetoed', status: 'CANCELLED' }, []],
    [{ reason: 'vetoed', active: true }, []],
    [{ reason: 'vetoed', policyId: 'slow' }, []],
    [{ reason: 'max_attempts' }, []],
  ] as const)('a list of %o has %o', async ([filter, expected]) => {
    await twelve(kit)
    expect(await allIds(kit.store, filter, 2)).toEqual(expected.map(idOf))
  })

  test('a list by key has the tasks that were cancelled under it too, of whichever principal, and no other key', async () => {
    await add({ idempotencyKey: 'k' }, { idempotencyKey: 'other' })
    await store.cancel(idOf(1))
    await add(
      { idempotencyKey: 'k', origin: OTHER },
      { idempotencyKey: 'k', principal: 'ann' },
      { idempotencyKey: 'k%' },
    )
    const lists = [
      [{}, [1, 3, 4]],
      [{ principal: null }, [1, 3]],
      [{ principal: 'ann' }, [4]],
      [{ principal: 'bob' }, []],
      [{ status: 'CANCELLED' }, [1]],
      [{ active: true, principal: null }, [3]],
      [{ origin: OTHER }, [3]],
      [{ from: idOf(2), to: idOf(4) }, [3]],
      [{ tags: ['a'] }, []],
    ] as const
    for (const [filter, expected] of lists) {
      for (const limit of [1, 9]) {
        const wanted = { ...filter, idempotencyKey: 'k' }
        expect(await allIds(store, wanted, limit)).toEqual(expected.map(idOf))
        expect(await allIds(store, { ...wanted, order: 'falling' }, limit)).toEqual(expected.map(idOf).toReversed())
      }
    }
    await store.purge({ taskId: idOf(1) })
    expect(await allIds(store, { idempotencyKey: 'k' }, 9)).toEqual([3, 4].map(idOf))
  })

  test.for([
    ['a', [1, 2]],
    ['b c', [1]],
    ['"b"', [3]],
    ['é\\', [3]],
    ['fast', []],
  ] as const)('the tag %s is found as it was given, and in no other part of a task', async ([tag, expected]) => {
    await add(
      { tags: ['a', 'b c'] },
      { tags: ['a'] },
      { tags: ['"b"', 'é\\'] },
      { policy: policy('fast'), meta: { a: 'a' } },
    )
    expect(await allIds(store, { tags: [tag] }, 1)).toEqual(expected.map(idOf))
    expect(await allIds(store, { tags: [tag], principal: null, active: true }, 9)).toEqual(expected.map(idOf))
  })

  test('a redriven task has no reason, and the policy that it was redriven with', async () => {
    await twelve(kit)
    const { store } = kit
    await store.redrive([idOf(1)], { spacingMs: 0, acceptDuplicateRisk: true })
    expect(await allIds(store, { reason: 'vetoed' }, 9)).toEqual([])
    expect(await allIds(store, { policyId: 'fast', status: 'PENDING' }, 9)).toEqual([1, 4, 7, 10].map(idOf))
  })

  test.for([
    [{ policyId: 'rare' }, { policy: policy('rare') }],
    [{ tags: ['rare'] }, { tags: ['rare'] }],
  ])('%o is looked for page by page, and a page that has found nothing yet goes on', async ([filter, rare]) => {
    const total = LIST_LOOKED_AT + 200
    const isRare = (i: number) => i % 500 === 499 || i === 0 || i === total - 1
    await add(...many(total, (i) => (isRare(i) ? (rare as Wanted) : {})))
    const wanted = [1, 500, 1_000, total].map(idOf)
    expect(await allIds(store, filter as Filter, 3)).toEqual(wanted)
    expect(await allIds(store, { ...(filter as Filter), order: 'falling' }, 3)).toEqual(wanted.toReversed())
  })

  test.for([
    ...['status', 'active', 'tags', 'principal', 'idempotencyKey', 'origin'],
    ...['policyId', 'reason', 'from', 'to', 'order'],
  ])('a list by %s, which was left undefined, is refused', async (name) => {
    await expect(store.list({ limit: 9, [name]: undefined })).rejects.toThrow(TypeError)
  })

  test('an order that there is not is refused', async () => {
    await expect(store.list({ limit: 9, order: 'desc' as never })).rejects.toThrow(/list\.order: expected/)
  })
}
