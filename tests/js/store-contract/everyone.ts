import { expect, test } from 'vitest'
import { type Lease, laneName, RECORD_SCHEMA } from '../../../js/api/store.ts'
import {
  ann,
  bob,
  claimOf,
  idOf,
  idsOf,
  kitFor,
  LEASE_MS,
  newTask,
  type Open,
  ORIGIN,
  OTHER,
  releaseIn,
  retryIn,
  SUCCEEDED,
  setup,
  type Wanted,
} from './kit.ts'

const other: Wanted = { origin: OTHER }

/** The rules of a store in which the lanes of all principals stand in one line. */
export function everyoneRules(open: Open): void {
  const { add, claim, enqueue, pass, settle, store, turn } = kitFor(open)
  test('S16 it says that it is for everyone, and still after it was closed', async () => {
    expect(store.everyone).toBe(true)
    await add(ann, {})
    await store.close()
    expect(idsOf(await claim({ principal: 'nobody' }))).toEqual([idOf(2), idOf(1)])
  })

  test('L4 S16 lanes of all principals and origins take turns, whosever claim it is', async () => {
    await add(ann, ann, ann, bob, { ...ann, ...other }, { ...bob, ...other }, other)
    const seen: (readonly string[])[] = []
    for (const principal of [null, 'ann', 'bob', 'nobody', '', null, 'ann'])
      seen.push(idsOf(await claim({ limit: 1, principal })))
    expect(seen).toEqual([1, 4, 7, 5, 6, 2, 3].map((n) => [idOf(n)]))
  })

  test('a turn shows the lanes of all, and when the next of any of them is due', async () => {
    await add({ ...ann, dueInMs: 700 }, { ...bob, dueInMs: 300 }, { ...other, dueInMs: 500 })
    const { lanes, nextInMs } = await turn({ claim: claimOf({ principal: 'ann' }) })
    expect(lanes.map(({ lane }) => lane)).toEqual([laneName('bob', ORIGIN), OTHER, laneName('ann', ORIGIN)])
    expect(nextInMs).toBe(300)
  })

  test('a bound of 0 shuts all lanes of its origin, and nothing is asked for on their account', async () => {
    await add(ann, bob, {}, { ...ann, ...other }, { ...bob, dueInMs: 100 }, { ...bob, ...other, dueInMs: 500 })
    const bounds = [{ lane: ORIGIN, max: 0 }]
    const { claimed, lanes, nextInMs, blockedByLimit } = await turn({ claim: claimOf({ bounds }) })
    expect(idsOf(claimed)).toEqual([idOf(4)])
    expect(lanes.map(({ lane }) => lane)).toEqual([laneName('bob', OTHER), laneName('ann', OTHER)])
    expect([nextInMs, blockedByLimit]).toEqual([500, false])
    const all = [ORIGIN, OTHER].map((lane) => ({ lane, max: 0 }))
    const nothing = { claimed: [], lanes: [], nextInMs: LEASE_MS }
    expect(await turn({ claim: claimOf({ bounds: all }) })).toMatchObject(nothing)
  })

  test('a bound names an origin, and none of its lanes', async () => {
    await add(ann, bob)
    expect(idsOf(await claim({ bounds: [{ lane: laneName('ann', ORIGIN), max: 0 }] }))).toEqual([idOf(1), idOf(2)])
  })

  test('the lanes of an origin share its bound: two of three lanes give one each, and more is not asked for', async () => {
    await add(ann, ann, bob, bob, {}, {}, { ...ann, ...other })
    const bounds = [{ lane: ORIGIN, max: 2 }]
    const first = await turn({ claim: claimOf({ bounds }) })
    expect(idsOf(first.claimed)).toEqual([idOf(5), idOf(1), idOf(7)])
    expect(first).toMatchObject({ nextInMs: LEASE_MS, blockedByLimit: false })
    expect(first.lanes).toHaveLength(4)
    // it bounds one claim, and the next may take as many again
    const second = await turn({ claim: claimOf({ bounds }) })
    expect(idsOf(second.claimed)).toEqual([idOf(3), idOf(6)])
  })

  test('within the bound of an origin one lane may give all, and of less than that more is asked for', async () => {
    await add(ann, ann, ann, { ...bob, dueInMs: 100 })
    const bounds = [{ lane: ORIGIN, max: 3 }]
    const first = await turn({ claim: claimOf({ bounds, limit: 2 }) })
    expect([idsOf(first.claimed), first.nextInMs]).toEqual([[idOf(1), idOf(2)], 0])
    const second = await turn({ claim: claimOf({ bounds: [{ lane: ORIGIN, max: 1 }] }) })
    expect([idsOf(second.claimed), second.nextInMs]).toEqual([[idOf(3)], 100])
  })

  test('a limit of origins that no bound names: of each, over its lanes, no more than so', async () => {
    await add(ann, bob, { ...ann, ...other }, { ...bob, ...other }, other)
    const bounds = [{ lane: ORIGIN, max: 2 }]
    expect(idsOf(await claim({ bounds, otherMax: 1 }))).toEqual([idOf(1), idOf(2), idOf(5)])
    expect(await claim({ otherMax: 0 })).toEqual([])
    expect(idsOf(await claim({ bounds, otherMax: 0 }))).toEqual([])
    expect(idsOf(await claim({ otherMax: 9 }))).toEqual([idOf(3), idOf(4)])
  })

  test('where a server is to be tried out, of each of its lanes the task with the fewest attempts comes first', async () => {
    await add(
      { ...ann, attemptNumber: 3 },
      { ...ann, attemptNumber: 1 },
      { ...bob, attemptNumber: 2 },
      { ...bob, attemptNumber: 0 },
      { ...ann, ...other, attemptNumber: 3 },
      { ...ann, ...other },
    )
    const bounds = [{ lane: ORIGIN, max: 1, leastTried: true }] as const
    expect(idsOf(await claim({ bounds }))).toEqual([idOf(2), idOf(5), idOf(6)])
    expect(idsOf(await claim({ bounds }))).toEqual([idOf(4)])
    // bob has had one turn, and ann three
    expect(idsOf(await claim({ bounds: [{ ...bounds[0], max: 9 }] }))).toEqual([idOf(3), idOf(1)])
  })

  test('where retries cannot pay, only tasks without an attempt are taken of any lane of the origin', async () => {
    await add({ ...ann, attemptNumber: 1 }, ann, bob, bob, { attemptNumber: 1 })
    const bounds = [{ lane: ORIGIN, max: 2, untried: true }] as const
    expect(idsOf((await turn({ claim: claimOf({ bounds }) })).claimed)).toEqual([idOf(2), idOf(3)])
    const rest = await turn({ claim: claimOf({ bounds }) })
    expect([idsOf(rest.claimed), rest.nextInMs, rest.blockedByLimit]).toEqual([[idOf(4)], LEASE_MS, false])
  })

  test('S7 perLane counts each lane by itself, and total all of them', async () => {
    await add(ann, ann, bob, bob, {})
    const first = await turn({ claim: claimOf({ perLane: 1, total: 2 }) })
    expect([idsOf(first.claimed), first.blockedByLimit]).toEqual([[idOf(5), idOf(1)], true])
    const second = await turn({ claim: claimOf({ perLane: 1 }) })
    expect([idsOf(second.claimed), second.blockedByLimit]).toEqual([[idOf(3)], true])
  })

  test('a list names lanes, and their tasks are taken whosever they are', async () => {
    await add(ann, bob, bob, {})
    const lanes = [
      { lane: laneName('bob', ORIGIN), max: 1 },
      { lane: ORIGIN, max: 1 },
    ]
    const shown = await turn({ claim: claimOf({ lanes, limit: 0 }) })
    expect(shown.lanes.map(({ lane }) => lane)).toEqual([ORIGIN, laneName('bob', ORIGIN)])
    expect(idsOf(await claim({ lanes, principal: 'ann' }))).toEqual([idOf(4), idOf(2)])
  })

  test('S7 an enqueue takes leases for any principal, no more than perLane in a lane', async () => {
    const tasks = [newTask(1, ann), newTask(2, ann), newTask(3, bob)]
    const outcomes = await store.enqueue(tasks, { owner: 'runner', leaseMs: LEASE_MS, perLane: 1 })
    expect(outcomes.map(({ lease }) => lease !== undefined)).toEqual([true, false, true])
  })

  test('S9 a hold is of its own lane, and the other lanes of the origin go on', async () => {
    await add(ann, ann, bob, bob)
    const [first] = await claim({ limit: 1 })
    if (!first) throw new Error('one is due')
    await settle(first.lease, retryIn(5_000), { holdLaneForMs: 1_000 })
    expect(idsOf(await claim())).toEqual([idOf(3), idOf(4)])
    pass(1_000)
    expect(idsOf(await claim())).toEqual([idOf(2)])
  })

  test('S6 S19 keys and orders stay those of one principal', async () => {
    await add({ ...ann, idempotencyKey: 'k', orderKey: 'o' }, { ...bob, idempotencyKey: 'k', orderKey: 'o' })
    const again = await enqueue(newTask(3, { ...bob, idempotencyKey: 'k' }))
    expect(again).toEqual({ taskId: idOf(2), outcome: 'duplicate' })
    await add({ ...ann, taskId: idOf(4), orderKey: 'o' })
    expect(idsOf(await claim())).toEqual([idOf(1), idOf(2)])
    expect((await store.find('k', 'ann'))?.taskId).toBe(idOf(1))
    const { tasks } = await store.list({ principal: 'ann', limit: 9 })
    expect(tasks.map(({ taskId }) => taskId)).toEqual([1, 4].map(idOf))
  })

  test('counts of a principal are its own, and so is what is purged or let go on', async () => {
    await add(ann, { ...ann, ...other }, { ...ann, ...other }, bob, {})
    const [one, two, three] = await claim({ limit: 3 })
    if (!one || !two || !three) throw new Error('three are due')
    expect(idsOf([one, two, three])).toEqual([5, 1, 4].map(idOf))
    await settle(two.lease, { kind: 'exhausted', reason: 'vetoed' })
    await settle(three.lease, releaseIn(0, { park: true }))
    const of = async (principal: string | null) => store.countsOf?.(principal)
    if (store.countsOf) {
      expect(await of('ann')).toEqual({ pending: 2, inFlight: 0, exhausted: 1, bytes: 0 })
      expect(await of('bob')).toEqual({ pending: 1, inFlight: 0, exhausted: 0, bytes: 0 })
      expect(await of(null)).toEqual({ pending: 0, inFlight: 1, exhausted: 0, bytes: 0 })
      expect(await of('nobody')).toEqual({ pending: 0, inFlight: 0, exhausted: 0, bytes: 0 })
    }
    expect(await store.unpark?.({ principal: 'ann' })).toBe(0)
    expect(await store.unpark?.({ principal: 'bob' })).toBe(1)
    expect(await store.purge({ principal: 'ann' })).toBe(3)
    const { lanes } = await turn({ claim: claimOf({ limit: 0 }) })
    expect(lanes.map(({ lane }) => lane)).toEqual([laneName('bob', ORIGIN), ORIGIN])
  })

  test('L4 many lanes of an origin that may be tried once do not keep another origin waiting', async () => {
    await add(...Array.from({ length: 200 }, (_, n) => ({ principal: `p${n}` })), { ...ann, ...other, dueInMs: 1 })
    pass(1)
    const bounds = [{ lane: ORIGIN, max: 1 }]
    const { claimed, ...rest } = await turn({ claim: claimOf({ bounds, limit: 5 }) })
    expect(claimed.map(({ task }) => new URL(task.targetUrl).origin).sort()).toEqual([ORIGIN, OTHER])
    expect(rest).toMatchObject({ nextInMs: LEASE_MS, blockedByLimit: false })
    for (const { lease } of claimed) expect(await settle(lease, SUCCEEDED)).toBe('applied')
  })

  /** 500 lanes of five origins that the bounds shut, all before any other in line. */
  const down = Array.from({ length: 5 }, (_, n) => `https://down-${n}.test`)
  const shut = down.map((lane) => ({ lane, max: 0 }))
  const behind = Array.from({ length: 500 }, (_, n): Wanted => ({ principal: `p${n}`, origin: down[n % 5] as string }))

  test('L4 behind hundreds of lanes whose origins are shut those of open ones are found, in their order', async () => {
    await add({ ...ann, ...other }, ann, bob)
    const served = await claim()
    for (const { lease } of served) await settle(lease, retryIn(1))
    await add(...behind, { ...bob, ...other, dueInMs: 1 }, { priority: 1, dueInMs: 2 })
    pass(2)
    const { claimed, ...rest } = await turn({ claim: claimOf({ bounds: shut }) })
    expect(idsOf(claimed)).toEqual([505, 3, 1, 504, 2].map(idOf))
    expect(rest).toMatchObject({ nextInMs: LEASE_MS, blockedByLimit: false })
    // once they are open they come first, since none was ever served, by name
    expect(idsOf(await claim({ limit: 2 }))).toEqual([idOf(4), idOf(14)])
  })

  test('L4 so are those of many origins, as many as are asked for', async () => {
    const many = Array.from({ length: 150 }, (_, n): Wanted => ({ ...ann, origin: `https://up-${n}.test` }))
    await add(...behind, ...many)
    const first = await turn({ claim: claimOf({ bounds: shut, limit: 10 }) })
    expect([idsOf(first.claimed).length, first.nextInMs]).toEqual([10, 0])
    const rest = await turn({ claim: claimOf({ bounds: shut, limit: 200 }) })
    expect([idsOf(rest.claimed).length, rest.nextInMs]).toEqual([140, LEASE_MS])
    const all = [...first.claimed, ...rest.claimed].map(({ task }) => new URL(task.targetUrl).origin)
    expect(new Set(all)).toEqual(new Set(many.map(({ origin }) => origin)))
    expect(await claim({ bounds: shut })).toEqual([])
  })

  test('L4 an open origin with thousands of lanes behind them is served lane by lane', async () => {
    const { add, claim } = await setup(open, { capacity: 5_000 })
    await add(...behind, ...Array.from({ length: 700 }, (_, n): Wanted => ({ principal: `q${n}`, ...other })))
    const seen = new Set<string>()
    for (let count = 0; count < 700; count += 100) {
      const ids = idsOf(await claim({ bounds: shut, limit: 100 }))
      expect(ids.length).toBe(100)
      for (const id of ids) seen.add(id)
    }
    expect([seen.size, await claim({ bounds: shut })]).toEqual([700, []])
  })

  test('S16 what is paused stays so behind them', async () => {
    await add(...behind, { ...ann, ...other }, { ...bob, ...other }, { ...ann, origin: 'https://third.test' })
    await store.pauses?.put({ id: 'p', principal: 'ann', at: 0 })
    expect(idsOf(await claim({ bounds: shut }))).toEqual([idOf(502)])
    await store.pauses?.lift('p')
    expect(idsOf(await claim({ bounds: shut }))).toEqual([idOf(501), idOf(503)])
  })

  test('where only lanes that are shut come due, a turn asks for a look when one of them does at the earliest', async () => {
    await add(...behind.map((task, n): Wanted => ({ ...task, dueInMs: 10 + n })), { ...ann, dueInMs: 5_000 })
    for (let looks = 0; ; looks++) {
      const { claimed, nextInMs } = await turn({ claim: claimOf({ bounds: shut }) })
      if (claimed.length > 0) break
      // a look for each of them would be five hundred
      expect(looks).toBeLessThan(10)
      expect(nextInMs).toBeGreaterThan(9)
      expect(nextInMs).toBeLessThanOrEqual(5_000)
      pass(nextInMs as number)
    }
  })

  test.each([{}, { perPrincipal: 5 }])(
    'S16 countsOf tells the part of one principal, whether claims have limits or not: %o',
    async (limits) => {
      const laterOne = { principal: 'ann', schema: RECORD_SCHEMA + 1 }
      await add({ principal: 'ann', body: new Uint8Array(7) }, { principal: 'ann' }, {}, { principal: 'ann' }, laterOne)
      const claimed = await claim({ limit: 3, ...limits })
      const own = claimed.filter(({ task }) => task.principal === 'ann')
      await settle(own[0]?.lease as Lease, { kind: 'exhausted', reason: 'not_retryable' })
      // what cannot be read is put aside by the claim that finds it
      await claim({ limit: 9, ...limits })
      const counts = await store.countsOf?.('ann')
      expect(counts).toMatchObject({ pending: 0, inFlight: 2, exhausted: 1 })
      expect(await store.countsOf?.(null)).toMatchObject({ pending: 0, inFlight: 1, exhausted: 0, bytes: 0 })
      expect(await store.countsOf?.('ben')).toEqual({ pending: 0, inFlight: 0, exhausted: 0, bytes: 0 })
      expect(await store.counts()).toMatchObject({ pending: 1, pendingAside: 1, inFlight: 3 })
      expect(await store.purge({ principal: 'ann' })).toBe(4)
      expect(await store.countsOf?.('ann')).toEqual({ pending: 0, inFlight: 0, exhausted: 0, bytes: 0 })
      expect(await store.counts()).toMatchObject({ pending: 0, inFlight: 1, purged: 4 })
    },
  )
}
