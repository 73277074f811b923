import { expect, test } from 'vitest'
import { type Lease, MARK_ACCEPTED } from '../../../js/api/store.ts'
import {
  idOf,
  idsOf,
  kitFor,
  LEASE_MS,
  many,
  NOT_RETRYABLE,
  newTask,
  type Open,
  OTHER,
  releaseIn,
  retryIn,
  SUCCEEDED,
  UNSENT,
  ZERO,
} from './kit.ts'

/** What people order: cancel, redrive, flush, unpark, purge. */
export function controlRules(open: Open): void {
  const { add, claim, clock, enqueue, finish, get, lease, pass, settle, store, turn } = kitFor(open)
  const back = { spacingMs: 0, acceptDuplicateRisk: false }

  test('S8 a pending task is cancelled at once, and never claimed', async () => {
    await add({ body: new Uint8Array(3) })
    expect(await store.cancel(idOf(1))).toBe('cancelled')
    const { headers, ...rest } = await get(idOf(1))
    expect(headers).toEqual({})
    expect(rest).toMatchObject({ status: 'CANCELLED', bodyBytes: 0, dueAt: null })
    expect([await claim(), await store.cancel(idOf(1)), await store.cancel('nobody')]).toEqual([[], 'gone', 'gone'])
    expect(await store.counts()).toEqual({ ...ZERO, cancelled: 1 })
  })

  test('a pending task can be given up for a reason instead', async () => {
    await add({ body: new Uint8Array(3) })
    expect(await store.cancel(idOf(1), 'wait_exceeded')).toBe('cancelled')
    expect(await get(idOf(1))).toMatchObject({ status: 'EXHAUSTED', reason: 'wait_exceeded', bodyBytes: 3 })
  })

  test('L1 S1 the task of a waiting caller that others have enqueued is kept when its caller leaves, and ends by cancel alone', async () => {
    const of = (n: number, home: string | null) => newTask(n, { home, idempotencyKey: 'k', fingerprint: 'f' })
    await enqueue(of(1, 'runner'))
    for (const home of ['other', null, 'needs sign']) {
      // one that waits as well has the end of the first
      if (home === 'other') expect((await get(idOf(1))).marks).toBe(0)
      expect(await enqueue(of(2, home))).toEqual({ taskId: idOf(1), outcome: 'duplicate' })
    }
    const leave = async (as?: 'wait_exceeded') => {
      const said = await store.cancel(idOf(1), as, true)
      return [said, (await get(idOf(1))).status]
    }
    expect([await leave(), await leave('wait_exceeded')]).toEqual(Array(2).fill(['requested', 'PENDING']))
    const first = await lease()
    expect(await leave()).toEqual(['requested', 'IN_FLIGHT'])
    await settle(first, { kind: 'retry', delayMs: 0, carry: { phase: 3, previousDelayMs: 9, marks: 1 } })
    for (const reason of ['wait_exceeded', 'circuit_open', 'closed'] as const) {
      expect(await settle(await lease(), { kind: 'exhausted', reason })).toBe('stale')
    }
    expect(await get(idOf(1))).toMatchObject({ status: 'PENDING', marks: 1 + MARK_ACCEPTED, attemptNumber: 4 })
    expect([await store.cancel(idOf(1)), await claim()]).toEqual(['cancelled', []])
  })

  test.for([retryIn(0), NOT_RETRYABLE, releaseIn(0)])('S8 one in flight is cancelled by %o', async (next) => {
    const held = await lease({})
    expect([await store.cancel(idOf(1)), await store.cancel(idOf(1), 'vetoed')]).toEqual(['requested', 'requested'])
    expect((await get(idOf(1))).status).toBe('IN_FLIGHT')
    expect((await turn({ renew: [held] })).renewed).toEqual(['cancelled'])
    expect([await settle(held, next), await settle(held, next)]).toEqual(['cancelled', 'cancelled'])
    expect((await get(idOf(1))).status).toBe('CANCELLED')
    expect((await store.attempts(idOf(1), { limit: 9 })).attempts).toHaveLength(1)
  })

  test('S4 one in flight whose end was asked for still succeeds', async () => {
    const held = await lease({})
    await store.cancel(idOf(1))
    expect(await settle(held, SUCCEEDED)).toBe('applied')
    expect((await get(idOf(1))).status).toBe('SUCCEEDED')
  })

  test('one in flight whose end was asked for is cancelled when its lease runs out, and that is final', async () => {
    const held = await lease({})
    await store.cancel(idOf(1))
    pass(LEASE_MS)
    expect((await turn()).ended).toMatchObject([{ taskId: idOf(1), status: 'CANCELLED' }])
    expect(await settle(held, SUCCEEDED)).toBe('cancelled')
    expect((await get(idOf(1))).status).toBe('CANCELLED')
  })

  test('S5 S13 a redriven task keeps key, id and history, and is counted anew', async () => {
    await add({ body: new Uint8Array(3), deadlineInMs: 5, marks: 2, phase: 9 })
    const before = await get(idOf(1))
    await settle(await lease(), releaseIn(0), { log: UNSENT })
    await settle(await lease(), { kind: 'retry', delayMs: 0, carry: { phase: 3, previousDelayMs: 9, marks: 1 } })
    await settle(await lease(), { ...NOT_RETRYABLE, marks: 32 })
    expect(await store.redrive([idOf(1)], back)).toEqual(['redriven'])
    const deadline = { deadlineAt: clock.now() + 86_400_000, deadlineReason: 'total_budget' }
    expect(await get(idOf(1))).toEqual({ ...before, marks: 32, phase: -1, dueAt: clock.now(), ...deadline })
    expect((await store.attempts(idOf(1), { limit: 9 })).attempts).toHaveLength(2)
    expect(await store.counts()).toEqual({ ...ZERO, pending: 1, bytes: 3 })
  })

  test('a redriven task is not parked, and no server asked it to wait', async () => {
    await settle(await lease({ orderKey: 'o' }), releaseIn(0, { park: true, serverMs: 9_000 }))
    await store.cancel(idOf(1), 'vetoed')
    expect((await get(idOf(1))).parked).toBe(false)
    await store.redrive(['nobody', idOf(1)], back)
    await store.cancel(idOf(1), 'vetoed')
    await add({})
    await store.cancel(idOf(2), 'vetoed')
    await store.redrive([idOf(2), idOf(1)], { ...back, spacingMs: 500 })
    expect(await store.flush()).toBe(1)
    expect(await get(idOf(1))).toMatchObject({ parked: false, dueAt: clock.now() })
  })

  test('a redriven task counts as enqueued anew', async () => {
    await add({}, {})
    await store.cancel(idOf(1), 'vetoed')
    await store.redrive([idOf(1)], back)
    expect(idsOf(await claim())).toEqual([idOf(2), idOf(1)])
  })

  test('S14 a task redriven twice is redriven once', async () => {
    await add({}, { dueInMs: 5 })
    await finish(idOf(1), NOT_RETRYABLE)
    const said = await store.redrive([idOf(1), idOf(1), idOf(2), 'nobody'], back)
    expect(said).toEqual(['redriven', 'gone', 'gone', 'gone'])
  })

  test('those that go back are spaced, counted by those that do', async () => {
    await add({}, {}, {})
    for (const { lease } of await claim()) await settle(lease, NOT_RETRYABLE)
    await store.redrive([idOf(2), 'nobody', idOf(1), idOf(3)], { ...back, spacingMs: 100 })
    const due = await Promise.all([2, 1, 3].map(async (n) => (await get(idOf(n))).dueAt))
    expect(due).toEqual([0, 100, 200].map((ms) => clock.now() + ms))
  })

  test('S8 a dead letter whose key has expired goes back only at the risk of a duplicate', async () => {
    await add({ policy: { policyId: 'p', keyTtlMs: 60_000, totalBudgetMs: 50_000 } })
    pass(1_000)
    const firstAt = clock.now()
    await settle(await lease(), retryIn(500))
    pass(500)
    await settle(await lease(), NOT_RETRYABLE)
    pass(59_500)
    expect(await store.redrive([idOf(1)], back)).toEqual(['redriven'])
    expect(await get(idOf(1))).toMatchObject({ deadlineAt: firstAt + 60_000, deadlineReason: 'key_expired' })
    await store.cancel(idOf(1), 'vetoed')
    pass(1)
    expect(await store.redrive([idOf(1)], back)).toEqual(['key_expired'])
    expect((await get(idOf(1))).status).toBe('EXHAUSTED')
    expect(await store.redrive([idOf(1)], { ...back, acceptDuplicateRisk: true })).toEqual(['redriven'])
    expect(await get(idOf(1))).toMatchObject({ deadlineAt: clock.now() + 50_000, deadlineReason: 'total_budget' })
  })

  test('a dead letter that goes back still ends when its caller said, though its budget was over first', async () => {
    const policy = { policyId: 'p', keyTtlMs: 60_000, totalBudgetMs: 2_000 }
    const endsAt = clock.now() + 1_500
    await add({ policy, deadlineInMs: 1_000, ageMs: 1_000, expiresAfterMs: 2_500 })
    expect(await get(idOf(1))).toMatchObject({ expiresAfterMs: 2_500 })
    pass(1_000)
    await store.cancel(idOf(1), 'vetoed')
    expect(await store.redrive([idOf(1)], back)).toEqual(['redriven'])
    expect(await get(idOf(1))).toMatchObject({ deadlineAt: endsAt, deadlineReason: 'expired' })
  })

  test('the first attempt of a task that was made with the call is at its call', async () => {
    const policy = { policyId: 'p', keyTtlMs: 60_000, totalBudgetMs: 50_000 }
    await add(
      { policy, attemptNumber: 1, ageMs: 30_000, dueInMs: 1 },
      { policy, dueInMs: 1 },
      { policy, attemptNumber: 1, ageMs: 30_000, dueInMs: 1, idempotencyKey: null },
    )
    for (const n of [1, 2, 3]) await store.cancel(idOf(n), 'vetoed')
    pass(30_001)
    expect(await store.redrive([1, 2, 3].map(idOf), back)).toEqual(['key_expired', 'redriven', 'redriven'])
  })

  test('a redriven task takes the policy that has its name by now', async () => {
    await add({}, { policy: { policyId: 'other', maxAttempts: 2 } })
    for (const n of [1, 2]) await store.cancel(idOf(n), 'vetoed')
    const policies = [{ policyId: 'default', maxAttempts: 9, totalBudgetMs: 500 }]
    await store.redrive([idOf(1), idOf(2)], { ...back, policies })
    expect(await get(idOf(1))).toMatchObject({ policy: policies[0], deadlineAt: clock.now() + 500 })
    expect((await get(idOf(2))).policy).toEqual({ policyId: 'other', maxAttempts: 2 })
  })

  test('S19 a redriven task lines up behind its order', async () => {
    await add({ orderKey: 'o' }, { orderKey: 'o' })
    await store.cancel(idOf(1), 'vetoed')
    await store.redrive([idOf(1)], back)
    expect((await get(idOf(1))).dueAt).toBeNull()
    expect(idsOf(await claim())).toEqual([idOf(2)])
    await store.purge({ taskId: idOf(2) })
    expect(idsOf(await claim())).toEqual([idOf(1)])
  })

  test('flush makes due what waits for its curve, and says how many', async () => {
    await add({}, { dueInMs: 5_000 }, { dueInMs: 5_000, origin: OTHER })
    expect([await store.flush(OTHER), await store.flush(), await store.flush()]).toEqual([1, 1, 0])
    expect(await claim()).toHaveLength(3)
  })

  test('flush makes all due, however many there are', async () => {
    for (let n = 0; n < 6; n++) {
      const ofMany = (i: number) => ({ dueInMs: 5_000 + i, ...(i % 3 === 0 && { origin: OTHER }) })
      await add(...many(100, ofMany), { dueInMs: 5_000, serverMs: 5_000 }, {})
    }
    expect([await store.flush(OTHER), await store.flush(), await store.flush()]).toEqual([204, 396, 0])
    expect(await claim({ limit: 1_000 })).toHaveLength(606)
  })

  test('S9 flush keeps what a server asked for', async () => {
    await add({}, { dueInMs: 5_000, serverMs: 3_000 }, { dueInMs: 3_000, serverMs: 3_000 })
    await settle(await lease(), retryIn(9_000, { serverMs: 4_000 }))
    expect(await store.flush()).toBe(2)
    const due = await Promise.all([1, 2, 3].map(async (n) => (await get(idOf(n))).dueAt))
    expect(due).toEqual([4_000, 3_000, 3_000].map((ms) => clock.now() + ms))
  })

  test('S19 flush leaves alone what is parked, in flight, or behind others', async () => {
    await add({}, {}, { orderKey: 'o', dueInMs: 5_000 }, { orderKey: 'o', dueInMs: 5_000 })
    const [first] = await claim()
    if (!first) throw new Error('two are due')
    await settle(first.lease, releaseIn(0, { park: true }))
    expect(await store.flush()).toBe(1)
    expect(await get(idOf(1))).toMatchObject({ parked: true, dueAt: null })
    expect((await get(idOf(2))).status).toBe('IN_FLIGHT')
    expect((await get(idOf(4))).dueAt).toBeNull()
  })

  test('unpark makes parked tasks due, of a lane or of a principal', async () => {
    await add({}, { origin: OTHER }, { principal: 'ann' }, { dueInMs: 9_000 })
    for (const principal of [null, 'ann']) {
      for (const { lease } of await claim({ principal })) await settle(lease, releaseIn(0, { park: true }))
    }
    expect([await store.unpark?.({ lane: OTHER }), await store.unpark?.({ principal: null })]).toEqual([1, 1])
    expect(await get(idOf(2))).toMatchObject({ parked: false })
    expect(await claim()).toHaveLength(2)
    expect([await store.unpark?.({}), await store.unpark?.({})]).toEqual([1, 0])
  })

  test('S9 unpark keeps what a server asked for', async () => {
    await settle(await lease({}), releaseIn(0, { park: true, serverMs: 2_000 }))
    expect(await store.unpark?.({ principal: null })).toBe(1)
    expect((await get(idOf(1))).dueAt).toBe(clock.now() + 2_000)
  })

  test('a purge goes by its filter as it was checked: a property that is another one each time deletes no more', async () => {
    await add({}, {})
    let asked = 0
    const get = () => (asked++ === 0 ? 'none' : undefined)
    const filter = Object.defineProperty({}, 'taskId', { enumerable: true, get })
    expect(await store.purge(filter)).toBe(0)
    expect(await store.counts()).toMatchObject({ pending: 2 })
  })

  test.for([
    ['all', 4],
    [{ taskId: idOf(2) }, 1],
    [{ principal: 'ann' }, 2],
    [{ principal: null }, 2],
    [{ status: 'CANCELLED' }, 2],
    [{ status: 'CANCELLED', principal: 'ann' }, 1],
    [{ taskId: idOf(1), principal: 'ann' }, 0],
  ] as const)('purge of %o deletes %i', async ([filter, gone]) => {
    await add({ body: new Uint8Array(1) }, {}, { principal: 'ann' }, { principal: 'ann' })
    for (const n of [2, 4]) await store.cancel(idOf(n))
    const purge = () => (filter === 'all' ? store.purgeAll() : store.purge(filter))
    expect(await purge()).toBe(gone)
    const { purged, bytes, ...rest } = await store.counts()
    expect(purged).toBe(gone)
    expect(Object.values(rest).reduce((sum, n) => sum + n, 0)).toBe(4 - gone)
    expect(bytes).toBe((await store.get(idOf(1))) ? 1 : 0)
    expect(await purge()).toBe(0)
  })

  test.for([
    [{}],
    [undefined],
    [{ taskId: undefined }],
    [{ principal: undefined }],
    [{ status: undefined }],
    [{ status: 'CANCELLED', principal: undefined }],
    [{ taskID: idOf(1) }],
    [{ taskId: 1 }],
    [{ status: 'cancelled' }],
    [{ principal: 7 }],
  ])('purge of %o is refused, and deletes nothing', async ([filter]) => {
    await add({}, { principal: 'ann' })
    const refused = await store.purge(filter as never).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(Error)
    expect(['TypeError', 'RangeError']).toContain((refused as Error).name)
    expect(await store.counts()).toMatchObject({ pending: 2, purged: 0 })
  })

  test('a filter of list and unpark that is undefined is refused: it is not all', async () => {
    await add({ principal: 'ann' })
    for (const name of ['principal', 'status', 'origin', 'active', 'tags']) {
      await expect(store.list({ limit: 10, [name]: undefined } as never)).rejects.toThrow(TypeError)
    }
    for (const name of ['principal', 'lane']) {
      await expect(store.unpark?.({ [name]: undefined } as never)).rejects.toThrow(TypeError)
    }
    expect((await store.list({ limit: 10, cursor: undefined } as never)).tasks).toHaveLength(1)
  })

  test('S16 countsOf tells the part that is one principal’s', async () => {
    await add({ principal: 'ann' }, { principal: 'ann', origin: OTHER }, {}, { principal: 'ann' })
    const [first] = await claim({ principal: 'ann', limit: 1 })
    await settle(first?.lease as Lease, { kind: 'exhausted', reason: 'not_retryable' })
    await claim({ principal: 'ann', limit: 1 })
    expect(await store.countsOf?.('ann')).toEqual({ pending: 1, inFlight: 1, exhausted: 1 })
    expect(await store.countsOf?.(null)).toEqual({ pending: 1, inFlight: 0, exhausted: 0 })
    expect(await store.countsOf?.('ben')).toEqual({ pending: 0, inFlight: 0, exhausted: 0 })
  })
}
