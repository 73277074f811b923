// Lines of each principal or one for everyone: what only Redis can show of them.
import { Redis } from 'ioredis'
import { createCluster } from 'redis'
import { expect, onTestFinished, test } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import type { RedisStoreOptions } from '../../../js/stores/redis.ts'
import { startCluster } from '../../redis/servers.ts'
import { SyncPort, syncConnection } from '../../redis/sync-port.ts'
import { claimOf, idOf, idsOf, newTask } from '../store-contract/kit.ts'
import { alone, open } from './ports-setup.ts'

let stores = 0
const newName = (): string => `everyone-${++stores}`

type Given = Omit<RedisStoreOptions, 'client' | 'name'>

/** A store as one more process opens it. */
async function opened(name: string, given: Given = {}): Promise<TaskStore> {
  return open({ client: new SyncPort(await syncConnection()), name, ...given })
}

const step = { owner: 'ann', settle: [], renew: [] }
const EVERYONE: Given = { everyone: true }
test('S16 a store that was open asks nothing more once the first task stands in the other way', async () => {
  const name = newName()
  const [own, all] = [await opened(name), await opened(name, EVERYONE)]
  await own.enqueue([newTask(1)])
  await own.purgeAll()
  await all.enqueue([newTask(2)])
  await expect(own.counts()).rejects.toMatchObject({ code: 'STORAGE_OTHER_LINE' })
})

test('only a store for everyone says that it is one', async () => {
  expect((await opened(newName())).everyone).toBeUndefined()
  expect(await opened(newName(), EVERYONE)).toMatchObject({ everyone: true })
})

/** The layout, as code that knows only the first reads it. */
async function layoutOf(name: string): Promise<unknown> {
  const source = "return (struct.unpack('>d', redis.call('GET', KEYS[1])))"
  return new SyncPort(await syncConnection()).call('EVAL', [source, '1', `{redrive:${name}}:m`])
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
  const server = await alone({ appendonly: true, appendfsync: 'always' })
  const storeOf = (given: Given) =>
    open({ client: new Redis(server.port, { lazyConnect: true }), subscriber: null, ...given })
  const store = storeOf(EVERYONE)
  await store.enqueue([newTask(1, { principal: 'ann' }), newTask(2)])
  await store.pauses?.put({ id: 'p', principal: 'ann', at: 0 })
  await store.registry?.write('policy/a', { maxAttempts: 3 })
  await store.close()
  await server.restart()
  await expect(storeOf({}).counts()).rejects.toMatchObject({ code: 'STORAGE_OTHER_LINE' })
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
  const store = open({ client: createCluster({ rootNodes }), name: 'all', ...EVERYONE })
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
