import { expect, test } from 'vitest'
import { type NewTask, RECORD_SCHEMA } from '../../../js/api/store.ts'
import {
  claimOf,
  idOf,
  idsOf,
  kitFor,
  LEASE_MS,
  NOT_RETRYABLE,
  newTask,
  type Open,
  ORIGIN,
  OTHER,
  retryIn,
  SUCCEEDED,
  settlementOf,
  setup,
  TERMS,
  ZERO,
} from './kit.ts'

/** Who is taken, who is known, who is refused. */
export function enqueueRules(open: Open): void {
  const { add, claim, clock, enqueue, finish, get, pass, store, turn } = kitFor(open)
  const wish = { owner: 'runner', leaseMs: LEASE_MS }

  test('S1 an enqueued task is pending, as it was given', async () => {
    const body = new Uint8Array([1, 2, 3])
    const task = newTask(1, { body, dueInMs: 500, ageMs: 40, deadlineInMs: 9_000, deadlineReason: 'expired', marks: 5 })
    expect(await enqueue(task)).toEqual({ taskId: task.taskId, outcome: 'stored' })
    const now = clock.now()
    const { body: _, dueInMs, deadlineInMs, ageMs, ...rest } = task
    const times = { createdAt: now - 40, dueAt: now + 500, deadlineAt: now + 9_000 }
    const whole = { ...rest, ...times, status: 'PENDING', refunds: 0, parked: false, bodyBytes: 3 }
    expect(await get(task.taskId)).toEqual(whole)
    expect(await store.body(task.taskId)).toEqual(body)
    expect(await store.counts()).toEqual({ ...ZERO, pending: 1, bytes: 3 })
  })

  test('a deadline that is none stays none', async () => {
    await enqueue(newTask(1, { deadlineInMs: Number.POSITIVE_INFINITY }))
    expect((await get(idOf(1))).deadlineAt).toBe(Number.POSITIVE_INFINITY)
  })

  test('S19 calls that are made while many are on their way come behind those of their order', async () => {
    const many = Array.from({ length: 128 }, (_, n) => newTask(n + 3))
    const calls = [store.enqueue(many), store.enqueue([newTask(1, { orderKey: 'a' })])]
    await null
    calls.push(store.enqueue([newTask(2, { orderKey: 'a' })]), store.enqueue([newTask(200)]))
    await Promise.all(calls)
    expect([(await get(idOf(1))).dueAt, (await get(idOf(2))).dueAt]).toEqual([expect.any(Number), null])
  })

  test('what was given and what is got are copies', async () => {
    const headers = { accept: 'text/plain' }
    const body = new Uint8Array([1])
    await store.enqueue([newTask(1, { headers, body })])
    headers.accept = 'changed'
    body[0] = 9
    const got = await get(idOf(1))
    Object.assign(got.headers, { accept: 'changed too' })
    ;(await store.body(idOf(1)))?.fill(8)
    expect((await get(idOf(1))).headers).toEqual({ accept: 'text/plain' })
    expect(await store.body(idOf(1))).toEqual(new Uint8Array([1]))
  })

  test('S14 the same task twice is one, and the second is a duplicate', async () => {
    await enqueue(newTask(1))
    expect(await enqueue(newTask(1, { fingerprint: 'another' }))).toEqual({ taskId: idOf(1), outcome: 'duplicate' })
    expect((await store.counts()).pending).toBe(1)
  })

  test('a task with a known key and the same request is a duplicate of it', async () => {
    await enqueue(newTask(1, { idempotencyKey: 'k' }))
    expect(await enqueue(newTask(2, { idempotencyKey: 'k' }))).toEqual({ taskId: idOf(1), outcome: 'duplicate' })
    expect(await store.get(idOf(2))).toBeUndefined()
  })

  test('S6 a known key with another request is refused, and nothing changes', async () => {
    await enqueue(newTask(1, { idempotencyKey: 'k' }))
    const [task, counts] = [await get(idOf(1)), await store.counts()]
    const outcome = await enqueue(newTask(2, { idempotencyKey: 'k', fingerprint: 'another' }))
    expect(outcome).toEqual({ taskId: idOf(1), outcome: 'conflict' })
    expect([await get(idOf(1)), await store.counts(), await store.get(idOf(2))]).toEqual([task, counts, undefined])
  })

  test('one key of two principals is two keys, and no key is no key', async () => {
    await add(...[null, 'ann', ''].map((principal) => ({ idempotencyKey: 'k', principal })))
    await add({ idempotencyKey: null }, { idempotencyKey: null })
    expect((await store.counts()).pending).toBe(5)
  })

  test.for([
    ['succeeded', SUCCEEDED],
    ['was given up', NOT_RETRYABLE],
  ] as const)('a task that %s keeps its key until it is purged', async ([, next]) => {
    await add({ idempotencyKey: 'k' })
    await finish(idOf(1), next)
    const again = newTask(2, { idempotencyKey: 'k' })
    expect((await enqueue(again)).outcome).toBe('duplicate')
    await store.purge({ taskId: idOf(1) })
    expect((await enqueue(again)).outcome).toBe('stored')
  })

  test('a cancelled task gives its key up', async () => {
    await add({ idempotencyKey: 'k' })
    await store.cancel(idOf(1))
    expect((await enqueue(newTask(2, { idempotencyKey: 'k', fingerprint: 'another' }))).outcome).toBe('stored')
  })

  test('tasks of one call see those before them', async () => {
    const { store } = await setup(open, { capacity: 2 })
    const tasks = [newTask(1), newTask(2, { idempotencyKey: 'key-1' }), newTask(1), newTask(3), newTask(4)]
    const outcomes = (await store.enqueue(tasks)).map(({ outcome }) => outcome)
    expect(outcomes).toEqual(['stored', 'duplicate', 'duplicate', 'stored', 'full'])
  })

  test('S17 a full store refuses the new one and keeps the others', async () => {
    const { enqueue, store, lease } = await setup(open, { capacity: 2 })
    const first = await lease({}, { dueInMs: 1_000 })
    expect(await enqueue(newTask(9))).toEqual({ taskId: idOf(9), outcome: 'full' })
    expect(await store.counts()).toEqual({ ...ZERO, pending: 1, inFlight: 1 })
    await store.cancel(idOf(2))
    expect((await enqueue(newTask(9))).outcome).toBe('stored')
    expect(first.taskId).toBe(idOf(1))
  })

  test('S17 bodies that would pass capacityBytes are refused, to the byte', async () => {
    const { enqueue, store, lease, settle } = await setup(open, { capacityBytes: 10 })
    const bytes = (n: number) => ({ body: new Uint8Array(n) })
    expect((await enqueue(newTask(1, bytes(6)))).outcome).toBe('stored')
    expect((await enqueue(newTask(2, bytes(5)))).outcome).toBe('full')
    expect((await enqueue(newTask(3, { ...bytes(4), dueInMs: 1_000 }))).outcome).toBe('stored')
    expect((await store.counts()).bytes).toBe(10)
    const held = await lease()
    expect((await store.counts()).bytes).toBe(10)
    await settle(held, SUCCEEDED)
    expect((await store.counts()).bytes).toBe(4)
    expect((await enqueue(newTask(2, bytes(6)))).outcome).toBe('stored')
  })

  test('S17 dead letters take room until they are purged, and a redrive needs none', async () => {
    const { enqueue, store, lease, settle } = await setup(open, { capacity: 2 })
    await enqueue(newTask(1))
    await settle(await lease(), NOT_RETRYABLE)
    expect((await enqueue(newTask(2, { dueInMs: 1_000 }))).outcome).toBe('stored')
    expect((await enqueue(newTask(3))).outcome).toBe('full')
    expect(await store.redrive([idOf(1)], { spacingMs: 0, acceptDuplicateRisk: false })).toEqual(['redriven'])
    expect((await enqueue(newTask(3))).outcome).toBe('full')
    await settle(await lease(), NOT_RETRYABLE)
    expect(await store.counts()).toEqual({ ...ZERO, pending: 1, exhausted: 1 })
    await store.purge({ taskId: idOf(1) })
    expect((await enqueue(newTask(3))).outcome).toBe('stored')
  })

  test('S17 bodies of dead letters take room until they are purged, to the byte', async () => {
    const { enqueue, store, lease, settle } = await setup(open, { capacityBytes: 10 })
    const bytes = (n: number) => ({ body: new Uint8Array(n) })
    await enqueue(newTask(1, bytes(6)))
    await settle(await lease(), NOT_RETRYABLE)
    expect((await store.counts()).bytes).toBe(6)
    expect((await enqueue(newTask(2, bytes(5)))).outcome).toBe('full')
    expect((await enqueue(newTask(3, bytes(4)))).outcome).toBe('stored')
    await store.purge({ status: 'EXHAUSTED' })
    expect((await store.counts()).bytes).toBe(4)
    expect((await enqueue(newTask(2, bytes(6)))).outcome).toBe('stored')
  })

  test('S17 no dead letter is deleted for their number alone', async () => {
    await add(...Array.from({ length: 1_100 }, () => ({ dueInMs: 9_000 })))
    for (let n = 1; n <= 1_100; n++) await store.cancel(idOf(n), 'vetoed')
    for (let i = 0; i < 5; i++) expect((await turn()).trimmed).toBeUndefined()
    expect(await store.counts()).toMatchObject({ exhausted: 1_100, purged: 0 })
  })

  test('a known task is a duplicate in a full store too', async () => {
    const { enqueue } = await setup(open, { capacity: 1 })
    await enqueue(newTask(1))
    expect((await enqueue(newTask(1))).outcome).toBe('duplicate')
    expect((await enqueue(newTask(2, { idempotencyKey: 'key-1', fingerprint: 'x' }))).outcome).toBe('conflict')
  })

  test('configure sets what may be kept from now on, and what is there stays', async () => {
    if (!store.configure) return
    await add({}, {}, {})
    store.configure({ ...TERMS, capacity: 2 })
    expect((await enqueue(newTask(9))).outcome).toBe('full')
    expect((await store.counts()).pending).toBe(3)
  })

  test('with a lease, what may start now is claimed in the same step', async () => {
    const lease = { taskId: idOf(1), token: 1, forMs: LEASE_MS }
    expect(await enqueue(newTask(1), wish)).toEqual({ taskId: idOf(1), outcome: 'stored', lease })
    expect(await get(idOf(1))).toMatchObject({ status: 'IN_FLIGHT', attemptNumber: 1, dueAt: null })
  })

  test('S14 an enqueue whose answer was lost gives the same owner the same lease, for what is left of it', async () => {
    await enqueue(newTask(1), wish)
    pass(1_000)
    const again = await enqueue(newTask(1), wish)
    const lease = { taskId: idOf(1), token: 1, forMs: LEASE_MS - 1_000 }
    expect(again).toEqual({ taskId: idOf(1), outcome: 'duplicate', lease })
    expect((await enqueue(newTask(1), { ...wish, owner: 'another' })).lease).toBeUndefined()
    expect((await get(idOf(1))).attemptNumber).toBe(1)
    pass(LEASE_MS)
    expect((await enqueue(newTask(1), wish)).lease).toBeUndefined()
  })

  test.for([
    ['is not due yet', { dueInMs: 1 }, {}],
    ['has no attempt left', { attemptNumber: 5 }, {}],
    ['is past its deadline', { deadlineInMs: -1 }, {}],
    ['cannot be read', { schema: RECORD_SCHEMA + 1 }, {}],
    ['would pass the total', { origin: OTHER }, { total: 1 }],
    ['would pass the limit of its lane', {}, { perLane: 1 }],
    ['is behind another of its order', { orderKey: 'o' }, {}],
  ] as const)('S8 with a lease, a task that %s is stored without one', async ([, task, limits]) => {
    expect((await enqueue(newTask(1, { orderKey: 'o' }), wish)).lease).toBeDefined()
    expect(await enqueue(newTask(2, task), { ...wish, ...limits })).toEqual({ taskId: idOf(2), outcome: 'stored' })
  })

  test('S9 with a lease, a task of a held lane waits', async () => {
    const { lease } = await enqueue(newTask(1), wish)
    if (!lease) throw new Error('no lease')
    await turn({ settle: [settlementOf(lease, retryIn(0), { holdLaneForMs: 1_000 })] })
    expect((await enqueue(newTask(2), wish)).lease).toBeUndefined()
    expect((await enqueue(newTask(3, { origin: OTHER }), wish)).lease).toBeDefined()
    pass(1_000)
    expect((await enqueue(newTask(4), wish)).lease).toBeDefined()
  })

  test.for<[what: string, task: Partial<NewTask>]>([
    ['a mode that is none', { requestInit: { mode: 'defer' } }],
    ['an option that no version stores', { requestInit: { keepalive: 'yes' } as NewTask['requestInit'] }],
    ['a method that fetch refuses', { method: 'TRACE' }],
    ['a header value over two lines', { headers: { accept: 'a\nb' } }],
    ['a target that is not its lane', { targetUrl: `${OTHER}/orders` }],
    ['a policy that is none', { policy: { policyId: 'default', maxAttempts: 0 } }],
    ['a priority that is no whole number', { priority: 0.5 }],
    ['no due time', { dueInMs: Number.NaN }],
  ])('S1 S20 what could not be read back is refused before it is stored: %s', async ([, task]) => {
    await expect(enqueue(newTask(1, task))).rejects.toThrow(/^task\.[\w.]+: expected/)
    expect(await store.counts()).toEqual(ZERO)
  })

  test('S20 a record of a later version is not claimed, counted once, and not deleted', async () => {
    await add({ schema: RECORD_SCHEMA + 1, deadlineInMs: 1_000 }, {})
    const first = await turn({ claim: claimOf() })
    expect([idsOf(first.claimed), first.unreadable]).toEqual([[idOf(2)], 1])
    expect((await turn({ claim: claimOf() })).unreadable).toBeUndefined()
    pass(31 * 86_400_000)
    expect((await turn({ claim: claimOf() })).unreadable).toBeUndefined()
    expect((await store.counts()).pending).toBe(1)
    const [cancelled, flushed] = [await store.cancel(idOf(1)), await store.flush()]
    expect([cancelled, flushed, await store.get(idOf(1)), await store.body(idOf(1))]).toEqual([
      'gone',
      0,
      undefined,
      undefined,
    ])
    expect((await store.list({ status: 'PENDING', limit: 10 })).tasks).toEqual([])
    expect(await claim()).toEqual([])
    expect(await store.purge({ taskId: idOf(1) })).toBe(1)
  })

  test.for<[name: string, task: Partial<NewTask>]>([
    ['principal', { principal: 'a\ud800', lane: `${ORIGIN} a\ud800` }],
    ['orderKey', { orderKey: '\udc00' }],
    ['taskId', { taskId: 'a\ud800b' }],
    ['idempotencyKey', { idempotencyKey: 'a\u0000' }],
    ['home', { home: '\ud800' }],
  ])('S16 S19 a %s that some databases keep as another is refused, and nothing is stored', async ([, wrong]) => {
    await expect(store.enqueue([newTask(1), newTask(2, wrong)])).rejects.toThrow(
      /^task\.\w+: expected a well-formed string/,
    )
    expect(await store.counts()).toMatchObject({ pending: 0 })
    const [pair] = await store.enqueue([newTask(3, { orderKey: '\ud83d\ude00' })])
    expect([pair?.outcome, (await store.get(idOf(3)))?.orderKey]).toEqual(['stored', '\ud83d\ude00'])
  })

  test('S19 S20 one that was put aside behind others stays so when its turn comes, and keeps those behind it', async () => {
    await add({ orderKey: 'o', dueInMs: 9_000 }, { orderKey: 'o', deadlineInMs: 1_000, schema: RECORD_SCHEMA + 1 })
    await add({ orderKey: 'o' })
    pass(1_001)
    expect((await turn()).unreadable).toBe(1)
    await store.cancel(idOf(1))
    const { claimed, unreadable } = await turn({ claim: claimOf() })
    expect([claimed, unreadable, (await get(idOf(3))).dueAt]).toEqual([[], undefined, null])
    await store.purge({ taskId: idOf(2) })
    expect(idsOf((await turn({ claim: claimOf() })).claimed)).toEqual([idOf(3)])
  })

  test('S20 one that passes its deadline unclaimed is put aside, not ended', async () => {
    await add({ schema: RECORD_SCHEMA + 1, deadlineInMs: 1_000, dueInMs: 5_000 })
    expect(await store.flush()).toBe(0)
    expect((await turn()).nextInMs).toBe(1_001)
    pass(1_001)
    expect(await turn()).toMatchObject({ ended: [], unreadable: 1, nextInMs: null })
    expect((await store.counts()).pending).toBe(1)
  })

  test.for([
    ['claimed', { dueInMs: 0 }],
    ['ended for its deadline', { dueInMs: 5_000, deadlineInMs: 1_000 }],
  ] as const)(
    'S2 S20 what was put aside when it was to be %s is counted, and its lane does not wait for it',
    async ([, given]) => {
      await add({ ...given, schema: RECORD_SCHEMA + 1 }, { origin: OTHER, dueInMs: 9_000 })
      const own = async () => (await store.countsOf?.(null)) ?? {}
      expect([(await turn()).lanes.length, await own()]).toEqual([2, { pending: 2, inFlight: 0, exhausted: 0 }])
      pass(1_001)
      const { lanes, counts } = await turn({ claim: claimOf() })
      expect(lanes.map(({ lane, pending }) => [lane, pending])).toEqual([[OTHER, 1]])
      expect(counts ?? (await store.counts())).toMatchObject({ pending: 2 })
      expect(await own()).toEqual({ pending: 1, inFlight: 0, exhausted: 0 })
      expect(await store.counts()).toMatchObject({ pending: 2, unreadable: 1, pendingAside: 1 })
      await store.purge({ taskId: idOf(1) })
      await add({ dueInMs: 9_000 })
      expect((await turn()).lanes.map(({ pending }) => pending)).toEqual([1, 1])
      expect(await own()).toEqual({ pending: 2, inFlight: 0, exhausted: 0 })
      expect(await store.counts()).toEqual({ ...ZERO, pending: 2, purged: 1 })
    },
  )
}
