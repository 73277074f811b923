/**
 * ioredis 5 and later, and iovalkey, as a `RedisPort`: a `Redis`, also one that finds its server by sentinels, or a `Cluster`.
 *
 * The port works on duplicates of what it is given, with three things off that are on by default or that users turn on: commands
 * kept until there is a connection, commands sent again when it is back (a claim would be made twice), and a prefix before every key
 * (a store's keys have its name in them, and a script must know them all).
 */

import type { Buffer } from 'node:buffer'
import { type Arg, type Commands, isAnswer, PortError, type Reply, type Subscriber } from './port.ts'

/** A call, as it makes one before it is sent. */
interface IoCommand {
  getKeys(): readonly Arg[]
}

interface IoOptions {
  readonly connectionName?: string | null
  readonly redisOptions?: IoOptions
  readonly reconnectOnError?: ((error: Error) => boolean | 1 | 2) | null
}

export interface IoRedis {
  readonly status: string
  readonly isCluster?: boolean
  readonly options: IoOptions
  /** A cluster's, of ioredis 5.6 and later. */
  readonly shardedSubscribers?: unknown
  /** A `Redis` takes options alone, a `Cluster` nodes first. */
  duplicate(...overrides: readonly unknown[]): IoRedis
  connect(): Promise<unknown>
  disconnect(): void
  callBuffer(command: string, ...args: readonly (Arg | number)[]): Promise<unknown>
  sendCommand(command: IoCommand): unknown
  on(event: string, listener: (...args: never[]) => void): unknown
  off(event: string, listener: (...args: never[]) => void): unknown
  ssubscribe?(channel: string): Promise<unknown>
  sunsubscribe?(channel: string): Promise<unknown>
}

type Hear = (channel: Buffer, message: Buffer) => void

export function ioredisCommands(given: IoRedis, label: string): Commands {
  const redis = duplicateOf(given, label)
  const open = opener(redis)
  const again = new Set<() => void>()
  let connected = 0
  const greet = () => {
    connected += 1
    if (connected > 1) for (const call of [...again]) call()
  }
  // of a cluster each node has a connection of its own, and one that is lost is replaced by another node
  if (redis.isCluster) redis.on('+node', (node: IoRedis) => void node.on('ready', greet))
  else redis.on('ready', greet)
  let isClosed = false
  return {
    async call(command, args, key) {
      if (isClosed) throw new PortError('NOT_READY', 'this store has been closed')
      if (redis.status !== 'ready') await open()
      try {
        return (await routed(redis, key).callBuffer(command, ...args)) as Reply
      } catch (error) {
        return rethrow(error, command)
      }
    },
    onReconnect(call) {
      const each = () => call()
      again.add(each)
      return () => void again.delete(each)
    },
    async close() {
      isClosed = true
      redis.disconnect()
    },
  }
}

/** How often a channel is heard on a connection that is its user's, and may serve several stores. */
const heardOn = new WeakMap<IoRedis, Map<string, number>>()

/** `isOurs`: on a duplicate of `given`, else on itself. Absent: a cluster of iovalkey or of ioredis before 5.6, which would ask any node. */
export function ioredisSubscriber(given: IoRedis, label: string, isOurs: boolean): Subscriber | undefined {
  const redis = isOurs ? duplicateOf(given, label, { shardedSubscribers: true }) : given
  if (!redis.ssubscribe || (redis.isCluster && !redis.shardedSubscribers)) {
    if (isOurs) redis.disconnect()
    return undefined
  }
  // what its user has made connects and queues as its user wants it
  const open = isOurs ? opener(redis) : async () => {}
  const channels = heardOn.get(redis) ?? new Map<string, number>()
  heardOn.set(redis, channels)
  const ends = new Set<() => Promise<void>>()
  // its own way of doing so leaves an error unhandled, which ends the process; if this fails, the connection is lost again
  if (isOurs && !redis.isCluster) {
    redis.on('ready', () => {
      for (const channel of channels.keys()) redis.ssubscribe?.(channel).catch(() => {})
    })
  }
  return {
    async subscribe(channel, heard) {
      if (redis.status !== 'ready') await open()
      const hear: Hear = (from, message) => {
        if (from.toString() === channel) heard(message)
      }
      // before it is asked, or the first message may be missed
      redis.on('smessageBuffer', hear)
      try {
        await redis.ssubscribe?.(channel)
      } catch (error) {
        redis.off('smessageBuffer', hear)
        return rethrow(error, 'SSUBSCRIBE')
      }
      channels.set(channel, (channels.get(channel) ?? 0) + 1)
      const end = async () => {
        if (!ends.delete(end)) return
        redis.off('smessageBuffer', hear)
        const others = (channels.get(channel) ?? 1) - 1
        if (others > 0) return void channels.set(channel, others)
        channels.delete(channel)
        if (redis.status === 'ready') await redis.sunsubscribe?.(channel)
      }
      ends.add(end)
      return end
    },
    async close() {
      if (isOurs) redis.disconnect()
      else await Promise.allSettled([...ends].map((end) => end()))
    },
  }
}

function duplicateOf(given: IoRedis, label: string, ofCluster: object = {}): IoRedis {
  const { redisOptions, ...options } = given.options
  const theirs = redisOptions ?? options
  const ours = {
    connectionName: theirs.connectionName ?? label,
    keyPrefix: '',
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // else what was in flight is never settled
    maxRetriesPerRequest: 0,
    autoResubscribe: false,
    enableAutoPipelining: false,
    stringNumbers: false,
    readOnly: false,
    // as servers of every version answer
    protocol: 2,
    replyMapping: 'legacy',
    // a primary that has become a replica stays one for as long as we stay; 2 would send again
    reconnectOnError: (error: Error) => /^READONLY/.test(error.message) || Boolean(theirs.reconnectOnError?.(error)),
  }
  const redis = given.isCluster
    ? given.duplicate([], {
        ...ofCluster,
        keyPrefix: '',
        lazyConnect: true,
        enableOfflineQueue: false,
        enableAutoPipelining: false,
        scaleReads: 'master',
        // it asks any node, and one that is away would do for the cluster not to be ready
        enableReadyCheck: false,
        // it would send again what was in flight to a node that is gone
        retryDelayOnFailover: 0,
        redisOptions: { ...redisOptions, ...ours },
      })
    : given.duplicate(ours)
  // without a listener it writes to the console, or ends the process; every command says of its own what became of it
  redis.on('error', () => {})
  return redis
}

/** To the node that has `key`, whether or not the command names one. */
function routed(redis: IoRedis, key: Arg): IoRedis {
  if (!redis.isCluster) return redis
  return Object.create(redis, {
    sendCommand: {
      value: (command: IoCommand) => redis.sendCommand(Object.assign(command, { getKeys: () => [key] })),
    },
  })
}

/**
 * Connects when first called, and when it had given up. Only those wait who are there for the first try; it goes on trying behind them.
 */
function opener(redis: IoRedis): () => Promise<unknown> {
  let opening: Promise<void> | undefined
  let settle = (_error?: unknown): void => {}
  redis.on('ready', () => settle())
  // what `connect` has returned is not settled by each way in which a cluster fails
  redis.on('close', () => settle(notReady()))
  return async () => {
    if (redis.status === 'ready') return
    if (redis.status === 'wait' || redis.status === 'end') {
      opening = new Promise((resolve, reject) => {
        settle = (error) => {
          opening = undefined
          if (error === undefined) resolve()
          else reject(error)
        }
      })
      redis.connect().catch((error) => settle(isAnswer(error) ? error : notReady(error)))
    }
    if (!opening) throw notReady()
    await opening
  }
}

const notReady = (cause?: unknown) => new PortError('NOT_READY', 'there is no connection to Redis', cause)

/** These are said of what was never written. */
const UNSENT = /^(Stream isn't writeable|Cluster isn't ready)/

/** A cluster's client says so of what its nodes refused each time; nothing was done. A slot that moves is answered by one with ASK, by the other with TRYAGAIN. */
const REFUSED = /^Too many Cluster redirections\. Last error: ReplyError: (?:(CLUSTERDOWN)|TRYAGAIN|ASK|MOVED) /

function rethrow(error: unknown, command: string): never {
  // it carries the command with all that is in it
  if (error instanceof Error && 'command' in error) delete error.command
  if (isAnswer(error)) throw error
  if (error instanceof Error && UNSENT.test(error.message)) throw notReady(error)
  const refused = error instanceof Error && REFUSED.exec(error.message)
  if (refused) throw new Error(`${refused[1] ?? 'TRYAGAIN'} ${error.message}`, { cause: error })
  throw new PortError('CONNECTION_LOST', `the connection to Redis was lost before ${command} was answered`, error)
}
