import { expect, test } from 'vitest'
import { CLOCK_STEP_MS, type Claim, laneName, type OriginLimit } from '../../../js/api/store.ts'
import {
  ann,
  annElsewhere,
  bob,
  idOf,
  kitFor,
  LEASE_MS,
  look,
  newTask,
  type Open,
  ORIGIN,
  OTHER,
  releaseIn,
  retryIn,
  SUCCEEDED,
  setup,
  times,
  type Wanted,
} from './kit.ts'
import type { Pair } from './registry.ts'

const limited = (given: Partial<OriginLimit>, more: Partial<Claim> = {}): Partial<Claim> => ({
  limits: [{ origins: ORIGIN, ...given }],
  ...more,
})

export function rateRules(open: Open, _pair?: Pair): void {
  const kit = kitFor(open)
  test('S7 a lane gives its burst at once, then a lease for each token; it waits as if it were held', async () => {
    await kit.add(...times(6, ann))
    const claim = limited({ perSecond: 10, burst: 3 })
    const first = await look(kit, claim)
    expect(first).toMatchObject({ ids: [1, 2, 3].map(idOf), nextInMs: 100, blockedByLimit: false })
    const [lane] = first.lanes
    expect(lane).toEqual({ lane: laneName('ann', ORIGIN), pending: 3, inFlight: 3, nextInMs: 100, heldForMs: 0 })
    kit.pass(99)
    expect(await look(kit, claim)).toMatchObject({ ids: [], nextInMs: 1, blockedByLimit: false })
    kit.pass(1)
    expect(await look(kit, claim)).toMatchObject({ ids: [idOf(4)], nextInMs: 100 })
    kit.pass(250)
    // two and a half tokens have come
    expect(await look(kit, claim)).toMatchObject({ ids: [5, 6].map(idOf) })
  })

  test('each lane has tokens of its own, where the origin does not share them', async () => {
    await kit.add(ann, ann, bob, bob, annElsewhere, annElsewhere, {})
    expect(await look(kit, limited({ perSecond: 1 }))).toMatchObject({
      ids: [7, 1, 3, 5, 6].map(idOf),
      nextInMs: 1_000,
      waits: { [laneName('ann', ORIGIN)]: 1_000, [laneName('bob', ORIGIN)]: 1_000, [laneName('ann', OTHER)]: null },
    })
  })

  test('S7 L4 where they are shared, all lanes of the origin wait for one token, and those of others do not', async () => {
    await kit.add(ann, ann, bob, bob, annElsewhere, annElsewhere, {})
    const claim = limited({ perSecond: 10, burst: 2, sharedBy: 'origin' })
    expect(await look(kit, claim)).toMatchObject({
      ids: [7, 1, 5, 6].map(idOf),
      nextInMs: 100,
      blockedByLimit: false,
      waits: { [laneName('ann', ORIGIN)]: 100, [laneName('bob', ORIGIN)]: 100, [laneName('ann', OTHER)]: null },
    })
    expect(await look(kit, claim)).toMatchObject({ ids: [], nextInMs: 100 })
    kit.pass(100)
    // the lane that was served longest ago
    expect(await look(kit, claim)).toMatchObject({ ids: [idOf(3)], nextInMs: 100 })
    kit.pass(200)
    // bob has had one turn, and ann three
    expect(await look(kit, claim)).toMatchObject({ ids: [4, 2].map(idOf), nextInMs: LEASE_MS - 300 })
  })

  test('a token that was taken is not given back, with an attempt that never left or with one that is given up', async () => {
    await kit.add(...times(3, ann))
    const claim = limited({ perSecond: 1 })
    const { claimed } = await look(kit, claim)
    const [one] = claimed
    if (one) await kit.settle(one.lease, releaseIn(0), { log: { responseStatus: null } })
    expect(await look(kit, claim)).toMatchObject({ ids: [], nextInMs: 1_000 })
    kit.pass(1_000)
    expect((await look(kit, claim)).ids).toEqual([idOf(1)])
    await kit.store.cancel(idOf(1))
    kit.pass(999)
    expect((await look(kit, claim)).ids).toEqual([])
    kit.pass(1)
    expect((await look(kit, claim)).ids).toEqual([idOf(2)])
  })

  test('S9 of a hold and a token the later counts, and a task is not due earlier for either', async () => {
    await kit.add(ann, ann, { ...ann, dueInMs: 5_000 })
    const claim = limited({ perSecond: 0.5 })
    const [one] = (await look(kit, claim)).claimed
    if (!one) throw new Error('one is due')
    await kit.settle(one.lease, retryIn(60_000), { holdLaneForMs: 1_000 })
    expect(await look(kit, claim)).toMatchObject({ ids: [], nextInMs: 2_000 })
    expect((await kit.turn()).nextInMs).toBe(2_000)
    kit.pass(1_000)
    await kit.turn({ hold: [{ lane: laneName('ann', ORIGIN), forMs: 9_000 }] })
    // a hold that begins before the lane was served is none
    kit.pass(1_000)
    const [two] = (await look(kit, claim)).claimed
    if (!two) throw new Error('one is due')
    await kit.settle(two.lease, retryIn(60_000), { holdLaneForMs: 9_000 })
    expect(await look(kit, claim)).toMatchObject({ ids: [], nextInMs: 9_000 })
    kit.pass(9_000)
    expect(await look(kit, claim)).toMatchObject({ ids: [idOf(3)] })
  })

  test('a lane that waits for its token is held for every claim and for an enqueue, whose own lease takes none', async () => {
    const wish = { owner: 'runner', leaseMs: LEASE_MS }
    expect((await kit.enqueue(newTask(101, ann), wish)).lease).toBeDefined()
    await kit.add(ann, ann)
    expect((await look(kit, limited({ perSecond: 1 }))).ids).toEqual([idOf(1)])
    expect((await kit.enqueue(newTask(102, ann), wish)).lease).toBeUndefined()
    expect((await kit.enqueue(newTask(103, bob), wish)).lease).toBeDefined()
    expect(await look(kit, {})).toMatchObject({ ids: [], nextInMs: 1_000 })
    kit.pass(1_000)
    // a claim without a limit takes no token
    expect((await look(kit, { limit: 1 })).ids).toEqual([idOf(2)])
    expect((await look(kit, limited({ perSecond: 1 }))).ids).toEqual([idOf(102)])
  })

  test('the token of an origin is a matter of claims whose limit it shares: others do not look at it', async () => {
    await kit.add(...times(6, ann))
    const claim = limited({ perSecond: 1, sharedBy: 'origin' })
    expect((await look(kit, claim)).ids).toEqual([idOf(1)])
    expect(await look(kit, claim)).toMatchObject({ ids: [], nextInMs: 1_000 })
    expect((await kit.turn()).nextInMs).toBe(0)
    expect(await look(kit, { limit: 1 })).toMatchObject({ ids: [idOf(2)], nextInMs: 0 })
    const ofOther = { limits: [{ origins: OTHER, perSecond: 1, sharedBy: 'origin' as const }], limit: 1 }
    expect((await look(kit, ofOther)).ids).toEqual([idOf(3)])
    expect((await look(kit, limited({ perSecond: 1 }))).ids).toEqual([idOf(4)])
  })

  test('of the limits that fit an origin the most exact holds alone: it, then the longest host, at its own port and scheme', async () => {
    const origins = [
      ...['https://a.b.test', 'https://x.a.b.test', 'https://y.z.b.test', 'https://b.test', 'https://c.test'],
      ...['https://ab.test', 'http://a.b.test', 'https://a.b.test:8443', 'https://a.b.test.other'],
    ]
    const limits: OriginLimit[] = [
      { origins: 'https://*.test', perSecond: 0.01 },
      { origins: 'https://*.b.test', perSecond: 0.1 },
      { origins: 'https://*.a.b.test', perSecond: 1 },
      { origins: 'https://a.b.test', perSecond: 10 },
      { origins: 'https://a.b.test', perSecond: 0.02 },
      { origins: 'https://*.b.test:8443', perSecond: 100 },
    ]
    await kit.add(...origins.flatMap((origin) => times(2, { origin })))
    const { waits } = await look(kit, { limits })
    expect(waits).toEqual({
      'https://a.b.test': 100,
      'https://x.a.b.test': 1_000,
      'https://y.z.b.test': 10_000,
      'https://b.test': 100_000,
      'https://c.test': 100_000,
      'https://ab.test': 100_000,
      'http://a.b.test': null,
      'https://a.b.test:8443': 10,
      'https://a.b.test.other': null,
    })
  })

  test('hosts below one share the tokens of their own origin, and not of each other', async () => {
    const limits: OriginLimit[] = [{ origins: 'https://*.test', perSecond: 1, sharedBy: 'origin' }]
    await kit.add(ann, bob, annElsewhere, { ...bob, origin: OTHER })
    expect((await look(kit, { limits })).ids).toEqual([1, 3].map(idOf))
    kit.pass(1_000)
    expect((await look(kit, { limits })).ids).toEqual([4, 2].map(idOf))
  })

  test.for<[string, OriginLimit]>([
    ['origins', { origins: 'api.test' }],
    ['origins', { origins: 'https://*' }],
    ['origins', { origins: 'https://api.*.test' }],
    ['origins', { origins: 'https://*.api.test/' }],
    ['origins', { origins: 'https://*.api.test:443' }],
    ['perSecond', { origins: ORIGIN, perSecond: 0 }],
    ['perSecond', { origins: ORIGIN, perSecond: Number.NaN }],
    ['burst', { origins: ORIGIN, perSecond: 1, burst: 0 }],
    ['burst', { origins: ORIGIN, perSecond: 1, burst: 1.5 }],
    ['concurrency', { origins: ORIGIN, concurrency: 0 }],
    ['sharedBy', { origins: ORIGIN, sharedBy: 'all' as never }],
    ['perMinute', { origins: ORIGIN, perMinute: 1 } as never],
  ])('a limit whose %s is not sound is refused, and nothing is claimed', async ([name, limit]) => {
    await kit.add({})
    await expect(kit.claim({ limits: [limit] })).rejects.toThrow(new RegExp(`^claim\\.limits\\.${name}: `))
    expect((await kit.store.counts()).inFlight).toBe(0)
  })

  test('S7 tokens outlive the tasks of a lane, a store that is closed, and a clock that falls back', async () => {
    for (const sharedBy of ['lane', 'origin'] as const) {
      const kit = await setup(open)
      const claim = limited({ perSecond: 0.1, burst: 2, sharedBy })
      await kit.add(...times(2, ann))
      for (const { lease } of (await look(kit, claim)).claimed) await kit.settle(lease, SUCCEEDED)
      await kit.store.purgeAll()
      await kit.turn()
      await kit.store.close()
      await kit.add(ann)
      expect(await look(kit, claim)).toMatchObject({ ids: [], nextInMs: 10_000 })
      kit.pass(4_000)
      expect(await look(kit, claim)).toMatchObject({ ids: [], nextInMs: 6_000 })
      // by less than a step: the store's clock stands still
      kit.pass(-CLOCK_STEP_MS)
      expect(await look(kit, claim)).toMatchObject({ ids: [], nextInMs: 6_000 })
      kit.pass(-1)
      expect(await look(kit, claim)).toMatchObject({ ids: [], nextInMs: 6_000 })
      kit.pass(5_999)
      expect((await look(kit, claim)).ids).toEqual([])
      kit.pass(1)
      expect((await look(kit, claim)).ids.length).toBe(1)
    }
  })

  test('what no attempt of the queue has taken a token of is as it was before there were limits', async () => {
    await kit.add(ann, { ...ann, dueInMs: 700 })
    const claim = limited({ concurrency: 9 })
    expect(await look(kit, claim)).toMatchObject({ ids: [idOf(1)], nextInMs: 700, blockedByLimit: false })
  })

  test('where the rate has become another, the next token comes as it was said, and the one after it by the new rate', async () => {
    await kit.add(...times(9, ann))
    expect((await look(kit, limited({ perSecond: 100, burst: 5 }))).ids.length).toBe(5)
    expect(await look(kit, limited({ perSecond: 1 }))).toMatchObject({ ids: [], nextInMs: 10 })
    kit.pass(10)
    expect((await look(kit, limited({ perSecond: 1 }))).ids.length).toBe(1)
    // not for all that were taken in advance
    expect(await look(kit, limited({ perSecond: 1 }))).toMatchObject({ ids: [], nextInMs: 1_000 })
  })

  test('L4 behind hundreds of lanes whose origin has no token those of others are found, and its own in their order', async () => {
    const kit = await setup(open, { capacity: 5_000 })
    const crowd = Array.from({ length: 600 }, (_, n): Wanted => ({ principal: `p${n}` }))
    await kit.add(...crowd, { principal: 'z', origin: OTHER }, { principal: 'z', origin: OTHER, dueInMs: 50 })
    const claim = limited({ perSecond: 20, burst: 3, sharedBy: 'origin' })
    const ids: string[] = []
    // a turn may leave what it has not looked at to the next, at once
    for (let turns = 0; ; turns++) {
      const seen = await look(kit, claim)
      ids.push(...seen.ids)
      if (seen.nextInMs !== 0) {
        expect([seen.nextInMs, seen.blockedByLimit]).toEqual([50, false])
        break
      }
      expect(turns).toBeLessThan(5)
    }
    const inOrder = crowd.map((_, i) => i).sort((a, b) => (`p${a}` < `p${b}` ? -1 : 1))
    expect(ids).toEqual([...inOrder.slice(0, 3).map((n) => idOf(n + 1)), idOf(601)])
    kit.pass(50)
    const next = await look(kit, claim)
    expect(next).toMatchObject({ ids: [idOf(602), idOf((inOrder[3] as number) + 1)].sort(byText), nextInMs: 50 })
    kit.pass(50)
    expect(await look(kit, claim)).toMatchObject({ ids: [idOf((inOrder[4] as number) + 1)], nextInMs: 50 })
    // one that is more urgent comes first, wherever the others wait
    await kit.enqueue(newTask(900, { principal: 'zz', priority: 1 }))
    kit.pass(50)
    expect(await look(kit, claim)).toMatchObject({ ids: [idOf(900)], nextInMs: 50 })
  })

  test('L4 S1 all of a crowd that waits for shared tokens goes out, one for each token', async () => {
    const kit = await setup(open, { capacity: 5_000 })
    await kit.add(...Array.from({ length: 90 }, (_, n): Wanted => ({ principal: `p${n % 45}` })))
    const claim = limited({ perSecond: 10, burst: 1, sharedBy: 'origin' }, { limit: 10, leaseMs: 3_600_000 })
    const seen: string[] = []
    for (let tokens = 0; tokens < 90; tokens++) {
      const { ids } = await look(kit, claim)
      expect(ids.length).toBe(1)
      seen.push(...ids)
      kit.pass(100)
    }
    expect(new Set(seen).size).toBe(90)
    // each lane once before any twice
    const lanes = seen.map((id) => (Number.parseInt(id.slice(-12), 16) - 1) % 45)
    expect(new Set(lanes.slice(0, 45)).size).toBe(45)
  })
}

const byText = (a: string, b: string): number => (a < b ? -1 : 1)
