import { describe, expect, test } from 'vitest'
import type { Registry } from '../../../../js/api/store.ts'
import type { ApiLogEntry, ApiStore } from '../../../../js/service/api/context.ts'
import { OPERATION_LEASE_MS, Operations } from '../../../../js/service/api/operations.ts'
import { bury } from './bury.ts'
import { type Answered, STORES, type StoreKind, setup, tokenFor, typeOf, type World } from './setup.ts'

/** The part of a store that operations use, with another registry. */
const withRegistry = (store: ApiStore, registry: Registry): ApiStore => {
  const [get, list, redrive] = [store.get.bind(store), store.list.bind(store), store.redrive.bind(store)]
  return { ...store, get, list, redrive, registry } as ApiStore
}

function worker({ store, clock, context }: World, owner: string, log: ApiLogEntry[] = []): Operations {
  const { sanitizer, tellEnds, quotaOf = () => undefined } = context
  return new Operations({ store, clock, sanitizer, tellEnds, quotaOf, owner, log: (entry) => void log.push(entry) })
}

const redrive = (world: World, body: object = { filter: {} }): Promise<Answered> =>
  world.ask('POST', '/dead-letters/redrive', { body })

const shown = async ({ ask }: World, { json }: Answered): Promise<Readonly<Record<string, unknown>>> =>
  (await ask('GET', `/operations/${json.operationId}`)).json

const quiet = (kind: StoreKind): Promise<World> => setup({ kind, sends: false })

describe.for(STORES)('%s', (kind) => {
  test('a redrive goes part by part, and says how far it is', async () => {
    const world = await quiet(kind)
    await bury(world, 150)
    const begun = await redrive(world)
    expect(begun.status).toBe(202)
    expect(begun.headers.get('location')).toBe(`/operations/${begun.json.operationId}`)
    const start = { kind: 'redrive', status: 'RUNNING', done: 0, skipped: 0, total: 150, remaining: 150 }
    expect(begun.json).toMatchObject(start)
    const operations = worker(world, 'a')
    await operations.tick()
    expect(await shown(world, begun)).toMatchObject({ status: 'RUNNING', done: 64, total: 150, remaining: 86 })
    expect((await world.store.counts()).pending).toBe(64)
    await operations.tick()
    await operations.tick()
    const end = { status: 'DONE', done: 150, remaining: 0, endedAt: world.clock.now() }
    expect(await shown(world, begun)).toMatchObject(end)
    expect(await world.store.counts()).toMatchObject({ pending: 150, exhausted: 0 })
  })

  test('one of a kind goes on at a time, and the next has another id', async () => {
    const world = await quiet(kind)
    await bury(world, 3)
    const both = await Promise.all([redrive(world), redrive(world)])
    expect(both.map(({ status }) => status).sort()).toEqual([202, 409])
    const refused = both.find(({ status }) => status === 409) as Answered
    const begun = both.find(({ status }) => status === 202) as Answered
    expect([typeOf(refused), refused.json.operationId]).toEqual(['operation-running', begun.json.operationId])
    const purge = await world.ask('POST', '/dead-letters/purge', { body: { filter: {}, confirm: 3 } })
    expect(purge.status).toBe(202)
    await worker(world, 'a').tick()
    const next = await redrive(world)
    expect(next.status).toBe(202)
    expect(next.json.operationId).not.toBe(begun.json.operationId)
  })

  test('a purge deletes what was confirmed, and nothing else', async () => {
    const world = await quiet(kind)
    const ids = await bury(world, 300)
    const wrong = await world.ask('POST', '/dead-letters/purge', { body: { filter: {}, confirm: 299 } })
    expect(wrong).toMatchObject({ status: 409, json: { count: 300 } })
    expect(typeOf(wrong)).toBe('count-changed')
    const one = await world.ask('POST', '/dead-letters/purge', { body: { filter: { taskIds: [ids[0]] }, confirm: 2 } })
    expect(one.json.detail).toMatch(/^there is 1 dead letter of this filter, and 2 were to be deleted/)
    const some = { filter: { taskIds: ids.slice(0, 10) }, confirm: 10 }
    await world.clock.advance(1)
    const begun = await world.ask('POST', '/dead-letters/purge', { body: some })
    expect(begun.json).toMatchObject({ kind: 'purge', total: 10 })
    await worker(world, 'a').tick()
    expect(await shown(world, begun)).toMatchObject({ status: 'DONE', done: 10 })
    expect(await world.store.counts()).toMatchObject({ exhausted: 290, purged: 10 })
    // those that end after the count were not confirmed
    const all = await world.ask('POST', '/dead-letters/purge', { body: { filter: {}, confirm: 290 } })
    await bury(world, 2)
    for (let i = 0; i < 6; i++) await worker(world, 'a').tick()
    expect(await shown(world, all)).toMatchObject({ status: 'DONE', done: 290 })
    expect(await world.store.counts()).toMatchObject({ exhausted: 2 })
  })

  test('a worker that is killed within a part leaves that part to the next, which does no more of it than it has to', async () => {
    const world = await quiet(kind)
    await bury(world, 150)
    const begun = await redrive(world)
    await worker(world, 'a').tick()
    // killed after its part, before its note
    const { store } = world
    let writes = 0
    const registry: Registry = {
      read: (query) => store.registry.read(query),
      write: (...given) => (++writes > 1 ? new Promise(() => {}) : store.registry.write(...given)),
    }
    const dying = { ...world, store: withRegistry(store, registry) }
    void worker(dying, 'killed').tick()
    // its claim of the part waits for a real disk
    await expect.poll(async () => (await store.counts()).pending).toBe(128)
    const other = worker(world, 'b')
    await other.tick()
    expect(await shown(world, begun)).toMatchObject({ status: 'RUNNING', done: 64 })
    await world.clock.advance(OPERATION_LEASE_MS)
    await other.tick()
    expect(await shown(world, begun)).toMatchObject({ status: 'RUNNING', done: 128 })
    expect((await store.counts()).pending).toBe(128)
    await other.tick()
    expect(await shown(world, begun)).toMatchObject({ status: 'DONE', done: 150 })
    expect((await store.counts()).pending).toBe(150)
  })

  test('two workers share the work, and no task is dealt with twice', async () => {
    const world = await quiet(kind)
    await bury(world, 300)
    const seen = new Map<string, number>()
    const { redrive: original } = world.store
    world.store.redrive = (ids, options) => {
      for (const id of ids) seen.set(id, (seen.get(id) ?? 0) + 1)
      return original.call(world.store, ids, options)
    }
    const begun = await redrive(world)
    const [a, b] = [worker(world, 'a'), worker(world, 'b')]
    for (let i = 0; i < 10; i++) await Promise.all([a.tick(), b.tick()])
    expect(await shown(world, begun)).toMatchObject({ status: 'DONE', done: 300 })
    expect([...seen.values()].every((times) => times === 1)).toBe(true)
    expect(seen.size).toBe(300)
  })
})

test('a paced redrive spreads its tasks, waits between parts, and stops after the one under way', async () => {
  const world = await quiet('memory')
  await bury(world, 100)
  const begun = await redrive(world, { filter: {}, perSecond: 2 })
  const operations = worker(world, 'a')
  await operations.tick()
  expect(await shown(world, begun)).toMatchObject({ done: 20 })
  const { tasks } = await world.store.list({ status: 'PENDING', limit: 100 })
  const waits = tasks.map(({ dueAt }) => (dueAt ?? 0) - world.clock.now())
  expect(waits).toEqual(Array.from({ length: 20 }, (_, i) => i * 500))
  await operations.tick()
  expect(await shown(world, begun)).toMatchObject({ done: 20 })
  await world.clock.advance(10_000)
  await operations.tick()
  expect(await shown(world, begun)).toMatchObject({ status: 'RUNNING', done: 40 })
  const stopped = await world.ask('DELETE', `/operations/${begun.json.operationId}`)
  expect(stopped).toMatchObject({ status: 200, json: { status: 'STOPPED', done: 40 } })
  await world.clock.advance(10_000)
  await operations.tick()
  expect(await shown(world, begun)).toMatchObject({ status: 'STOPPED', done: 40, endedAt: expect.any(Number) })
  expect((await world.ask('DELETE', `/operations/${begun.json.operationId}`)).json).toMatchObject({ status: 'STOPPED' })
})

test('a stop that comes during a part counts after it', async () => {
  const world = await quiet('memory')
  await bury(world, 150)
  const begun = await redrive(world)
  const { redrive: original } = world.store
  world.store.redrive = async (ids, options) => {
    const stopping = await world.ask('DELETE', `/operations/${begun.json.operationId}`)
    expect(stopping.json).toMatchObject({ status: 'STOPPING', done: 0 })
    return original.call(world.store, ids, options)
  }
  const operations = worker(world, 'a')
  await operations.tick()
  await operations.tick()
  expect(await shown(world, begun)).toMatchObject({ status: 'STOPPED', done: 64 })
  expect((await world.store.counts()).pending).toBe(64)
})

test('those whose key has expired are counted and stay', async () => {
  const world = await setup()
  await world.dead({ policy: { maxAttempts: 1, keyTtlMs: 60_000 } })
  await world.clock.advance(120_000)
  const begun = await redrive(world)
  await worker(world, 'a').tick()
  expect(await shown(world, begun)).toMatchObject({ status: 'DONE', done: 1, skipped: 1 })
  const accepted = await redrive(world, { filter: {}, acceptDuplicateRisk: true })
  await worker(world, 'a').tick()
  expect(await shown(world, accepted)).toMatchObject({ status: 'DONE', done: 1, skipped: 0 })
})

test('started, it works by itself, and waits for a store that fails', async () => {
  const world = await quiet('memory')
  await bury(world, 150)
  const log: ApiLogEntry[] = []
  const operations = worker(world, 'a', log)
  operations.start()
  await world.clock.advance(10)
  const begun = await redrive(world)
  const { redrive: original } = world.store
  world.store.redrive = () => Promise.reject(new Error('the disk is gone'))
  await world.clock.advance(1_000)
  expect(log).toContainEqual(expect.objectContaining({ event: 'error', message: 'the disk is gone' }))
  expect(await shown(world, begun)).toMatchObject({ status: 'RUNNING', done: 0 })
  world.store.redrive = original
  await world.clock.advance(1_000)
  expect(await shown(world, begun)).toMatchObject({ status: 'DONE', done: 150 })
  await operations.stop()
  expect(world.clock.timers).toBe(0)
})

test('ended operations are forgotten after a day, and their numbers are not used again', async () => {
  const world = await quiet('memory')
  await bury(world, 1)
  const operations = worker(world, 'a')
  const first = await redrive(world)
  await operations.tick()
  await world.clock.advance(86_400_000)
  await operations.tick()
  expect((await shown(world, first)).status).toBe('DONE')
  const second = await redrive(world)
  await operations.tick()
  await operations.tick()
  expect((await world.ask('GET', `/operations/${first.json.operationId}`)).status).toBe(404)
  expect((await shown(world, second)).status).toBe('DONE')
})

test('operations of one tenant are its own', async () => {
  const tokens = [tokenFor('a', 'acme', 'admin'), tokenFor('b', 'other', 'admin'), tokenFor('all', null, 'admin')]
  const world = await setup({ sends: false, tokens })
  await bury(world, 2, 'acme')
  await bury(world, 3, 'other')
  const ask = (token: string, headers = {}) =>
    world.ask('POST', '/dead-letters/redrive', { body: { filter: {} }, token, headers })
  const [a, b, all] = await Promise.all([ask('a'), ask('b'), ask('all')])
  expect([a, b, all].map(({ status, json }) => [status, json.total, json.tenant])).toEqual([
    [202, 2, 'acme'],
    [202, 3, 'other'],
    [202, 5, undefined],
  ])
  expect((await ask('all', { 'redrive-tenant': 'acme' })).status).toBe(409)
  const statusOf = async (method: string, token: string, { json }: Answered) =>
    (await world.ask(method, `/operations/${json.operationId}`, { token })).status
  expect([await statusOf('GET', 'a', a), await statusOf('GET', 'all', b)]).toEqual([200, 200])
  for (const method of ['GET', 'DELETE'])
    expect([await statusOf(method, 'b', a), await statusOf(method, 'a', all)]).toEqual([404, 404])
})

test.for([
  ['twice as many as its quota', { capacity: 50 }, 0],
  ['room for ten, twice', { capacity: 55 }, 20],
  ['no quota', undefined, 90],
] as const)(
  'S17 each part of a redrive puts back as many tasks with callbacks as there is room for: their tenant has %s',
  async ([, quota, back]) => {
    const world = await quiet('memory')
    await bury(world, 10, 'ann')
    await bury(world, 90, 'ann', { callback: { url: 'https://hooks.test/' } })
    await bury(world, 5, 'bob', { callback: { url: 'https://hooks.test/' } })
    world.now.quota = quota
    const begun = await redrive(world)
    const operations = worker(world, 'a')
    await operations.tick()
    await operations.tick()
    expect(await shown(world, begun)).toMatchObject({ status: 'DONE', done: 105, skipped: 90 - back })
    const pending = async (principal: string) => (await world.store.countsOf?.(principal))?.pending
    expect([await pending('ann'), await pending('bob')]).toEqual([10 + back, 5])
  },
)
