/** A store in a real Redis, which every process opens for itself. All worlds of this process have one server, and each a name of its own. */

import type { Reply } from '../../js/stores/redis/port.ts'
import { type RedisStoreOptions, redisStore } from '../../js/stores/redis.ts'
import { type Line, SyncPort, syncConnection } from '../redis/sync-port.ts'
import type { Connection } from './stores.ts'
import type { VirtualTime } from './time.ts'

type Connected = Awaited<ReturnType<typeof syncConnection>>

let connection: Connected | undefined
let worlds = 0

/** Before the first world: a server needs time of its own to start. */
export async function warmRedis(): Promise<void> {
  connection ??= await syncConnection()
}

export class RedisWorld {
  readonly #name = `world-${++worlds}`
  readonly #connection: Connected
  readonly #time: VirtualTime
  readonly #options: Omit<RedisStoreOptions, 'client'>

  constructor(time: VirtualTime, options: Omit<RedisStoreOptions, 'client' | 'name'>) {
    if (!connection) throw new Error('no server has been started: warmRedis() does that')
    this.#connection = connection
    this.#time = time
    this.#options = { ...options, name: this.#name }
  }

  /** `letGo`: the process is gone, with all that its store would still do. */
  connect(line?: Line): Connection {
    const client = new SyncPort(this.#connection, line)
    let isGone = false
    const after = (ms: number, wake: () => void) => this.#time.after(ms, () => isGone || wake())
    const { clock } = this.#options
    const store = redisStore({ ...this.#options, client, ...(clock && { clock: { ...clock, after } }) })
    const letGo = () => {
      isGone = true
      client.die()
    }
    return { store, letGo }
  }

  /** All that is kept, by key. */
  contents(): readonly (readonly [where: string, bytes: unknown])[] {
    return this.#keys().map((key) => {
      const type = String(this.#ask('TYPE', key))
      const [command, ...rest] = READ[type] ?? []
      if (!command) throw new TypeError(`${key} is a ${type}, which nothing here reads`)
      return [key, this.#ask(command, key, ...rest)] as const
    })
  }

  async close(): Promise<void> {
    const keys = this.#keys()
    if (keys.length > 0) this.#ask('DEL', ...keys)
  }

  #keys(): readonly string[] {
    const keys = this.#ask('KEYS', `*{redrive:${this.#name}}*`)
    return Array.isArray(keys) ? keys.map(String) : []
  }

  #ask(...parts: readonly string[]): Reply {
    return this.#connection.ask(parts)
  }
}

/** How each type of key is read as a whole. */
const READ: Readonly<Record<string, readonly string[]>> = {
  string: ['GET'],
  hash: ['HGETALL'],
  set: ['SMEMBERS'],
  zset: ['ZRANGE', '0', '-1', 'WITHSCORES'],
  list: ['LRANGE', '0', '-1'],
  stream: ['XRANGE', '-', '+'],
}
