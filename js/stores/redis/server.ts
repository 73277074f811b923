/** The server that a store lies in: whether it may be used, what it promises, and what it tells of other processes. */

import type { Buffer } from 'node:buffer'
import { RedriveError } from '../../api/errors.ts'
import type { Hint, Report, StoreRoom } from '../../api/store.ts'
import type { Durability } from '../../api/task.ts'
import { translated, unavailable } from './failures.ts'
import { hintsIn } from './hints.ts'
import type { RedisPort } from './port.ts'
import { channelOf, keysOf } from './scripts.ts'
import type { Session } from './session.ts'

interface ServerOptions {
  readonly fsync?: boolean
  readonly replicas?: number
  readonly ackTimeoutMs?: number
  readonly allowEviction?: boolean
}

export const ACK_TIMEOUT_MS = 2_000

/** Bytes of the name that hints begin with: who has published them. */
const SENDER = 16

export class Server {
  readonly #name: string
  readonly #port: RedisPort
  readonly #key: string
  readonly #options: ServerOptions
  #durability: Durability = 'relaxed'
  #unsubscribe: Promise<() => Promise<void>> | undefined
  /** Its settings, as they were last reported. */
  #unsafe: string | undefined

  constructor(name: string, port: RedisPort, options: ServerOptions) {
    this.#name = name
    this.#port = port
    this.#key = keysOf(name)[0] as string
    this.#options = options
    if (options.fsync) this.#durability = 'strict'
    if (options.replicas) this.#durability = 'replicated'
  }

  /** Whether an `enqueue` waits for a disk or for replicas, on a connection that nothing else may wait for. */
  get confirms(): boolean {
    const { fsync = false, replicas = 0 } = this.#options
    return fsync || replicas > 0
  }

  /** The faults that a resolved `enqueue` survives: a guess until the server has been asked. */
  get durability(): Durability {
    return this.#durability
  }

  /** Asks what the server is. Rejects where no store can be kept there. */
  async open(report: Report | undefined): Promise<void> {
    const info = await this.#info()
    // until then it says that it keeps no file
    if (info.get('loading') === '1') throw new Error('LOADING the server is reading its data')
    this.#checkVersion(info)
    const unsafe = this.#unsafeBy(info)
    if (unsafe !== undefined && !this.#options.allowEviction) {
      throw new RedriveError('STORAGE_UNSAFE', `${unsafe}, or give allowEviction: true`)
    }
    this.#tellUnsafe(unsafe, report)
    this.#durability = await this.#promiseOf(info)
    if (this.#durability !== 'memory') return
    report?.(
      'storage_unsafe',
      `the store '${this.#name}' in Redis: the server keeps nothing on disk and has no replica, so its tasks are lost when it ends; set appendonly yes`,
    )
  }

  async #info(): Promise<ReadonlyMap<string, string>> {
    const sections = ['server', 'memory', 'persistence', 'replication']
    const fields = new Map<string, string>()
    for (const line of String(await this.#port.call('INFO', sections, this.#key)).split(/\r?\n/)) {
      const at = line.indexOf(':')
      if (at > 0) fields.set(line.slice(0, at), line.slice(at + 1))
    }
    return fields
  }

  #checkVersion(info: ReadonlyMap<string, string>): void {
    const valkey = info.get('valkey_version')
    const version = valkey ?? info.get('redis_version') ?? ''
    const [major = 0, minor = 0] = version.split('.').map(Number)
    const isOld = valkey ? major < 7 || (major === 7 && minor < 2) : major < 7
    if (isOld) {
      throw unavailable(
        this.#name,
        `the server is ${version || 'of an unknown version'}; Redis 7.0 or Valkey 7.2 is the oldest that will do`,
      )
    }
    if (this.#options.fsync && info.get('aof_enabled') !== '1') {
      throw unavailable(
        this.#name,
        'fsync asks for an append-only file, which the server does not keep; set appendonly yes there',
      )
    }
    const hasSync = valkey !== undefined || major > 7 || (major === 7 && minor >= 2)
    if (this.#options.fsync && !hasSync) {
      throw unavailable(
        this.#name,
        `fsync needs WAITAOF, which this server (${version}) lacks; use Redis 7.2 or Valkey 7.2, or set appendfsync always there`,
      )
    }
  }

  /** Why a server of these settings may lose tasks by itself, in words. */
  #unsafeBy(info: ReadonlyMap<string, string>): string | undefined {
    const policy = info.get('maxmemory_policy') ?? 'noeviction'
    if (policy === 'noeviction') return undefined
    return `the store '${this.#name}' in Redis: maxmemory-policy is ${policy}, so the server may delete tasks that were accepted; set it to noeviction`
  }

  /** Tells it once, until it is safe again. */
  #tellUnsafe(unsafe: string | undefined, report: Report | undefined): void {
    if (unsafe !== undefined && unsafe !== this.#unsafe) report?.('storage_unsafe', unsafe)
    this.#unsafe = unsafe
  }

  /** How full its memory is, and whether it has become one that deletes tasks: settings change while a server runs. */
  async room(report: Report | undefined): Promise<StoreRoom> {
    const info = await this.#info()
    const unsafe = this.#unsafeBy(info)
    this.#tellUnsafe(unsafe, report)
    const limitBytes = Number(info.get('maxmemory') ?? 0)
    return {
      of: 'memory',
      usedBytes: Number(info.get('used_memory') ?? 0),
      ...(limitBytes > 0 && { limitBytes }),
      ...(unsafe !== undefined && !this.#options.allowEviction && { unsafe }),
    }
  }

  async #promiseOf(info: ReadonlyMap<string, string>): Promise<Durability> {
    const { fsync, replicas = 0 } = this.#options
    if (replicas > 0) return 'replicated'
    if (info.get('aof_enabled') !== '1') return Number(info.get('connected_slaves') ?? 0) > 0 ? 'relaxed' : 'memory'
    if (fsync) return 'strict'
    return (await this.#appendFsync()) === 'always' ? 'strict' : 'relaxed'
  }

  /** Where its user may not ask, the server's own default is taken for granted. */
  async #appendFsync(): Promise<string> {
    try {
      const reply = (await this.#port.call('CONFIG', ['GET', 'appendfsync'], this.#key)) as readonly unknown[]
      return String(reply[1] ?? 'everysec')
    } catch (error) {
      if (/NOPERM|unknown command/.test(String(error))) return 'everysec'
      throw error
    }
  }

  /** Resolves when what was written before, on this connection, survives what the store promises. */
  async confirm(port: RedisPort): Promise<void> {
    const { fsync, replicas = 0, ackTimeoutMs = ACK_TIMEOUT_MS } = this.#options
    if (!fsync && replicas === 0) return
    const asked = fsync
      ? (['WAITAOF', ['1', String(replicas), String(ackTimeoutMs)]] as const)
      : (['WAIT', [String(replicas), String(ackTimeoutMs)]] as const)
    let reply: unknown
    try {
      reply = await port.call(asked[0], asked[1], this.#key)
    } catch (error) {
      throw translated(error, this.#name)
    }
    const [local, others] = fsync ? (reply as readonly number[]) : [1, reply as number]
    if (Number(local) >= 1 && Number(others) >= replicas) return
    throw unavailable(
      this.#name,
      `${others} of ${replicas} replicas${fsync ? ` and ${local} of 1 disks` : ''} have confirmed within ${ackTimeoutMs} ms; the tasks may be stored; with the same idempotency key, asking again stores none twice`,
    )
  }

  /** Hints of this process, and of others where they can be heard. */
  listen(session: Session, listener: (hint: Hint) => void): () => void {
    this.hear(session)
    return session.listen(listener)
  }

  /** Begins to hear other processes. Where that fails it is tried again with the next connection; until then a queue looks by itself. */
  hear(session: Session): void {
    const { subscribe } = this.#port
    if (!subscribe || this.#unsubscribe) return
    const heard = (message: Buffer): void => {
      if (!message.subarray(0, SENDER).equals(session.sender)) session.tell(hintsIn(message.subarray(SENDER)))
    }
    const begun = subscribe(channelOf(this.#name), heard).catch((error: unknown) => {
      if (this.#unsubscribe === begun) this.#unsubscribe = undefined
      session.report?.(
        'storage_unavailable',
        `the store '${this.#name}' in Redis: work of other processes cannot be heard (${String(error)}), and is looked for now and then`,
      )
      return async () => {}
    })
    this.#unsubscribe = begun
  }

  /** Ends its connections; they are made anew when they are needed. */
  async close(): Promise<void> {
    const unsubscribe = await this.#unsubscribe
    this.#unsubscribe = undefined
    await unsubscribe?.()
  }
}
