/**
 * Which client it is that a store was given, and a port over it. Clients are known by what they can do: none of them is imported, as
 * each is its user's, in the version that the user has.
 */

import { systemClock } from '../../platform/clock.ts'
import { type IoRedis, ioredisCommands, ioredisSubscriber } from './ioredis.ts'
import { type NodeRedis, nodeRedisCommands, nodeRedisSubscriber } from './node-redis.ts'
import { type Commands, PortError, type RedisPort, type Subscriber } from './port.ts'

type Known =
  | { readonly kind: 'port'; readonly client: RedisPort }
  | { readonly kind: 'ioredis'; readonly client: IoRedis }
  | { readonly kind: 'node-redis'; readonly client: NodeRedis }

/**
 * A port over `client`: on connections of its own, made like the client's when they are first needed. The client itself need not be
 * connected, and is never used.
 *
 * `subscriber` absent: hints come by one more of these. Given: by that one, which its user connects and closes. null: there are none.
 * `label` is what CLIENT LIST shows.
 */
export function portOf(client: unknown, subscriber?: unknown, label = 'redrive'): RedisPort {
  const known = recognise('client', client)
  const listener = subscriber === undefined || subscriber === null ? undefined : recognise('subscriber', subscriber)
  if (listener?.kind === 'port' && !listener.client.subscribe) {
    throw new TypeError(`redisStore.subscriber: expected ${EXPECTED}, got a RedisPort without subscribe`)
  }
  const hears =
    listener !== undefined
      ? subscriberOf(listener, label, false)
      : subscriber === undefined
        ? subscriberOf(known, label, true)
        : undefined
  const port = known.kind === 'port' ? known.client : commandsOf(known, label)
  return {
    call: (command, args, key) => port.call(command, args, key),
    onReconnect: (again) => port.onReconnect(again),
    ...(hears && { subscribe: (channel, heard) => soon(hears.subscribe(channel, heard)) }),
    async close() {
      await Promise.all([hears && left(hears.close()), port.close()])
    },
  }
}

/** Longer is not waited for a subscription: clusters wait for as long as a node is away. */
const SUBSCRIBED_WITHIN_MS = 2_000

/** The end of a subscription. One that comes too late is ended, since its caller asks again. */
function soon(subscribed: Promise<() => Promise<void>>): Promise<() => Promise<void>> {
  return new Promise((resolve, reject) => {
    let isLate = false
    const disarm = systemClock.after(SUBSCRIBED_WITHIN_MS, () => {
      isLate = true
      reject(new PortError('NOT_READY', `Redis took longer than ${SUBSCRIBED_WITHIN_MS} ms to subscribe`))
    })
    subscribed
      .then((end) => (isLate ? end() : resolve(() => left(end()))))
      .catch(reject)
      .finally(disarm)
  })
}

/** Longer is not waited for a server to say that it was left: it may be away, and its connection ends all the same. */
const LEFT_WITHIN_MS = 1_000

function left(leaving: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const disarm = systemClock.after(LEFT_WITHIN_MS, resolve)
    const over = (): void => {
      disarm()
      resolve()
    }
    leaving.then(over, over)
  })
}

function commandsOf(known: Exclude<Known, { kind: 'port' }>, label: string): Commands {
  return known.kind === 'ioredis' ? ioredisCommands(known.client, label) : nodeRedisCommands(known.client, label)
}

function subscriberOf(known: Known, label: string, isOurs: boolean): Subscriber | undefined {
  switch (known.kind) {
    case 'ioredis':
      return ioredisSubscriber(known.client, label, isOurs)
    case 'node-redis':
      return nodeRedisSubscriber(known.client, label, isOurs)
    case 'port': {
      const { client } = known
      // it ends what it has opened itself
      const subscribe = client.subscribe?.bind(client)
      return subscribe && { subscribe, close: async () => {} }
    }
  }
}

const EXPECTED = 'a client or cluster of redis 5 or later, of ioredis or iovalkey, or a RedisPort'

function recognise(option: 'client' | 'subscriber', value: unknown): Known {
  if (can(value, 'call', 'onReconnect', 'close')) return { kind: 'port', client: value as RedisPort }
  if (can(value, 'callBuffer', 'duplicate', 'disconnect', 'connect')) {
    return { kind: 'ioredis', client: value as IoRedis }
  }
  if (can(value, 'sendCommand', 'duplicate', 'withTypeMapping', 'connect', 'destroy')) {
    return { kind: 'node-redis', client: value as NodeRedis }
  }
  throw new TypeError(`redisStore.${option}: expected ${EXPECTED}, got ${wordsFor(value)}`)
}

const can = (value: unknown, ...methods: readonly string[]): boolean =>
  typeof value === 'object' &&
  value !== null &&
  methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')

/** The value that came, in words, and what to do about it. Never the text of a string: a URL may hold a password. */
function wordsFor(value: unknown): string {
  if (value === undefined || value === null) return `${value}`
  if (typeof value === 'string') return 'a string: give a client for that URL, such as createClient({ url }) of redis'
  if (can(value, 'then')) return 'a promise: await it first'
  // an array of nodes, options such as { host, port }
  if (typeof value !== 'object' || Object.getPrototypeOf(value) === Object.prototype || Array.isArray(value)) {
    const kind = Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : `a ${typeof value}`
    return `${kind}: give a client that is made of such options`
  }
  if (can(value, 'sendCommand', 'execute', 'withTypeMapping')) return 'a pool: give the client that it is made of'
  if (can(value, 'sendCommand', 'getSentinelNode')) return 'a sentinel that cannot be duplicated: upgrade redis'
  if (can(value, 'sendCommand') || can(value, 'send_command', 'internal_send_command')) {
    return 'a client of redis before version 5: upgrade it'
  }
  const name = value.constructor?.name
  const hint = can(value, 'add', 'waitUntilReady') || can(value, 'run', 'waitUntilReady') ? ' of BullMQ' : ''
  return `an object of class ${name}${hint}: give its client`
}

/** A port that is made anew when it is used after it was closed. */
export function reopening(make: () => RedisPort): RedisPort {
  let port: RedisPort | undefined = make()
  const listeners = new Map<() => void, () => void>()
  const current = (): RedisPort => {
    if (port) return port
    port = make()
    for (const again of listeners.keys()) listeners.set(again, port.onReconnect(again))
    return port
  }
  const hears = port.subscribe !== undefined
  return {
    call: (command, args, key) => current().call(command, args, key),
    ...(hears && {
      subscribe: (channel: string, heard: Parameters<NonNullable<RedisPort['subscribe']>>[1]) =>
        current().subscribe?.(channel, heard) ?? Promise.resolve(async () => {}),
    }),
    onReconnect(again) {
      listeners.set(again, current().onReconnect(again))
      return () => {
        listeners.get(again)?.()
        listeners.delete(again)
      }
    },
    async close() {
      const closed = port
      port = undefined
      await closed?.close()
    },
  }
}
