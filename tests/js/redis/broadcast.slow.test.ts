// Messages between processes on a real Redis: heard by all who listen, kept for none, and no fault of theirs is one of the store.
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { redisStore } from '../../../js/stores/redis.ts'
import { type RedisServer, startServer } from '../../redis/servers.ts'
import { eventually } from '../eventually.ts'
import { newTask, TERMS } from '../store-contract/kit.ts'
import { open } from './ports-setup.ts'

let server: RedisServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server?.end())

const CLIENTS = {
  'node-redis': () => createClient({ url: server.url }),
  ioredis: () => new Redis(server.port, { lazyConnect: true }),
} as const

function opened(kind: keyof typeof CLIENTS, name: string, more: object = {}) {
  const store = open({ client: CLIENTS[kind](), name, everyone: true, ...more })
  const heard: string[] = []
  const end = store.broadcast?.subscribe((message) => heard.push(message))
  onTestFinished(() => end?.())
  return { store, heard, end: () => end?.() }
}

test.each(['node-redis', 'ioredis'] as const)(
  'with %s a message reaches every process of the store, and no other',
  async (kind) => {
    const name = `broadcast-${kind}`
    const [one, two, other] = [opened(kind, name), opened(kind, name), opened(kind, `${name}-other`)]
    const text = JSON.stringify({ name: 'Zoë', text: 'x'.repeat(100_000) })
    // a subscription is under way, and a live view misses what came before it
    await eventually(() => {
      one.store.broadcast?.send('are you there')
      return [one, two].every(({ heard }) => heard.length > 0)
    }).toBe(true)
    two.store.broadcast?.send(text)
    await eventually(() => [one, two].map(({ heard }) => heard.at(-1))).toEqual([text, text])
    expect(other.heard).toEqual([])
    one.end()
    const channel = `{redrive:${name}}:v`
    await eventually(async () => server.ask('PUBSUB', 'SHARDNUMSUB', channel)).toEqual([channel, 1])
  },
)

test('a user without the channel keeps its store; it is told once that processes do not hear each other', async () => {
  await server.ask('ACL', 'SETUSER', 'mute', 'on', '>secret', '~*', '+@all', 'resetchannels', '&{redrive:mute}:h')
  const client = new Redis(server.port, { username: 'mute', password: 'secret', lazyConnect: true })
  const store = open({ client, name: 'mute', everyone: true })
  const told: string[] = []
  store.configure?.(TERMS, (code, message) => {
    if (code === 'storage_unavailable') told.push(message)
  })
  const end = store.broadcast?.subscribe(() => {})
  onTestFinished(() => end?.())
  await store.enqueue([newTask(1)])
  store.broadcast?.send('one')
  store.broadcast?.send('two')
  await eventually(() => told.length).toBe(1)
  expect(told[0]).toMatch(/^the store 'mute' in Redis: its processes do not hear each other's events \(.*NOPERM/)
  expect((await store.counts()).pending).toBe(1)
})

test('without a subscriber, or for one principal at a time, there is none', () => {
  const client = new Redis(server.port, { lazyConnect: true })
  expect(redisStore({ client, subscriber: null, everyone: true }).broadcast).toBeUndefined()
  expect(redisStore({ client }).broadcast).toBeUndefined()
})
