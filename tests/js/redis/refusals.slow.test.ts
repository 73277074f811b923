// What a server may be like that a store cannot be kept in, or not safely: each is told, with what to do about it, before a task is taken.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { expect, onTestFinished } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import { COMMANDS } from '../../../js/stores/redis/scripts.ts'
import { type RedisStoreOptions, redisStore } from '../../../js/stores/redis.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import { type RedisServer, type ServerOptions, startReplicated } from '../../redis/servers.ts'
import { claimOf, newTask, SUCCEEDED, settlementOf, TERMS } from '../store-contract/kit.ts'
import { testIn } from '../test-in.ts'
import { alone, open } from './ports-setup.ts'

const STEP = { owner: 'ann', settle: [], renew: [], claim: claimOf({ limit: 1 }) }

type Given = Partial<Omit<RedisStoreOptions, 'client'>>

const test = testIn(() => alone())

function storeOn(server: Pick<RedisServer, 'port'>, given: Given = {}): { store: TaskStore; told: string[] } {
  const client = new Redis(server.port, { lazyConnect: true })
  const store = open({ client, name: 'orders', ...given })
  const told: string[] = []
  const { capacity = 10_000 } = given
  store.configure?.({ ...TERMS, capacity }, (code, words) => told.push(`${code}: ${words}`))
  return { store, told }
}

const eventually = (look: () => Promise<unknown>) => expect.poll(look, { interval: 1, timeout: 20_000 })

/** `words`: of the message of its error. */
async function refuses(work: Promise<unknown>, code: string, ...words: readonly string[]): Promise<void> {
  const error = await work.then(
    () => undefined,
    (reason: Error) => reason,
  )
  expect(error).toMatchObject({ code })
  for (const each of words) expect(error?.message).toContain(each)
}

test.for([
  [{ client: undefined }, 'redisStore.client: expected a client'],
  [{ client: 'redis://:secret@host' }, 'redisStore.client: expected a client'],
  [{ client: {} }, 'redisStore.client: expected a client'],
  [{ name: 'a b' }, "redisStore.name: expected 1 to 64 letters, digits, '.', '_' and '-'"],
  [{ replicas: 17 }, 'redisStore.replicas: expected a whole number from 0 to 16, got 17'],
  [{ ackTimeoutMs: 0 }, 'redisStore.ackTimeoutMs: expected a whole number from 1 to 60000, got 0'],
  [{ fsync: 1 }, 'redisStore.fsync: expected a boolean'],
  [{ everyone: 'all' }, 'redisStore.everyone: expected a boolean'],
  [{ url: 'x' }, 'redisStore.url: no such option'],
] as const)('%o is refused when the store is made', ([given, words]) => {
  const client = createClient()
  const make = () => redisStore({ client, ...given } as unknown as RedisStoreOptions)
  expect(make).toThrow(words)
  expect(make).not.toThrow('secret')
})

test('S1 a server that may evict tasks is refused before the first, and named with its setting', async () => {
  const server = await alone({ maxmemoryPolicy: 'allkeys-lru' })
  const { store } = storeOn(server)
  const words = ['maxmemory-policy is allkeys-lru', 'set it to noeviction']
  await refuses(store.enqueue([newTask(1)]), 'STORAGE_UNSAFE', ...words)
  expect(await server.ask('DBSIZE')).toBe(0)
  const { store: cache, told } = storeOn(server, { allowEviction: true })
  expect(await cache.enqueue([newTask(1)])).toMatchObject([{ outcome: 'stored' }])
  expect(told.join('\n')).toContain('storage_unsafe: ')
})

test('S1 how much survives is what the server says, from its first answer on', async () => {
  const promised = async (options: ServerOptions, given: Given = {}) => {
    const { store, told } = storeOn(await alone(options), given)
    await store.counts()
    return [store.durability, told.length]
  }
  expect(await promised({})).toEqual(['memory', 1])
  expect(await promised({ appendonly: true })).toEqual(['relaxed', 0])
  expect(await promised({ appendonly: true, appendfsync: 'always' })).toEqual(['strict', 0])
})

test('S1 an enqueue waits for as many replicas as it was asked to, and rejects where they do not answer', async () => {
  const { primary, replica } = await replicated()
  const { store } = storeOn(primary, { replicas: 1, ackTimeoutMs: 30_000 })
  expect(await store.enqueue([newTask(1)])).toMatchObject([{ outcome: 'stored' }])
  expect(store.durability).toBe('replicated')
  await replica.kill()
  const { store: hasty } = storeOn(primary, { replicas: 1, ackTimeoutMs: 100 })
  await refuses(hasty.enqueue([newTask(2)]), 'STORAGE_UNAVAILABLE', '0 of 1 replicas have confirmed within 100 ms')
  // it was stored all the same, and asking again stores none twice
  expect(await store.get(newTask(2).taskId)).toBeDefined()
})

async function replicated() {
  const made = await startReplicated()
  onTestFinished(() => made.end())
  return made
}

test('fsync is refused where the server keeps no append-only file', async () => {
  const { store } = storeOn(await alone(), { fsync: true })
  await refuses(store.enqueue([newTask(1)]), 'STORAGE_UNAVAILABLE', 'set appendonly yes')
})

test('fsync is refused where the server cannot be asked for it', async () => {
  const server = await alone({ appendonly: true })
  const { redis_version: version = '' } = await server.info('server')
  const { store } = storeOn(server, { fsync: true })
  if (!/^7\.[01]\./.test(version)) {
    expect(await store.enqueue([newTask(1)])).toMatchObject([{ outcome: 'stored' }])
    expect(store.durability).toBe('strict')
    return
  }
  await refuses(store.enqueue([newTask(1)]), 'STORAGE_UNAVAILABLE', 'fsync needs WAITAOF')
})

test('a replica takes no task, and its store says what it is', async () => {
  const { replica } = await replicated()
  const { store } = storeOn(replica)
  await refuses(store.enqueue([newTask(1)]), 'STORAGE_UNAVAILABLE', 'the server is a replica')
})

test('S20 a store of a later version is left alone', async (server) => {
  // the layout comes first
  const newer = "redis.call('SET', KEYS[1], struct.pack('>d', 5) .. string.rep('\\0', 200))"
  await server.ask('EVAL', newer, 1, '{redrive:orders}:m')
  const { store } = storeOn(server)
  for (const work of [() => store.enqueue([newTask(1)]), () => store.counts(), () => store.purgeAll()]) {
    await refuses(work(), 'STORAGE_NEWER', "the store 'orders' in Redis was written by a later version (layout 5)")
  }
  expect(await server.ask('DBSIZE')).toBe(1)
})

test('the commands that a user is said to lack are those of the scripts', () => {
  const folder = join(import.meta.dirname, '..', '..', '..', 'js', 'stores', 'redis', 'lua')
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
  const given = texts.flatMap((text) => [...text.matchAll(/'([HZ][A-Z]{3,}|GET|SET|TIME|INFO|SPUBLISH)'/g)])
  expect([...new Set(given.map(([, name]) => name))].sort()).toEqual([...COMMANDS].sort())
})

test('other code under its keys is told, and nothing of it is changed', async (server) => {
  await server.ask('SET', '{redrive:orders}:t', 'mine')
  const { store } = storeOn(server)
  await refuses(store.enqueue([newTask(1)]), 'STORAGE_UNAVAILABLE', 'give another name')
  expect(String(await server.ask('GET', '{redrive:orders}:t'))).toBe('mine')
})

test('S17 a full server refuses tasks as full, and goes on to settle those that it has', async (server) => {
  const { store } = storeOn(server)
  await store.enqueue([newTask(1), newTask(2)])
  await server.ask('CONFIG', 'SET', 'maxmemory', '1mb')
  await refuses(store.enqueue([newTask(3)]), 'STORAGE_FULL', 'has reached its maxmemory')
  const { claimed } = await store.turn(STEP)
  const settle = claimed.map(({ lease }) => settlementOf(lease, SUCCEEDED))
  expect((await store.turn({ ...STEP, settle, claim: null })).settled).toEqual(['applied'])
})

test('S17 on a server whose memory is full what has succeeded gives way to new tasks, of the principal that has most', async () => {
  const server = await alone()
  const { store } = storeOn(server, { everyone: true })
  store.configure?.({ ...TERMS, retention: { ...TERMS.retention, maxTerminal: 10_000 } })
  let last = 0
  const succeed = async (count: number, principal: string) => {
    for (let n = 0; n < count; n += 64) {
      const lane = `https://api.test ${principal}`
      await store.enqueue(Array.from({ length: 64 }, () => newTask(++last, { principal, lane })))
      const { claimed } = await store.turn({ ...STEP, claim: claimOf({ limit: 64, total: 64, perLane: 64 }) })
      const settle = claimed.map(({ lease }) => settlementOf(lease, SUCCEEDED))
      await store.turn({ ...STEP, settle, claim: null })
    }
  }
  await succeed(128, 'ann')
  await succeed(1_280, 'bob')
  const { usedBytes } = (await store.room?.()) ?? { usedBytes: 0 }
  await server.ask('CONFIG', 'SET', 'maxmemory', String(usedBytes + 500_000))
  await succeed(1_280, 'bob')
  const { succeeded, purged, pending, inFlight } = await store.counts()
  expect({ all: succeeded + purged, pending, inFlight }).toEqual({ all: 2_688, pending: 0, inFlight: 0 })
  expect(purged).toBeGreaterThan(0)
  const anns = await store.list({ principal: 'ann', status: 'SUCCEEDED', limit: 999 })
  expect(anns.tasks).toHaveLength(128)
})

test('S1 scripts that the server has forgotten are given to it again, unheard', async (server) => {
  const { store } = storeOn(server)
  await store.enqueue([newTask(1)])
  await server.ask('SCRIPT', 'FLUSH')
  expect((await store.counts()).pending).toBe(1)
  await server.ask('FLUSHALL')
  await server.ask('SCRIPT', 'FLUSH')
  // the records that tasks share are gone too
  expect(await store.enqueue([newTask(2)])).toMatchObject([{ outcome: 'stored' }])
  expect((await store.get(newTask(2).taskId))?.status).toBe('PENDING')
})

test('S20 a dead letter that cannot be read is not put back', async (server) => {
  const { store } = storeOn(server)
  const [lost, sound] = [newTask(1), newTask(2)]
  await store.enqueue([lost, sound])
  for (const { taskId } of [lost, sound]) await store.cancel(taskId, 'wait_exceeded')
  const damage = "redis.call('HSET', KEYS[1], redis.call('ZRANGE', KEYS[2], 0, 0)[1], 'not a record')"
  await server.ask('EVAL', damage, 2, '{redrive:orders}:r', '{redrive:orders}:i')
  const how = { spacingMs: 0, acceptDuplicateRisk: false }
  expect(await store.redrive([lost.taskId, sound.taskId], how)).toEqual(['gone', 'redriven'])
})

test('a server that hangs does not hang its callers', async (server) => {
  const clock = fakeClock()
  const { store } = storeOn(server, { clock })
  await store.counts()
  server.freeze()
  onTestFinished(() => server.thaw())
  const refused = refuses(store.counts(), 'STORAGE_UNAVAILABLE', 'no answer within 10000 ms')
  await new Promise(setImmediate) // it is sent, and waited for
  await clock.advance(10_000)
  await refused
})

test('S1 a claim may be of more tasks than a command of Lua takes values', { timeout: 120_000 }, async () => {
  const { store } = storeOn(await alone(), { capacity: 1e6 })
  const many = 9_000
  for (let from = 0; from < many; from += 1_000) {
    await store.enqueue(Array.from({ length: 1_000 }, (_, i) => newTask(from + i)))
  }
  const claim = claimOf({ limit: many, total: many, perLane: many })
  const { claimed } = await store.turn({ ...STEP, claim })
  expect(claimed.length).toBe(many)
})

test('S4 tokens of a server that has taken over leap past those that may have been lost', async () => {
  const server = await alone({ appendonly: true, appendfsync: 'always' })
  const { store } = storeOn(server)
  await store.enqueue([newTask(1), newTask(2)])
  const [first] = (await store.turn(STEP)).claimed
  await server.restart()
  let second: typeof first
  for (const until = Date.now() + 10_000; !second && Date.now() < until; ) {
    ;[second] = await store.turn(STEP).then(
      ({ claimed }) => claimed,
      () => [],
    )
  }
  expect(first?.lease.token).toBe(1)
  expect(second?.lease.token).toBeGreaterThan(2 ** 20)
})

test('S4 of two servers that have lost each other’s tokens neither gives one of the other’s', {
  timeout: 60_000,
}, async () => {
  const soon = ['--repl-diskless-sync-delay', '0']
  const old = await alone({ args: soon })
  const { store } = storeOn(old)
  await store.enqueue(Array.from({ length: 20 }, (_, i) => newTask(i)))
  const tokens = async (from: TaskStore) => {
    const claim = claimOf({ limit: 4, total: 20, perLane: 20 })
    const { claimed } = await from.turn({ ...STEP, claim })
    return claimed.map(({ lease }) => lease.token)
  }
  const before = await tokens(store)
  // the history of the one changes as it is copied, and that of the copy as it takes over: both leap, from the same token
  const next = await alone({ args: ['--replicaof', `127.0.0.1 ${old.port}`, ...soon] })
  await eventually(async () => (await next.info('replication')).master_link_status).toBe('up')
  await next.ask('REPLICAOF', 'NO', 'ONE')
  const lost = await tokens(store)
  const at = Date.now()
  await eventually(async () => Date.now()).toBeGreaterThan(at)
  const after = await tokens(storeOn(next).store)
  expect([before.length, lost.length, after.length]).toEqual([4, 4, 4])
  expect(Math.min(...lost)).toBeGreaterThan(Math.max(...before))
  expect(Math.min(...after)).toBeGreaterThan(Math.max(...lost))
})
