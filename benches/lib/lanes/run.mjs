// A queue with tasks in many lanes: how many it delivers a second, and how long it keeps others from running. For Node and pages.
import { queueOptions } from '../tasks.mjs'

/** Of any origin: in a page, keys would be only for origins that are listed. */
const POST = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"sku":17,"count":2}',
  redrive: { idempotent: true },
}
/** An answer comes by way of the event loop, as from any server. */
const answered = () =>
  new Promise((resolve) => {
    if (globalThis.setImmediate) return setImmediate(resolve)
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => resolve(port1.close())
    port2.postMessage(0)
  })
/** Lateness is looked at this often. */
const EVERY_MS = 2
const AT_ONCE = 500

/**
 * Keeps `tasks` tasks in `lanes` lanes, and delivers `count` of them.
 *
 * @returns {Promise<{ rate: number, p99: number }>} deliveries a second; lateness of a timer meanwhile, in milliseconds
 */
export async function deliver(RetryQueue, store, { lanes, tasks, count }) {
  let sent = 0
  let enough
  const reached = new Promise((resolve) => {
    enough = resolve
  })
  const fetch = async () => {
    await answered()
    if (++sent === count) enough()
    return new Response(null, { status: 200 })
  }
  const queue = new RetryQueue(queueOptions(store, fetch, { concurrency: 6 }))
  queue.pause()
  for (let from = 0; from < tasks; from += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, tasks - from) }, (_, i) => from + i)
    await Promise.all(some.map((i) => queue.enqueue(`https://${i % lanes}.lanes.test/orders`, POST)))
  }
  const late = lateness()
  const start = performance.now()
  queue.resume()
  await reached
  const ms = performance.now() - start
  const p99 = late()
  queue.pause()
  await queue.close({ drainMs: 0 })
  return { rate: (count * 1_000) / ms, p99 }
}

/** Watches how late a timer fires; the function ends that, and gives the 99th percentile. */
function lateness() {
  const all = []
  let timer
  const arm = () => {
    const due = performance.now() + EVERY_MS
    timer = setTimeout(() => {
      all.push(Math.max(0, performance.now() - due))
      arm()
    }, EVERY_MS)
  }
  arm()
  return () => {
    clearTimeout(timer)
    all.sort((a, b) => a - b)
    return all[Math.floor(all.length * 0.99)] ?? 0
  }
}
