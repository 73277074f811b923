/**
 * A queue process on a Redis. Every other one has a client of node-redis, the others one of ioredis, each with that client's own
 * settings.
 *
 *   node member.ts '{"life":"2.7","url":"http://127.0.0.1:1234","redisPort":1235,"folder":"...","seed":5}'
 */

import { queueProcess } from '../queue-process.ts'
import { redisPackage } from './built.ts'
import { type RedisMemberOptions, type Request, STORE } from './requests.ts'
import { wrongStore } from './wrong-store.ts'

/** Loaded by those who use them: either takes as long to load as all the rest. */
const CLIENTS: readonly ((port: number) => Promise<unknown>)[] = [
  async (port) => (await import('redis')).createClient({ url: `redis://127.0.0.1:${port}` }),
  async (port) => new (await import('ioredis')).Redis({ host: '127.0.0.1', port, lazyConnect: true }),
]

const options: RedisMemberOptions = JSON.parse(process.argv[2] ?? '{}')
const { life, url, redisPort, breaks, concurrencyPerOrigin, replicas } = options
const { RetryQueue, redisStore } = await redisPackage()
const place = Number(life.split('.')[0])
const client = await CLIENTS[place % CLIENTS.length]?.(redisPort)
// half of each kind of client
const confirmed = place % (2 * CLIENTS.length) < CLIENTS.length ? replicas : 0

await queueProcess({
  options,
  Queue: RetryQueue,
  store: wrongStore(
    redisStore({ client, name: STORE, idleCheckMs: 500, replicas: confirmed, ackTimeoutMs: 1_000 }),
    breaks,
  ),
  breaks: breaks === 'no-lease' ? breaks : undefined,
  limits: { concurrencyPerOrigin },
  async take(queue, { kind, key, body, host, orderKey, taskId = '' }: Request) {
    if (kind === 'cancel') return { taskId, durability: await queue.cancel(taskId) }
    const target = new URL('/api/orders?via=enqueue', url)
    target.hostname = host
    return queue.enqueue(target.href, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redrive: { ...(key !== undefined && { idempotencyKey: key }), ...(orderKey !== undefined && { orderKey }) },
    })
  },
})
