import { expect, test } from 'vitest'
import { LOG_LENGTH } from '../../../js/api/store.ts'
import { claimOf, idOf, kitFor, logOf, type Open, OTHER, releaseIn, retryIn, SUCCEEDED, UNSENT, ZERO } from './kit.ts'

/** No policy allows more attempts than are logged: some are made before the enqueue. */
const PATIENT = { policyId: 'default', maxAttempts: 100 } as const
const BEFORE = 60
const logsUpTo = (last: number) => Array.from({ length: last }, (_, i) => logOf(idOf(1), { attemptNumber: i + 1 }))

export function readRules(open: Open): void {
  const { add, claim, finish, get, lease, pass, settle, store, turn } = kitFor(open)
  test('what is not here is undefined', async () => {
    expect([await store.get('nobody'), await store.body('nobody'), await store.find('nothing')]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(await store.list({ limit: 10 })).toEqual({ tasks: [] })
  })

  test('a task without a body has none', async () => {
    await add({})
    expect([await store.body(idOf(1)), (await get(idOf(1))).bodyBytes]).toEqual([undefined, 0])
  })

  test('a body that comes with its task is its own, and says when it was due', async () => {
    await add({ body: new Uint8Array([1, 2]), dueInMs: 5 }, { dueInMs: 7 }, { body: new Uint8Array(70_000).fill(3) })
    const dueAt = new Map((await store.list({ limit: 9 })).tasks.map((task) => [task.taskId, task.dueAt]))
    pass(9)
    const { claimed } = await turn({ claim: claimOf() })
    expect(claimed).toHaveLength(3)
    for (const { task, body, dueAt: wasDueAt } of claimed) {
      // a store may leave either to be asked for
      expect([undefined, await store.body(task.taskId)]).toContainEqual(body)
      expect([undefined, dueAt.get(task.taskId)]).toContain(wasDueAt)
      body?.fill(9)
    }
    expect(await store.body(idOf(1))).toEqual(new Uint8Array([1, 2]))
  })

  test.for([
    [{ status: 'CANCELLED' }, [2, 4]],
    [{ principal: 'ann' }, [3, 4]],
    [{ principal: null }, [1, 2, 5]],
    [{ origin: OTHER }, [5]],
    [{ status: 'PENDING', principal: 'ann' }, [3]],
    [{ active: true }, [1, 3, 5]],
    [{ active: true, status: 'PENDING' }, [3, 5]],
    [{ active: true, status: 'CANCELLED' }, []],
    [{ tags: ['order'] }, [1, 3, 4]],
    [{ tags: ['eu', 'order'] }, [3, 4]],
    [{ tags: ['eu', 'order'], active: true }, [3]],
    [{ tags: ['ord'] }, []],
  ] as const)('a list of %o has %o', async ([filter, expected]) => {
    const tags = ['order', 'eu']
    await add({ tags: ['order'] }, {}, { principal: 'ann', tags }, { principal: 'ann', tags }, { origin: OTHER })
    expect(await claim({ limit: 1 })).toHaveLength(1)
    for (const n of [2, 4]) await store.cancel(idOf(n))
    const { tasks, cursor } = await store.list({ ...filter, limit: expected.length })
    expect([tasks.map(({ taskId }) => taskId), cursor]).toEqual([expected.map(idOf), undefined])
    for (const task of tasks) expect(task).toEqual(await store.get(task.taskId))
  })

  test('what a caller knows a task by is kept to its end, and is the store’s own copy', async () => {
    const meta = { order: 17, of: { who: 'ann', at: [1, null, true] } }
    const tags = ['order']
    await add({ meta, tags }, {})
    meta.of.who = 'ben'
    tags.push('late')
    const given = { meta: { order: 17, of: { who: 'ann', at: [1, null, true] } }, tags: ['order'] }
    expect(await get(idOf(1))).toMatchObject(given)
    expect(Object.keys(await get(idOf(2)))).not.toContain('meta')
    await finish(idOf(1), SUCCEEDED)
    expect(await get(idOf(1))).toMatchObject({ status: 'SUCCEEDED', ...given })
    await store.close()
    expect(await get(idOf(1))).toMatchObject(given)
  })

  test.for([
    { meta: { text: 'x'.repeat(5_000) } },
    { meta: [] },
    { tags: 'order' },
    { tags: [''] },
    { tags: ['x'.repeat(65)] },
    { tags: Array.from({ length: 17 }, String) },
  ])('what would not be read again is refused: %j', async (wrong) => {
    await expect(add(wrong as never)).rejects.toThrow(/task\.(?:meta|tags)/)
    expect(await store.counts()).toEqual(ZERO)
  })

  test('a task is found by its key: the youngest that keeps it, of a principal where one is asked for', async () => {
    await add({ idempotencyKey: 'k' }, { idempotencyKey: 'k', principal: 'ann' })
    expect((await store.find('k'))?.taskId).toBe(idOf(2))
    expect((await store.find('k', null))?.taskId).toBe(idOf(1))
    expect(await store.find('k', 'bob')).toBeUndefined()
    await store.cancel(idOf(2))
    expect((await store.find('k'))?.taskId).toBe(idOf(1))
  })

  test('S1 nothing is lost by closing, and the next call opens again', async () => {
    const held = await lease({ body: new Uint8Array([7]) }, { dueInMs: 500 })
    const before = [await store.list({ limit: 9 }), await store.counts()]
    await store.close()
    expect([await store.list({ limit: 9 }), await store.counts()]).toEqual(before)
    expect(await store.body(idOf(1))).toEqual(new Uint8Array([7]))
    expect(await settle(held, SUCCEEDED)).toBe('applied')
    pass(500)
    expect((await lease()).token).toBe(held.token + 1)
    await store.close()
    await store.close()
  })

  test('attempts are logged in order, the last hundred, and not what never left', async () => {
    const total = LOG_LENGTH + 5
    await settle(await lease({ policy: PATIENT, log: logsUpTo(BEFORE) }), releaseIn(0), { log: UNSENT })
    for (let attemptNumber = BEFORE + 1; attemptNumber <= total; attemptNumber++) {
      await settle(await lease(), retryIn(0), { log: { attemptNumber } })
    }
    const seen: number[] = []
    for (let cursor: string | undefined, first = true; first || cursor; first = false) {
      const page = await store.attempts(idOf(1), { limit: 40, ...(cursor ? { cursor } : {}) })
      seen.push(...page.attempts.map(({ attemptNumber }) => attemptNumber))
      cursor = page.cursor
    }
    expect(seen).toEqual(Array.from({ length: LOG_LENGTH }, (_, i) => i + 1 + total - LOG_LENGTH))
  })

  test('a page of attempts goes on where the last one ended, though older ones have fallen out', async () => {
    await add({ policy: PATIENT, log: logsUpTo(BEFORE) })
    const attempt = async (attemptNumber: number) => settle(await lease(), retryIn(0), { log: { attemptNumber } })
    for (let n = BEFORE + 1; n <= LOG_LENGTH; n++) await attempt(n)
    const { cursor } = await store.attempts(idOf(1), { limit: 50 })
    if (cursor === undefined) throw new Error('there are more')
    for (let n = LOG_LENGTH + 1; n <= LOG_LENGTH + 3; n++) await attempt(n)
    expect((await store.attempts(idOf(1), { limit: 1, cursor })).attempts).toMatchObject([{ attemptNumber: 51 }])
  })

  test('attempts made before the enqueue come first, without what never left', async () => {
    const logs = [1, 2].map((attemptNumber) => logOf(idOf(1), { attemptNumber }))
    await add({ attemptNumber: 2, log: [...logs, logOf(idOf(1), UNSENT)] })
    await settle(await lease(), retryIn(1), { log: { attemptNumber: 3, responseStatus: null, errorMessage: 'lost' } })
    const { attempts } = await store.attempts(idOf(1), { limit: 9 })
    expect(attempts.map(({ attemptNumber }) => attemptNumber)).toEqual([1, 2, 3])
    expect(attempts[0]).toEqual(logs[0])
    expect(await store.attempts('nobody', { limit: 9 })).toEqual({ attempts: [] })
  })
}
