/**
 * The process that `--kill` kills: a queue on a SQLite file, as a service would have it, and no provision for its end.
 *
 * An order is accepted once its task is on the disk. Orders have their name as their key: placed again, they are the same.
 */
import { join } from 'node:path'
import { RetryQueue } from '../../pkg/index.js'
import { sqliteStore } from '../../pkg/sqlite.js'
import { pauseLeftMs } from './board.js'
import { order, queueOptions } from './calls.js'

/** A queue asks for 30 s, after which another process repeats what a killed one had in flight; too long for a demo. */
const leaseMs = 2_000

const { folder, url } = JSON.parse(process.argv[2])
const file = sqliteStore({ path: join(folder, 'orders.db') })
const store = {
  ...file,
  turn: (step) => file.turn({ ...step, claim: step.claim && { ...step.claim, leaseMs } }),
}
const { pending: waiting, inFlight: leased } = await store.counts()
const queue = new RetryQueue({ ...queueOptions, store, principal: 'shop' })

// the parent is gone: there is no process left to tell
const tell = (message) => process.connected && process.send(message, () => {})

for (const event of ['queued', 'attempt', 'retry', 'succeeded', 'exhausted', 'cancelled']) {
  queue.on(event, ({ task, delayMs, log }) => tell({ event, payload: { task, delayMs, log } }))
}
setInterval(() => tell({ pauseEndsAt: Date.now() + pauseLeftMs(queue) }), 100).unref()

process.on('message', async ({ place, count }) => {
  if (place) tell({ answer: place, value: await accepted(place) })
  if (count) tell({ answer: count, value: (await store.counts()).succeeded })
})
const end = () => queue.close().then(() => process.exit(0))
process.once('disconnect', end)
// it may have gone while this process loaded
if (!process.connected) end()

await queue.ready
tell({ answer: 'ready', value: { waiting, leased, leaseMs, ended: await endedIntents() } })

async function accepted(intent) {
  const [target, init] = order(url, intent, 'enqueue')
  const { durability } = await queue.enqueue(target, { ...init, redrive: { idempotencyKey: intent } })
  return durability === 'strict'
}

/** The last words of a killed process may not have been heard. */
async function endedIntents() {
  const { tasks } = await store.list({ status: 'SUCCEEDED', limit: 10_000 })
  return tasks.map(({ targetUrl }) => new URL(targetUrl).searchParams.get('intent'))
}
