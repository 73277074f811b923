// A server that comes back while it is asked: questions that are no script are tried again as scripts are.
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { portOf } from '../../../js/stores/redis/client.ts'
import { PortError, type RedisPort, type Reply } from '../../../js/stores/redis/port.ts'
import { redisStore } from '../../../js/stores/redis.ts'
import { startServer } from '../../redis/servers.ts'
import { setup, TERMS } from '../store-contract/kit.ts'

/** The port of a real server with a file, whose plain commands `answer` may answer instead. */
async function porting(answer: (command: string, asked: number) => Promise<Reply> | undefined): Promise<RedisPort> {
  const server = await startServer({ appendonly: true, appendfsync: 'always' })
  const client = new Redis(server.port)
  onTestFinished(async () => {
    client.disconnect()
    await server.end()
  })
  const port = portOf(client, null)
  const asked = new Map<string, number>()
  return {
    ...port,
    onReconnect: (again) => port.onReconnect(again),
    close: () => port.close(),
    call(command, args, key) {
      asked.set(command, (asked.get(command) ?? 0) + 1)
      return answer(command, asked.get(command) ?? 0) ?? port.call(command, args, key)
    },
  }
}

const lost = (): Promise<Reply> => Promise.reject(new PortError('CONNECTION_LOST', 'the connection was lost'))

test('a connection that is lost while records are learned is tried again, and the lease that came before is kept', async () => {
  let fails = 0
  const port = await porting((command) => (command === 'HMGET' && fails-- > 0 ? lost() : undefined))
  const { add } = await setup(async ({ clock }) => redisStore({ client: port, clock }))
  await add({ dueInMs: 0 })
  const other = redisStore({ client: port })
  fails = 1
  expect((await other.list({ limit: 10 })).tasks).toHaveLength(1)
  expect(fails).toBe(-1)
})

test('one that stays lost is an error of the store, and none of the client', async () => {
  let isLost = false
  const port = await porting((command) => (command === 'HMGET' && isLost ? lost() : undefined))
  const { add } = await setup(async ({ clock }) => redisStore({ client: port, clock }))
  await add({ dueInMs: 0 })
  isLost = true
  await expect(redisStore({ client: port }).list({ limit: 10 })).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
})

test('S1 a server that still reads its file is asked again: it would be taken for one that keeps none', async () => {
  const loading = 'redis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\nloading:1\r\naof_enabled:0\r\n'
  let asked = 0
  const port = await porting((command) => {
    if (command !== 'INFO') return undefined
    asked++
    return asked <= 2 ? Promise.resolve(loading) : undefined
  })
  const reports: string[] = []
  const store = redisStore({ client: port })
  store.configure?.(TERMS, (code) => reports.push(code))
  await store.counts()
  expect([store.durability, reports, asked]).toEqual(['strict', [], 3])
})
