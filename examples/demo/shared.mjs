/**
 * A process of `--redis`: a queue on a Redis that it shares with three others, as a service with several instances would have it.
 *
 * An order is accepted once Redis has its task. Orders have their name as their key: placed again, with whatever process,
 * they are the same.
 */
import { RetryQueue } from '../../pkg/index.js'
import { redisStore } from '../../pkg/redis.js'
import { pauseLeftMs } from './board.js'
import { order, queueOptions } from './calls.js'

/** A queue asks for 30 s, after which another process repeats what a killed one had in flight; too long for a demo. */
const leaseMs = 2_000
/** Nor does a process that is asked to end wait longer than this for a server that is gone. */
const patienceMs = 2_000

const clients = {
  'node-redis': async (url) => (await import('redis')).createClient({ url }),
  ioredis: async (url) => new (await import('ioredis')).Redis(url, { lazyConnect: true }),
}

const { url, redisUrl, library } = JSON.parse(process.argv[2])
const redis = redisStore({ client: await clients[library](redisUrl), name: 'orders' })
const store = {
  ...redis,
  turn: (step) => redis.turn({ ...step, claim: step.claim && { ...step.claim, leaseMs } }),
}
const queue = new RetryQueue({ ...queueOptions, store, principal: 'shop', warn: false })

// the parent is gone: there is no process left to tell
const tell = (message) => process.connected && process.send(message, () => {})

for (const event of ['queued', 'attempt', 'retry', 'succeeded', 'exhausted', 'cancelled']) {
  queue.on(event, ({ task, delayMs, log }) => tell({ event, payload: { task, delayMs, log } }))
}
queue.on('degraded', ({ message }) => tell({ event: 'degraded', payload: message }))
setInterval(() => tell({ pauseEndsAt: Date.now() + pauseLeftMs(queue) }), 100).unref()

process.on('message', async ({ place, find }) => {
  if (place) tell({ answer: place, value: await accepted(place) })
  if (find) tell({ answer: find, value: await found().catch(() => undefined) })
})
process.once('disconnect', end)
// it may have gone while this process loaded
if (!process.connected) end()

await queue.ready
tell({ answer: 'ready', value: { leaseMs } })

function end() {
  setTimeout(() => process.exit(0), patienceMs)
  queue.close().then(() => process.exit(0))
}

/** While Redis is down, an enqueue rejects: the caller knows that the order is not stored, and places it again. */
async function accepted(intent) {
  const [target, init] = order(url, intent, 'enqueue')
  const receipt = queue.enqueue(target, { ...init, redrive: { idempotencyKey: intent } })
  return receipt.then(
    ({ durability }) => durability !== 'memory',
    () => false,
  )
}

/** What is in Redis. */
async function found() {
  const { tasks } = await store.list({ limit: 10_000 })
  const intentOf = ({ targetUrl }) => new URL(targetUrl).searchParams.get('intent')
  const of = (status) => tasks.filter((task) => task.status === status).map(intentOf)
  return {
    all: tasks.map(intentOf),
    done: of('SUCCEEDED'),
    waiting: of('PENDING').length,
    leased: of('IN_FLIGHT').length,
  }
}
