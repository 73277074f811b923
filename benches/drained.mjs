// What a process keeps when a great many tasks are done: its resident memory before, at most, when the last task has ended,
// and half a minute later. Each contestant in a process of its own, which nothing asks to collect its garbage before the end.
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { RetryQueue } from './lib/package.mjs'
import { roomFor } from './lib/scheduler.mjs'
import { orLess } from './lib/smoke.mjs'
import { figure, note, table } from './lib/table.mjs'

const N = orLess(process.argv.includes('--full') ? 100_000 : 20_000, 50)
const AT_ONCE = 50
const LATER_MS = orLess(30_000, 100)
const BODY = JSON.stringify({ order: 'x'.repeat(100) })

const post = async (url) => (await fetch(url, { method: 'POST', body: BODY })).text()

/** Each sends n requests to URLs that answer 503 once and then 200. */
const contestants = {
  'two plain fetches each': async (n, urlOf) => {
    let next = 0
    const one = async () => {
      for (let i = next++; i < n; i = next++) {
        await post(urlOf(i))
        await post(urlOf(i))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, one))
  },
  'redrive.enqueue()': async (n, urlOf) => {
    const policy = { initialDelayMs: 0, jitterType: 'NONE' }
    const limits = { concurrency: AT_ONCE, concurrencyPerOrigin: AT_ONCE, breaker: false, retryBudget: false }
    const queue = new RetryQueue({ ...roomFor(n), ...limits, policy })
    await queue.ready
    for (let i = 0; i < n; i++) await queue.enqueue(urlOf(i), { method: 'POST', body: BODY })
    await queue.idle()
    const { succeeded } = queue.stats()
    if (succeeded !== n) throw new Error(`${succeeded} of ${n} were delivered`)
    await queue.close()
  },
}

async function measure(work) {
  const server = fork(new URL('loopback-server.mjs', import.meta.url), { execArgv: [] })
  const [port] = await once(server, 'message')
  const resident = () => process.memoryUsage.rss()
  const atStart = resident()
  let most = atStart
  const looking = setInterval(() => {
    most = Math.max(most, resident())
  }, 100)
  await work(N, (i) => `http://127.0.0.1:${port}/orders/${i}`)
  clearInterval(looking)
  const drained = resident()
  await wait(LATER_MS)
  const later = resident()
  globalThis.gc()
  const { heapUsed, external } = process.memoryUsage()
  server.disconnect()
  return { atStart, most, drained, later, heapUsed, external }
}

const only = process.argv.indexOf('--one')
if (only > 0) {
  console.log(JSON.stringify(await measure(contestants[process.argv[only + 1]])))
  process.exit(0)
}

const flags = process.argv.slice(2)
const megabytes = (bytes) => figure(bytes / 2 ** 20)
const rows = Object.keys(contestants).map((name) => {
  const args = ['--expose-gc', fileURLToPath(import.meta.url), ...flags, '--one', name]
  const { atStart, most, drained, later, heapUsed, external } = JSON.parse(
    execFileSync(process.execPath, args, { encoding: 'utf8' }),
  )
  return [name, ...[atStart, most, drained, later, heapUsed, external].map(megabytes)]
})
const head = ['at start', 'at most', 'drained', `${LATER_MS / 1_000} s later`, 'heap in use', 'outside the heap']
table([`${N.toLocaleString('en-US')} tasks, MiB`, ...head], rows)
note(
  "Outside the heap: the core's memory among it, which cannot shrink: it stays as it was at the most tasks held at once.",
)
