/** A Redis or Valkey server as the doctor sees it: what it may delete, what it keeps through its own end, its clock, its memory. */

import { createClient } from '@redis/client'
import { bytes, duration, grouped, systemClock } from 'redrive/internal'
import { redisStore } from 'redrive/redis'
import { authorityOf, clusterUrl, refusalIn, sentinelUrl, withoutLogin } from '../redis-urls.ts'
import { countFindings, type Finding, type Limits } from './findings.ts'
import { reasonOf } from './io.ts'

/** One command, and its answer. */
type Ask = (...words: readonly string[]) => Promise<unknown>
type Info = ReadonlyMap<string, string>

const CONNECT_WITHIN_MS = 5_000

export async function checkRedis(url: string, name: string, limits: Limits): Promise<readonly Finding[]> {
  const divided = clusterUrl(url)
  if (divided) {
    const { login, nodes } = divided
    const each = nodes.map((node) => checkNode(`redis://${login}${authorityOf(node)}`))
    return (await Promise.all(each)).flat()
  }
  return found(url, async () =>
    within(await primaryOf(url), (ask, client) => lookAt(ask, client, { url, name, limits })),
  )
}

/** A node of a cluster. The tasks of a name are on one of them, and `/stats` of a service counts them all. */
const checkNode = (url: string): Promise<readonly Finding[]> =>
  found(url, () => within(url, (ask) => lookAtServer(ask, url)))

async function found(url: string, look: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await look()
  } catch (error) {
    const reason = reasonOf(error)
    const what = refusalIn(reason) ?? `does not answer (${reason}); start the server, or name another in --store`
    const text = `${withoutLogin(url)} ${what}`
    return [{ level: 'unsafe', about: 'server', text }]
  }
}

type Client = ReturnType<typeof clientFor>

function clientFor(url: string) {
  const client = createClient({ url, RESP: 2, socket: { connectTimeout: CONNECT_WITHIN_MS, reconnectStrategy: false } })
  // each call says by itself what has failed
  client.on('error', () => {})
  return client
}

async function within<T>(url: string, look: (ask: Ask, client: Client) => Promise<T>): Promise<T> {
  const client = clientFor(url)
  await client.connect()
  try {
    return await look((...words) => client.sendCommand([...words]), client)
  } finally {
    client.destroy()
  }
}

/** The server itself, or the primary that the first sentinel that answers names: `redis-sentinel://host:26379,host/name`. */
async function primaryOf(url: string): Promise<string> {
  const watched = sentinelUrl(url)
  if (!watched) return url
  const { login, sentinels, name, rest } = watched
  let reason: unknown
  for (const sentinel of sentinels) {
    const authority = authorityOf(sentinel)
    try {
      const found = await within(`redis://${authority}`, (ask) => ask('SENTINEL', 'get-master-addr-by-name', name))
      if (Array.isArray(found)) return `redis://${login}${found[0]}:${found[1]}${rest}`
      reason = new Error(`the sentinel at ${authority} knows no primary '${name}'`)
    } catch (error) {
      reason = error
    }
  }
  throw reason
}

interface About {
  readonly url: string
  readonly name: string
  readonly limits: Limits
}

async function lookAt(ask: Ask, client: Client, about: About): Promise<readonly Finding[]> {
  return [...(await lookAtServer(ask, about.url)), ...(await taskFindings(ask, client, about))]
}

async function lookAtServer(ask: Ask, url: string): Promise<readonly Finding[]> {
  const info = infoIn(
    await ask('INFO', 'server'),
    await ask('INFO', 'memory'),
    await ask('INFO', 'persistence'),
    await ask('INFO', 'replication'),
  )
  return [
    serverFinding(info, withoutLogin(url)),
    evictionFinding(info),
    await persistenceFinding(info, ask),
    ...writeFindings(info),
    memoryFinding(info),
    ...replicaFindings(info),
    await clockFinding(ask),
  ]
}

function infoIn(...sections: readonly unknown[]): Info {
  const lines = sections.map(String).join('\r\n').split(/\r?\n/)
  return new Map(
    lines
      .filter((line) => line.includes(':'))
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  )
}

function serverFinding(info: Info, url: string): Finding {
  const valkey = info.get('valkey_version')
  const version = valkey ?? info.get('redis_version') ?? ''
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = valkey ? major < 7 || (major === 7 && minor < 2) : major < 7
  const what = `${valkey ? 'Valkey' : 'Redis'} ${version || 'of an unknown version'} at ${url}`
  if (isOld)
    return { level: 'unsafe', about: 'server', text: `${what}; Redis 7.0 or Valkey 7.2 is the oldest that will do` }
  if (info.get('role') === 'slave') {
    return {
      level: 'unsafe',
      about: 'server',
      text: `${what}, a replica, which takes no tasks; name the primary in --store`,
    }
  }
  return { level: 'ok', about: 'server', text: what }
}

function evictionFinding(info: Info): Finding {
  const policy = info.get('maxmemory_policy') ?? 'unknown'
  if (policy === 'noeviction')
    return { level: 'ok', about: 'eviction', text: 'noeviction: no task is deleted to make room' }
  const text = `maxmemory-policy is ${policy}, so the server may delete tasks that were accepted; set it to noeviction`
  return { level: 'unsafe', about: 'eviction', text }
}

async function persistenceFinding(info: Info, ask: Ask): Promise<Finding> {
  const hasReplicas = Number(info.get('connected_slaves') ?? 0) > 0
  if (info.get('aof_enabled') !== '1') {
    const what = 'no append-only file'
    return hasReplicas
      ? {
          level: 'warning',
          about: 'disk',
          text: `${what}: tasks live as long as one of server and replicas does; set appendonly yes`,
        }
      : {
          level: 'unsafe',
          about: 'disk',
          text: `${what} and no replica: all tasks are lost when the server ends; set appendonly yes`,
        }
  }
  const [, fsync = 'everysec'] = (await allowed(ask('CONFIG', 'GET', 'appendfsync'))) as readonly string[]
  if (fsync === 'always')
    return { level: 'ok', about: 'disk', text: 'appendfsync always: what was accepted is on the disk' }
  if (fsync === 'everysec') {
    return {
      level: 'note',
      about: 'disk',
      text: 'appendfsync everysec: a loss of power takes up to 2 s of what was accepted; appendfsync always takes none',
    }
  }
  return {
    level: 'warning',
    about: 'disk',
    text: `appendfsync ${fsync}: a loss of power takes whatever the system had not written; set everysec or always`,
  }
}

/** The answer, or none where the user may not ask. */
async function allowed(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer
  } catch (error) {
    if (/NOPERM|unknown command/i.test(String(error))) return []
    throw error
  }
}

function writeFindings(info: Info): Finding[] {
  const failed = ['aof_last_write_status', 'aof_last_bgrewrite_status', 'rdb_last_bgsave_status'].filter((name) => {
    return info.has(name) && info.get(name) !== 'ok'
  })
  return failed.map((name) => ({
    level: name === 'aof_last_write_status' ? 'unsafe' : 'warning',
    about: 'writes',
    text: `${name} is ${info.get(name)}: the disk may be full or refuse writes; see the log of the server`,
  }))
}

function memoryFinding(info: Info): Finding {
  const used = Number(info.get('used_memory') ?? 0)
  const most = Number(info.get('maxmemory') ?? 0)
  if (most === 0) {
    const text = `${bytes(used)} used, and no limit: when the machine has no more, its kernel ends the server; set maxmemory`
    return { level: 'warning', about: 'memory', text }
  }
  const share = used / most
  const text = `${bytes(used)} used of ${bytes(most)}`
  if (share < 0.8) return { level: 'ok', about: 'memory', text }
  return { level: 'warning', about: 'memory', text: `${text}: at the limit new tasks are refused; raise maxmemory` }
}

function replicaFindings(info: Info): Finding[] {
  const count = Number(info.get('connected_slaves') ?? 0)
  const states = Array.from({ length: count }, (_, i) => info.get(`slave${i}`) ?? '')
  const behind = states.filter((state) => !state.includes('state=online'))
  if (count === 0) return [{ level: 'note', about: 'replicas', text: 'none' }]
  if (behind.length === 0) return [{ level: 'ok', about: 'replicas', text: `${count} online` }]
  return [{ level: 'warning', about: 'replicas', text: `${behind.length} of ${count} are not online; see their logs` }]
}

const LOOKS = 5
const SKEW_MS = 5_000

/** The store goes by the server's clock, and people by their own. Of several looks the quickest is the most exact. */
async function clockFinding(ask: Ask): Promise<Finding> {
  let best = { tookMs: Number.POSITIVE_INFINITY, skewMs: 0 }
  for (let look = 0; look < LOOKS; look += 1) {
    const before = systemClock.now()
    const [seconds = 0, micros = 0] = ((await ask('TIME')) as readonly string[]).map(Number)
    const after = systemClock.now()
    const skewMs = seconds * 1_000 + micros / 1_000 - (before + after) / 2
    if (after - before < best.tookMs) best = { tookMs: after - before, skewMs }
  }
  const off = Math.abs(best.skewMs)
  const text = `${duration(off)} ${best.skewMs < 0 ? 'behind' : 'ahead of'} this machine`
  if (off < SKEW_MS) return { level: 'ok', about: 'clock', text: off < 50 ? 'agrees with this machine' : text }
  return { level: 'warning', about: 'clock', text: `${text}: times that are shown are off by as much; run NTP on both` }
}

/** Keys that hold tasks, of which a few members are weighed. */
const KEYS = ['m', 't', 'r', 'e', 'b', 'a', 'c', 'd', 'z', 'i', 'o', 'k', 'x', 'y', 'p', 'w', 'n', 'l', 'q', 'u', 'v']
const WEIGHED = '50'

async function taskFindings(ask: Ask, client: Client, { name, limits }: About): Promise<Finding[]> {
  const key = (letter: string) => `{redrive:${name}}:${letter}`
  const count = Number(await ask('HLEN', key('t')))
  if (count === 0) return [{ level: 'note', about: 'tasks', text: `none under the name '${name}'` }]
  const weights = await Promise.all(
    KEYS.map((letter) => allowed(ask('MEMORY', 'USAGE', key(letter), 'SAMPLES', WEIGHED))),
  )
  const weight = weights.reduce<number>((sum, each) => sum + (Number(each) || 0), 0)
  const memory: Finding[] =
    weight > 0
      ? [
          {
            level: 'note',
            about: 'weight',
            text: `about ${bytes(weight / count)} of memory a task, ${bytes(weight)} for ${grouped(count)}`,
          },
        ]
      : []
  return [...(await storedFindings(client, name, limits)), ...memory]
}

async function storedFindings(client: Client, name: string, limits: Limits): Promise<Finding[]> {
  const store = redisStore({ client, subscriber: null, name, allowEviction: true })
  try {
    return countFindings(await store.counts(), limits)
  } catch (error) {
    return [{ level: 'unsafe', about: 'tasks', text: reasonOf(error) }]
  } finally {
    await store.close()
  }
}
