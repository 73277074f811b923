import { expect, test } from 'vitest'
import { type Claim, laneName, type OriginLimit, type TaskStore } from '../../../js/api/store.ts'
import {
  ann,
  annElsewhere,
  bob,
  claimOf,
  idOf,
  kitFor,
  LEASE_MS,
  look,
  many,
  newTask,
  type Open,
  ORIGIN,
  OTHER,
  retryIn,
  SUCCEEDED,
  setup,
  succeed,
  type Wanted,
} from './kit.ts'
import { openPair, type Pair } from './registry.ts'

const ids = (from: number, to: number): string[] => Array.from({ length: to + 1 - from }, (_, n) => idOf(from + n))

const atOnce = (concurrency: number, sharedBy?: OriginLimit['sharedBy']): Partial<Claim> => ({
  limits: [{ origins: ORIGIN, concurrency, ...(sharedBy && { sharedBy }) }],
})

/** The rules of how much may be in flight of an origin, and of a principal. */
export function limitRules(open: Open, pair?: Pair): void {
  const kit = kitFor(open)
  test('S7 no more of a lane is in flight than the limit of its origin, and what waits for that is blocked', async () => {
    await kit.add(ann, ann, ann, bob, annElsewhere, annElsewhere)
    const first = await look(kit, atOnce(2))
    expect(first).toMatchObject({ ids: [1, 4, 5, 2, 6].map(idOf), blockedByLimit: true, nextInMs: LEASE_MS })
    expect(await look(kit, atOnce(2))).toMatchObject({ ids: [], blockedByLimit: true })
    await succeed(kit, first.claimed.slice(0, 1))
    expect(await look(kit, atOnce(2))).toMatchObject({ ids: [idOf(3)], blockedByLimit: false })
  })

  test('S7 the lower of `perLane` and the limit counts', async () => {
    await kit.add(ann, ann, ann)
    expect((await look(kit, { ...atOnce(2), perLane: 1 })).ids).toEqual([idOf(1)])
    expect((await look(kit, { ...atOnce(2), perLane: 3 })).ids).toEqual([idOf(2)])
    expect((await look(kit, { perLane: 3 })).ids).toEqual([idOf(3)])
  })

  test('S7 L4 an origin that shares its limit has no more in flight over all of its lanes, and others go on', async () => {
    await kit.add(ann, ann, bob, {}, annElsewhere, annElsewhere)
    const first = await look(kit, atOnce(2, 'origin'))
    expect(first).toMatchObject({ ids: [4, 1, 5, 6].map(idOf), blockedByLimit: true, nextInMs: LEASE_MS })
    expect(first.lanes.length).toBe(4)
    await kit.add({ ...annElsewhere })
    expect(await look(kit, atOnce(2, 'origin'))).toMatchObject({ ids: [idOf(7)], blockedByLimit: true })
    const [one, two] = first.claimed
    if (one) await kit.settle(one.lease, retryIn(60_000))
    expect(await look(kit, atOnce(2, 'origin'))).toMatchObject({ ids: [idOf(3)], blockedByLimit: true })
    if (two) await kit.settle(two.lease, SUCCEEDED)
    expect(await look(kit, atOnce(2, 'origin'))).toMatchObject({ ids: [idOf(2)], blockedByLimit: false })
  })

  test('S7 no more of a principal is in flight than it may have, over all of its lanes, and others go on', async () => {
    await kit.add(ann, ann, annElsewhere, annElsewhere, { ...ann, origin: 'https://third.test' }, bob, bob, bob, {})
    const first = await look(kit, { perPrincipal: 2 })
    expect(first).toMatchObject({ ids: [9, 1, 6, 7, 3].map(idOf), blockedByLimit: true, nextInMs: LEASE_MS })
    expect(await look(kit, { perPrincipal: 2 })).toMatchObject({ ids: [], blockedByLimit: true })
    const own = first.claimed.find(({ task }) => task.principal === 'ann')
    if (own) await kit.settle(own.lease, SUCCEEDED)
    // its lane that was never served
    expect((await look(kit, { perPrincipal: 2 })).ids).toEqual([idOf(5)])
    expect((await look(kit, { perPrincipal: 3 })).ids.length).toBe(2)
  })

  test('S7 L4 a principal leaves places for others: it has fewer than `perFree` times those that are free beside one', async () => {
    await kit.add(...Array.from({ length: 20 }, (_, n): Wanted => ({ ...ann, origin: `https://a${10 + n}.test` })))
    const claim: Partial<Claim> = { total: 10, perFree: 4, limit: 50 }
    const first = await look(kit, claim)
    expect(first).toMatchObject({ ids: ids(1, 8), blockedByLimit: true, nextInMs: LEASE_MS })
    expect(await look(kit, claim)).toMatchObject({ ids: [], blockedByLimit: true })
    // the last place is for one that has none
    await kit.add(bob, { ...bob, origin: OTHER })
    expect(await look(kit, claim)).toMatchObject({ ids: [idOf(21)], blockedByLimit: true })
    await kit.add({ principal: 'carl' }, { principal: 'dora' })
    expect(await look(kit, claim)).toMatchObject({ ids: [idOf(23)], blockedByLimit: true })
    await succeed(kit, first.claimed.slice(0, 1))
    expect(await look(kit, claim)).toMatchObject({ ids: [idOf(24)], blockedByLimit: true })
  })

  test.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 3],
    [5, 4],
    [20, 16],
  ])('S7 L4 of %i places one principal alone has %i', async (total, most) => {
    const kit = await setup(open, { capacity: 5_000 })
    await kit.add(...Array.from({ length: total + 1 }, (_, n): Wanted => ({ ...ann, origin: `https://a${n}.test` })))
    let count = 0
    for (let next: number | null = 0; next === 0; ) {
      const { ids, nextInMs } = await look(kit, { total, perFree: 4, limit: 1_000 })
      count += ids.length
      next = nextInMs
    }
    expect(count).toBe(most)
    await kit.add(bob)
    expect((await look(kit, { total, perFree: 4 })).ids.length).toBe(total === 1 ? 0 : 1)
  })

  test('S7 L4 two principals at once leave places for a third', async () => {
    const elsewhere = (principal: string) => many(40, (n) => ({ principal, origin: `https://${principal}${n}.test` }))
    await kit.add(...elsewhere('ann'))
    const claim: Partial<Claim> = { total: 18, perFree: 4, limit: 50 }
    const running = [...(await look(kit, claim)).claimed]
    expect(running.length).toBe(14)
    await kit.add(...elsewhere('bob'))
    for (let n = 0; n < 30; n++) {
      running.push(...(await look(kit, claim)).claimed)
      const one = running.shift()
      if (one) await kit.settle(one.lease, SUCCEEDED)
    }
    running.push(...(await look(kit, claim)).claimed)
    const of = (name: string) => running.filter(({ task }) => task.principal === name).length
    expect([of('ann'), of('bob')].every((most) => most >= 6)).toBe(true)
    expect(running.length).toBeLessThanOrEqual(16)
    await kit.add({ principal: 'carl' })
    expect((await look(kit, claim)).claimed.map(({ task }) => task.principal)).toEqual(['carl'])
  })

  test('S7 L4 a lane leaves room at its origin: with half of `perLane` much, and with a quarter the last of it', async () => {
    const at = (max: number): Partial<Claim> => ({
      perFree: 4,
      perLane: 20,
      bounds: [{ lane: ORIGIN, max }],
      limit: 50,
    })
    const of = async (max: number) => (await look(kit, at(max))).claimed.map(({ task }) => task.principal)
    await kit.add(...Array.from({ length: 30 }, () => ann))
    expect((await of(20)).length).toBe(16)
    expect(await look(kit, at(4))).toMatchObject({ ids: [], blockedByLimit: true })
    expect((await of(6)).length).toBe(1)
    // another has its half but for the last, and then there is a third
    await kit.add(...Array.from({ length: 30 }, () => bob), annElsewhere)
    expect((await of(4)).sort()).toEqual(['ann', 'bob', 'bob', 'bob', 'bob'])
    expect(await of(1)).toEqual(['bob'])
    expect(await look(kit, at(1))).toMatchObject({ ids: [], blockedByLimit: true })
    for (let n = 0; n < 5; n++) expect(await of(2)).toEqual(['bob'])
    expect(await of(2)).toEqual([])
    await kit.add({ principal: 'carl' })
    expect(await of(1)).toEqual(['carl'])
  })

  test('S7 an origin that has little room gives it to a lane that is alone', async () => {
    await kit.add(...Array.from({ length: 30 }, () => ann))
    const counts: number[] = []
    for (const max of [1, 1, 2, 1, 1])
      counts.push((await look(kit, { perFree: 4, perLane: 20, bounds: [{ lane: ORIGIN, max }] })).ids.length)
    expect(counts).toEqual([1, 1, 2, 1, 0])
  })

  test('L4 with `perFree`, hundreds of principals that take all places together have their turns', async () => {
    const kit = await setup(open, { capacity: 5_000 })
    await kit.add(...many(400, (n) => ({ principal: `p${n % 200}`, origin: `https://${n}.test` })))
    const claim: Partial<Claim> = { total: 30, perFree: 4, limit: 30 }
    const served = new Map<string | null, number>()
    let running: Awaited<ReturnType<typeof look>>['claimed'][number][] = []
    for (let turns = 0; served.size < 200 || running.length > 0; turns++) {
      expect(turns).toBeLessThan(20)
      await succeed(kit, running)
      running = [...(await look(kit, claim)).claimed]
      for (const { task } of running) served.set(task.principal, (served.get(task.principal) ?? 0) + 1)
    }
    expect([...served.values()].every((times) => times === 2)).toBe(true)
  })

  test('S7 the lower of `perFree` and `perPrincipal` counts', async () => {
    await kit.add(...Array.from({ length: 12 }, (_, n): Wanted => ({ ...ann, origin: `https://a${n}.test` })))
    expect((await look(kit, { total: 100, perFree: 4, perPrincipal: 6, limit: 50 })).ids.length).toBe(6)
    expect((await look(kit, { total: 10, perFree: 4, perPrincipal: 9, limit: 50 })).ids.length).toBe(2)
    expect((await look(kit, { total: 100, perFree: 4, limit: 50 })).ids.length).toBe(4)
  })

  test('S16 no principal and the one of no letters are two, and so are those whose names begin alike', async () => {
    const all = [null, '', ' ', 'a', 'a b', 'a '].map((principal): Wanted => ({ principal }))
    await kit.add(...all, ...all)
    expect([...(await look(kit, { perPrincipal: 1 })).ids].sort()).toEqual(all.map((_, i) => idOf(i + 1)))
    expect(await look(kit, { perPrincipal: 1 })).toMatchObject({ ids: [], blockedByLimit: true })
  })

  test('a lease that an enqueue has given counts, and so does one that was taken back no more', async () => {
    await kit.enqueue(newTask(101, ann), { owner: 'runner', leaseMs: 1_000 })
    await kit.add(annElsewhere)
    expect(await look(kit, { perPrincipal: 1 })).toMatchObject({ ids: [], blockedByLimit: true, nextInMs: 1_000 })
    kit.pass(1_000)
    expect((await look(kit, { perPrincipal: 1 })).ids.length).toBe(1)
    await kit.store.purgeAll()
    await kit.add(ann)
    expect((await look(kit, { perPrincipal: 1 })).ids.length).toBe(1)
  })

  test('what waits for a token too is not blocked, and what waits for one with room is not late', async () => {
    await kit.add(ann, ann)
    const limits: OriginLimit[] = [{ origins: ORIGIN, concurrency: 1, perSecond: 1 }]
    const first = await look(kit, { limits })
    expect(first).toMatchObject({ ids: [idOf(1)], blockedByLimit: false, nextInMs: 1_000 })
    kit.pass(1_000)
    expect(await look(kit, { limits })).toMatchObject({ ids: [], blockedByLimit: true, nextInMs: LEASE_MS - 1_000 })
    await succeed(kit, first.claimed.slice(0, 1))
    expect((await look(kit, { limits })).ids).toEqual([idOf(2)])
  })

  test('a list of lanes is held to the limits too', async () => {
    await kit.add(ann, ann, bob, bob)
    const lanes = [laneName('ann', ORIGIN), laneName('bob', ORIGIN)].map((lane) => ({ lane, max: 9 }))
    expect((await look(kit, { lanes, ...atOnce(3, 'origin') })).ids).toEqual([1, 3, 2].map(idOf))
    expect(await look(kit, { lanes, ...atOnce(3, 'origin') })).toMatchObject({ ids: [], blockedByLimit: true })
    expect((await look(kit, { lanes, perPrincipal: 2 })).ids).toEqual([idOf(4)])
  })

  test('bounds and pauses come first: what they keep back is not blocked, whatever else does', async () => {
    await kit.add(ann, ann, bob)
    expect((await look(kit, { ...atOnce(1, 'origin') })).ids).toEqual([idOf(1)])
    const shut = await look(kit, { ...atOnce(1, 'origin'), bounds: [{ lane: ORIGIN, max: 0 }] })
    expect(shut).toMatchObject({ ids: [], blockedByLimit: false, nextInMs: LEASE_MS })
    await kit.store.pauses?.put({ id: 'p', origin: ORIGIN, at: 0 })
    expect(await look(kit, atOnce(1, 'origin'))).toMatchObject({ ids: [], blockedByLimit: false })
    await kit.store.pauses?.lift('p')
    expect(await look(kit, atOnce(1, 'origin'))).toMatchObject({ ids: [], blockedByLimit: true })
    expect((await look(kit, {})).ids).toEqual([3, 2].map(idOf))
  })

  test('L4 fifty principals that take all they may leave a place of 200 for one that has none', async () => {
    const names = Array.from({ length: 50 }, (_, n) => `p${n}`)
    await kit.add(...names.flatMap((principal) => Array.from({ length: 6 }, (): Wanted => ({ principal }))))
    const claim: Partial<Claim> = { total: 200, perFree: 4, limit: 50 }
    while ((await look(kit, claim)).claimed.length > 0) expect((await kit.store.counts()).inFlight).toBeLessThan(200)
    await kit.add({ principal: 'calm' })
    expect(await look(kit, claim)).toMatchObject({ ids: [idOf(301)] })
  })

  test('L4 a principal with hundreds of lanes in line before all others does not keep them waiting', async () => {
    const kit = await setup(open, { capacity: 5_000 })
    const flood = Array.from({ length: 350 }, (_, n): Wanted => ({ ...ann, origin: `https://a${n}.test` }))
    await kit.add(...flood, { ...bob, origin: 'https://z.test' }, { ...bob, origin: 'https://z.test' })
    const claim: Partial<Claim> = { perPrincipal: 4, limit: 10 }
    const seen: string[] = []
    const first = []
    for (let turns = 0; ; turns++) {
      const { ids, claimed, nextInMs } = await look(kit, claim)
      seen.push(...ids)
      first.push(...claimed)
      if (nextInMs !== 0) break
      expect(turns).toBeLessThan(5)
    }
    expect(seen.length).toBe(6)
    expect(seen).toEqual(expect.arrayContaining([351, 352].map(idOf)))
    expect(await look(kit, claim)).toMatchObject({ ids: [], blockedByLimit: true })
    // all of its lanes get their turn, as others end
    const served = new Set(seen)
    let running = first.filter(({ task }) => task.principal === 'ann')
    while (served.size < 80) {
      await succeed(kit, running)
      const { claimed } = await look(kit, claim)
      expect(claimed.length).toBe(4)
      for (const { task } of claimed) served.add(task.taskId)
      running = [...claimed]
    }
    await kit.add({ principal: 'carl', origin: 'https://zz.test' })
    expect((await look(kit, claim)).ids).toEqual([idOf(353)])
  })

  test('L4 an origin with hundreds of lanes and no room does not keep others waiting, nor its own for ever', async () => {
    const kit = await setup(open, { capacity: 5_000 })
    await kit.add(...Array.from({ length: 350 }, (_, n): Wanted => ({ principal: `p${n}` })), { origin: OTHER })
    const claim: Partial<Claim> = { ...atOnce(5, 'origin'), limit: 20 }
    const running: Awaited<ReturnType<typeof look>>['claimed'][number][] = []
    const seen = new Set<string>()
    for (let turns = 0; seen.size < 351; turns++) {
      expect(turns).toBeLessThan(200)
      const { claimed } = await look(kit, claim)
      for (const each of claimed) {
        seen.add(each.task.taskId)
        if (each.task.principal !== null) running.push(each)
      }
      expect(running.length).toBeLessThanOrEqual(5)
      if (turns === 3) expect(seen.has(idOf(351))).toBe(true)
      await succeed(kit, running.splice(0, 4))
    }
  })

  test('S7 over two handles: what one has in flight counts for the other', async () => {
    if (!pair) return
    const [one, two] = await openPair(pair)
    await one.enqueue([...Array(4)].map((_, n) => newTask(n + 1, n % 2 ? annElsewhere : ann)))
    await two.enqueue([5, 6].map((n) => newTask(n, bob)))
    const take = async (store: TaskStore, claim: Partial<Claim>) => {
      const turn = await store.turn({ owner: 'r', settle: [], renew: [], claim: claimOf(claim) })
      return [turn.claimed.length, turn.blockedByLimit]
    }
    expect(await take(one, { perPrincipal: 1, ...atOnce(1, 'origin') })).toEqual([1, true])
    expect(await take(two, { perPrincipal: 1, ...atOnce(1, 'origin') })).toEqual([0, true])
    expect(await take(two, { perPrincipal: 2, ...atOnce(1, 'origin') })).toEqual([1, true])
    expect(await take(one, { perPrincipal: 2, ...atOnce(2, 'origin') })).toEqual([1, true])
    expect(await take(two, {})).toEqual([3, false])
  })
}

export function unlimitedRules(open: Open): void {
  const kit = kitFor(open)
  test('in a store of own lines limits of origins and principals have no say', async () => {
    await kit.add({}, {}, {})
    const limits: OriginLimit[] = [{ origins: ORIGIN, perSecond: 1, concurrency: 1 }]
    const { ids } = await look(kit, { limits, perPrincipal: 1, perFree: 1, total: 4 })
    expect(ids).toEqual([1, 2, 3].map(idOf))
  })
}
