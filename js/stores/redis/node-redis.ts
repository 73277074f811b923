/**
 * node-redis 5 and later, as a `RedisPort`: a client, a cluster or a sentinel.
 *
 * The port works on duplicates of what it is given, which then need not be connected yet, and whose user may block it, WATCH with it
 * or close it. What the port refuses is what the client does by itself: to keep a command until the server is back, and to send one
 * again whose answer was lost. The lease of a claim that is sent an hour late would have no holder.
 */

import { Buffer } from 'node:buffer'
import { systemClock } from '../../platform/clock.ts'
import { type Arg, type Commands, isAnswer, PortError, type Reply, type Subscriber } from './port.ts'

interface Emitter {
  on(event: string, listener: (...args: never[]) => void): unknown
}

interface Connection extends Emitter {
  readonly isOpen: boolean
  connect(): Promise<unknown>
  destroy(): unknown
}

type Hear = (message: Buffer) => void

interface SendOptions {
  readonly typeMapping: object
  readonly abortSignal: AbortSignal
  readonly timeout: undefined
}

interface Listens {
  sSubscribe(channel: string, heard: Hear, asBuffers: true): Promise<unknown>
  sUnsubscribe(channel: string, heard: Hear, asBuffers: true): Promise<unknown>
}

/** A client of one server; of these are those of clusters and sentinels made. */
interface NodeRedisClient extends Connection, Listens {
  readonly isReady: boolean
  duplicate(overrides: object): NodeRedisClient
  sendCommand(args: readonly Arg[], options: SendOptions): Promise<unknown>
}

interface Node {
  readonly client?: NodeRedisClient | undefined
}

interface NodeRedisCluster extends Connection, Listens {
  /** Empty until it is connected. */
  readonly slots: readonly ({ readonly master: Node } | undefined)[]
  nodeClient(node: Node): Promise<unknown>
  duplicate(overrides: object): NodeRedisCluster
  sendCommand(firstKey: Arg, isReadonly: boolean, args: readonly Arg[], options: SendOptions): Promise<unknown>
}

interface NodeRedisSentinel extends Connection, Partial<Listens> {
  getSentinelNode(): unknown
  duplicate(overrides: object): NodeRedisSentinel
  /** Runs `send` with a client of the master; again, where its connection was lost meanwhile. */
  _execute(isReadonly: boolean, send: (master: NodeRedisClient) => Promise<void>): Promise<void>
}

export type NodeRedis = NodeRedisClient | NodeRedisCluster | NodeRedisSentinel

/** Numbers of RESP's types: bulk strings and verbatim strings as bytes, maps as flat arrays, as RESP2 has them. */
const BYTES = { 36: Buffer, 61: Buffer, 37: Array }
/** Every version of a server answers so. Caches and notices of maintenance are RESP3's, and serve readers of single keys. */
const RESP2 = { RESP: 2, clientSideCache: undefined, emitInvalidate: undefined, maintNotifications: 'disabled' }

/** A cluster may know of a master that is not there, and would wait for it as long as that lasts. */
const REDIRECT_MS = 2_000

const isCluster = (client: NodeRedis): client is NodeRedisCluster => 'nodeClient' in client
const isSentinel = (client: NodeRedis): client is NodeRedisSentinel => 'getSentinelNode' in client

/** `label`: the name of our connections in CLIENT LIST. */
export function nodeRedisCommands(given: NodeRedis, label: string): Commands {
  const links = new Links()
  const [connection, send] = sender(given, label, links)
  const open = opener(connection)
  let isClosed = false
  return {
    async call(command, args, key) {
      if (isClosed) throw new PortError('NOT_READY', 'this store has been closed')
      await open()
      return send(key, [command, ...args])
    },
    onReconnect: (again) => links.onReconnect(again),
    async close() {
      isClosed = true
      await end(connection)
    },
  }
}

/** `isOurs`: on a duplicate of `given`, else on itself, which its user connects. */
export function nodeRedisSubscriber(given: NodeRedis, label: string, isOurs: boolean): Subscriber | undefined {
  if (!('sSubscribe' in given)) return undefined
  const connection = isOurs ? duplicateOf(given, { name: label }) : given
  const open = isOurs ? opener(connection) : async () => {}
  const listens = connection as Connection & Listens
  const ends = new Set<() => Promise<void>>()
  return {
    async subscribe(channel, heard) {
      await open()
      // it would wait for a connection, and its caller would not know that hints are missing
      if (!connection.isOpen || ('isReady' in connection && !connection.isReady)) throw notReady()
      // one function may be asked to hear twice, and the client tells them apart by themselves
      const hear: Hear = (message) => heard(message)
      await listens.sSubscribe(channel, hear, true).catch(rethrow)
      const end = async () => {
        if (ends.delete(end) && connection.isOpen) await listens.sUnsubscribe(channel, hear, true).catch(rethrow)
      }
      ends.add(end)
      return end
    },
    async close() {
      if (isOurs) await end(connection)
      else await Promise.allSettled([...ends].map((end) => end()))
    },
  }
}

type Send = (key: Arg, args: readonly Arg[]) => Promise<Reply>

function sender(given: NodeRedis, label: string, links: Links): [Connection, Send] {
  if (isCluster(given)) {
    // one node has all keys of a store: it needs no replica, and is to be there when another is not
    const cluster = given.duplicate({ ...RESP2, useReplicas: false, minimizeConnections: true })
    return [cluster, (key, args) => sendInCluster(cluster, key, args, links)]
  }
  if (isSentinel(given)) {
    const sentinel = given.duplicate({ RESP: 2, clientSideCache: undefined })
    return [sentinel, (_, args) => sendToMaster(sentinel, args, links)]
  }
  const client = given.duplicate({ ...RESP2, name: label })
  links.meet(client)
  return [client, (_, args) => sendOnce(args, links.meet(client), (options) => client.sendCommand(args, options))]
}

function duplicateOf(given: NodeRedis, overrides: object): NodeRedis {
  // else it would wait for every node, also for those that a store has nothing to do with
  if (isCluster(given)) return given.duplicate({ minimizeConnections: true })
  return isSentinel(given) ? given.duplicate({}) : given.duplicate(overrides)
}

/** To the master of a slot, as far as is known. */
async function sendInCluster(cluster: NodeRedisCluster, key: Arg, args: readonly Arg[], links: Links): Promise<Reply> {
  const master = cluster.slots[slotOf(key)]?.master
  if (!master) throw notReady()
  const client = await links.connected(master, cluster)
  try {
    return await sendOnce(args, links.meet(client), (options) => client.sendCommand(args, options))
  } catch (error) {
    if (!(error instanceof Error && /^(MOVED|ASK) /.test(error.message))) throw error
    return redirect(cluster, key, args)
  }
}

/** A call that was answered with MOVED or ASK has not been done: the cluster finds out which node has the slot; it may be away. */
function redirect(cluster: NodeRedisCluster, key: Arg, args: readonly Arg[]): Promise<Reply> {
  const controller = new AbortController()
  return new Promise((resolve, reject) => {
    const disarm = systemClock.after(REDIRECT_MS, () => {
      // takes it back, unless it is on its way
      controller.abort()
      reject(new PortError('CONNECTION_LOST', `${args[0]} was sent on by the cluster, and not answered`))
    })
    cluster
      .sendCommand(key, false, args, { typeMapping: BYTES, abortSignal: controller.signal, timeout: undefined })
      .catch((error) => rethrow(error, args[0]))
      .then((reply) => resolve(reply as Reply), reject)
      .finally(disarm)
  })
}

/** By whatever client the sentinel has of the master. It would send again what was lost on the way: the second time there is nothing to send. */
function sendToMaster(sentinel: NodeRedisSentinel, args: readonly Arg[], links: Links): Promise<Reply> {
  const last = links.last
  if (last && !last.isReady) {
    links.renew(() => sentinel._execute(false, async (master) => void links.meet(master)))
    return Promise.reject(notReady())
  }
  return new Promise((resolve, reject) => {
    let isSpent = false
    const refuse = () => {
      if (isSpent) return
      isSpent = true
      reject(notReady())
    }
    // while nothing is sent, what waits for a connection is the sentinel's search, not this call
    const signal = last && links.meet(last).unwritten
    signal?.addEventListener('abort', refuse, { once: true })
    sentinel
      ._execute(false, async (master) => {
        if (isSpent) return
        isSpent = true
        signal?.removeEventListener('abort', refuse)
        try {
          resolve(await sendOnce(args, links.meet(master), (options) => master.sendCommand(args, options)))
        } catch (error) {
          reject(error)
          // so that it looks for the new master
          throw error
        }
      })
      .catch((error) => reject(lost(error)))
  })
}

/** On a connection that is there; if it breaks before the command was written, it is not kept. */
async function sendOnce(
  args: readonly Arg[],
  { client, unwritten }: Link,
  send: (options: SendOptions) => Promise<unknown>,
): Promise<Reply> {
  if (!client.isReady) throw notReady()
  try {
    return (await send({ typeMapping: BYTES, abortSignal: unwritten, timeout: undefined })) as Reply
  } catch (error) {
    return rethrow(error, args[0])
  }
}

/** A client of one server, and a signal that takes back what has not been written when its connection breaks. */
interface Link {
  readonly client: NodeRedisClient
  readonly unwritten: AbortSignal
}

/** The connections to servers that were used, as clusters and sentinels make them and throw them away. */
class Links {
  /** The newest. */
  last: NodeRedisClient | undefined
  readonly #links = new WeakMap<NodeRedisClient, Link>()
  readonly #controllers = new WeakMap<NodeRedisClient, AbortController>()
  readonly #connecting = new WeakMap<NodeRedisClient, Promise<void>>()
  readonly #again = new Set<() => void>()
  #connected = 0
  #renewal: Promise<void> | undefined

  meet(client: NodeRedisClient): Link {
    const link = this.#links.get(client)
    if (link) return link
    this.last = client
    client.on('error', () => this.#renewSignal(client))
    client.on('ready', () => this.#greet())
    if (client.isReady) this.#greet()
    return this.#renewSignal(client)
  }

  /** The client of a node. A cluster has none before it is asked for one, and then waits for as long as the server is away: only those wait here who are there for the first try. */
  async connected(node: Node, cluster: NodeRedisCluster): Promise<NodeRedisClient> {
    const connecting = node.client ? undefined : cluster.nodeClient(node)
    const client = clientOf(node)
    if (!client) throw notReady()
    const { unwritten } = this.meet(client)
    if (connecting) {
      const first = new Promise<void>((resolve, reject) => {
        unwritten.addEventListener('abort', () => reject(notReady()), { once: true })
        connecting.then(
          () => resolve(),
          (error) => reject(lost(error)),
        )
      })
      this.#connecting.set(client, first)
      first.finally(() => this.#connecting.delete(client)).catch(() => {})
    }
    await this.#connecting.get(client)
    return client
  }

  onReconnect(again: () => void): () => void {
    // one function may be told twice
    const call = () => again()
    this.#again.add(call)
    return () => void this.#again.delete(call)
  }

  /** One at a time. What it fails with, each command says for itself. */
  renew(work: () => Promise<void>): void {
    this.#renewal ??= work()
      .catch(() => {})
      .finally(() => {
        this.#renewal = undefined
      })
  }

  #renewSignal(client: NodeRedisClient): Link {
    const controller = new AbortController()
    const link = { client, unwritten: controller.signal }
    this.#controllers.get(client)?.abort()
    this.#controllers.set(client, controller)
    this.#links.set(client, link)
    return link
  }

  #greet(): void {
    this.#connected += 1
    if (this.#connected > 1) for (const call of [...this.#again]) call()
  }
}

/**
 * Connects when first called. A client tries for ever, a cluster once: so the first trouble is the answer to all that waits, and the
 * client goes on behind them. One that has given up is connected again by the next call.
 */
function opener(connection: Connection): () => Promise<unknown> {
  let opened: Promise<unknown> | undefined
  let isUp = false
  let fail: (error: unknown) => void = () => {}
  // without a listener an 'error' ends the process; every command says of its own what became of it
  connection.on('error', (error) => fail(error))
  return () => {
    if (isUp && !connection.isOpen) opened = undefined
    opened ??= new Promise((resolve, reject) => {
      isUp = false
      fail = (error) => reject(lost(error))
      connection.connect().then(
        () => {
          isUp = true
          opened = Promise.resolve()
          resolve(undefined)
        },
        (error) => {
          opened = undefined
          reject(lost(error))
        },
      )
    })
    return opened
  }
}

async function end(connection: Connection): Promise<void> {
  if (connection.isOpen) await connection.destroy()
}

const notReady = (cause?: unknown) => new PortError('NOT_READY', 'there is no connection to Redis', cause)

/** Before anything was sent. */
const lost = (error: unknown) => (error instanceof PortError || isAnswer(error) ? error : notReady(error))

/** These are said of what was never written, by the signal or by a client that has been closed. */
const UNSENT = /^The (command was aborted|client is (closed|offline))/

function rethrow(error: unknown, command: Arg = 'a subscription'): never {
  if (error instanceof PortError || isAnswer(error)) throw error
  if (error instanceof Error && UNSENT.test(error.message)) throw notReady(error)
  throw new PortError('CONNECTION_LOST', `the connection to Redis was lost before ${command} was answered`, error)
}

const clientOf = (node: Node): NodeRedisClient | undefined => node.client

const SLOTS = 16_384

/** The slot of a key or channel: CRC-16 (XMODEM) of what stands in its first braces, else of it all. */
function slotOf(key: Arg): number {
  const bytes = Buffer.from(key)
  const from = bytes.indexOf('{')
  const to = from < 0 ? -1 : bytes.indexOf('}', from + 1)
  const hashed = to > from + 1 ? bytes.subarray(from + 1, to) : bytes
  let crc = 0
  for (const byte of hashed) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  }
  return (crc & 0xffff) % SLOTS
}
