// Lines of each principal or one for everyone: how a store in Redis keeps to the one that its tasks were stored in.
import { Redis } from 'ioredis'
import { createCluster } from 'redis'
import { expect, onTestFinished, test } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import { type RedisStoreOptions, redisStore } from '../../../js/stores/redis.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import { startCluster, startServer } from '../../redis/servers.ts'
import { SyncPort, syncConnection } from '../../redis/sync-port.ts'
import { claimOf, idOf, idsOf, newTask, retryIn, settlementOf } from '../store-contract/kit.ts'

let stores = 0
const newName = (): string => `everyone-${++stores}`

type Given = Omit<RedisStoreOptions, 'client' | 'name'>

/** A store as one more process opens it. */
async function opened(name: string, given: Given = {}): Promise<TaskStore> {
  const store = redisStore({ client: new SyncPort(await syncConnection()), name, ...given })
  onTestFinished(() => store.close())
  return store
}

const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )

const step = { owner: 'ann', settle: [], renew: [] }
const EVERYONE: Given = { everyone: true }
const both: readonly (readonly [string, Given, Given, string])[] = [
  ['in a line for each principal', {}, EVERYONE, 'leave out everyone: true'],
  ['in one line for everyone', EVERYONE, {}, 'give everyone: true'],
]

test.each(both)(
  'S1 a store whose tasks stand %s is not opened in the other way, and nothing of it is changed',
  async (words, first, second, advice) => {
    const name = newName()
    const store = await opened(name, first)
    await store.enqueue([newTask(1)])
    await store.cancel(idOf(1))
    const other = await opened(name, second)
    const claim = claimOf()
    for (const work of [
      () => other.enqueue([newTask(2)]),
      () => other.turn({ ...step, claim }),
      () => other.counts(),
      () => other.list({ limit: 1 }),
      () => other.purgeAll(),
      () => other.registry?.read({ prefix: '' }) ?? Promise.resolve(),
      () => other.pauses?.put({ id: 'p', at: 0 }) ?? Promise.resolve(),
    ]) {
      expect(await failure(work())).toMatchObject({
        code: 'STORAGE_OTHER_LINE',
        message: expect.stringMatching(
          new RegExp(`'${name}' in Redis holds tasks that stand ${words}: ${advice}, or give another name`),
        ),
      })
    }
    expect(await store.counts()).toMatchObject({ cancelled: 1, purged: 0 })
  },
)

test.each(both)(
  'once no task is left of those that stand %s, the first task says how they stand from then on',
  async (_, first, second) => {
    const name = newName()
    const [one, other] = [await opened(name, first), await opened(name, second)]
    await one.enqueue([newTask(1), newTask(2, { principal: 'ann' })])
    await one.purgeAll()
    // asking stores nothing, and so says nothing
    for (const store of [other, one]) expect(await store.counts()).toMatchObject({ pending: 0, purged: 2 })
    await other.enqueue([newTask(3), newTask(4, { principal: 'ann' })])
    expect(await failure(one.counts())).toMatchObject({ code: 'STORAGE_OTHER_LINE' })
    const { claimed } = await other.turn({ ...step, claim: claimOf({ principal: 'ann' }) })
    expect(idsOf(claimed)).toEqual(second.everyone ? [idOf(3), idOf(4)] : [idOf(4)])
  },
)

test.each(both)(
  'S9 a lane whose hold outlives the tasks that stood %s is held in the other way too',
  async (_, first, second) => {
    const name = newName()
    const clock = fakeClock()
    const [one, other] = [await opened(name, { ...first, clock }), await opened(name, { ...second, clock })]
    await one.enqueue([newTask(1)])
    const [task] = (await one.turn({ ...step, claim: claimOf() })).claimed
    if (!task) throw new Error('a task was due')
    await one.turn({ ...step, settle: [settlementOf(task.lease, retryIn(0), { holdLaneForMs: 1_000 })], claim: null })
    await one.purgeAll()
    await other.enqueue([newTask(2)])
    const claim = () => other.turn({ ...step, claim: claimOf() })
    expect(await claim()).toMatchObject({ claimed: [], nextInMs: 1_000 })
    clock.step(1_000)
    expect(idsOf((await claim()).claimed)).toEqual([idOf(2)])
    expect(await other.purgeAll()).toBe(1)
    clock.step(60_000)
    expect(await claim()).toMatchObject({ claimed: [], lanes: [], nextInMs: null })
  },
)

test('only a store for everyone says that it is one', async () => {
  expect((await opened(newName())).everyone).toBeUndefined()
  expect(await opened(newName(), EVERYONE)).toMatchObject({ everyone: true })
})

/** The layout, as code that knows only the first reads it. */
async function layoutOf(name: string): Promise<unknown> {
  const source = "return (struct.unpack('>d', redis.call('GET', KEYS[1])))"
  return new SyncPort(await syncConnection()).eval(source, [`{redrive:${name}}:m`], [])
}

test('S20 code that knows of neither is kept out of a store for everyone, and out of any while there are pauses', async () => {
  for (const [given, layout] of [
    [{}, 1],
    [EVERYONE, 2],
  ] as const) {
    const name = newName()
    const store = await opened(name, given)
    await store.enqueue([newTask(1)])
    expect(await layoutOf(name)).toBe(layout)
    for (const id of ['p', 'q', 'p']) await store.pauses?.put({ id, at: 0 })
    expect(await layoutOf(name)).toBe(layout + 2)
    await store.pauses?.lift('p')
    await store.pauses?.lift('nothing')
    expect(await layoutOf(name)).toBe(layout + 2)
    await store.pauses?.lift('q')
    await store.pauses?.lift('q')
    expect(await layoutOf(name)).toBe(layout)
  }
})

test('S1 S20 a restart of the server changes neither the lines nor the pauses', async () => {
  const server = await startServer({ appendonly: true, appendfsync: 'always' })
  onTestFinished(() => server.end())
  const storeOf = (given: Given) => {
    const store = redisStore({ client: new Redis(server.port, { lazyConnect: true }), subscriber: null, ...given })
    onTestFinished(() => store.close())
    return store
  }
  const store = storeOf(EVERYONE)
  await store.enqueue([newTask(1, { principal: 'ann' }), newTask(2)])
  await store.pauses?.put({ id: 'p', principal: 'ann', at: 0 })
  await store.registry?.write('policy/a', { maxAttempts: 3 })
  await store.close()
  await server.restart()
  expect(await failure(storeOf({}).counts())).toMatchObject({ code: 'STORAGE_OTHER_LINE' })
  expect(idsOf((await storeOf(EVERYONE).turn({ ...step, claim: claimOf() })).claimed)).toEqual([idOf(2)])
  expect(await storeOf(EVERYONE).registry?.read({ prefix: 'policy/' })).toMatchObject({
    version: 1,
    entries: [{ value: { maxAttempts: 3 } }],
  })
})

test('in a cluster all that a store keeps is under its hash tag, on one node', async () => {
  const cluster = await startCluster()
  onTestFinished(() => cluster.end())
  const rootNodes = cluster.nodes.map(({ address }) => ({ socket: address }))
  const store = redisStore({ client: createCluster({ rootNodes }), name: 'all', ...EVERYONE })
  onTestFinished(() => store.close())
  await store.enqueue([newTask(1, { principal: 'ann' }), newTask(2), newTask(3, { dueInMs: 60_000 })])
  await store.registry?.write('a', 1)
  await store.pauses?.put({ id: 'p', principal: 'ann', at: 0 })
  expect(idsOf((await store.turn({ ...step, claim: claimOf() })).claimed)).toEqual([idOf(2)])
  expect(await store.due?.([idOf(3)], 0)).toEqual(['due'])
  expect((await store.list({ order: 'falling', from: idOf(2), limit: 9 })).tasks).toHaveLength(2)
  const owner = await cluster.ownerOf('{redrive:all}:m')
  for (const node of cluster.nodes) {
    const keys = ((await node.ask('KEYS', '*')) as readonly unknown[]).map(String)
    expect(keys.every((key) => key.startsWith('{redrive:all}:'))).toBe(true)
    if (node === owner) expect(keys).toEqual(expect.arrayContaining(['{redrive:all}:g', '{redrive:all}:f']))
    else expect(keys).toEqual([])
  }
})
