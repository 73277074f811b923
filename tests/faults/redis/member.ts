/**
 * One queue process: a real queue on a Redis, told by its parent what to do. It knows nothing of being killed. Of the processes
 * every other one has a client of node-redis, the others one of ioredis, each with that client's own settings.
 *
 *   node member.ts '{"life":"2.7","url":"http://127.0.0.1:1234","redisPort":1235,"folder":"...","seed":5}'
 */

import { logFile } from '../log.ts'
import type { Aimed, Told } from '../member.ts'
import { tellParent, whenParentGoes } from '../parent.ts'
import { watchedStore } from '../watched-store.ts'
import { redisPackage } from './built.ts'
import { type RedisMemberOptions, type Request, STORE } from './requests.ts'
import { wrongStore } from './wrong-store.ts'

const POLICY = {
  // a crash costs an attempt, and here there are many
  maxAttempts: 30,
  initialDelayMs: 100,
  maxDelayMs: 400,
  attemptTimeoutMs: 10_000,
} as const

/** Loaded by those who use them: either takes as long to load as all the rest. */
const CLIENTS: readonly ((port: number) => Promise<unknown>)[] = [
  async (port) => (await import('redis')).createClient({ url: `redis://127.0.0.1:${port}` }),
  async (port) => new (await import('ioredis')).Redis({ host: '127.0.0.1', port, lazyConnect: true }),
]

async function main(options: RedisMemberOptions): Promise<void> {
  const { life, url, redisPort, folder, seed, breaks, concurrency, concurrencyPerOrigin, replicas } = options
  const { RetryQueue, redisStore } = await redisPackage()
  const place = Number(life.split('.')[0])
  const client = await CLIENTS[place % CLIENTS.length]?.(redisPort)
  // half of each kind of client
  const confirmed = place % (2 * CLIENTS.length) < CLIENTS.length ? replicas : 0
  const real = redisStore({ client, name: STORE, idleCheckMs: 500, replicas: confirmed, ackTimeoutMs: 1_000 })
  const lease = breaks === 'no-lease' ? breaks : undefined
  const { store, tokenOf, aim } = watchedStore(wrongStore(real, breaks), {
    file: logFile(folder, life),
    breaks: lease,
    ownLeases: false,
  })
  const send: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set('x-attempt', `${life} ${tokenOf(headers.get('idempotency-key') ?? '') ?? ''} ${Date.now()}`)
    return fetch(input, { ...init, headers })
  }
  const queue = new RetryQueue({
    // it is told to do what gates are there to prevent
    breaker: false,
    retryBudget: false,
    store,
    principal: null,
    concurrency,
    concurrencyPerOrigin,
    capacity: 1_000_000,
    // nothing may be forgotten before it is judged
    retention: { maxTerminal: 1_000_000, maxDeadLetters: 1_000_000 },
    policy: POLICY,
    fetch: send,
    seed: BigInt(seed),
  })
  queue.on('degraded', ({ code, message }) => tell({ what: 'degraded', message: `${code}: ${message}` }))

  process.on('message', async (asked: Request | Aimed) => {
    if ('aimedAt' in asked) return aim(asked.aimedAt)
    const { intent, kind, key, body, host, orderKey, taskId } = asked
    try {
      if (kind === 'cancel') {
        return tell({ what: 'accepted', intent, taskId: taskId ?? '', durability: await queue.cancel(taskId ?? '') })
      }
      const target = new URL('/api/orders?via=enqueue', url)
      target.hostname = host
      const accepted = await queue.enqueue(target.href, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        redrive: { ...(key !== undefined && { idempotencyKey: key }), ...(orderKey !== undefined && { orderKey }) },
      })
      tell({ what: 'accepted', intent, taskId: accepted.taskId, durability: accepted.durability })
    } catch (error) {
      const { code } = error as { readonly code?: string }
      const words = error instanceof Error && error.cause ? `${error} (${error.cause})` : String(error)
      tell({ what: 'refused', intent, message: words, ...(code !== undefined && { code }) })
    }
  })
  whenParentGoes(() => void queue.close().then(() => process.exit(0)))
  await queue.ready
  tell({ what: 'ready' })
}

const tell = (told: Told): void => tellParent(told)

await main(JSON.parse(process.argv[2] ?? '{}'))
