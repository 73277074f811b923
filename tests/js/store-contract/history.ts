import { expect, test } from 'vitest'
import { LOG_LENGTH, NOTES_LENGTH, type TaskStore } from '../../../js/api/store.ts'
import type { AttemptLog } from '../../../js/api/task.ts'
import { claimOf, idOf, kitFor, LEASE_MS, logOf, NOT_RETRYABLE, type Open, releaseIn, retryIn, UNSENT } from './kit.ts'

const RISK = { spacingMs: 0, acceptDuplicateRisk: true }

/** What a store keeps for people who ask what became of a task: its attempts, and all else that was decided. */
export function historyRules(open: Open): void {
  const { add, clock, lease, pass, settle, store, turn } = kitFor(open)
  const historyOf = async (store: TaskStore, n = 1) => (await store.history?.(idOf(n))) ?? []
  const kindsOf = (history: readonly AttemptLog[]) => history.map(({ kind = 'attempt' }) => kind)

  test('attempts and what never left stand in the order in which they came, as they were given', async () => {
    const before = logOf(idOf(1), { attemptNumber: 1, kind: 'retry', data: { delayMs: 5, curveMs: 4 } })
    await add({ attemptNumber: 1, log: [before] })
    const released = { ...UNSENT, kind: 'released', data: { cause: 'offline', counted: false } } as const
    await settle(await lease(), releaseIn(0), { log: released })
    await settle(await lease(), retryIn(0), { log: { attemptNumber: 2, responseStatus: null, errorMessage: 'lost' } })
    await settle(await lease(), releaseIn(0), { log: { ...released, startedAt: 7 } })
    expect(await historyOf(store)).toEqual([
      before,
      logOf(idOf(1), released),
      logOf(idOf(1), { attemptNumber: 2, responseStatus: null, errorMessage: 'lost' }),
      logOf(idOf(1), { ...released, startedAt: 7 }),
    ])
    expect((await store.attempts(idOf(1), { limit: 9 })).attempts).toHaveLength(2)
  })

  test('what never left before the enqueue comes first', async () => {
    await settle(await lease({ log: [logOf(idOf(1), UNSENT)] }), retryIn(0))
    expect(await historyOf(store)).toEqual([logOf(idOf(1), UNSENT), logOf(idOf(1))])
  })

  test('a settlement that does not count leaves no line', async () => {
    const stale = await lease({})
    await settle(stale, releaseIn(0), { log: UNSENT })
    await settle(stale, releaseIn(0), { log: UNSENT })
    pass(LEASE_MS)
    await lease()
    await settle(stale, retryIn(0))
    expect(await historyOf(store)).toEqual([logOf(idOf(1), UNSENT)])
  })

  test('the last hundred attempts and the last fifty notes are kept, and the order of what is left', async () => {
    const each = Math.max(LOG_LENGTH, NOTES_LENGTH) + 3
    // no policy allows so many attempts: most are made before the enqueue
    const before = each - 10
    const log = Array.from({ length: before }, (_, i) => [
      logOf(idOf(1), { attemptNumber: i + 1 }),
      logOf(idOf(1), { ...UNSENT, attemptNumber: i + 1, kind: 'released' }),
    ]).flat()
    await add({ policy: { policyId: 'default', maxAttempts: 100 }, log })
    for (let attemptNumber = before + 1; attemptNumber <= each; attemptNumber++) {
      await settle(await lease(), retryIn(0), { log: { attemptNumber } })
      await settle(await lease(), releaseIn(0), { log: { ...UNSENT, attemptNumber, kind: 'released' } })
    }
    const history = await historyOf(store)
    const seen = history.map(({ attemptNumber, kind }) => `${attemptNumber}${kind ? ' released' : ''}`)
    const wanted = Array.from({ length: each }, (_, i) => i + 1).flatMap((n) => [
      ...(n > each - LOG_LENGTH ? [`${n}`] : []),
      ...(n > each - NOTES_LENGTH ? [`${n} released`] : []),
    ])
    expect(seen).toEqual(wanted)
    const [released, attempts] = [history.filter(({ kind }) => kind), history.filter(({ kind }) => !kind)]
    for (const most of [1, 3, LOG_LENGTH]) {
      const youngest = new Set([...attempts.slice(-most), ...released.slice(-most)])
      expect(await store.history?.(idOf(1), most)).toEqual(history.filter((line) => youngest.has(line)))
    }
  })

  test('L2 a lease that ran out leaves a line: nobody knows how that attempt ended', async () => {
    await lease({})
    pass(LEASE_MS)
    await turn()
    expect(await historyOf(store)).toMatchObject([{ kind: 'lost', attemptNumber: 1, startedAt: clock.now() }])
    expect((await store.attempts(idOf(1), { limit: 9 })).attempts).toEqual([])
    // the core's note on an attempt without an answer: a 409 is then no conflict
    expect(await store.get(idOf(1))).toMatchObject({ marks: 8 })
  })

  test('a dead letter that goes back says so, between its old attempts and the new ones', async () => {
    await settle(await lease({}), NOT_RETRYABLE, { log: { kind: 'exhausted', data: { reason: 'not_retryable' } } })
    await store.redrive([idOf(1)], RISK)
    await settle(await lease(), retryIn(0), { log: { kind: 'retry' } })
    const history = await historyOf(store)
    expect(kindsOf(history)).toEqual(['exhausted', 'redriven', 'retry'])
    expect(history[1]).toMatchObject({ responseStatus: null, errorMessage: null, durationMs: 0 })
  })

  test.for([
    ['its deadline passed while it waited', { deadlineInMs: 5 }, 'exhausted', 'total_budget'],
    ['all its attempts were counted', { attemptNumber: 5 }, 'exhausted', 'max_attempts'],
  ] as const)('the store says of what it ends that %s', async ([, given, kind, reason]) => {
    await add(given)
    pass(6)
    await turn({ claim: claimOf() })
    const at = clock.now()
    expect(await historyOf(store)).toMatchObject([{ kind, data: { reason }, startedAt: at, decision: reason }])
  })

  test.for([
    ['outcome_unknown', { idempotencyKey: null }, false],
    [undefined, {}, true],
  ] as const)('of a lease that ran out and ends its task, too: %s', async ([reason, given, cancels]) => {
    await lease(given)
    if (cancels) await store.cancel(idOf(1))
    pass(LEASE_MS)
    await turn()
    const [line, ...more] = await historyOf(store)
    expect(line).toMatchObject(reason ? { kind: 'exhausted', data: { reason } } : { kind: 'cancelled' })
    expect(more).toEqual([])
  })

  test('of a cancel, with its reason where it was given one', async () => {
    await add({}, {})
    await store.cancel(idOf(1))
    await store.cancel(idOf(2), 'wait_exceeded')
    expect([await historyOf(store, 1), await historyOf(store, 2)]).toMatchObject([
      [{ kind: 'cancelled' }],
      [{ kind: 'exhausted', data: { reason: 'wait_exceeded' } }],
    ])
  })

  test.for([
    ['retry', ['retry', 'cancelled']],
    ['cancelled', ['cancelled']],
  ] as const)('of a cancel in flight once, where its attempt says %s', async ([kind, kinds]) => {
    const held = await lease({})
    await store.cancel(idOf(1))
    await settle(held, retryIn(0), { log: { kind } })
    expect(kindsOf(await historyOf(store))).toEqual(kinds)
  })

  test('it survives a close, and goes with the task', async () => {
    await settle(await lease({}), releaseIn(0), { log: UNSENT })
    const before = await historyOf(store)
    await store.close()
    expect(await historyOf(store)).toEqual(before)
    await store.purge({ taskId: idOf(1) })
    expect(await historyOf(store)).toEqual([])
    expect(await historyOf(store, 99)).toEqual([])
  })
}
