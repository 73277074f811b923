import { expect, test } from 'vitest'
import { SWEEP, UNTOLD_COUNTED } from '../../../js/api/store.ts'
import {
  claimOf,
  idOf,
  type Kit,
  kitFor,
  LEASE_MS,
  NOT_RETRYABLE,
  newTask,
  type Open,
  retryIn,
  SUCCEEDED,
  setup,
  succeed,
  type Wanted,
} from './kit.ts'

const tells: Wanted = { principal: 'ann', tells: true }

const unreportedIn = async ({ store }: Kit, limit = 99) => {
  if (!store.untold) throw new Error('a store for everyone can say which ends are to be told')
  return store.untold(limit)
}
const idsIn = async (kit: Kit, limit?: number) => (await unreportedIn(kit, limit)).map(({ task }) => task.taskId)
/** Says that all that is untold was told. */
const tellAll = async (kit: Kit) => {
  const ends = (await unreportedIn(kit)).map(({ task: { taskId }, endedAt }) => ({ taskId, endedAt }))
  await kit.store.told?.(ends)
  return ends
}

/** Each way to an end, of the one task there is. */
const WAYS: Readonly<Record<string, (kit: Kit) => Promise<unknown>>> = {
  'a success': async ({ lease, settle }) => settle(await lease(), SUCCEEDED),
  'a failure that is final': async ({ lease, settle }) => settle(await lease(), NOT_RETRYABLE),
  'its deadline': async ({ pass, turn }) => {
    pass(60_001)
    await turn()
  },
  'a lease that ran out with all attempts counted': async ({ lease, pass, turn }) => {
    await lease()
    pass(LEASE_MS)
    await turn()
  },
  'all attempts counted at its claim': async ({ lease, settle, claim }) => {
    await settle(await lease(), retryIn(0))
    await claim()
  },
  'a cancel while it waits': ({ store }) => store.cancel(idOf(1)),
  'a cancel with a reason': ({ store }) => store.cancel(idOf(1), 'closed'),
  'a cancel in flight, and its failure': async ({ store, lease, settle }) => {
    const held = await lease()
    await store.cancel(idOf(1))
    await settle(held, retryIn(5))
  },
  'a cancel in flight, and its lease that ran out': async ({ store, lease, pass, turn }) => {
    await lease()
    await store.cancel(idOf(1))
    pass(LEASE_MS)
    await turn()
  },
}

export function unreportedRules(open: Open): void {
  const kit = kitFor(open)
  test.for(Object.entries(WAYS))(
    'S1 after %s the end of a task that tells is to be told, and no other',
    async ([, end]) => {
      for (const told of [tells, {}]) {
        const kit = await setup(open)
        await kit.add({ ...told, policy: { policyId: 'one', maxAttempts: 1 }, deadlineInMs: 60_000 })
        expect(await unreportedIn(kit)).toEqual([])
        await end(kit)
        expect((await kit.get(idOf(1))).dueAt).toBe(null)
        const found = await unreportedIn(kit)
        expect(found).toEqual(told === tells ? [{ task: await kit.get(idOf(1)), endedAt: kit.clock.now() }] : [])
        expect((await kit.turn()).untold).toBe(told === tells ? 1 : undefined)
      }
    },
  )

  test('S4 a late success of a dead letter is an end of its own, to be told too', async () => {
    const lease = await kit.lease({ ...tells, policy: { policyId: 'one', maxAttempts: 1 } })
    kit.pass(LEASE_MS)
    await kit.turn()
    const [dead] = await tellAll(kit)
    expect(await idsIn(kit)).toEqual([])
    kit.pass(10)
    expect(await kit.settle(lease, SUCCEEDED)).toBe('applied')
    expect(await unreportedIn(kit)).toMatchObject([{ task: { status: 'SUCCEEDED' }, endedAt: kit.clock.now() }])
    // what was told is not this end
    if (dead) await kit.store.told?.([dead])
    expect(await idsIn(kit)).toEqual([idOf(1)])
    await tellAll(kit)
    expect(await idsIn(kit)).toEqual([])
  })

  test('those that ended first come first, of those that ended at once the ones that were enqueued first', async () => {
    const { add, store, pass, turn } = kit
    await add(tells, tells, tells, { ...tells, principal: 'bob' }, {})
    for (const n of [3, 5]) await store.cancel(idOf(n))
    pass(1)
    for (const n of [4, 1]) await store.cancel(idOf(n), 'closed')
    pass(1)
    await store.cancel(idOf(2))
    expect(await idsIn(kit)).toEqual([3, 1, 4, 2].map(idOf))
    expect(await idsIn(kit, 2)).toEqual([3, 1].map(idOf))
    expect(await idsIn(kit, 0)).toEqual([])
    expect((await turn()).untold).toBe(4)
  })

  test('S14 an end that was told is untold no more, twice is once, and what is not here is nothing', async () => {
    await kit.add(tells, tells)
    for (const n of [1, 2]) await kit.store.cancel(idOf(n))
    const endedAt = kit.clock.now()
    const told = [
      { taskId: idOf(1), endedAt },
      { taskId: idOf(1), endedAt },
      { taskId: idOf(2), endedAt: endedAt + 1 },
      { taskId: idOf(9), endedAt },
      { taskId: 'nobody', endedAt },
    ]
    for (let i = 0; i < 2; i++) {
      await kit.store.told?.(told)
      expect(await idsIn(kit)).toEqual([idOf(2)])
    }
    await kit.store.told?.([])
    expect((await kit.turn()).untold).toBe(1)
  })

  test('S13 a dead letter whose end is untold stays until it was told, and its next end is to be told as well', async () => {
    await kit.add(tells, tells, {})
    for (const n of [1, 2, 3]) await kit.store.cancel(idOf(n), 'closed')
    const first = kit.clock.now()
    await kit.store.told?.([{ taskId: idOf(1), endedAt: first }])
    kit.pass(5)
    const back = () => kit.store.redrive([1, 2, 3].map(idOf), { spacingMs: 10, acceptDuplicateRisk: false })
    expect(await back()).toEqual(['redriven', 'untold', 'redriven'])
    expect((await kit.get(idOf(3))).dueAt).toBe(kit.clock.now() + 10)
    expect(await kit.get(idOf(2))).toMatchObject({ status: 'EXHAUSTED', attemptNumber: 0 })
    expect(await idsIn(kit)).toEqual([idOf(2)])
    await kit.store.told?.([{ taskId: idOf(2), endedAt: first }])
    expect(await back()).toEqual(['gone', 'redriven', 'gone'])
    expect((await kit.turn()).untold).toBeUndefined()
    kit.pass(15)
    for (const { lease } of await kit.claim()) await kit.settle(lease, SUCCEEDED)
    await kit.store.told?.([1, 2].map((n) => ({ taskId: idOf(n), endedAt: first })))
    expect(await idsIn(kit)).toEqual([1, 2].map(idOf))
  })

  test('of some tasks alone those are given whose end is to be told, in the order of all', async () => {
    await kit.add(tells, tells, tells, {}, tells)
    for (const n of [3, 1, 2, 4]) {
      await kit.store.cancel(idOf(n), 'closed')
      kit.pass(1)
    }
    await kit.store.told?.([{ taskId: idOf(1), endedAt: kit.clock.now() - 3 }])
    const ofSome = async (limit: number, ...ids: string[]) =>
      (await kit.store.untold?.(limit, ids))?.map(({ task }) => task.taskId)
    expect(await ofSome(9, ...[1, 2, 3, 4, 5, 6].map(idOf), 'nobody')).toEqual([3, 2].map(idOf))
    expect(await ofSome(1, ...[2, 3, 3].map(idOf))).toEqual([idOf(3)])
    expect(await ofSome(9, idOf(2), idOf(2))).toEqual([idOf(2)])
    expect(await ofSome(9)).toEqual([])
  })

  test('retention passes over what is untold, by age and by number, and takes it once it was told', async () => {
    const retention = { terminalMs: 1_000, maxTerminal: 2, deadLetterMs: 1_000, maxDeadLetters: 1 }
    const kit = await setup(open, { retention })
    const { add, store, turn, pass } = kit
    await add(tells, {}, {}, tells, {}, tells, {})
    for (const n of [1, 2, 3]) await store.cancel(idOf(n))
    for (const n of [4, 5]) await store.cancel(idOf(n), 'closed')
    await turn()
    const left = async () => (await store.list({ limit: 99 })).tasks.map(({ taskId }) => taskId)
    // three where two may be: the first that was told, or need not be, goes
    expect(await left()).toEqual([1, 3, 4, 6, 7].map(idOf))
    pass(1_001)
    await turn()
    expect(await left()).toEqual([1, 4, 6, 7].map(idOf))
    expect(await idsIn(kit)).toEqual([1, 4].map(idOf))
    await tellAll(kit)
    await turn()
    expect(await left()).toEqual([6, 7].map(idOf))
  })

  test('what is untold is deleted where that is asked for', async () => {
    await kit.add(tells, tells, tells)
    for (const n of [1, 2, 3]) await kit.store.cancel(idOf(n))
    expect(await kit.store.purge({ taskId: idOf(2) })).toBe(1)
    expect(await idsIn(kit)).toEqual([1, 3].map(idOf))
    await kit.store.purgeAll()
    expect(await idsIn(kit)).toEqual([])
    expect((await kit.turn()).untold).toBeUndefined()
  })

  test('where the clock falls back, told ends stay told, and others can still be told', async () => {
    await kit.add(tells, tells)
    for (const n of [1, 2]) await kit.store.cancel(idOf(n))
    const endedAt = kit.clock.now()
    await kit.store.told?.([{ taskId: idOf(1), endedAt }])
    kit.pass(-3_600_000)
    await kit.turn()
    expect(await unreportedIn(kit)).toMatchObject([{ task: { taskId: idOf(2) }, endedAt: endedAt - 3_600_000 }])
    await tellAll(kit)
    expect(await idsIn(kit)).toEqual([])
  })

  test('S1 ends are to be told after the store was closed and opened again', async () => {
    await kit.add(tells, tells)
    for (const n of [1, 2]) await kit.store.cancel(idOf(n))
    await kit.store.told?.([{ taskId: idOf(1), endedAt: kit.clock.now() }])
    await kit.store.close()
    expect(await idsIn(kit)).toEqual([idOf(2)])
  })

  test('a turn counts so many of them, and no more', async () => {
    const kit = await setup(open, { capacity: 5_000 })
    const tasks = Array.from({ length: UNTOLD_COUNTED + 1 }, (_, n) => newTask(n + 1, tells))
    await kit.store.enqueue(tasks)
    const claimed = await kit.claim({ limit: tasks.length, total: tasks.length, perLane: tasks.length })
    expect((await succeed(kit, claimed)).untold).toBe(UNTOLD_COUNTED)
    const ends = (await unreportedIn(kit, 10_000)).map(({ task: { taskId }, endedAt }) => ({ taskId, endedAt }))
    expect(ends.length).toBe(tasks.length)
    await kit.store.told?.(ends.slice(5))
    expect((await kit.turn({ claim: claimOf() })).untold).toBe(5)
  })

  test('the many of them do not keep retention from what it may delete', async () => {
    const kit = await setup(open, { retention: { terminalMs: 0, maxTerminal: 0, deadLetterMs: 0, maxDeadLetters: 0 } })
    const most = SWEEP + 50
    await kit.add(...Array.from({ length: most }, () => tells), {}, {})
    for (let n = 1; n <= most + 2; n++) await kit.store.cancel(idOf(n))
    kit.pass(1)
    await kit.turn()
    expect(await kit.store.counts()).toMatchObject({ cancelled: most, purged: 2 })
  })
}
