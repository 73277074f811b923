// Each client that a store may be given, over real servers: that bytes stay bytes, and that nothing is kept or sent again behind our back.
import { Buffer } from 'node:buffer'
import { Cluster, Redis } from 'ioredis'
import { Redis as Valkey } from 'iovalkey'
import { createClient, createCluster, createSentinel } from 'redis'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { PortError, type RedisPort } from '../../../js/stores/redis/port.ts'
import { isWhole, type RedisCluster, type RedisServer, startCluster, startSentinels } from '../../redis/servers.ts'
import { eventually } from '../eventually.ts'
import { testIn } from '../test-in.ts'
import { alone, CHANNEL, KEY, portTo, quiet, subscribe } from './ports-setup.ts'

const bytes = (...words: readonly string[]) => words.map((word) => Buffer.from(word))
const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))

interface Bed {
  readonly client: unknown
  /** The server that has our keys. */
  readonly server: RedisServer
  /** The client's own connection, as its user has it. */
  ping(): Promise<unknown>
}

let cluster: Promise<RedisCluster> | undefined
afterAll(async () => (await cluster)?.end())

async function inCluster() {
  cluster ??= startCluster()
  const nodes = await cluster
  const server = await nodes.ownerOf(KEY)
  await server.ask('DEL', KEY, '{redrive:ports}:count')
  onTestFinished(async () => {
    if (!server.pid) await server.start()
    await isWhole(nodes)
  })
  return { server, addresses: nodes.nodes.map(({ address }) => address) }
}

const beds: Record<string, (connects?: boolean) => Promise<Bed>> = {
  async 'node-redis'(connects = true) {
    const server = await alone()
    const client = quiet(createClient({ url: server.url }))
    if (connects) await client.connect()
    onTestFinished(() => client.destroy())
    return { client, server, ping: () => client.ping() }
  },
  async 'node-redis, a cluster'(connects = true) {
    const { server, addresses } = await inCluster()
    const client = quiet(createCluster({ rootNodes: addresses.map((socket) => ({ socket })) }))
    if (connects) await client.connect()
    onTestFinished(() => client.destroy())
    return { client, server, ping: () => client.get(KEY) }
  },
  async ioredis(connects = true) {
    const server = await alone()
    const client = quiet(new Redis(server.port, { lazyConnect: !connects }))
    onTestFinished(() => client.disconnect())
    return { client, server, ping: () => client.ping() }
  },
  async 'ioredis, a cluster'(connects = true) {
    const { server, addresses } = await inCluster()
    const client = quiet(new Cluster(addresses, { lazyConnect: !connects }))
    onTestFinished(() => client.disconnect())
    return { client, server, ping: () => client.get(KEY) }
  },
  async iovalkey(connects = true) {
    const server = await alone()
    const client = quiet(new Valkey(server.port, { lazyConnect: !connects }))
    onTestFinished(() => client.disconnect())
    return { client, server, ping: () => client.ping() }
  },
}

/** Until it has not only a process, but connections. */
const answers = (port: RedisPort) => eventually(() => failure(port.call('GET', [KEY], KEY))).toBeUndefined()

const failure = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )
/** What it hears, from now on. */
async function hearing(port: RedisPort): Promise<readonly string[]> {
  const heard: string[] = []
  await subscribe(port, (message) => heard.push(`${message}`))
  return heard
}
const hearsAgain = (port: RedisPort, heard: readonly string[]) =>
  eventually(async () => {
    await failure(port.call('SPUBLISH', [CHANNEL, 'again'], CHANNEL))
    return heard
  }).toContain('again')
const connectionsOf = async (server: RedisServer) =>
  `${await server.ask('CLIENT', 'LIST', 'TYPE', 'normal')}`.split('\n').filter((line) => line.includes('name=redrive '))

describe.each(Object.entries(beds))('%s', (_, bed) => {
  const test = testIn(bed)

  test('bytes of all values go there and come back, as keys, arguments and answers', async ({ client }) => {
    const port = portTo(client)
    const key = Buffer.concat([Buffer.from(KEY), ALL_BYTES])
    await port.call('SET', [key, ALL_BYTES], key)
    expect(await port.call('GET', [key], key)).toEqual(ALL_BYTES)
    const script = 'return {KEYS[1], ARGV[1], 1, false, {}}'
    expect(await port.call('EVAL', [script, '1', key, ALL_BYTES], key)).toEqual([key, ALL_BYTES, 1, null, []])
    await port.call('DEL', [key], key)
  })

  test('values are as servers of every version give them', async ({ client }) => {
    const port = portTo(client)
    await port.call('HSET', [KEY, 'field', 'ä'], KEY)
    expect(await port.call('HGETALL', [KEY], KEY)).toEqual(bytes('field', 'ä'))
    await port.call('DEL', [KEY], KEY)
    await port.call('ZADD', [KEY, '1.5', 'member'], KEY)
    expect(await port.call('ZRANGE', [KEY, '0', '-1', 'WITHSCORES'], KEY)).toEqual(bytes('member', '1.5'))
    expect(await port.call('INFO', ['server'], KEY)).toBeInstanceOf(Buffer)
  })

  test('an error of the server is its own, and carries nothing of the command', async ({ client }) => {
    const port = portTo(client)
    const error = await failure(port.call('EVALSHA', ['0'.repeat(40), '1', KEY, 'a secret'], KEY))
    expect(error).toMatchObject({ message: expect.stringMatching(/^NOSCRIPT /) })
    expect(JSON.stringify({ ...(error as object) })).not.toContain('a secret')
    const own = await failure(port.call('EVAL', ["return redis.error_reply('NEWER of layout 2')", '1', KEY], KEY))
    expect(own).toMatchObject({ message: expect.stringMatching(/^(ERR )?NEWER of layout 2/) })
  })

  test('a script is known by its digest once it was loaded', async ({ client }) => {
    const port = portTo(client)
    const sha = `${await port.call('SCRIPT', ['LOAD', 'return ARGV[1]'], KEY)}`
    expect(await port.call('EVALSHA', [sha, '1', KEY, 'here'], KEY)).toEqual(Buffer.from('here'))
  })

  test('a command goes to the node of the key, whether it names the key or not', async ({ client, server }) => {
    const port = portTo(client)
    expect(await port.call('CONFIG', ['GET', 'port'], KEY)).toEqual(bytes('port', `${server.port}`))
    await port.call('SET', [KEY, 'there'], KEY)
    expect(await server.ask('GET', KEY)).toBe('there')
  })

  test('hears what a script says, as bytes, until it no longer listens', async ({ client }) => {
    const port = portTo(client)
    const heard: Buffer[] = []
    const end = await subscribe(port, (message) => heard.push(message))
    const script = "return redis.call('SPUBLISH', KEYS[1], ARGV[1])"
    const say = () => port.call('EVAL', [script, '1', CHANNEL, ALL_BYTES], CHANNEL)
    expect(await say()).toBe(1)
    await eventually(() => heard).toEqual([ALL_BYTES])
    await end()
    await eventually(say).toBe(0)
  })

  test('two that hear on one port end one by one', async ({ client }) => {
    const port = portTo(client)
    const heard: string[] = []
    const hear = (message: Buffer) => void heard.push(`${message}`)
    const [endFirst] = [await subscribe(port, hear), await subscribe(port, hear)]
    await endFirst()
    await port.call('SPUBLISH', [CHANNEL, 'once'], CHANNEL)
    await eventually(() => heard).toEqual(['once'])
  })

  test('refuses at once while the server is away, and works when it is back', async ({ client, server }) => {
    const port = portTo(client)
    await port.call('SET', [KEY, 'before'], KEY)
    await server.kill()
    await eventually(() => failure(port.call('GET', [KEY], KEY))).toBeInstanceOf(PortError)
    for (let i = 0; i < 10; i++) {
      expect(await failure(port.call('INCR', ['{redrive:ports}:count'], KEY))).toBeInstanceOf(Error)
    }
    await server.start()
    await answers(port)
    // none of those was kept
    expect(await server.ask('GET', '{redrive:ports}:count')).toBeNull()
  })

  test('what was under way when the connection broke rejects, and is not sent again', async ({ client, server }) => {
    const port = portTo(client)
    await answers(port)
    server.freeze()
    const lost = failure(port.call('INCR', ['{redrive:ports}:count'], KEY))
    const [count, text] = ['{redrive:ports}:count', "return redis.call('INCR', KEYS[1])"]
    const script = failure(port.call('EVAL', [text, '1', count], count))
    // until it is on its way
    await new Promise((resolve) => setTimeout(resolve, 50))
    await server.kill()
    expect(await lost).toMatchObject({ code: 'CONNECTION_LOST', message: expect.stringContaining('INCR') })
    expect(await script).toMatchObject({ code: 'CONNECTION_LOST' })
    await server.start()
    await answers(port)
    expect(await server.ask('GET', '{redrive:ports}:count')).toBeNull()
  })

  test('tells of each new connection but the first, and hears again', async ({ client, server }) => {
    const port = portTo(client)
    const again = vi.fn()
    const end = port.onReconnect(again)
    const heard = await hearing(port)
    await answers(port)
    const before = again.mock.calls.length
    await server.kill()
    await server.start()
    await answers(port)
    await eventually(() => again.mock.calls.length).toBeGreaterThan(before)
    await hearsAgain(port, heard)
    end()
  })

  test('a client that is not connected yet is as good, and stays so', async () => {
    const { client } = await bed(false)
    const port = portTo(client)
    expect(await port.call('GET', [KEY], KEY)).toBeNull()
    expect(client).toMatchObject('status' in (client as object) ? { status: 'wait' } : { isOpen: false })
  })

  test('closes what it has opened, and leaves the client to its user', async ({ client, server, ping }) => {
    const before = (await connectionsOf(server)).length
    const port = portTo(client)
    await subscribe(port, () => {})
    await answers(port)
    await port.close()
    expect(await failure(port.call('GET', [KEY], KEY))).toMatchObject({ code: 'NOT_READY' })
    await eventually(async () => (await connectionsOf(server)).length).toBe(before)
    await ping()
  })

  test('rejects at once where there was never a server', async () => {
    const { client, server } = await bed(false)
    await server.kill()
    const port = portTo(client)
    const tries = [port.call('GET', [KEY], KEY), port.call('GET', [KEY], KEY), subscribe(port, () => {})].map(failure)
    for (const each of await Promise.all(tries)) expect(each).toBeInstanceOf(Error)
    await server.start()
    await answers(port)
  })
})

describe('by sentinels', () => {
  const kinds: Record<string, (bed: Awaited<ReturnType<typeof startSentinels>>) => Promise<unknown>> = {
    async 'node-redis'({ name, sentinels }) {
      return quiet(createSentinel({ name, sentinelRootNodes: sentinels.map(({ address }) => address) }))
    },
    async ioredis({ name, sentinels }) {
      return quiet(new Redis({ name, sentinels: sentinels.map(({ address }) => address), lazyConnect: true }))
    },
  }
  test.each(Object.entries(kinds))('%s finds the new primary, and sends nothing twice', async (_, make) => {
    const bed = await startSentinels()
    onTestFinished(() => bed.end())
    const port = portTo(await make(bed))
    const again = vi.fn()
    port.onReconnect(again)
    const heard = await hearing(port)
    await port.call('SET', [KEY, ALL_BYTES], KEY)
    expect(await port.call('GET', [KEY], KEY)).toEqual(ALL_BYTES)
    await eventually(() => bed.replica.ask('STRLEN', KEY)).toBe(256)
    const before = again.mock.calls.length
    bed.primary.freeze()
    const lost = failure(port.call('INCR', ['{redrive:ports}:count'], KEY))
    await new Promise((resolve) => setTimeout(resolve, 50))
    await bed.primary.kill()
    expect(await lost).toMatchObject({ code: 'CONNECTION_LOST' })
    await answers(port)
    expect(await port.call('CONFIG', ['GET', 'port'], KEY)).toEqual(bytes('port', `${bed.replica.port}`))
    expect(await bed.replica.ask('GET', '{redrive:ports}:count')).toBeNull()
    expect(again.mock.calls.length).toBeGreaterThan(before)
    await hearsAgain(port, heard)
  })
})
