// The code of a store as functions of the server, and as scripts where it takes none.
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import type { redisStore } from '../../../js/stores/redis.ts'
import { type RedisServer, redisProgram, valkeyProgram } from '../../redis/servers.ts'
import { claimOf, idOf, newTask, SUCCEEDED, settlementOf } from '../store-contract/kit.ts'
import { alone, open } from './ports-setup.ts'

/** What a store does: it takes tasks, claims and settles one, is asked, and cancels. */
async function lives(store: ReturnType<typeof redisStore>): Promise<void> {
  const before = await store.counts()
  const [first, second] = [newTask(1), newTask(2)]
  await store.enqueue([first, second])
  const { claimed } = await store.turn({ owner: 'ann', settle: [], renew: [], claim: claimOf({ limit: 1 }) })
  const settle = claimed.map(({ lease }) => settlementOf(lease, SUCCEEDED))
  await store.turn({ owner: 'ann', settle, renew: [], claim: null })
  await store.cancel(second.taskId)
  const { succeeded, cancelled } = await store.counts()
  expect([succeeded - before.succeeded, cancelled - before.cancelled]).toEqual([1, 1])
  await store.purgeAll?.()
}

async function setup(binary?: string, ...rights: readonly string[]) {
  const server = await alone(binary === undefined ? {} : { binary })
  await server.ask('ACL', 'SETUSER', 'ann', 'on', '>pw', '~*', '&*', '+@all', ...rights)
  const client = new Redis({ port: server.port, username: 'ann', password: 'pw', lazyConnect: true })
  return { server, store: open({ client, name: 'orders' }) }
}

const callsOf = async (server: RedisServer): Promise<Readonly<Record<'fcall' | 'evalsha', number>>> => {
  const stats = await server.info('commandstats')
  const of = (command: string) => Number(/calls=(\d+)/.exec(stats[`cmdstat_${command}`] ?? '')?.[1] ?? 0)
  return { fcall: of('fcall'), evalsha: of('evalsha') }
}

const librariesOf = async (server: RedisServer) =>
  ((await server.ask('FUNCTION', 'LIST')) as readonly (readonly unknown[])[]).map((library) => String(library[1]))

const programs = [redisProgram(), valkeyProgram()].filter((program) => program !== undefined)

test.each(programs)(
  'each call is one of a function, of a library that is loaded once and again where it is lost (%s)',
  async (binary) => {
    const { server, store } = await setup(binary)
    await lives(store)
    expect(await librariesOf(server)).toEqual([expect.stringMatching(/^redrive_[0-9a-f]{16}$/)])
    await server.ask('FUNCTION', 'FLUSH')
    await lives(store)
    await lives(open({ client: new Redis(server.port, { lazyConnect: true }), name: 'other' }))
    expect(await librariesOf(server)).toHaveLength(1)
    expect((await callsOf(server)).evalsha).toBe(0)
  },
)

test.each([
  ['may not call functions', '-fcall'],
  ['may not load them', '-function|load'],
])('a user who %s has scripts run', async (_, right) => {
  const { server, store } = await setup(undefined, right)
  await lives(store)
  const { fcall, evalsha } = await callsOf(server)
  expect(evalsha).toBeGreaterThan(5)
  // it is not asked for each call
  expect(fcall).toBeLessThanOrEqual(1)
})

test('where there is no room for the library, what frees room goes on by scripts', async () => {
  const { server, store } = await setup()
  await lives(store)
  await store.enqueue([newTask(3)])
  await server.ask('FUNCTION', 'FLUSH')
  await server.ask('CONFIG', 'SET', 'maxmemory', '1mb')
  const { claimed } = await store.turn({ owner: 'ann', settle: [], renew: [], claim: claimOf({ limit: 1 }) })
  expect(claimed).toHaveLength(1)
  await expect(store.enqueue([newTask(4)])).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  await server.ask('CONFIG', 'SET', 'maxmemory', '0')
  await store.enqueue([newTask(4)])
})

test('a call that fails half way leaves nothing of it to the next', async () => {
  const { server, store } = await setup()
  await store.enqueue([newTask(1)])
  const orders = '{redrive:orders}:o'
  await server.ask('SET', orders, 'of other code')
  const failed = store.enqueue([newTask(2), newTask(3, { orderKey: 'one' })])
  await expect(failed).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  await server.ask('DEL', orders)
  await store.enqueue([newTask(4)])
  expect((await store.counts()).pending).toBe(2)
  const { claimed } = await store.turn({ owner: 'ann', settle: [], renew: [], claim: claimOf({ limit: 5 }) })
  expect(claimed.map(({ task }) => task.taskId).sort()).toEqual([idOf(1), idOf(4)].sort())
})
