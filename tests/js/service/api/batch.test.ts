import { describe, expect, test } from 'vitest'
import { RedriveError } from '../../../../js/api/errors.ts'
import type { NewTask } from '../../../../js/api/store.ts'
import { BATCH_BYTES, MOST_TASKS } from '../../../../js/service/api/schemas/batch.ts'
import { recordsRead } from './longest-turn.ts'
import {
  type Answered,
  type Asked,
  faultsOf,
  idOf,
  ORDERS,
  refusalOf,
  STORES,
  setup,
  tokenFor,
  type World,
} from './setup.ts'

interface Outcome {
  readonly status: number
  readonly receipt?: { readonly taskId: string; readonly idempotencyKey: string | null; readonly deduplicated: boolean }
  readonly problem?: { readonly type: string; readonly detail: string; readonly errors?: readonly object[] }
}

const outcomesOf = ({ json }: Answered): readonly Outcome[] => json.outcomes as readonly Outcome[]
const statusesOf = (answer: Answered): readonly number[] => outcomesOf(answer).map(({ status }) => status)
const typesOf = (answer: Answered): readonly string[] =>
  outcomesOf(answer).map(({ problem }) => problem?.type.replace('urn:redrive:problem:', '') ?? '')

const batch = ({ ask }: World, tasks: readonly unknown[], asked: Asked = {}): Promise<Answered> =>
  ask('POST', '/retry-tasks/batch', { body: { tasks }, ...asked })

const lines = ({ ask }: World, raw: string, headers = {}): Promise<Answered> =>
  ask('POST', '/retry-tasks/batch', { raw, headers: { 'content-type': 'application/x-ndjson', ...headers } })

/** `before` is called with the tasks of each call that the store takes. */
function onEnqueue({ context: { store } }: World, before: (tasks: readonly NewTask[]) => void): void {
  const enqueue = store.enqueue.bind(store)
  store.enqueue = async (tasks, lease) => {
    before(tasks)
    return enqueue(tasks, lease)
  }
}

const put = (more: object = {}) => ({ targetUrl: ORDERS, method: 'PUT', body: 'x', ...more })

describe.each(STORES)('over %s', (kind) => {
  test('each task gets what it would get alone, in order, and those that are right are stored', async () => {
    const world = await setup({ kind, sends: false })
    const answer = await batch(world, [
      put({ idempotencyKey: 'one' }),
      put({ policyId: 'nowhere' }),
      put({ headers: { authorization: 'Bearer abc' } }),
      { targetUrl: 'nonsense' },
      put({ colour: 'red' }),
      7,
      put({ orderKey: 'customer-7' }),
      put({ orderKey: 'customer-7' }),
    ])
    expect(answer.status).toBe(200)
    expect(statusesOf(answer)).toEqual([201, 422, 422, 422, 422, 422, 201, 201])
    expect(typesOf(answer).slice(1, 6)).toEqual(['policy-unknown', 'header-refused', 'invalid', 'invalid', 'invalid'])
    expect(outcomesOf(answer)[4]?.problem?.errors).toMatchObject([{ pointer: '#/colour' }])
    expect(outcomesOf(answer)[7]?.receipt).toMatchObject({ status: 'PENDING', nextAttemptAt: null })
    const { tasks } = (await world.ask('GET', '/retry-tasks')).json as { tasks: readonly { taskId: string }[] }
    const receipts = outcomesOf(answer).flatMap(({ receipt }) => receipt?.taskId ?? [])
    expect(tasks.map(({ taskId }) => taskId).sort()).toEqual([...receipts].sort())
  })

  test('equal keys in one batch are one task, and another request under that key is a conflict', async () => {
    const world = await setup({ kind, sends: false })
    const answer = await batch(world, [
      put({ idempotencyKey: 'k' }),
      put({ idempotencyKey: 'k' }),
      put({ idempotencyKey: 'k', body: 'y' }),
    ])
    expect(statusesOf(answer)).toEqual([201, 200, 422])
    const [first, second, third] = outcomesOf(answer)
    expect(second?.receipt).toMatchObject({ taskId: first?.receipt?.taskId, deduplicated: true })
    expect(third?.problem).toMatchObject({ taskId: first?.receipt?.taskId })
    expect(typesOf(answer)[2]).toBe('idempotency-conflict')
  })

  test('a task is the same alone and in a batch, as JSON and as a line', async () => {
    const world = await setup({ kind, sends: false })
    const task = put({ idempotencyKey: 'k', tags: { b: '2', a: '1' } })
    const taskId = idOf(await world.create(task))
    const again = [await batch(world, [task]), await lines(world, `${JSON.stringify(task)}\n`)]
    for (const answer of again) {
      expect(statusesOf(answer)).toEqual([200])
      expect(outcomesOf(answer)[0]?.receipt).toMatchObject({ taskId, deduplicated: true })
    }
  })
})

test('the store takes a batch in steps of 32 tasks at most, so that others come between them', async () => {
  const world = await setup({ sends: false })
  const sizes: number[] = []
  onEnqueue(world, ({ length }) => void sizes.push(length))
  const tasks = Array.from({ length: MOST_TASKS }, (_, n) => put({ idempotencyKey: `k${n}` }))
  const answer = await batch(world, tasks)
  expect(new Set(statusesOf(answer))).toEqual(new Set([201]))
  expect(Math.max(...sizes)).toBe(32)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(MOST_TASKS)
})

test.for([
  ['delayed', { delayMs: 60_000 }, 201],
  ['repeated', { delayMs: 60_000 }, 200],
  ['in conflict', { delayMs: 60_000, body: 'y' }, 422],
] as const)('of many tasks that are %s few are read at once', async ([name, more, status]) => {
  const world = await setup({ kind: 'sqlite', sends: false })
  const all = (given: object) => Array.from({ length: 200 }, (_, i) => put({ idempotencyKey: `k${i}`, ...given }))
  if (name !== 'delayed') await batch(world, all({ delayMs: 60_000 }))
  const read = recordsRead(world.store)
  expect(statusesOf(await batch(world, all(more)))).toEqual(Array(200).fill(status))
  expect(read.most).toBeLessThanOrEqual(16)
})

test('what the store cannot keep fails alone', async () => {
  const world = await setup({ sends: false })
  onEnqueue(world, (tasks) => {
    if (tasks.some(({ idempotencyKey }) => idempotencyKey === 'bad'))
      throw new RangeError('task.method: expected another')
  })
  const keys = ['a', 'bad', 'a'].map((idempotencyKey) => put({ idempotencyKey }))
  expect(statusesOf(await batch(world, keys))).toEqual([201, 422, 200])
})

test('a store that is full refuses those that do not fit', async () => {
  const world = await setup({ sends: false, capacity: 2 })
  const answer = await batch(world, [put(), put(), put()])
  expect(statusesOf(answer)).toEqual([201, 201, 503])
  expect(typesOf(answer)[2]).toBe('queue-full')
})

test('a store that does not answer fails the request as a whole', async () => {
  const world = await setup({ sends: false })
  const { store } = world.context
  store.enqueue = () => Promise.reject(Object.assign(new Error('away'), { code: 'STORAGE_UNAVAILABLE' }))
  const answer = await batch(world, [put()])
  expect(answer.status).toBe(500)
})

test('a store that fails once a part is stored leaves that part its receipts, and the others may come again', async () => {
  const world = await setup({ sends: false })
  let calls = 0
  onEnqueue(world, () => {
    if (++calls === 2) throw new RedriveError('STORAGE_UNAVAILABLE', 'away')
  })
  const tasks = Array.from({ length: 70 }, () => put())
  const key = { headers: { 'idempotency-key': '"import-17"' } }
  const cut = await batch(world, tasks, key)
  expect(statusesOf(cut)).toEqual([...Array(32).fill(201), ...Array(38).fill(503)])
  expect(typesOf(cut)[32]).toBe('store-unavailable')
  expect(statusesOf(await batch(world, tasks, key))).toEqual([...Array(32).fill(200), ...Array(38).fill(201)])
})

describe('the key of the batch', () => {
  test('gives each task that has none one of its own, so that the batch can be sent again', async () => {
    const world = await setup({ sends: false })
    const tasks = [put(), put({ idempotencyKey: 'mine' }), { targetUrl: ORDERS, method: 'GET' }]
    const once = await batch(world, tasks, { headers: { 'idempotency-key': '"import-17"' } })
    const keys = outcomesOf(once).map(({ receipt }) => receipt?.idempotencyKey)
    expect(keys).toEqual(['import-17.0', 'mine', 'import-17.2'])
    const twice = await batch(world, tasks, { headers: { 'idempotency-key': 'import-17' } })
    expect(statusesOf(twice)).toEqual([200, 200, 200])
    expect((await world.ask('GET', '/stats')).json.counts).toMatchObject({ pending: 3 })
  })

  test('without it a repeat makes tasks anew', async () => {
    const world = await setup({ sends: false })
    await batch(world, [put()])
    expect(statusesOf(await batch(world, [put()]))).toEqual([201])
  })

  test('one that leaves no room for a number is refused for those that need it', async () => {
    const world = await setup({ sends: false })
    const headers = { 'idempotency-key': 'k'.repeat(254) }
    const answer = await batch(world, [put(), put({ idempotencyKey: 'mine' })], { headers })
    expect(statusesOf(answer)).toEqual([400, 201])
  })
})

describe('lines', () => {
  test('one that cannot be read fails alone; blank ones are none', async () => {
    const world = await setup({ sends: false })
    const good = JSON.stringify(put())
    const raw = `${good}\r\n\n  \n{"targetUrl":\n${good}\n{"a":1,"a":2}\n{"targetUrl":"${ORDERS}","json":12345678901234567890}`
    const answer = await lines(world, raw)
    expect(statusesOf(answer)).toEqual([201, 400, 201, 400, 422])
    expect(typesOf(answer)).toEqual(['', 'bad-request', '', 'bad-request', 'invalid'])
  })

  test.each([
    ['none', ' \n\n', /#\/tasks/],
    ['too many', '1\n'.repeat(MOST_TASKS + 1), /more than 500 lines/],
  ])('%s of them are refused as a whole', async (_, raw, words) => {
    const answer = await lines(await setup({ sends: false }), raw)
    expect(refusalOf(answer)).toEqual([422, 'invalid'])
    expect(answer.json.detail).toMatch(words)
  })

  test('are for batches alone', async () => {
    const { ask } = await setup({ sends: false })
    const headers = { 'content-type': 'application/x-ndjson' }
    const answer = await ask('POST', '/retry-tasks', { raw: JSON.stringify(put()), headers })
    expect(refusalOf(answer)).toEqual([415, 'unsupported-media-type'])
  })
})

describe('limits', () => {
  test.each([
    [[], '#/tasks'],
    [Array.from({ length: MOST_TASKS + 1 }, () => put()), '#/tasks'],
  ])('a batch of none, or of too many, is refused as a whole', async (tasks, pointer) => {
    const answer = await batch(await setup({ sends: false }), tasks)
    expect(refusalOf(answer)).toEqual([422, 'invalid'])
    expect(faultsOf(answer)[0]).toContain(pointer)
  })

  test('it may be 8 MiB, and each task as large as a request', async () => {
    const world = await setup({ sends: false, settings: { limits: { maxBodyBytes: 2_000_000 } } })
    const large = put({ body: 'x'.repeat(1_990_000) })
    const over = put({ body: 'x'.repeat(2_000_000) })
    const answer = await batch(world, [large, over, large, large])
    expect(statusesOf(answer)).toEqual([201, 413, 201, 201])
    expect(refusalOf(await batch(world, [put({ body: 'x'.repeat(BATCH_BYTES) })]))).toEqual([413, 'body-too-large'])
  })

  test('a task may be as deep as one that comes alone', async () => {
    const world = await setup({ sends: false })
    const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)])
    expect(statusesOf(await batch(world, [{ targetUrl: ORDERS, json: deep(31) }]))).toEqual([201])
    expect((await batch(world, [{ targetUrl: ORDERS, json: deep(32) }])).status).toBe(400)
  })

  test('it counts as many requests as it has tasks, and is let in where one would be', async () => {
    const tokens = [tokenFor('a', 'acme', 'tasks:write', 'tasks:read')]
    const world = await setup({ sends: false, tokens, settings: { rate: { perSecond: 10 } } })
    const asked = { token: 'a' }
    const first = await batch(world, Array(100).fill(put()), asked)
    expect([first.status, first.headers.get('ratelimit')]).toEqual([200, '"token";r=0;t=10'])
    const refused = await batch(world, [put()], asked)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '9'])
    await world.clock.advance(8_100)
    expect((await batch(world, [put()], asked)).status).toBe(200)
    expect((await batch(world, [put()], asked)).status).toBe(429)
  })
})

test.each<[string, (n: number) => object]>([
  ['stored, with long keys', (n) => put({ idempotencyKey: `${n}-`.padEnd(255, 'k') })],
  ['refused, with long names', (n) => put({ ['x'.repeat(400 + n)]: 1 })],
  [
    'refused or stored',
    (n) => put(n % 2 ? { idempotencyKey: `${n}-`.padEnd(255, 'k') } : { policyId: 'p'.repeat(64) }),
  ],
])('the answer to 500 tasks that are %s has 64 KiB at most, and each status', async (_, taskOf) => {
  const world = await setup({ sends: false })
  const tasks = Array.from({ length: MOST_TASKS }, (_, n) => taskOf(n))
  const answer = await batch(world, tasks)
  expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(65_536)
  const all = answer.json.outcomes as readonly (Outcome & { readonly taskId?: string; readonly type?: string })[]
  expect(all).toHaveLength(MOST_TASKS)
  const short = all.filter(({ receipt, problem }) => !receipt && !problem)
  expect(answer.json.cut).toBe(short.length)
  expect(short.length).toBeGreaterThan(0)
  expect(short.every((one) => Object.keys(one).length === 2 && (one.status < 300 ? one.taskId : one.type))).toBe(true)
  // those that were cut are the last ones, and their tasks can be asked for
  expect(all.slice(-short.length)).toEqual(short)
  const last = all.findLast(({ taskId }) => taskId !== undefined)
  if (last) expect((await world.ask('GET', `/retry-tasks/${last.taskId}`)).status).toBe(200)
  // what one would get alone is whole
  expect(Object.keys(all[0] ?? {}).sort()).toEqual(
    all[0]?.status === 201 ? ['receipt', 'status'] : ['problem', 'status'],
  )
})
