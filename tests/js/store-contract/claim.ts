import { expect, test } from 'vitest'
import { LANES_SHOWN, LOOKED_AT, laneName, SWEEP } from '../../../js/api/store.ts'
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
  retryIn,
  SUCCEEDED,
  type Wanted,
  ZERO,
} from './kit.ts'

/** What is claimed, in which order, within which limits, and what a turn says of the rest. */
export function claimRules(open: Open): void {
  const { add, claim, clock, get, lease, pass, settle, store, turn, two } = kitFor(open)
  const third = 'https://third.test'

  test('a claim takes what is due, as many as it asks for, and says whether there is more', async () => {
    await add({}, {}, {}, { dueInMs: 1_000 })
    const first = await turn({ claim: claimOf({ limit: 2 }) })
    expect([idsOf(first.claimed), first.nextInMs]).toEqual([[idOf(1), idOf(2)], 0])
    const second = await turn({ claim: claimOf({ limit: 2 }) })
    expect([idsOf(second.claimed), second.nextInMs]).toEqual([[idOf(3)], 1_000])
  })

  test('within a lane: priority, then due first, then enqueued first', async () => {
    await add({ dueInMs: 2 }, { dueInMs: 1 }, { dueInMs: 1 }, { dueInMs: 3, priority: 1 }, { priority: -1 })
    pass(3)
    expect(idsOf(await claim())).toEqual([4, 2, 3, 1, 5].map(idOf))
  })

  test('between lanes: priority, then served longest ago, then due first, then by name', async () => {
    await add({ origin: third, dueInMs: 1 }, { origin: third }, { origin: OTHER }, {}, {}, { priority: 1 })
    pass(1)
    expect(idsOf(await claim())).toEqual([6, 3, 2, 4, 1, 5].map(idOf))
  })

  test('between lanes that were served: a task that ends instead of being claimed changes no turn', async () => {
    const { policy } = newTask(0)
    await add({}, { origin: OTHER }, { origin: OTHER, policy: { ...policy, maxAttempts: 1 }, attemptNumber: 1 })
    await add({ priority: -1 }, { origin: OTHER, priority: -1 })
    expect(idsOf(await claim())).toEqual([1, 2, 4, 5].map(idOf))
  })

  test('L4 a lane with many tasks does not delay another', async () => {
    await add(...Array.from({ length: 20 }, () => ({})), { origin: OTHER })
    const ids = [...idsOf(await claim({ limit: 1 })), ...idsOf(await claim({ limit: 1 }))]
    expect(ids).toEqual([idOf(1), idOf(21)])
  })

  test('a lane keeps its turn while a task of it is left, ended or not', async () => {
    await add({ origin: OTHER }, {}, {})
    const [, first] = [await claim({ limit: 1 }), await claim({ limit: 1 })]
    expect(idsOf(first)).toEqual([idOf(1)])
    for (const { lease } of first) await settle(lease, SUCCEEDED)
    await add({ origin: OTHER })
    // the other lane was served before this one
    expect(idsOf(await claim({ limit: 1 }))).toEqual([idOf(3)])
    await store.purgeAll()
    await add({}, { origin: OTHER })
    expect(idsOf(await claim({ limit: 1 }))).toEqual([idOf(5)])
  })

  test('a lane that has nothing left but its hold was never served, and is shown while it is held', async () => {
    await add({ origin: OTHER, priority: 1 }, {})
    const [, second] = await claim()
    if (!second) throw new Error('two are due')
    await settle(second.lease, SUCCEEDED, { holdLaneForMs: 1_000 })
    await store.purge({ taskId: idOf(2) })
    const shown = (await turn()).lanes.find(({ lane }) => lane === ORIGIN)
    expect(shown).toEqual({ lane: ORIGIN, pending: 0, inFlight: 0, nextInMs: null, heldForMs: 1_000 })
    await add({}, { origin: OTHER })
    pass(1_000)
    expect(idsOf(await claim({ limit: 1 }))).toEqual([idOf(3)])
    expect((await turn()).lanes.find(({ lane }) => lane === ORIGIN)?.heldForMs).toBe(0)
  })

  test('a lane whose tasks have all ended is not shown', async () => {
    await add({})
    await store.cancel(idOf(1))
    expect((await turn()).lanes).toEqual([])
  })

  test('S7 no more than total in flight, over all owners and principals', async () => {
    await add({ principal: 'ann' }, {}, {}, {})
    await claim({ principal: 'ann' }, 'another')
    const limited = await turn({ claim: claimOf({ total: 2 }) })
    expect(idsOf(limited.claimed)).toEqual([idOf(2)])
    expect(limited).toMatchObject({ blockedByLimit: true, nextInMs: LEASE_MS })
    for (const { lease } of limited.claimed) await settle(lease, SUCCEEDED)
    expect(idsOf(await claim({ total: 2 }))).toEqual([idOf(3)])
  })

  test('S7 no more than perLane in flight in a lane, and another lane goes on', async () => {
    await add({}, {}, {}, { origin: OTHER })
    const { claimed, blockedByLimit } = await turn({ claim: claimOf({ perLane: 2 }) })
    expect([idsOf(claimed), blockedByLimit]).toEqual([[idOf(1), idOf(4), idOf(2)], true])
  })

  test('blockedByLimit is said of what is due, not of what is yet to be', async () => {
    await add({}, { dueInMs: 500 })
    expect(await turn({ claim: claimOf({ total: 1 }) })).toMatchObject({ blockedByLimit: false, nextInMs: 500 })
  })

  test('a list of lanes: only these, and of each no more than it says', async () => {
    await add({}, {}, {}, { origin: OTHER }, { origin: third })
    const lanes = [
      { lane: ORIGIN, max: 2 },
      { lane: OTHER, max: 0 },
    ]
    const { claimed, ...rest } = await turn({ claim: claimOf({ lanes }) })
    expect(idsOf(claimed)).toEqual([idOf(1), idOf(2)])
    expect(rest.lanes.map(({ lane }) => lane)).toEqual([ORIGIN])
    expect(rest).toMatchObject({ blockedByLimit: false, nextInMs: LEASE_MS })
  })

  test('bounds of a claim of any lane: these no more than so, the others as they come', async () => {
    await add({}, {}, { origin: OTHER }, { origin: third }, { origin: third })
    const bounds = [
      { lane: ORIGIN, max: 1 },
      { lane: OTHER, max: 0 },
    ]
    const { claimed, lanes, nextInMs } = await turn({ claim: claimOf({ bounds }) })
    expect(idsOf(claimed)).toEqual([idOf(1), idOf(4), idOf(5)])
    expect(lanes.map(({ lane }) => lane)).toEqual([ORIGIN, third])
    expect(nextInMs).toBe(LEASE_MS)
  })

  test('a limit of lanes that no bound names: of each no more than so', async () => {
    await add({}, {}, {}, { origin: OTHER }, { origin: OTHER }, { origin: third })
    const bounds = [{ lane: ORIGIN, max: 2 }]
    const { claimed } = await turn({ claim: claimOf({ bounds, otherMax: 1 }) })
    expect(idsOf(claimed)).toEqual([idOf(1), idOf(4), idOf(6), idOf(2)])
  })

  test('a lane whose server is to be tried out: the task with the fewest attempts comes first, then the one that was due first', async () => {
    const [three, one, last] = [3, 1, 4].map((attemptNumber): Wanted => ({ attemptNumber }))
    await add({ ...three }, { ...one }, { dueInMs: 500 }, { ...one }, { priority: -1 }, { ...last, origin: OTHER })
    const bounds = [{ lane: ORIGIN, max: 1, leastTried: true }] as const
    expect(idsOf(await claim({ bounds }))).toEqual([idOf(2), idOf(6)])
    for (const n of [4, 1, 5]) expect(idsOf(await claim({ bounds }))).toEqual([idOf(n)])
  })

  test('a lane whose retries cannot pay: only tasks without an attempt, as many as asked for', async () => {
    await add({ attemptNumber: 1 }, {}, { attemptNumber: 2 }, {}, {}, { dueInMs: 500 }, { priority: -1 })
    const bounds = [{ lane: ORIGIN, max: 2, untried: true }] as const
    const first = await turn({ claim: claimOf({ bounds }) })
    expect([idsOf(first.claimed), first.nextInMs]).toEqual([[idOf(2), idOf(4)], 500])
    const second = await turn({ claim: claimOf({ bounds }) })
    expect([idsOf(second.claimed), second.nextInMs]).toEqual([[idOf(5)], 500])
    const third = await turn({ claim: claimOf({ bounds }) })
    expect(third).toMatchObject({ claimed: [], nextInMs: 500, blockedByLimit: false })
    expect(idsOf((await turn({ claim: claimOf() })).claimed)).toEqual([idOf(1), idOf(3), idOf(7)])
  })

  test('of several homes, those that the claim leaves to others do not try a server out', async () => {
    const at = (home: string | null, attemptNumber: number): Wanted => ({ home, attemptNumber })
    await add(at(null, 3), at('away', 0), at('gone', 1), at('gone', 2), at('runner', 2))
    const bounds = [{ lane: ORIGIN, max: 1, leastTried: true }] as const
    const next = async () => idsOf(await claim({ bounds, skipHomes: ['away'] }))
    for (const n of [3, 4, 5, 1]) expect(await next()).toEqual([idOf(n)])
    expect(await next()).toEqual([])
  })

  test('of more due tasks than are looked at, the fewest attempts of the first count', async () => {
    await add(...Array.from({ length: LOOKED_AT }, () => ({ attemptNumber: 2 })), { attemptNumber: 1 })
    const bounds = [{ lane: ORIGIN, max: 1, leastTried: true }] as const
    expect(idsOf(await claim({ bounds }))).toEqual([idOf(1)])
    expect(idsOf(await claim({ bounds }))).toEqual([idOf(LOOKED_AT + 1)])
  })

  test('S12 tasks whose home names what they need are left alone by who does not have it, and keep none back', async () => {
    await add(
      { home: 'needs sign', needs: ['sign'] },
      {},
      { home: 'needs a, header b, sign', needs: ['a', 'header b', 'sign'], origin: OTHER },
    )
    expect(idsOf(await claim({ supplied: [] }))).toEqual([idOf(2)])
    const { nextInMs, blockedByLimit } = await turn({ claim: claimOf({ supplied: ['needs a'] }) })
    expect([nextInMs !== 0, blockedByLimit]).toEqual([true, false])
    expect(idsOf(await claim({ supplied: ['needs sign'] }))).toEqual([idOf(1)])
    expect(idsOf(await claim({}))).toEqual([idOf(3)])
  })

  test('what a bounded lane has due later is asked for then, unless it is bounded to 0', async () => {
    await add({}, { dueInMs: 500 }, { origin: OTHER, dueInMs: 100 })
    const bounds = [
      { lane: ORIGIN, max: 1 },
      { lane: OTHER, max: 0 },
    ]
    expect((await turn({ claim: claimOf({ bounds }) })).nextInMs).toBe(500)
  })

  test('S16 a claim takes only tasks of its principal, whatever lanes it names', async () => {
    await add({ principal: 'ann' }, { principal: '' }, {})
    const lane = laneName('ann', ORIGIN)
    expect(idsOf(await claim({ lanes: [{ lane, max: 9 }] }))).toEqual([])
    expect(idsOf(await claim())).toEqual([idOf(3)])
    expect(idsOf(await claim({ principal: '' }))).toEqual([idOf(2)])
    expect(idsOf(await claim({ principal: 'ann', lanes: [{ lane, max: 9 }] }))).toEqual([idOf(1)])
  })

  test('tasks of a live home are left to it', async () => {
    await add({ home: 'tab' }, { home: 'gone' }, {})
    const pump = await turn({ owner: 'pump', claim: claimOf({ skipHomes: ['tab'] }) })
    expect([idsOf(pump.claimed), pump.blockedByLimit, pump.nextInMs]).toEqual([[idOf(2), idOf(3)], false, LEASE_MS])
    const home = await turn({ owner: 'tab', claim: claimOf({ skipHomes: ['tab'] }) })
    expect(idsOf(home.claimed)).toEqual([idOf(1)])
  })

  test('a claim of own tasks alone takes none of another home, nor of none', async () => {
    await add({ home: 'tab', priority: -1 }, { home: 'gone' }, {}, { home: 'tab', origin: OTHER, dueInMs: 500 })
    const claim = claimOf({ ownHomeOnly: true })
    expect(await turn({ owner: 'nobody', claim })).toMatchObject({ claimed: [], blockedByLimit: false, nextInMs: 500 })
    const home = await turn({ owner: 'tab', claim })
    expect([idsOf(home.claimed), home.blockedByLimit, home.nextInMs]).toEqual([[idOf(1)], false, 500])
    expect(await turn({ owner: 'tab', claim: { ...claim, total: 1 } })).toMatchObject({ blockedByLimit: false })
  })

  test('S8 a due task past its deadline, or without an attempt left, ends, and the next is claimed', async () => {
    await add({ attemptNumber: 5 }, { deadlineInMs: -1, deadlineReason: 'expired' }, {})
    const { claimed, ended } = await turn({ claim: claimOf({ limit: 1 }) })
    expect(idsOf(claimed)).toEqual([idOf(3)])
    expect(ended.map(({ taskId, status, reason }) => [taskId, status, reason])).toEqual([
      [idOf(2), 'EXHAUSTED', 'expired'],
      [idOf(1), 'EXHAUSTED', 'max_attempts'],
    ])
  })

  test('a claim that ends too many asks to be called again', async () => {
    await add(...Array.from({ length: SWEEP + 2 }, () => ({ attemptNumber: 5 })), { priority: -1 })
    expect(await turn({ claim: claimOf() })).toMatchObject({ ended: { length: SWEEP }, claimed: [], nextInMs: 0 })
    expect(await turn({ claim: claimOf() })).toMatchObject({ ended: { length: 2 }, claimed: { length: 1 } })
  })

  test('S19 tasks of one order run one after another, as enqueued', async () => {
    await add({ orderKey: 'o', dueInMs: 0 }, { orderKey: 'o', priority: 9 }, { orderKey: 'o', origin: OTHER })
    const seen: (readonly string[])[] = []
    for (const next of [retryIn(0), SUCCEEDED, { kind: 'exhausted', reason: 'vetoed' } as const, SUCCEEDED]) {
      const claimed = await claim()
      seen.push(idsOf(claimed))
      for (const { lease } of claimed) await settle(lease, next)
    }
    expect(seen).toEqual([1, 1, 2, 3].map((n) => [idOf(n)]))
  })

  test('S19 one that waits or is parked keeps its order waiting; another order and another principal go on', async () => {
    await add({ orderKey: 'o' }, { orderKey: 'o' }, { orderKey: 'p' }, { orderKey: 'o', principal: 'ann' })
    const [first, other] = await two()
    expect(idsOf([first, other])).toEqual([idOf(1), idOf(3)])
    await settle(first.lease, { kind: 'release', delayMs: 0, refund: true, park: true })
    expect(await claim()).toEqual([])
    expect((await get(idOf(2))).dueAt).toBeNull()
    expect(idsOf(await claim({ principal: 'ann' }))).toEqual([idOf(4)])
  })

  test('S19 the end of one that is behind changes nothing for the first', async () => {
    const held = await lease({ orderKey: 'o' }, { orderKey: 'o' }, { orderKey: 'o' })
    await store.cancel(idOf(2))
    expect(await get(idOf(1))).toMatchObject({ status: 'IN_FLIGHT', dueAt: null })
    await settle(held, { kind: 'release', delayMs: 0, refund: true, park: true })
    await store.cancel(idOf(3))
    expect(await get(idOf(1))).toMatchObject({ parked: true, dueAt: null })
  })

  test('S9 whose turn it becomes is due when it was going to be, or at once', async () => {
    await add({ orderKey: 'o', dueInMs: 9_000 }, { orderKey: 'o', dueInMs: 1_000 }, { orderKey: 'o', dueInMs: 5_000 })
    const startAt = clock.now()
    pass(2_000)
    await store.cancel(idOf(1))
    expect((await get(idOf(2))).dueAt).toBe(startAt + 2_000)
    await store.purge({ taskId: idOf(2) })
    expect((await get(idOf(3))).dueAt).toBe(startAt + 5_000)
  })

  test('lanes: what each has pending and in flight, the soonest first, then by name', async () => {
    await add(
      { origin: third, dueInMs: 9 },
      { origin: OTHER, dueInMs: 9 },
      { dueInMs: 20 },
      { origin: 'https://z.test' },
    )
    await claim({ limit: 1 })
    const view = (lane: string, nextInMs: number | null, inFlight = 0) => {
      return { lane, pending: 1 - inFlight, inFlight, nextInMs, heldForMs: 0 }
    }
    expect((await turn({ claim: claimOf() })).lanes).toEqual([
      view(OTHER, 9),
      view(third, 9),
      view(ORIGIN, 20),
      view('https://z.test', null, 1),
    ])
  })

  test('a step that is brief does all but show lanes', async () => {
    await add({}, {}, { origin: OTHER, dueInMs: 900 })
    expect(await turn({ claim: claimOf({ limit: 1 }), isBrief: true })).toMatchObject({ nextInMs: 0 })
    const { claimed, nextInMs, counts } = await turn({ claim: claimOf({ limit: 2 }), isBrief: true })
    expect([claimed.length, nextInMs, counts?.pending]).toEqual([1, 900, 1])
  })

  test('no more lanes than fit are shown', async () => {
    const origins = Array.from({ length: LANES_SHOWN + 3 }, (_, i) => `https://${String(i).padStart(3, '0')}.test`)
    await add(...origins.map((origin) => ({ origin, dueInMs: 5 })))
    expect((await turn()).lanes.map(({ lane }) => lane)).toEqual(origins.slice(0, LANES_SHOWN))
  })

  test('without a claim, what is due now counts in nextInMs, and all lanes are shown', async () => {
    await add({ dueInMs: 50 }, { principal: 'ann' })
    expect(await turn()).toMatchObject({ nextInMs: 0, lanes: { length: 2 }, blockedByLimit: false, claimed: [] })
  })

  test('nothing to wait for is said so', async () => {
    const expected = { now: clock.now(), settled: [], renewed: [], claimed: [], ended: [], lanes: [] }
    const rest = { nextInMs: null, blockedByLimit: false, counts: ZERO }
    expect(await turn({ claim: claimOf() })).toEqual({ ...expected, ...rest })
  })
}
