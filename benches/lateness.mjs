// How late a due attempt starts, with real timers, and what the process is woken for while nothing is due.
import { performance } from 'node:perf_hooks'
import { median, quantile } from './lib/measure.mjs'
import { orLess } from './lib/smoke.mjs'
import { aim, figure, note, table } from './lib/table.mjs'

// counted before anything else can keep the real ones
let wakeUps = 0
for (const name of ['setTimeout', 'setInterval']) {
  const real = globalThis[name]
  globalThis[name] = (work, ...rest) =>
    real(
      () => {
        wakeUps++
        work()
      },
      ...rest,
    )
}
const { RetryQueue } = await import('./lib/package.mjs')

const TASKS = orLess(300, 10)
const SPREAD_MS = orLess(3_000, 100)
const IDLE_MS = orLess(1_500, 100)
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const now = () => performance.timeOrigin + performance.now()

async function wakeUpsWhileIdle() {
  const before = wakeUps
  await sleep(IDLE_MS)
  // this sleep was one of them
  return (wakeUps - before - 1) / (IDLE_MS / 1_000)
}

async function redrive() {
  const dueAt = new Map()
  const late = []
  const queue = new RetryQueue({
    concurrency: TASKS,
    breaker: false,
    retryBudget: false,
    policy: { initialDelayMs: SPREAD_MS, maxDelayMs: SPREAD_MS, attemptTimeoutMs: 0 },
    fetch: async (url) => {
      const due = dueAt.get(url)
      if (due === undefined) return new Response(null, { status: 503 })
      late.push(now() - due)
      return new Response(null, { status: 200 })
    },
  })
  queue.on('queued', ({ task }) => dueAt.set(task.targetUrl, task.nextAttemptAt))
  const calls = []
  for (let i = 0; i < TASKS; i++) calls.push(queue.fetch(`https://api.example.test/tasks/${i}`))
  await Promise.all(calls)
  const idle = await wakeUpsWhileIdle()
  // one task that waits for an hour: its timer is armed, and nothing wakes before
  const waiting = queue.fetch('https://api.example.test/later', {
    redrive: { policy: { initialDelayMs: 3_600_000, maxDelayMs: 3_600_000, jitterType: 'EQUAL' }, waitMs: 7_200_000 },
  })
  const ended = waiting.catch(() => {})
  await sleep(50)
  const asleep = await wakeUpsWhileIdle()
  await queue.close()
  await ended
  return { late, idle, asleep }
}

/** One timer a wait: what p-retry, axios-retry and ky do. */
async function timers() {
  const late = []
  const waits = []
  for (let i = 0; i < TASKS; i++) {
    const ms = Math.floor(Math.random() * SPREAD_MS)
    const due = now() + ms
    waits.push(sleep(ms).then(() => late.push(now() - due)))
  }
  await Promise.all(waits)
  return { late, idle: await wakeUpsWhileIdle(), asleep: 0 }
}

/** An interval of 100 ms that looks for what is due, one task a tick as is usual, or all that are due. */
async function naive() {
  const late = []
  const waiting = new Set()
  for (let i = 0; i < TASKS; i++) waiting.add(now() + Math.floor(Math.random() * SPREAD_MS))
  const interval = setInterval(() => {
    for (const due of waiting) {
      if (due > now()) continue
      waiting.delete(due)
      late.push(now() - due)
    }
  }, 100)
  while (waiting.size > 0) await sleep(100)
  const idle = await wakeUpsWhileIdle()
  clearInterval(interval)
  return { late, idle, asleep: idle }
}

const rows = {
  'redrive, one timer': await redrive(),
  'a timer for each wait': await timers(),
  'naive loop, every 100 ms, all that is due': await naive(),
}
table(
  [
    `${TASKS} tasks due within ${SPREAD_MS / 1_000} s`,
    'p50 ms late',
    'p99',
    'most',
    'wake-ups a second, empty',
    'one task in an hour',
  ],
  Object.entries(rows).map(([name, { late, idle, asleep }]) => [
    name,
    figure(median(late)),
    figure(quantile(late, 0.99)),
    figure(Math.max(...late)),
    figure(idle),
    figure(asleep),
  ]),
)
console.log()
const { late, idle, asleep } = rows['redrive, one timer']
const p99 = quantile(late, 0.99)
aim('p99 at most 2 ms late', p99 <= 2, `${figure(p99)} ms`)
aim('no wake-up while idle', idle === 0 && asleep === 0, `${figure(idle + asleep)}`)
note('redrive counts in whole milliseconds, so an attempt starts up to 1 ms after its time by that alone.')
