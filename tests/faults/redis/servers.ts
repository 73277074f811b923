/** The Redis of a run, the way to it, and where there are failovers a replica, with a way of its own to what it copies. */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type RedisServer, type ServerOptions, startServer } from '../../redis/servers.ts'
import { wait, within } from '../runner.ts'
import { Way } from './way.ts'

const HOST = '127.0.0.1'
const IN_TIME_MS = 20_000
/** Room that is left when there is none: books can be kept, and a task does not fit. */
const LESS_BYTES = 1_000_000

/** With 'everysec' Redis keeps back what it has answered for as long as the system syncs its file, and for so long at most. */
const UNWRITTEN_MS = 2_500

/** A time of which nothing may be left: what was done in it only a primary had that is gone, or only its memory. */
export interface Lag {
  readonly from: number
  readonly until: number
}

interface Asked {
  readonly hasReplica?: boolean
  /** Wrong on purpose: what was on its disk is gone after a kill. */
  readonly forgets?: boolean
}

export class Servers {
  primary: RedisServer
  readonly front: Way
  readonly lags: Lag[] = []
  readonly forgets: boolean = false
  readonly #replica: { server: RedisServer; readonly way: Way } | undefined
  readonly #mayBeBehind: boolean

  private constructor(
    { appendfsync }: ServerOptions,
    primary: RedisServer,
    front: Way,
    replica?: { server: RedisServer; way: Way },
  ) {
    this.#mayBeBehind = appendfsync !== 'always'
    this.primary = primary
    this.front = front
    this.#replica = replica
  }

  static async start(options: ServerOptions, { hasReplica = false, forgets = false }: Asked): Promise<Servers> {
    const told = { ...options, args: [...(options.args ?? []), '--repl-diskless-sync-delay', '0'] }
    const primary = await startServer(told)
    const front = await Way.start(primary.port)
    if (!hasReplica) return Object.assign(new Servers(options, primary, front), { forgets })
    const server = await startServer(told)
    const way = await Way.start(primary.port)
    const servers = new Servers(options, primary, front, { server, way })
    await servers.#follow()
    return servers
  }

  /** As the system kills a process; its folder stays. */
  async killAndStart(awayMs: number): Promise<void> {
    const from = Date.now() - UNWRITTEN_MS
    await this.primary.kill()
    if (this.#mayBeBehind) this.lags.push({ from, until: Date.now() })
    if (this.forgets) rmSync(join(this.primary.folder, 'appendonlydir'), { recursive: true, force: true })
    await wait(awayMs)
    await this.primary.start()
  }

  /** It takes no new task for so long. */
  async full(forMs: number): Promise<void> {
    const { used_memory: used } = await this.primary.info('memory')
    await this.primary.ask('CONFIG', 'SET', 'maxmemory', Math.max(1, Number(used) - LESS_BYTES))
    await wait(forMs)
    await this.primary.ask('CONFIG', 'SET', 'maxmemory', 0)
  }

  /** The replica hears nothing for so long, and then is the primary; the other one becomes its replica. */
  async failover(lagMs: number): Promise<void> {
    const replica = this.#replica
    if (!replica) throw new Error('there is no replica')
    await this.#follow()
    const from = Date.now()
    // what it has heard by then it may have
    const old = this.primary
    await replica.way.hold(
      ['answers'],
      wait(lagMs).then(() => old.kill()),
      true,
    )
    await replica.server.ask('REPLICAOF', 'NO', 'ONE')
    this.primary = replica.server
    this.front.lead(this.primary.port)
    this.lags.push({ from, until: Date.now() })
    replica.server = old
    await old.start()
    replica.way.lead(this.primary.port)
    await this.#follow()
  }

  async end(): Promise<void> {
    await Promise.all([this.front.close(), this.#replica?.way.close()])
    await Promise.all([this.primary.end(), this.#replica?.server.end()])
  }

  /** Resolves when the replica has all that there is. */
  async #follow(): Promise<void> {
    const replica = this.#replica
    if (!replica) return
    const { role } = await replica.server.info('replication')
    if (role === 'master') await replica.server.ask('REPLICAOF', HOST, replica.way.port)
    const isThere = await within(IN_TIME_MS, async () => {
      const [above, below] = await Promise.all([this.primary.info('replication'), replica.server.info('replication')])
      const isUp = below.master_link_status === 'up'
      return isUp && Number(below.slave_repl_offset ?? 0) >= Number(above.master_repl_offset) - 200
    })
    if (!isThere) throw new Error('the replica does not come up')
  }
}
