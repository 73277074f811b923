import { createClient } from '@redis/client'
import { expect, onTestFinished, test } from 'vitest'
import { redisStore } from '../../../../js/stores/redis.ts'
import { type RedisServer, startCluster, startReplicated, startSentinels, startServer } from '../../../redis/servers.ts'
import { examine, fill, run, says } from './setup.ts'

const urlOf = ({ port }: { readonly port: number }): string => `redis://127.0.0.1:${port}`

async function command(server: RedisServer, ...words: readonly string[]): Promise<unknown> {
  const client = createClient({ url: urlOf(server) })
  await client.connect()
  try {
    return await client.sendCommand([...words])
  } finally {
    client.destroy()
  }
}

test('a server that keeps everything is sound', async () => {
  await using server = await startServer({ appendonly: true, appendfsync: 'always', maxmemory: '256mb' })
  const { code, findings } = await examine(urlOf(server))
  expect(code).toBe(0)
  expect(findings).toMatchObject({
    server: says('ok', /^(Redis|Valkey) \d/),
    eviction: { level: 'ok' },
    disk: says('ok', 'appendfsync always'),
    memory: says('ok', 'of 256 MiB'),
    replicas: { level: 'note', text: 'none' },
    clock: { level: 'ok' },
    tasks: { level: 'note', text: "none under the name 'default'" },
  })
})

test('of a cluster each node that is named is looked at', async () => {
  const cluster = await startCluster({ appendonly: true })
  onTestFinished(() => cluster.end())
  const [first, second] = cluster.nodes
  const named = [first, second].map((node) => `127.0.0.1:${node?.port}`)
  const { code, all } = await examine(`redis-cluster://${named.join(',')}`)
  const servers = all.filter(({ about }) => about === 'server')
  expect(servers.map(({ level }) => level)).toEqual(['ok', 'ok'])
  for (const [i, node] of named.entries()) expect(servers[i]?.text).toContain(node)
  expect(code).toBe(0)
  const gone = await run(['doctor', '--json', '--store', 'redis-cluster://127.0.0.1:1'])
  expect([gone.code, gone.out]).toEqual([1, expect.stringContaining('redis://127.0.0.1:1 does not answer')])
})

test('a server that refuses the login or the database is not said to be away', async () => {
  await using server = await startServer({ appendonly: true })
  const refused = async (url: string, why: string) => {
    const text = expect.stringMatching(`refuses .*${why}.*check the user, password or database in --store$`)
    expect((await examine(url)).findings.server).toMatchObject({ level: 'unsafe', text })
  }
  await refused(`${urlOf(server)}/99`, 'DB index is out of range')
  await command(server, 'ACL', 'SETUSER', 'weak', 'on', '>right', '~*', '&*', '+@connection')
  await refused(urlOf(server).replace('//', '//weak:right@'), 'NOPERM')
  await command(server, 'CONFIG', 'SET', 'requirepass', 'right')
  await refused(urlOf(server).replace('//', '//:geheim@'), 'WRONGPASS')
  await refused(urlOf(server), 'NOAUTH')
})

test('eviction, no append-only file and no limit of memory are told apart', async () => {
  await using server = await startServer({ maxmemoryPolicy: 'allkeys-lru' })
  const { code, findings } = await examine(urlOf(server))
  expect(code).toBe(1)
  expect(findings).toMatchObject({
    eviction: says('unsafe', 'allkeys-lru'),
    disk: says('unsafe', 'no append-only file and no replica'),
    memory: says('warning', 'no limit'),
  })
})

test('appendfsync everysec is a note, and a server that never syncs a warning', async () => {
  await using server = await startServer({ appendonly: true })
  expect((await examine(urlOf(server))).findings.disk).toMatchObject({ level: 'note' })
  await command(server, 'CONFIG', 'SET', 'appendfsync', 'no')
  expect((await examine(urlOf(server))).findings.disk).toMatchObject({ level: 'warning' })
})

test('tasks are counted and weighed, under their name, and a full store is warned of', async () => {
  await using server = await startServer({ appendonly: true })
  const client = createClient({ url: urlOf(server) })
  await fill(redisStore({ client, name: 'orders' }), 20, 'x'.repeat(500))
  const { findings } = await examine(urlOf(server), ['--name', 'orders'])
  expect(findings.tasks).toMatchObject(says('note', /^20 waiting, 0 in flight/))
  expect(findings.weight?.text).toMatch(/^about (\d+ B|\d\.\d KiB) of memory a task, \d+ KiB for 20$/)
  expect((await examine(urlOf(server), ['--name', 'orders', '--capacity', '20'])).findings.tasks).toMatchObject({
    level: 'warning',
  })
  expect((await examine(urlOf(server))).findings.tasks?.text).toBe("none under the name 'default'")
})

test('a look writes nothing', async () => {
  await using server = await startServer({ appendonly: true })
  await command(server, 'CONFIG', 'RESETSTAT')
  await examine(urlOf(server))
  expect(await command(server, 'DBSIZE')).toBe(0)
  const writes = String(await command(server, 'INFO', 'persistence')).match(/rdb_changes_since_last_save:(\d+)/)
  expect(writes?.[1]).toBe('0')
})

test('a replica is refused, and a primary tells of those it has', async () => {
  const pair = await startReplicated({ appendonly: true })
  onTestFinished(() => pair.end())
  // it has to take the data over before it is online
  const replicas = async () => (await examine(urlOf(pair.primary))).findings.replicas
  await expect.poll(replicas, { timeout: 20_000 }).toMatchObject({ level: 'ok', text: '1 online' })
  const { code, findings } = await examine(urlOf(pair.replica))
  expect(code).toBe(1)
  expect(findings.server).toMatchObject(says('unsafe', 'a replica, which takes no tasks'))
})

test('sentinels are asked for the primary', async () => {
  const watched = await startSentinels({ appendonly: true })
  onTestFinished(() => watched.end())
  const hosts = watched.sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')
  const found = await examine(`redis-sentinel://${hosts}/${watched.name}`)
  expect(found.findings.eviction).toMatchObject({ level: 'ok' })
  const unknown = await examine(`redis-sentinel://${hosts}/other`)
  expect(unknown.findings.server?.text).toContain("knows no primary 'other'")
})
