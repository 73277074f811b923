import { expect } from 'vitest'
import { laneName, type Pause, type TaskStore } from '../../../js/api/store.ts'
import {
  claimOf,
  idOf,
  idsOf,
  kitFor,
  LEASE_MS,
  newTask,
  type Open,
  ORIGIN,
  OTHER,
  partOf,
  retryIn,
  SUCCEEDED,
  setup,
  testWhere,
} from './kit.ts'
import { openPair, type Pair } from './registry.ts'

const pauseOf = (scope: Omit<Pause, 'id' | 'at'> = {}, id = 'p'): Pause => ({ id, at: 1_000, ...scope })

/** Tasks of both principals at both origins, by number. */
const EACH = [
  { principal: 'ann' },
  { principal: null },
  { principal: 'ann', origin: OTHER },
  { principal: null, origin: OTHER },
]

export function pauseRules(open: Open, everyone?: Open, pair?: Pair): void {
  const { add, claim, lease, pass, settle, store, turn } = kitFor(open)
  const pauses = partOf(() => store.pauses as NonNullable<TaskStore['pauses']>)
  const test = testWhere(() => store.pauses)
  const scopes = [
    [{ origin: ORIGIN }, [3, 4]],
    [{ principal: 'ann' }, [2, 4]],
    [{ principal: null }, [1, 3]],
    [{ origin: ORIGIN, principal: 'ann' }, [2, 3, 4]],
    [{ origin: OTHER, principal: null }, [1, 2, 3]],
    [{ principal: 'bob' }, [1, 2, 3, 4]],
    [{ origin: 'https://third.test' }, [1, 2, 3, 4]],
    [{}, []],
  ] as const

  test.for(scopes)('S7 a pause of %o leaves %o to be claimed, in a store for everyone too', async ([scope, left]) => {
    for (const made of everyone ? [open, everyone] : [open]) {
      const { store, add, claim } = await setup(made)
      await add(...EACH)
      await store.pauses?.put(pauseOf(scope))
      const claimed = [...(await claim({ principal: 'ann' })), ...(await claim())]
      expect(idsOf(claimed).toSorted()).toEqual(left.map(idOf))
    }
  })

  test('S7 a pause holds for a list of lanes too, and beside the bounds of a claim', async () => {
    await add({}, {}, { origin: OTHER })
    await pauses.put(pauseOf({ origin: ORIGIN }))
    const lanes = [ORIGIN, OTHER].map((lane) => ({ lane, max: 9 }))
    const listed = await turn({ claim: claimOf({ lanes, limit: 0 }) })
    expect(listed.lanes.map(({ lane }) => lane)).toEqual([OTHER])
    expect(await claim({ bounds: [{ lane: OTHER, max: 0 }] })).toEqual([])
    expect(await claim({ bounds: [{ lane: ORIGIN, max: 1, leastTried: true }], otherMax: 0 })).toEqual([])
    expect(idsOf(await claim({ lanes }))).toEqual([idOf(3)])
  })

  test('what is due in a paused lane asks for no turn and is kept back by no limit; what is due elsewhere is', async () => {
    await add({}, { dueInMs: 100 }, { origin: OTHER, dueInMs: 700 })
    await pauses.put(pauseOf({ origin: ORIGIN }))
    for (const total of [1_000, 0]) {
      const { claimed, nextInMs, blockedByLimit, lanes } = await turn({ claim: claimOf({ total }) })
      expect([claimed, nextInMs, blockedByLimit]).toEqual([[], 700, false])
      expect(lanes.map(({ lane }) => lane)).toEqual([OTHER])
    }
    pass(100)
    await pauses.put(pauseOf({}, 'q'))
    expect((await turn({ claim: claimOf() })).nextInMs).toBe(86_400_000 + 1 - 100)
  })

  test('lanes that are paused are shown in a turn without a claim, and deadlines go on', async () => {
    await add({ deadlineInMs: 50 }, {})
    await pauses.put(pauseOf())
    pass(51)
    const { lanes, ended, nextInMs } = await turn()
    expect(lanes).toMatchObject([{ lane: ORIGIN, pending: 1, nextInMs: 0 }])
    expect([ended.map(({ taskId }) => taskId), nextInMs]).toEqual([[idOf(1)], 0])
  })

  test('what is in flight ends, and waits then as all else does', async () => {
    const held = await lease({}, { dueInMs: 10 })
    await pauses.put(pauseOf({ origin: ORIGIN }))
    const renewed = await turn({ renew: [{ ...held, forMs: 5_000 }], claim: claimOf() })
    expect([renewed.renewed, renewed.nextInMs]).toEqual([['renewed'], 5_000])
    expect(await settle(held, retryIn(0))).toBe('applied')
    expect(await claim()).toEqual([])
    await pauses.lift('p')
    const [again] = await claim()
    expect(again?.task.taskId).toBe(idOf(1))
    if (again) expect(await settle(again.lease, SUCCEEDED)).toBe('applied')
  })

  test('an enqueue stores what is paused without a lease, and says that something is due', async () => {
    await pauses.put(pauseOf({ principal: 'ann' }))
    const heard: string[] = []
    store.subscribe?.(({ kind, taskId }) => heard.push(taskId ? `${kind} ${taskId}` : kind))
    const wish = { owner: 'runner', leaseMs: LEASE_MS }
    const outcomes = await store.enqueue([newTask(1, { principal: 'ann' }), newTask(2)], wish)
    expect(outcomes.map(({ outcome, lease }) => [outcome, lease !== undefined])).toEqual([
      ['stored', false],
      ['stored', true],
    ])
    expect(await store.get(idOf(1))).toMatchObject({ status: 'PENDING', attemptNumber: 0 })
    if (store.subscribe) expect(heard).toContain('due')
  })

  test('of several pauses each holds until it is lifted, which is told as due', async () => {
    await add({})
    await pauses.put(pauseOf({}, 'b'))
    await pauses.put(pauseOf({ origin: ORIGIN }, 'a'))
    const heard: string[] = []
    store.subscribe?.(({ kind }) => heard.push(kind))
    expect(await pauses.lift('c')).toBe(false)
    expect(heard).toEqual([])
    expect(await pauses.lift('b')).toBe(true)
    expect(await pauses.lift('b')).toBe(false)
    expect(await claim()).toEqual([])
    expect(await pauses.lift('a')).toBe(true)
    expect(idsOf(await claim())).toEqual([idOf(1)])
    if (store.subscribe) expect(heard.filter((kind) => kind === 'due')).toHaveLength(2)
  })

  test('pauses are listed by id as they were put, and one with an id that is there replaces it', async () => {
    await add({}, { origin: OTHER })
    const one = { id: 'b', origin: ORIGIN, principal: null, reason: 'a sale', at: 17 }
    await pauses.put(one)
    await pauses.put(pauseOf({}, 'a'))
    expect(await pauses.list()).toEqual([pauseOf({}, 'a'), one])
    await pauses.put(pauseOf({ origin: OTHER }, 'a'))
    expect(await pauses.list()).toEqual([pauseOf({ origin: OTHER }, 'a'), one])
    await pauses.lift('b')
    expect(idsOf(await claim())).toEqual([idOf(1)])
    await store.close()
    expect(await pauses.list()).toEqual([pauseOf({ origin: OTHER }, 'a')])
    expect(await claim()).toEqual([])
  })

  test('S12 a pause of a part that was left undefined is refused: it may have been meant to be less', async () => {
    for (const wrong of [
      { origin: undefined },
      { principal: undefined },
      { origin: 'api.test' },
      { id: '' },
      { at: Number.NaN },
    ])
      await expect(pauses.put({ ...pauseOf(), ...wrong } as Pause)).rejects.toThrow(/pauses\.put/)
    expect(await pauses.list()).toEqual([])
  })

  test('S7 over two handles: once a pause has resolved at one, the other starts nothing of it until it is lifted', async () => {
    if (!pair) return
    const [one, two] = await openPair(pair)
    if (!one.pauses || !two.pauses) return
    const step = { owner: 'runner', settle: [], renew: [] }
    const claimedBy = async (store: TaskStore, principal: string | null = 'ann') =>
      idsOf((await store.turn({ ...step, claim: claimOf({ limit: 1, principal }) })).claimed)
    await two.enqueue([1, 2, 3, 4].map((n) => newTask(n, { principal: 'ann' })))
    expect(await claimedBy(two)).toEqual([idOf(1)])
    for (const scope of [{}, { origin: ORIGIN }, { principal: 'ann' }, { origin: ORIGIN, principal: 'ann' }]) {
      await one.pauses.put(pauseOf(scope))
      expect(await claimedBy(two)).toEqual([])
      const wish = { owner: 'runner', leaseMs: LEASE_MS }
      const [outcome] = await two.enqueue([newTask(9, { principal: 'ann', idempotencyKey: null })], wish)
      expect(outcome?.lease).toBeUndefined()
      await two.purge({ taskId: idOf(9) })
      expect(await two.pauses.lift('p')).toBe(true)
    }
    expect(await claimedBy(one)).toEqual([idOf(2)])
    await one.pauses.put(pauseOf({ principal: 'bob' }))
    expect(await claimedBy(two)).toEqual([idOf(3)])
  })

  test('S9 a hold that ends and a lane that is served while others are paused keep their turns', async () => {
    if (!everyone) return
    const { store, add, claim, turn, pass, settle } = await setup(everyone)
    await add({ principal: 'ann' }, { principal: 'bob' }, { principal: 'bob' }, { origin: OTHER })
    await store.pauses?.put(pauseOf({ principal: 'ann' }))
    const [first] = await claim({ limit: 1 })
    expect(first?.task.taskId).toBe(idOf(2))
    if (first) await settle(first.lease, retryIn(60_000), { holdLaneForMs: 1_000 })
    expect(idsOf(await claim())).toEqual([idOf(4)])
    expect((await turn({ claim: claimOf() })).nextInMs).toBe(1_000)
    pass(1_000)
    expect(idsOf(await claim())).toEqual([idOf(3)])
    await store.pauses?.lift('p')
    const { claimed, lanes } = await turn({ claim: claimOf() })
    expect(idsOf(claimed)).toEqual([idOf(1)])
    expect(lanes.map(({ lane }) => lane)).toContain(laneName('ann', ORIGIN))
  })
}
