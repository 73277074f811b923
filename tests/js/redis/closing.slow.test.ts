// A store that was closed keeps no connection: a process that has one does not end.

import { createClient } from 'redis'
import { expect, onTestFinished, test } from 'vitest'
import { redisStore } from '../../../js/stores/redis.ts'
import type { RedisServer } from '../../redis/servers.ts'
import { eventually } from '../eventually.ts'
import { alone, quiet } from './ports-setup.ts'

async function setup() {
  const server = await alone({ appendonly: true })
  const client = quiet(createClient({ url: server.url, name: 'given' })) // its server is killed
  await client.connect()
  onTestFinished(() => client.destroy())
  const store = redisStore({ client, everyone: true })
  store.subscribe?.(() => {})
  await store.counts()
  return { server, store }
}

async function connections(server: RedisServer): Promise<readonly string[]> {
  const list = String(await server.ask('CLIENT', 'LIST'))
  return [...list.matchAll(/ name=(redrive\S*)/g)].map(([, name = '']) => name)
}

test('a call that is to be made again when the store is closed is given up, and opens nothing', async () => {
  const { server, store } = await setup()
  expect(await connections(server)).not.toEqual([])
  await server.kill()
  const asked = store.counts().catch((error: Error) => error.message)
  const listed = store.list({ limit: 1 }).catch((error: Error) => error.message)
  await store.close()
  await server.start()
  expect(await asked).toMatch(/^the store 'default' in Redis: /)
  expect(await listed).toMatch(/^the store 'default' in Redis: /)
  expect(await connections(server)).toEqual([])
})

test('closing waits for the calls that are under way', async () => {
  const { server, store } = await setup()
  server.freeze()
  let isAnswered = false
  const asked = store.counts().then(
    () => 'answered',
    (error: Error) => error.message,
  )
  void asked.then(() => {
    isAnswered = true
  })
  await store.close()
  expect(isAnswered).toBe(true)
  server.thaw()
  expect(await asked).toMatch(/^the store 'default' in Redis: /)
  await eventually(() => connections(server)).toEqual([])
})

test('the next call opens it again', async () => {
  const { server, store } = await setup()
  await store.close()
  expect(await connections(server)).toEqual([])
  expect(await store.counts()).toMatchObject({ pending: 0 })
  expect(await connections(server)).not.toEqual([])
  await store.close()
  await eventually(() => connections(server)).toEqual([])
})
