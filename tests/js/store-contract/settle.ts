import { expect, test } from 'vitest'
import { type ClaimedTask, laneName, MOST_REFUNDS, SILENCE_MS } from '../../../js/api/store.ts'
import {
  claimOf,
  idOf,
  kitFor,
  LEASE_MS,
  NOT_RETRYABLE,
  type Open,
  ORIGIN,
  OTHER,
  releaseIn,
  retryIn,
  SUCCEEDED,
  settlementOf,
  UNSENT,
  ZERO,
} from './kit.ts'

/** Leases, fencing tokens, and what becomes of a task whose attempt has ended. */
export function settleRules(open: Open): void {
  const { add, claim, clock, get, lease, pass, settle, store, turn, two } = kitFor(open)
  test('S8 an attempt counts when it is claimed', async () => {
    await add({})
    const [first] = await claim()
    expect(first?.task).toMatchObject({ status: 'IN_FLIGHT', attemptNumber: 1, dueAt: null })
    expect(first?.task).toEqual(await get(idOf(1)))
    expect(first?.lease).toEqual({ taskId: idOf(1), token: 1, forMs: LEASE_MS })
    expect((await get(idOf(1))).createdAt).toBe(clock.now())
  })

  test('S9 a retry is due after its delay and not before', async () => {
    expect(await settle(await lease({}), retryIn(1_000))).toBe('applied')
    expect(await get(idOf(1))).toMatchObject({ status: 'PENDING', attemptNumber: 1, previousDelayMs: 1_000, phase: -1 })
    pass(999)
    expect(await claim()).toEqual([])
    pass(1)
    expect(await claim()).toHaveLength(1)
  })

  test.for(['retry', 'release'] as const)('what a %s carries comes with the next claim', async (kind) => {
    await add({})
    const carry = { phase: 7, previousDelayMs: 30, marks: 3 }
    await settle(await lease(), { kind, delayMs: 0, refund: false, carry })
    expect((await claim())[0]?.task).toMatchObject(carry)
  })

  test('a success ends the task, and its headers and body are gone', async () => {
    await add({ body: new Uint8Array(4) })
    expect(await settle(await lease(), SUCCEEDED, { log: { responseStatus: 200 } })).toBe('applied')
    const { headers, ...rest } = await get(idOf(1))
    expect(headers).toEqual({})
    expect(rest).toMatchObject({ status: 'SUCCEEDED', bodyBytes: 0, dueAt: null })
    expect(await store.body(idOf(1))).toBeUndefined()
    expect(await store.counts()).toEqual({ ...ZERO, succeeded: 1 })
  })

  test('S13 a task that was given up is a dead letter, with its reason, its headers and its body', async () => {
    await add({ body: new Uint8Array(4) })
    const before = await get(idOf(1))
    await settle(await lease(), NOT_RETRYABLE)
    const end = { status: 'EXHAUSTED', reason: 'not_retryable', attemptNumber: 1, dueAt: null }
    expect(await get(idOf(1))).toEqual({ ...before, ...end })
    expect(await store.body(idOf(1))).toHaveLength(4)
    expect((await store.list({ status: 'EXHAUSTED', limit: 10 })).tasks).toHaveLength(1)
  })

  test('S14 a settlement twice is one', async () => {
    const held = await lease({})
    await settle(held, retryIn(1_000))
    const before = [await get(idOf(1)), await store.attempts(idOf(1), { limit: 9 })]
    expect(await settle(held, retryIn(5))).toBe('repeated')
    expect([await get(idOf(1)), await store.attempts(idOf(1), { limit: 9 })]).toEqual(before)
  })

  test('S4 a stale failure changes nothing', async () => {
    const stale = await lease({})
    pass(LEASE_MS)
    await lease()
    const before = [await get(idOf(1)), await store.attempts(idOf(1), { limit: 9 })]
    for (const next of [retryIn(1), NOT_RETRYABLE, releaseIn(1)]) {
      expect(await settle(stale, next, { holdLaneForMs: 60_000 })).toBe('stale')
    }
    expect([await get(idOf(1)), await store.attempts(idOf(1), { limit: 9 })]).toEqual(before)
    expect((await turn()).lanes[0]?.heldForMs).toBe(0)
  })

  test('S4 a failure of a lease that was taken back is stale too', async () => {
    const stale = await lease({})
    pass(LEASE_MS)
    await turn()
    expect(await settle(stale, NOT_RETRYABLE)).toBe('stale')
    expect((await get(idOf(1))).status).toBe('PENDING')
  })

  test('S4 a late success wins, whoever has the task by now', async () => {
    const late = await lease({})
    pass(LEASE_MS)
    const held = await lease()
    expect(await settle(late, SUCCEEDED)).toBe('applied')
    expect((await get(idOf(1))).status).toBe('SUCCEEDED')
    const after = await turn({ settle: [settlementOf(held, retryIn(1)), settlementOf(held, SUCCEEDED)], renew: [held] })
    expect([after.settled, after.renewed]).toEqual([['stale', 'repeated'], ['lost']])
    expect((await get(idOf(1))).status).toBe('SUCCEEDED')
  })

  test('S4 a late success wins over a dead letter', async () => {
    const late = await lease({ body: new Uint8Array(4) })
    pass(LEASE_MS)
    await settle(await lease(), NOT_RETRYABLE)
    expect(await settle(late, SUCCEEDED)).toBe('applied')
    expect(await store.counts()).toEqual({ ...ZERO, succeeded: 1 })
    expect(await store.redrive([idOf(1)], { spacingMs: 0, acceptDuplicateRisk: true })).toEqual(['gone'])
  })

  test('S4 a lease that ran out and was not taken back is still held', async () => {
    const held = await lease({})
    pass(LEASE_MS + 1)
    expect((await turn({ renew: [held] })).renewed).toEqual(['renewed'])
    pass(LEASE_MS)
    expect(await settle(held, retryIn(1))).toBe('applied')
  })

  test('a renewed lease holds for so long from now', async () => {
    const held = await lease({})
    pass(20_000)
    expect(await turn({ renew: [held] })).toMatchObject({ renewed: ['renewed'], nextInMs: LEASE_MS })
    pass(LEASE_MS - 1)
    expect(await claim()).toEqual([])
    pass(1)
    expect(await claim()).toHaveLength(1)
    expect((await turn({ renew: [held] })).renewed).toEqual(['lost'])
  })

  test('what is not here is gone, and lost', async () => {
    const held = await lease({})
    await store.purgeAll()
    const said = await turn({ settle: [settlementOf(held, SUCCEEDED)], renew: [held] })
    expect(said).toMatchObject({ settled: ['gone'], renewed: ['lost'] })
  })

  test('L2 an expired lease is taken up by whoever asks, and the attempt counts', async () => {
    await lease({})
    pass(LEASE_MS)
    expect((await claim({}, 'another'))[0]?.task).toMatchObject({ taskId: idOf(1), attemptNumber: 2 })
  })

  test.for([
    ['within it', 10_000, 60_000, true],
    ['as it began', 10_000, 10_000, false],
    ['before it', 10_000, 9_999, false],
    ['within what is a silence by a millisecond', 1, SILENCE_MS, true],
    ['within what is none yet', 1, SILENCE_MS - 1, false],
  ] as const)(
    'S9 after a silence of the store a lease that ended %s is kept for a grace: %s',
    async ([, endedMs, silentMs, isKept]) => {
      await add({}, { origin: OTHER })
      const [{ lease: held }] = (await claim()) as [ClaimedTask, ClaimedTask]
      pass(LEASE_MS + endedMs)
      const silence = { since: clock.now() - silentMs, graceMs: 7_000 }
      const { claimed, nextInMs } = await turn({ claim: claimOf(), silence })
      expect([claimed.length, nextInMs]).toEqual(isKept ? [0, 7_000] : [2, LEASE_MS])
      pass(6_999)
      expect(await settle(held, retryIn(90_000))).toBe(isKept ? 'applied' : 'stale')
      // of the other nobody lives
      pass(1)
      expect((await claim()).map(({ task }) => task.attemptNumber)).toEqual(isKept ? [2] : [])
    },
  )

  test.for([
    ['all its attempts are counted', { attemptNumber: 4 }],
    ['its deadline has passed', { deadlineInMs: LEASE_MS - 1 }],
    ['it may not be repeated', { idempotencyKey: null }],
  ] as const)('S8 an expired lease ends the task where %s', async ([, given]) => {
    await lease(given)
    pass(LEASE_MS)
    const { ended, claimed } = await turn({ claim: claimOf() })
    expect(ended).toEqual([await get(idOf(1))])
    expect(ended[0]).toMatchObject({ status: 'EXHAUSTED', reason: 'outcome_unknown' })
    expect(claimed).toEqual([])
  })

  test.for([{ method: 'PUT' }, { idempotent: true }])('without a key, %o may be repeated', async (given) => {
    await lease({ idempotencyKey: null, ...given })
    pass(LEASE_MS)
    expect((await lease()).taskId).toBe(idOf(1))
  })

  test('a refunded attempt is not counted, up to twenty times, and one made offline is none of them', async () => {
    await settle(await lease({ policy: { policyId: 'default', maxAttempts: 3 } }), releaseIn(0, { offline: true }))
    for (let refunds = 1; refunds <= MOST_REFUNDS; refunds++) {
      await settle(await lease(), releaseIn(0), { log: UNSENT })
      expect(await get(idOf(1))).toMatchObject({ attemptNumber: 0, refunds, status: 'PENDING' })
    }
    await settle(await lease(), releaseIn(0), { log: UNSENT })
    expect(await get(idOf(1))).toMatchObject({ attemptNumber: 1, refunds: MOST_REFUNDS })
    await settle(await lease(), releaseIn(0, { offline: true }))
    expect(await get(idOf(1))).toMatchObject({ attemptNumber: 1, refunds: MOST_REFUNDS })
  })

  test('a release without refund counts', async () => {
    await settle(await lease({ previousDelayMs: 7 }), releaseIn(1_000, { refund: false }))
    expect(await get(idOf(1))).toMatchObject({ attemptNumber: 1, refunds: 0, previousDelayMs: 7 })
  })

  test('a parked task has no due time', async () => {
    await settle(await lease({ deadlineInMs: Number.POSITIVE_INFINITY }), releaseIn(0, { park: true }))
    expect(await get(idOf(1))).toMatchObject({ status: 'PENDING', parked: true, dueAt: null })
    pass(86_400_000)
    expect(await claim()).toEqual([])
    expect((await turn()).nextInMs).toBeNull()
  })

  test('S9 a lane that a server asked to wait is held, and never for less than it was', async () => {
    await settle(await lease({}, { dueInMs: 1 }), retryIn(0), { holdLaneForMs: 5_000 })
    const { lanes } = await turn()
    expect(lanes).toMatchObject([{ heldForMs: 5_000, nextInMs: 5_000, pending: 2 }])
    pass(4_999)
    expect(await turn({ claim: claimOf() })).toMatchObject({ claimed: [], nextInMs: 1, blockedByLimit: false })
    pass(1)
    const [first, second] = await two()
    await settle(first.lease, SUCCEEDED, { holdLaneForMs: 5_000 })
    await settle(second.lease, retryIn(0), { holdLaneForMs: 10 })
    expect((await turn()).lanes[0]?.heldForMs).toBe(5_000)
  })

  test('S9 a lane is held that a runner says is, with tasks or without, and never for less than it was', async () => {
    const [mine, bens] = [laneName(null, ORIGIN), laneName('ben', ORIGIN)]
    const hold = (lane: string, forMs: number) => ({ hold: [{ lane, forMs }] })
    expect(await turn({ ...hold(mine, 5_000), claim: claimOf() })).toMatchObject({
      lanes: [{ lane: mine, heldForMs: 5_000, pending: 0, inFlight: 0, nextInMs: null }],
    })
    await turn(hold(mine, 10))
    await turn(hold(bens, 60_000))
    await add({}, { principal: 'ben' })
    expect(await store.counts()).toEqual({ ...ZERO, pending: 2 })
    pass(4_999)
    expect(await turn({ claim: claimOf() })).toMatchObject({ claimed: [], nextInMs: 1, blockedByLimit: false })
    pass(1)
    await settle(await lease(), retryIn(0))
    pass(50_000)
    expect(await claim({ principal: 'ben' })).toEqual([])
    pass(5_000)
    expect(await claim({ principal: 'ben' })).toHaveLength(1)
  })

  test('S9 a lane is held before anything is claimed in it, and after what has ended in it', async () => {
    const held = await lease({}, { dueInMs: 1 })
    const { claimed, settled, lanes } = await turn({
      settle: [settlementOf(held, retryIn(0), { holdLaneForMs: 1_000 })],
      hold: [
        { lane: laneName(null, ORIGIN), forMs: 3_000 },
        { lane: laneName(null, ORIGIN), forMs: 2_000 },
        { lane: laneName(null, OTHER), forMs: 0 },
      ],
      claim: claimOf(),
    })
    expect([claimed, settled]).toEqual([[], ['applied']])
    expect(lanes).toMatchObject([{ heldForMs: 3_000, pending: 2 }])
  })

  test('a lane that was held without a task is forgotten when that is over', async () => {
    await turn({ hold: [{ lane: laneName('ben', ORIGIN), forMs: 5_000 }] })
    pass(5_000)
    expect(await turn()).toMatchObject({ lanes: [], nextInMs: null })
  })

  test('L4 a held lane does not delay another', async () => {
    await settle(await lease({}), retryIn(0), { holdLaneForMs: 60_000 })
    await add({ origin: 'https://other.test' })
    expect((await claim()).map(({ task }) => task.taskId)).toEqual([idOf(2)])
  })
}
