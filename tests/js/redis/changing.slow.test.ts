// A real server that changes while a store is open on it: what may be lost, and what was, is said once, and the store goes on.
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { createService } from '../../../js/service.ts'
import { redisStore } from '../../../js/stores/redis.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import { startServer } from '../../redis/servers.ts'
import { eventually } from '../eventually.ts'
import { claimOf, newTask, TERMS } from '../store-contract/kit.ts'

async function setup(given: { readonly allowEviction?: true } = {}) {
  const server = await startServer({ appendonly: true, maxmemory: '64mb' })
  const client = new Redis(server.port)
  const clock = fakeClock()
  const store = redisStore({ client, clock, ...given })
  onTestFinished(async () => {
    await store.close()
    client.disconnect()
    await server.end()
  })
  const told: string[] = []
  store.configure?.(TERMS, (code, words) => told.push(`${code}: ${words}`))
  const turn = () => store.turn({ owner: 'a', settle: [], renew: [], claim: claimOf() })
  return { server, clock, store, told, turn }
}

const policy = (name: string) => ['CONFIG', 'SET', 'maxmemory-policy', name] as const

test('S1 a policy that comes to evict tasks is reported within 15 s, and once until it is noeviction again', async () => {
  const { server, clock, store, told, turn } = await setup()
  const look = async () => {
    await clock.advance(15_000)
    await turn()
    // asked after the turn's own look, on the same connection
    await store.room?.()
    return told.length
  }
  expect(await look()).toBe(0)
  for (const [name, times] of [
    ['allkeys-lru', 1],
    ['allkeys-lru', 1],
    ['noeviction', 1],
    ['volatile-ttl', 2],
  ] as const) {
    await server.ask(...policy(name))
    expect(await look()).toBe(times)
  }
  expect(told[1]).toMatch(/^storage_unsafe: .* maxmemory-policy is volatile-ttl, .* set it to noeviction$/)
  expect(await store.enqueue([newTask(1)])).toMatchObject([{ outcome: 'stored' }])
})

test('the room is what the server uses of its maxmemory, and says whether tasks are safe there', async () => {
  const { server, store } = await setup()
  expect(await store.room?.()).toEqual({ of: 'memory', usedBytes: expect.any(Number), limitBytes: 2 ** 26 })
  await server.ask(...policy('allkeys-lfu'))
  expect(await store.room?.()).toMatchObject({ unsafe: expect.stringContaining('allkeys-lfu') })
  await server.ask('CONFIG', 'SET', 'maxmemory', '0')
  expect(await store.room?.()).not.toHaveProperty('limitBytes')
  const { server: cache, store: evicting } = await setup({ allowEviction: true })
  await cache.ask(...policy('allkeys-lru'))
  expect(await evicting.room?.()).not.toHaveProperty('unsafe')
})

test.for([
  ['before the next task', 0],
  ['and a task came before the next turn', 1],
])('S17 what a FLUSHALL has taken is said once, %s, and the store goes on', async ([, before]) => {
  const { server, store, told, turn } = await setup()
  await store.enqueue([newTask(1), newTask(2), newTask(3)])
  await turn()
  await turn()
  await server.ask('FLUSHALL')
  if (before) await store.enqueue([newTask(4)])
  for (const _ of [1, 2, 3]) await turn()
  expect(told).toEqual([
    expect.stringMatching(/^storage_evicted: .* was emptied .* held 3 waiting or in flight, 0 dead letters/),
  ])
  expect(await store.enqueue([newTask(5)])).toMatchObject([{ outcome: 'stored' }])
  await turn()
  expect([told.length, (await store.get(newTask(5).taskId))?.status]).toEqual([1, 'IN_FLIGHT'])
})

test('one that has lain idle, or is opened by another process, was not emptied', async () => {
  const { server, clock, store, told, turn } = await setup()
  await turn()
  await clock.advance(3_600_000)
  const client = new Redis(server.port)
  const other = redisStore({ client, clock })
  onTestFinished(async () => {
    await other.close()
    client.disconnect()
  })
  await other.enqueue([newTask(1)])
  await turn()
  await store.purgeAll()
  await turn()
  expect(told).toEqual([])
})

test('a service says both in its log, is not ready while tasks may be evicted, and goes on with its own policies after a FLUSHALL', async () => {
  const { server } = await setup()
  const client = new Redis(server.port)
  const stores = [0, 1].map((n) => redisStore({ client, name: `part.${n}`, everyone: true, idleCheckMs: 10 }))
  const log: string[] = []
  const service = createService({
    store: stores,
    policies: [{ policyId: 'invoices', maxAttempts: 6 }],
    log: ({ event, code }) => log.push(`${event} ${code}`),
  })
  onTestFinished(async () => {
    await service.close({ drainMs: 0 })
    client.disconnect()
  })
  await service.ready
  const ask = (path: string, init?: RequestInit) => service.fetch(new Request(`http://localhost${path}`, init))
  const create = async () => {
    const body = JSON.stringify({ targetUrl: 'https://a.test', method: 'POST', policyId: 'invoices', delayMs: 60_000 })
    return (await ask('/retry-tasks', { method: 'POST', headers: { 'content-type': 'application/json' }, body })).status
  }
  const ready = async () => {
    const answer = await ask('/readyz')
    return [answer.status, ((await answer.json()) as { reason?: string }).reason]
  }
  expect([await create(), await ready()]).toEqual([201, [200, undefined]])
  await server.ask(...policy('allkeys-lru'))
  expect(await ready()).toEqual([503, expect.stringContaining('allkeys-lru')])
  await server.ask(...policy('noeviction'))
  expect(await ready()).toEqual([200, undefined])
  const lost = () => log.filter((line) => line === 'degraded storage_evicted').length
  await server.ask('FLUSHALL')
  await eventually(lost).toBe(2)
  await eventually(create).toBe(201)
  expect(log).toContain('degraded storage_unsafe')
  const note = async () =>
    (await stores[0]?.registry?.read({ prefix: 'partitions' }))?.entries?.map(({ value }) => value)
  await eventually(note).toEqual([{ count: 2, by: 'tenant' }])
  expect(lost()).toBe(2)
})
