/**
 * Real servers for tests, simulations and benches: one by itself, a primary with a replica, a cluster of three, sentinels. Each has a
 * folder and a port of its own and can be killed, frozen and started again in that folder. Whatever becomes of the process that
 * started one, it ends with it: a shell stands beside each and reads from a pipe that nobody writes to, which ends when its process does.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Reply } from '../../js/stores/redis/port.ts'
import { QUICK_FOLDER } from '../js/sqlite/quick-folder.ts'
import { freePort } from '../servers/free-port.ts'
import { Decoder } from './resp.ts'

export interface ServerOptions {
  /** @default the Redis of `redisProgram()` */
  readonly binary?: string
  /** With it the folder lies on a disk, else in memory. @default false */
  readonly appendonly?: boolean
  /** @default 'everysec' */
  readonly appendfsync?: 'always' | 'everysec' | 'no'
  readonly maxmemory?: string
  readonly maxmemoryPolicy?: string
  /** More words of its command line: `['--latency-tracking', 'no']`. */
  readonly args?: readonly string[]
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>
}

const READY_WITHIN_MS = 20_000
const LOOK_EVERY_MS = 5
const MOST_TRIES = 3
const HOST = '127.0.0.1'

/** $1 the program, $2 the folder, which nobody needs any more where the pipe has ended first; then what it is told. It prints the server's process id. */
const BESIDE = `
program=$1 folder=$2; shift 2
exec 3<&0
"$program" "$@" </dev/null >>"$folder/log" 2>&1 3<&- & server=$!
trap '' INT TERM HUP
echo $server
( read -r line <&3; rm -rf "$folder"; kill -KILL $server ) 2>/dev/null & watcher=$!
wait $server
code=$?
kill -KILL $watcher 2>/dev/null
exit $code`

/** The path in an environment variable, or the first of the usual places. */
function programAt(variable: string, places: readonly string[]): string | undefined {
  return process.env[variable] || places.find((place) => existsSync(place))
}

const places = (name: string) => ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'].map((folder) => join(folder, name))
const unpacked = (...parts: string[]) => join(import.meta.dirname, '..', '..', '.tools', ...parts)

/** scripts/setup/redis.mjs leaves it in REDIS_PATH. */
export function redisProgram(): string {
  const found = programAt('REDIS_PATH', [...places('redis-server'), unpacked('redis', 'redis-server')])
  if (!found)
    throw new Error('no redis-server: REDIS_PATH=/path/to/it npm test, or apt-get install redis-tools redis-server')
  return found
}

/** undefined: there is none here. */
export const valkeyProgram = (): string | undefined =>
  programAt('VALKEY_PATH', [...places('valkey-server'), unpacked('valkey', 'valkey-server')])

export class RedisServer {
  readonly port: number
  readonly folder: string
  readonly #program: string
  readonly #told: readonly string[]
  readonly #env: Readonly<Record<string, string>>
  #shell: ChildProcess | undefined
  #pid = 0

  /** `told`: its command line, but for port and folder. */
  constructor(
    port: number,
    folder: string,
    program: string,
    told: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ) {
    this.port = port
    this.folder = folder
    this.#program = program
    this.#told = told
    this.#env = env
  }

  get url(): string {
    return `redis://${HOST}:${this.port}`
  }

  get address(): { readonly host: string; readonly port: number } {
    return { host: HOST, port: this.port }
  }

  /** Its process; 0 while it is not running. */
  get pid(): number {
    return this.#shell ? this.#pid : 0
  }

  /** All that its processes have printed. */
  get log(): string {
    return existsSync(this.#log) ? readFileSync(this.#log, 'utf8') : ''
  }

  get #log(): string {
    return join(this.folder, 'log')
  }

  /** Starts it, or starts it again with what is in its folder. Resolves when it answers, and has loaded that. */
  async start(): Promise<void> {
    if (this.#shell) throw new Error(`the server on port ${this.port} is running already`)
    const shell = spawn('sh', ['-c', BESIDE, 'sh', this.#program, this.folder, ...this.#told], {
      stdio: ['pipe', 'pipe', 'ignore'],
      cwd: this.folder,
      env: { ...process.env, ...this.#env },
    })
    this.#shell = shell
    shell.once('exit', () => {
      shell.stdin?.destroy()
      if (this.#shell === shell) this.#shell = undefined
    })
    const [line] = (await once(shell.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
    this.#pid = Number(`${line}`)
    for (const each of [shell, shell.stdin, shell.stdout]) (each as unknown as { unref(): void }).unref()
    await until(`a server on port ${this.port}`, async () => {
      if (this.#shell !== shell)
        throw new Error(`the server on port ${this.port} has ended:\n${this.log.slice(-2_000)}`)
      return (await this.ask('PING')) === 'PONG'
    })
  }

  /** Ends it in order: what is to be on its disk is there. */
  async stop(): Promise<void> {
    await this.#signal('SIGTERM')
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    await this.#signal('SIGKILL')
  }

  async restart(): Promise<void> {
    await this.stop()
    await this.start()
  }

  /** It keeps its connections, and answers nothing until `thaw`. */
  freeze(): void {
    process.kill(this.#pid, 'SIGSTOP')
  }

  thaw(): void {
    process.kill(this.#pid, 'SIGCONT')
  }

  /** Kills it, and removes its folder. */
  async end(): Promise<void> {
    await this.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end()
  }

  /** Asks it one thing on a connection of its own. An answer that is an error rejects; texts are text. */
  ask(...command: readonly (string | number)[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const decoder = new Decoder()
      const socket = connect(this.port, HOST, () => socket.write(written(command)))
      socket.on('data', (chunk: Buffer) => {
        decoder.feed(chunk)
        const sent = decoder.next()
        if (!sent) return
        socket.destroy()
        if (sent.kind === 'answer') resolve(textOf(sent.value))
        else reject(sent.kind === 'error' ? sent.error : new Error('a message came, and no answer'))
      })
      socket.on('error', reject)
      socket.on('close', () => reject(new Error(`the server on port ${this.port} closed the connection`)))
    })
  }

  /** Fields of INFO. */
  async info(section = 'default'): Promise<Record<string, string>> {
    return fieldsOf(await this.ask('INFO', section))
  }

  async #signal(signal: NodeJS.Signals): Promise<void> {
    const shell = this.#shell
    if (!shell) return
    shell.ref()
    const exited = once(shell, 'exit')
    try {
      process.kill(this.#pid, signal)
    } catch {
      // it has just ended by itself
    }
    await exited
  }
}

/** A port that was free may be another program's by the time that the server asks for it: then it gets another one. */
export async function startServer(options: ServerOptions = {}): Promise<RedisServer> {
  for (let tries = 1; ; tries++) {
    const server = await prepare(options)
    try {
      await server.start()
      return server
    } catch (error) {
      const isTaken = /Address already in use/.test(server.log)
      await server.end()
      if (!isTaken || tries === MOST_TRIES) throw error
    }
  }
}

export interface Replicated {
  readonly primary: RedisServer
  readonly replica: RedisServer
  end(): Promise<void>
}

/** A primary, and a replica that has all that it has. */
export async function startReplicated(options: ServerOptions = {}): Promise<Replicated> {
  const args = [...(options.args ?? []), '--repl-diskless-sync-delay', '0']
  const primary = await startServer({ ...options, args })
  const replica = await startServer({ ...options, args: [...args, '--replicaof', `${HOST} ${primary.port}`] })
  await until('the replica', async () => (await replica.info('replication')).master_link_status === 'up')
  return { primary, replica, end: () => endAll([primary, replica]) }
}

export interface Watched extends Replicated {
  /** The name of the primary among the sentinels. */
  readonly name: string
  readonly sentinels: readonly RedisServer[]
}

/** A primary and a replica, and three sentinels that make that one the primary when the first has been away for `downAfterMs`. */
export async function startSentinels(options: ServerOptions = {}, downAfterMs = 500): Promise<Watched> {
  const { primary, replica } = await startReplicated(options)
  const name = 'main'
  const sentinels = await Promise.all(
    [1, 2, 3].map(async () => {
      const port = await freePort()
      const folder = mkdtempSync(join(QUICK_FOLDER, 'redrive-sentinel-'))
      const file = join(folder, 'sentinel.conf')
      writeFileSync(
        file,
        [
          `port ${port}`,
          `bind ${HOST}`,
          `sentinel monitor ${name} ${HOST} ${primary.port} 2`,
          `sentinel down-after-milliseconds ${name} ${downAfterMs}`,
          `sentinel failover-timeout ${name} 5000`,
        ].join('\n'),
      )
      const sentinel = new RedisServer(port, folder, options.binary ?? redisProgram(), [file, '--sentinel'])
      await sentinel.start()
      return sentinel
    }),
  )
  await until('the sentinels', async () => {
    const told = await Promise.all(sentinels.map((sentinel) => sentinel.info('sentinel')))
    return told.every(({ master0 = '' }) => master0.includes('slaves=1') && master0.includes('sentinels=3'))
  })
  return { primary, replica, name, sentinels, end: () => endAll([...sentinels, primary, replica]) }
}

export interface RedisCluster {
  readonly nodes: readonly RedisServer[]
  /** The node that has the slot of `key`. */
  ownerOf(key: string): Promise<RedisServer>
  end(): Promise<void>
}

const SLOTS = 16_384

/** Three primaries that share the slots. */
export async function startCluster(options: ServerOptions = {}): Promise<RedisCluster> {
  // its second port may be another's by then, too
  const start = async (tries = 1): Promise<{ readonly busPort: number; readonly server: RedisServer }> => {
    const busPort = await freePort()
    const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000', '--cluster-port', `${busPort}`]
    try {
      return { busPort, server: await startServer({ ...options, args: [...(options.args ?? []), ...args] }) }
    } catch (error) {
      if (tries === MOST_TRIES) throw error
      return start(tries + 1)
    }
  }
  const nodes = await Promise.all([start(), start(), start()])
  const servers = nodes.map(({ server }) => server)
  const firstOf = (i: number) => Math.floor((i * SLOTS) / nodes.length)
  await Promise.all(
    servers.map(async (server, i) => {
      await server.ask('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
      await server.ask('CLUSTER', 'ADDSLOTSRANGE', firstOf(i), firstOf(i + 1) - 1)
    }),
  )
  for (const { server, busPort } of nodes.slice(1)) await servers[0]?.ask('CLUSTER', 'MEET', HOST, server.port, busPort)
  const cluster: RedisCluster = {
    nodes: servers,
    async ownerOf(key) {
      const slot = Number(await servers[0]?.ask('CLUSTER', 'KEYSLOT', key))
      const owner = servers.find((_, i) => slot < firstOf(i + 1))
      if (!owner) throw new Error(`no node has slot ${slot}`)
      return owner
    },
    end: () => endAll(servers),
  }
  await isWhole(cluster)
  return cluster
}

/** Resolves when all nodes of a cluster agree that all of it is there. */
export async function isWhole({ nodes }: RedisCluster): Promise<void> {
  await until('the cluster', async () => {
    const told = await Promise.all(nodes.map((node) => node.ask('CLUSTER', 'INFO').then(fieldsOf)))
    return told.every(
      (info) => info.cluster_state === 'ok' && info.cluster_slots_ok === `${SLOTS}` && info.cluster_size === '3',
    )
  })
}

async function prepare(options: ServerOptions): Promise<RedisServer> {
  const { appendonly = false, appendfsync = 'everysec', maxmemory, maxmemoryPolicy, args = [] } = options
  const port = await freePort()
  const folder = mkdtempSync(join(appendonly ? tmpdir() : QUICK_FOLDER, 'redrive-redis-'))
  const told = {
    '--port': `${port}`,
    '--bind': HOST,
    '--dir': folder,
    '--save': '',
    '--appendonly': appendonly ? 'yes' : 'no',
    '--appendfsync': appendfsync,
    ...(maxmemory && { '--maxmemory': maxmemory }),
    ...(maxmemoryPolicy && { '--maxmemory-policy': maxmemoryPolicy }),
  }
  const words = [...Object.entries(told).flat(), ...args]
  return new RedisServer(port, folder, options.binary ?? redisProgram(), words, options.env)
}

async function endAll(servers: readonly RedisServer[]): Promise<void> {
  await Promise.all(servers.map((server) => server.end()))
}

/** A server that does not answer yet has not failed; but one that has ended has. */
async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + READY_WITHIN_MS
  for (;;) {
    const so = await isSo().catch((error: Error) => {
      if (/has ended/.test(error.message)) throw error
      return false
    })
    if (so) return
    if (performance.now() > end) throw new Error(`${what} took longer than ${READY_WITHIN_MS} ms to be ready`)
    await sleep(LOOK_EVERY_MS)
  }
}

const written = (command: readonly (string | number)[]): string =>
  [`*${command.length}`, ...command.map((word) => `$${Buffer.byteLength(`${word}`)}\r\n${word}`), ''].join('\r\n')

const textOf = (reply: Reply): unknown => {
  if (typeof reply !== 'object' || reply === null) return reply
  return Array.isArray(reply) ? reply.map(textOf) : `${reply}`
}

const fieldsOf = (info: unknown): Record<string, string> =>
  Object.fromEntries([...`${info}`.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name, value]) => [name, value]))
