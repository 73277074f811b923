import { IDBFactory } from 'fake-indexeddb'
import { beforeEach, expect, test } from 'vitest'
import { post, rowsOfWorkbox, workbox, worker } from './worker.ts'

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory()
})

test('what is pushed waits for a sync, which sends it', async () => {
  const { server, open, asked, sync, during } = worker()
  const { queue } = open()
  await during(queue.pushRequest({ request: post('one') }))
  expect(await during(queue.size())).toBe(1)
  expect(server.hits).toBe(0)
  expect(asked).toEqual(['workbox-background-sync:orders'])
  server.reply(200)
  expect(await sync()).toBe('well')
  expect(server.requests.map(({ body }) => body)).toEqual(['one'])
  expect(await during(queue.size())).toBe(0)
})

test('takes over', async () => {
  const { server, open, sync, rest } = worker()
  const old = await workbox()
  await old.pushRequest({ request: post('one') })
  await old.pushRequest({ request: post('two') })
  expect(await rowsOfWorkbox()).toHaveLength(2)
  const { events } = open()
  await rest()
  expect(events.of('degraded')).toEqual([])
  expect(await rowsOfWorkbox()).toHaveLength(0)
  server.reply(200).reply(200)
  expect(await sync()).toBe('well')
  expect(server.requests.map(({ body }) => body)).toEqual(['one', 'two'])
})
