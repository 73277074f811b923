/**
 * A service worker as one writes it, and what a test has to know of it: how each sync ended, which it tells the server, and
 * the timers it left running.
 * `?options=` is the queue's options as JSON, `?token=` what its credentials are, once `/gate` has answered.
 */
import { RetryQueue, registerBackgroundSync } from '/pkg/service-worker.js'

const query = new URL(location.href).searchParams
/** Those that run, and who armed them. */
const timers = new Map()
const { setTimeout, clearTimeout } = globalThis
globalThis.setTimeout = (work, ms) => {
  const id = setTimeout(() => {
    timers.delete(id)
    work()
  }, ms)
  timers.set(id, new Error(`${ms} ms`).stack)
  return id
}
globalThis.clearTimeout = (id) => {
  timers.delete(id)
  clearTimeout(id)
}
const { waitUntil } = ExtendableEvent.prototype
ExtendableEvent.prototype.waitUntil = function (work) {
  const { type, tag, lastChance } = this
  const tell = (ended) => fetch('/syncs', { method: 'POST', body: JSON.stringify({ tag, lastChance, ended }) })
  if (type === 'sync') {
    work.then(
      () => tell('well'),
      (error) => tell(`${error.code}: ${error.message}`),
    )
  }
  return waitUntil.call(this, work)
}

const token = query.get('token')
const queue = new RetryQueue({
  name: 'sync',
  ...JSON.parse(query.get('options') ?? '{}'),
  ...(token && {
    credentials: {
      async self() {
        await fetch('/gate')
        return { authorization: `Bearer ${token}` }
      },
    },
  }),
})
const supported = registerBackgroundSync(queue) !== false
const degraded = []
queue.on('degraded', ({ code, message }) => degraded.push({ code, message }))
/** For browsers whose tools do not reach into a worker: opens everything, and says what it found. */
addEventListener('message', async ({ ports: [reply] }) => {
  await queue.ready
  reply.postMessage({ supported, degraded })
})
addEventListener('activate', (event) => event.waitUntil(clients.claim()))

globalThis.syncWorker = { queue, timers, supported }
