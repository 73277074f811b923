import { expect, test } from 'vitest'
import { CLOCK_STEP_MS, SWEEP } from '../../../js/api/store.ts'
import {
  becomes,
  claimOf,
  idOf,
  idsOf,
  kitFor,
  LEASE_MS,
  NOT_RETRYABLE,
  type Open,
  OTHER,
  retryIn,
  SUCCEEDED,
  setup,
  ZERO,
} from './kit.ts'

/** What time does: deadlines, retention, a clock that steps, homes. And what others hear of a step. */
export function timeRules(open: Open): void {
  const { add, claim, clock, get, lease, pass, settle, store, turn, two } = kitFor(open)
  const retention = { terminalMs: 1_000, maxTerminal: 100, deadLetterMs: 5_000, maxDeadLetters: 100 }

  test('S8 a task past its deadline ends, with the reason it was given', async () => {
    await add({ dueInMs: 5_000, deadlineInMs: 1_000, deadlineReason: 'key_expired' }, { orderKey: 'o', dueInMs: 9_000 })
    await add({ orderKey: 'o', deadlineInMs: 500 })
    expect((await turn()).nextInMs).toBe(501)
    pass(1_000)
    expect((await turn()).ended).toMatchObject([{ taskId: idOf(3), reason: 'total_budget' }])
    expect((await turn()).ended).toEqual([])
    pass(1)
    expect((await turn()).ended).toEqual([await get(idOf(1))])
    expect(await get(idOf(1))).toMatchObject({ status: 'EXHAUSTED', reason: 'key_expired', dueAt: null })
  })

  test('S8 an attempt may start at the deadline itself, and one in flight may pass it', async () => {
    await add({ dueInMs: 1_000, deadlineInMs: 1_000 })
    pass(1_000)
    const [claimed] = await claim()
    if (!claimed) throw new Error('it was due')
    pass(1_000)
    expect((await turn()).ended).toEqual([])
    await settle(claimed.lease, retryIn(0))
    expect(await get(idOf(1))).toMatchObject({ status: 'EXHAUSTED', reason: 'total_budget' })
  })

  test('a turn tells what it ended in order: leases by token, then deadlines, the earliest first', async () => {
    const last = { policy: { policyId: 'p', maxAttempts: 1 } }
    await add({ dueInMs: 1_000, deadlineInMs: 900 }, { dueInMs: 1_000, deadlineInMs: 800 }, last, {
      ...last,
      priority: 1,
    })
    await claim()
    pass(LEASE_MS)
    expect((await turn()).ended.map(({ taskId }) => taskId)).toEqual([4, 3, 2, 1].map(idOf))
  })

  test('one turn ends no more than so many for their deadline, and asks to be called again', async () => {
    await add(...Array.from({ length: SWEEP + 1 }, () => ({ dueInMs: 5_000, deadlineInMs: 1_000 })))
    pass(1_001)
    expect(await turn()).toMatchObject({ ended: { length: SWEEP }, nextInMs: 0 })
    expect(await turn()).toMatchObject({ ended: { length: 1 }, nextInMs: null })
  })

  test('S17 what has ended is deleted after its retention, and counts as purged', async () => {
    const { add, claim, settle, turn, pass, store } = await setup(open, { retention })
    await add({}, {}, {})
    const nexts = [SUCCEEDED, NOT_RETRYABLE]
    for (const [i, { lease }] of (await claim({ limit: 2 })).entries()) await settle(lease, nexts[i] ?? SUCCEEDED)
    await store.cancel(idOf(3))
    pass(1_000)
    expect((await turn()).trimmed).toBeUndefined()
    expect(await store.counts()).toEqual({ ...ZERO, succeeded: 1, exhausted: 1, cancelled: 1 })
    pass(1)
    expect((await turn()).trimmed).toBeUndefined()
    expect(await store.counts()).toEqual({ ...ZERO, exhausted: 1, purged: 2 })
    pass(4_000)
    expect((await turn()).trimmed).toEqual([{ taskId: idOf(2), principal: null }])
    expect(await store.counts()).toEqual({ ...ZERO, purged: 3 })
  })

  test('S17 beyond as many as may be kept, the first to have ended goes first', async () => {
    const few = { ...retention, maxTerminal: 2, maxDeadLetters: 1 }
    const { add, store, pass, turn } = await setup(open, { retention: few })
    await add(...Array.from({ length: 6 }, () => ({ dueInMs: 9_000 })))
    for (const n of [3, 1, 2]) {
      await store.cancel(idOf(n))
      pass(1)
    }
    await store.cancel(idOf(6), 'vetoed')
    await store.cancel(idOf(5), 'vetoed')
    expect((await turn()).trimmed).toEqual([{ taskId: idOf(5), principal: null }])
    const left = (await store.list({ limit: 10 })).tasks.map(({ taskId }) => taskId)
    expect(left).toEqual([1, 2, 4, 6].map(idOf))
  })

  test('S1 what is pending or in flight is never deleted by retention', async () => {
    const none = { terminalMs: 0, maxTerminal: 0, deadLetterMs: 0, maxDeadLetters: 0 }
    const { add, claim, pass, turn, store } = await setup(open, { retention: none })
    await add({}, { dueInMs: 1_000, deadlineInMs: Number.POSITIVE_INFINITY })
    await claim()
    pass(LEASE_MS - 1)
    await turn()
    expect(await store.counts()).toEqual({ ...ZERO, pending: 1, inFlight: 1 })
  })

  test('S9 a clock that falls back a little stands still', async () => {
    await add({ dueInMs: 1_000 })
    const startAt = clock.now()
    pass(-CLOCK_STEP_MS)
    expect((await turn()).now).toBe(startAt)
    pass(CLOCK_STEP_MS + 999)
    expect(await claim()).toEqual([])
    pass(1)
    expect(await claim()).toHaveLength(1)
  })

  test('S9 a clock that falls back by more takes all that waits with it', async () => {
    await add({ deadlineInMs: 40_000 }, { dueInMs: 1_000 }, { origin: OTHER })
    const [held, other] = await two()
    await settle(other.lease, retryIn(2_000, { serverMs: 2_000 }), { holdLaneForMs: 3_000 })
    const homes = store.homes?.areHeard ? undefined : store.homes
    await homes?.holdHome('tab', 500)
    pass(-(CLOCK_STEP_MS + 1))
    expect(await turn({ claim: claimOf() })).toMatchObject({ now: clock.now(), claimed: [], nextInMs: 1_000 })
    expect((await get(idOf(1))).deadlineAt).toBe(clock.now() + 40_000)
    expect((await turn()).lanes.find(({ lane }) => lane === OTHER)).toMatchObject({ heldForMs: 3_000, nextInMs: 3_000 })
    expect(await store.flush()).toBe(1)
    expect((await get(idOf(3))).dueAt).toBe(clock.now() + 2_000)
    if (homes) expect(await homes.live()).toEqual(['tab'])
    pass(500)
    if (homes) expect(await homes.live()).toEqual([])
    pass(LEASE_MS - 501)
    expect((await turn()).ended).toEqual([])
    pass(1)
    expect((await claim()).map(({ task }) => task.taskId)).toContain(held.task.taskId)
  })

  test('S19 after such a step whoever is behind others is due as late as before', async () => {
    await add({ orderKey: 'o' }, { orderKey: 'o', dueInMs: 1_000 })
    pass(-(CLOCK_STEP_MS + 1))
    await store.cancel(idOf(1))
    expect((await get(idOf(2))).dueAt).toBe(clock.now() + 1_000)
  })

  test('S8 after such a step the key expires as late after the first attempt as before', async () => {
    await settle(await lease({ policy: { policyId: 'p', keyTtlMs: 60_000 } }), NOT_RETRYABLE)
    pass(-(CLOCK_STEP_MS + 1))
    await turn()
    pass(60_001)
    expect(await store.redrive([idOf(1)], { spacingMs: 0, acceptDuplicateRisk: false })).toEqual(['key_expired'])
  })

  test('S17 after such a step retention lasts as long as before', async () => {
    const { add, pass, turn, store } = await setup(open, { retention })
    await add({})
    await store.cancel(idOf(1))
    pass(-(CLOCK_STEP_MS + 1))
    await turn()
    pass(1_001)
    await turn()
    expect((await store.counts()).purged).toBe(1)
  })

  test('L3 a home lives as long as it said, or until it says no longer', async () => {
    const { homes } = store
    if (!homes || homes.areHeard) return
    await homes.holdHome('b', 1_000)
    await homes.holdHome('a', 2_000)
    expect(await homes.live()).toEqual(['a', 'b'])
    pass(1_000)
    expect(await homes.live()).toEqual(['a'])
    await homes.holdHome('a', 0)
    expect(await homes.live()).toEqual([])
  })

  test('S22 a claim leaves alone what a home waits for that has come since it was asked for', async () => {
    const { homes } = store
    if (!homes || homes.areHeard) return
    await add({ home: 'a' }, { home: 'b' }, {})
    await homes.holdHome('a', 1_000)
    expect(idsOf(await claim({ limit: 9 }, 'b'))).toEqual([idOf(2), idOf(3)])
    expect(idsOf(await claim({ limit: 9, ownHomeOnly: true }, 'a'))).toEqual([idOf(1)])
    await add({ home: 'a' })
    pass(1_000)
    expect(idsOf(await claim({ limit: 9 }, 'b'))).toEqual([idOf(4)])
  })

  test('L3 a home that is heard lives until it is let go, however long it said', async () => {
    const { homes } = store
    if (!homes?.areHeard) return
    await homes.holdHome('b', 1_000)
    await homes.holdHome('a', 1_000)
    await homes.holdHome('a', 1_000)
    pass(2_000)
    expect(await homes.live()).toEqual(['a', 'b'])
    await homes.holdHome('a', 0)
    await becomes(() => homes.live(), ['b'])
  })

  test('L3 others hear of what became due, ended, or is to end', async () => {
    if (!store.subscribe) return
    const heard: string[] = []
    const stop = store.subscribe(({ kind, taskId }) => heard.push(taskId === undefined ? kind : `${kind} ${taskId}`))
    const hears = async (what: string): Promise<void> => {
      await clock.settle()
      expect(heard).toContain(what)
      heard.length = 0
    }
    await add({}, { dueInMs: 5_000 })
    await hears('due')
    const [first] = await claim()
    if (!first) throw new Error('one is due')
    await store.cancel(idOf(1))
    await hears(`cancelled ${idOf(1)}`)
    await settle(first.lease, retryIn(0))
    await hears(`settled ${idOf(1)}`)
    await store.flush()
    await hears('due')
    await store.cancel(idOf(2), 'vetoed')
    await hears(`settled ${idOf(2)}`)
    await store.redrive([idOf(2)], { spacingMs: 0, acceptDuplicateRisk: true })
    await hears('due')
    stop()
    await store.cancel(idOf(2))
    await turn()
    await clock.settle()
    expect(heard).toEqual([])
  })
}
