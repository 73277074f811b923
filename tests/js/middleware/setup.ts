import { freshFolder } from '../../folder.ts'
/** A service whose failed requests are kept in a SQLite file, and what it was sent. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { InboundOptions } from '../../../js/adapters/inbound/options.ts'
import { type QueueEvents, RetryQueue, type RetryQueueOptions } from '../../../js/index.ts'
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { NO_GATES } from '../setup.ts'
import { type Handler, type Seen, type Served, type Skin, serve } from './servers.ts'

/** Waits of some milliseconds, in real time. */
export const QUICK = { policyId: 'default', jitterType: 'NONE', initialDelayMs: 5, maxDelayMs: 20 } as const

/** An error as Node's sockets throw it, and databases' clients with them. */
export const refused = (): Error =>
  Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:5432'), { code: 'ECONNREFUSED' })

export interface Kept {
  readonly queue: RetryQueue
  readonly degraded: QueueEvents['degraded'][]
}

/** A queue over the file in `at`. */
export function queueIn(at: string, options: RetryQueueOptions = {}): Kept {
  const policy = { ...QUICK, ...options.policy }
  const store = sqliteStore({ path: join(at, 'tasks.db'), idleCheckMs: 20 })
  const queue = new RetryQueue({ store, warn: false, ...NO_GATES, ...options, policy })
  const degraded: QueueEvents['degraded'][] = []
  queue.on('degraded', (event) => degraded.push(event))
  onTestFinished(() => queue.close({ drainMs: 0 }))
  return { queue, degraded }
}

/** All that lies in the files of a store. */
export const bytesIn = (at: string): Buffer =>
  Buffer.concat(
    readdirSync(at, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name))),
  )

/** A task waits so long that a test is over before. */
export const LATER = { policy: { initialDelayMs: 60_000, maxDelayMs: 60_000 } } as const

export interface Bench extends Kept {
  readonly server: Served
  readonly origin: string
}

/** A server that has no app yet, and a queue whose tasks wait. */
export async function bench(): Promise<Bench> {
  const server = await serve()
  onTestFinished(() => server[Symbol.asyncDispose]())
  return { ...queueIn(freshFolder(), LATER), server, origin: server.origin }
}

export interface Service extends Bench {
  readonly at: string
  /** The requests that the handler was given, in order. */
  readonly seen: Seen[]
}

export interface Wish {
  readonly handler: Handler
  readonly options?: RetryQueueOptions
  /** Made of the service's own origin, since that is not known before. */
  readonly more?: (origin: string) => RetryQueueOptions
  /** Called before the middleware is made. */
  readonly attach?: (queue: RetryQueue) => void
  readonly inbound?: Partial<InboundOptions & { readonly maxBodyBytes: number }>
}

export async function service(skin: Skin, { handler, options, more, attach, inbound }: Wish): Promise<Service> {
  const at = freshFolder()
  const server = await serve()
  onTestFinished(() => server[Symbol.asyncDispose]())
  const { origin } = server
  const kept = queueIn(at, { ...options, ...more?.(origin) })
  attach?.(kept.queue)
  const seen: Seen[] = []
  const mounted = { queue: kept.queue, inbound: { origin, ...inbound } }
  server.listen(
    await skin.mount({
      ...mounted,
      handler: (request) => {
        seen.push(request)
        return handler(request)
      },
    }),
  )
  return { ...kept, server, origin, at, seen }
}

/** Fails so often, and then succeeds. */
export function failing(times: number, error: () => unknown = refused): Handler {
  let left = times
  return () => {
    if (left-- > 0) throw error()
    return { ok: true }
  }
}
