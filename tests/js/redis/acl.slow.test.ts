// The rights that docs/redis.md gives a user are enough, for each client, and none is too many. The server says what it has refused.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { expect, onTestFinished, test } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import { channelOf, messagesOf } from '../../../js/stores/redis/scripts.ts'
import { type RedisServer, redisProgram, startCluster, valkeyProgram } from '../../redis/servers.ts'
import { eventually } from '../eventually.ts'
import { claimOf, newTask, releaseIn, retryIn, SUCCEEDED, settlementOf } from '../store-contract/kit.ts'
import { alone, CLUSTER_CLIENTS, open } from './ports-setup.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const page = readFileSync(join(root, 'docs', 'redis.md'), 'utf8')
const USER = { username: 'redrive', password: 'PASSWORD' }
const NAME = 'orders'
const OPEN = { name: NAME, retention: { maxTerminal: 0 } }

const words = (/^ACL SETUSER redrive[\s\S]*?(?=\n```)/m.exec(page)?.[0] ?? '').split(/\s+/)
const [, forClusters = ''] = /For a Cluster add `([^`]+)`/.exec(page) ?? []
const [, forNewer = ''] = /From Redis 7.2 on add `([^`]+)`/.exec(page) ?? []
const granted = words.filter((word) => word.startsWith('+')).map((word) => word.slice(1))

test('they are those of the commands that scripts and store use, and of what clients say when they connect', () => {
  const folder = join(root, 'js', 'stores', 'redis')
  const textIn = (...names: readonly string[]) => readFileSync(join(folder, ...names), 'utf8')
  const scripts = readdirSync(join(folder, 'lua')).map((name) => textIn('lua', name))
  const ofScripts = scripts.join('\n').matchAll(/'([HZ][A-Z]{3,}|GET|SET|TIME|SPUBLISH)'/g)
  const ofStore = ['server.ts', 'session.ts', 'client.ts'].map((name) => textIn(name)).join('\n')
  const asked = ofStore.matchAll(/'(INFO|CONFIG|WAIT|HMGET|EVAL|EVALSHA|FCALL|FUNCTION)'/g)
  const used = new Set(
    [...ofScripts, ...asked].map(([, name = '']) =>
      name.toLowerCase().replace('config', 'config|get').replace('function', 'function|load'),
    ),
  )
  const ofClients = granted.filter((name) => /^(client\||s(un)?subscribe)/.test(name))
  expect(used.size).toBeGreaterThan(20)
  expect([...used, ...ofClients].sort()).toEqual([...granted].sort())
})

async function setUser(server: RedisServer, ...more: readonly string[]): Promise<void> {
  await server.ask(...words, ...more)
}

/** The user of the page, with what the version of a server alone adds to it. */
async function setUserOf(server: RedisServer, ...more: readonly string[]): Promise<void> {
  const { redis_version: version = '' } = await server.info('server')
  await setUser(server, ...(version.startsWith('7.0.') ? [] : forNewer.split(' ')), ...more)
}

/** A day in the life of a store: each of its scripts, and every command of theirs. */
async function live(store: TaskStore): Promise<void> {
  const heard: string[] = []
  store.subscribe?.(({ kind }) => heard.push(kind))
  const body = new Uint8Array(10_000)
  const shared = { orderKey: 'one', body }
  await store.enqueue([newTask(1, shared), newTask(2, shared), newTask(3), newTask(4), newTask(5, { dueInMs: 60_000 })])
  const step = { owner: 'ann', settle: [], renew: [], claim: claimOf({ limit: 4 }) }
  const { claimed } = await store.turn(step)
  expect(claimed.length).toBe(3)
  const [a, b, c] = claimed.map(({ lease }) => lease)
  if (!a || !b || !c) throw new Error('three tasks were due')
  const settle = [
    settlementOf(a, SUCCEEDED),
    settlementOf(b, retryIn(10)),
    settlementOf(c, releaseIn(10, { park: true }), { holdLaneForMs: 20 }),
  ]
  await store.turn({ owner: 'ann', settle, renew: [{ ...b, forMs: 1_000 }], claim: null })
  // what is past its retention goes
  await store.turn({ owner: 'ann', settle: [], renew: [], claim: null })
  await store.unpark?.({})
  await store.flush()
  await store.homes?.holdHome('ann', 1_000)
  await store.homes?.live()
  const dead = newTask(6)
  await store.enqueue([dead])
  await store.cancel(dead.taskId, 'wait_exceeded')
  expect(await store.redrive([dead.taskId], { spacingMs: 0, acceptDuplicateRisk: false })).toEqual(['redriven'])
  await store.list({ limit: 10 })
  await store.list({ limit: 10, order: 'falling' })
  expect(await store.due?.([dead.taskId], 5)).toEqual(['due'])
  await store.registry?.write('a', 1)
  await store.registry?.write('b', 1)
  await store.registry?.write('a', null)
  await store.registry?.read({ prefix: '' })
  await store.pauses?.put({ id: 'p', at: 0 })
  await store.turn({ owner: 'ann', settle: [], renew: [], claim: claimOf() })
  await store.pauses?.list()
  expect(await store.pauses?.lift('p')).toBe(true)
  await store.find('key-4')
  await store.get(b.taskId)
  await store.body(b.taskId)
  await store.attempts(b.taskId, { limit: 10 })
  await store.history?.(b.taskId)
  await store.counts()
  await store.countsOf?.(null)
  await store.unreadable?.({ limit: 10 })
  await store.purge({ status: 'SUCCEEDED' })
  expect(await store.purgeAll?.()).toBeGreaterThan(3)
  expect(heard.length).toBeGreaterThan(0)
}

/** What the server has refused its user. */
const refused = async (server: RedisServer): Promise<readonly string[]> => {
  const log = (await server.ask('ACL', 'LOG')) as readonly (readonly unknown[])[]
  return log.map((entry) => entry.map(String).join(' '))
}

const clients: Readonly<Record<string, (server: RedisServer) => unknown>> = {
  'node-redis': ({ url }) => createClient({ url, ...USER }),
  ioredis: ({ port }) => new Redis(port, { ...USER, lazyConnect: true }),
}

const programs = [redisProgram(), valkeyProgram()].filter((program) => program !== undefined)
const ways = programs.flatMap((binary) =>
  Object.entries(clients).map(([name, clientFor]) => ({ binary, name, clientFor })),
)

test.each(ways)(
  'they are enough, for events between processes too, with $name and $binary',
  async ({ binary, clientFor }) => {
    const server = await alone({ appendonly: true, binary })
    await setUserOf(server)
    const store = open({ client: clientFor(server), ...OPEN })
    // the channel is another connection's, and may come later
    await eventually(() => live(store).then(() => refused(server))).toEqual([])
    // all of its tasks were purged
    const everyone = open({ client: clientFor(server), name: NAME, everyone: true })
    const heard: string[] = []
    const end = everyone.broadcast?.subscribe((message) => heard.push(message))
    onTestFinished(() => end?.())
    await eventually(() => {
      everyone.broadcast?.send('are you there')
      return heard.length
    }).toBeGreaterThan(0)
    expect(await refused(server)).toEqual([])
  },
)

test.each(CLUSTER_CLIENTS)('they are enough in a cluster, with %s', async (_, clientFor) => {
  const cluster = await startCluster({ appendonly: true })
  onTestFinished(() => cluster.end())
  for (const node of cluster.nodes) await setUser(node, ...forClusters.split(' '))
  const store = open({ client: clientFor(cluster.nodes, USER), ...OPEN })
  await live(store)
  for (const node of cluster.nodes) expect(await refused(node)).toEqual([])
})

test('the channels that the page names one by one are those that are used, and each is needed', async () => {
  const channels = /If you list channels one by one[^.]*`&({\S+):h`[^.]*`&\1:v`/.exec(page)
  expect([channelOf(NAME), messagesOf(NAME)]).toEqual([`${channels?.[1]}:h`, `${channels?.[1]}:v`])
  const server = await alone({ appendonly: true })
  await setUserOf(server, 'resetchannels', `&${channelOf(NAME)}`)
  const store = open({ client: clients['node-redis']?.(server), name: NAME, everyone: true })
  const end = store.broadcast?.subscribe(() => {})
  onTestFinished(() => end?.())
  await eventually(async () => (await refused(server)).join()).toContain(messagesOf(NAME))
  expect((await refused(server)).join()).not.toContain(channelOf(NAME))
})

test('a right that is missing is named, with the page that has them', async () => {
  const server = await alone({ appendonly: true })
  await setUser(server, '-hset')
  const store = open({ client: clients['node-redis']?.(server), name: NAME, subscriber: null })
  const error = await store.enqueue([newTask(1)]).catch((error: unknown) => error)
  expect(error).toMatchObject({
    code: 'STORAGE_UNAVAILABLE',
    message: expect.stringContaining('+hset; see the ACL in docs/redis.md'),
  })
})
