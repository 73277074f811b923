// What a waiting task takes beyond the request its owner enqueued: heap and the core's own memory, after a full
// collection. Each contestant in a process of its own.

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import fastq from 'fastq'
import FlatQueue from 'flatqueue'
import PQueue from 'p-queue'
import pRetry from 'p-retry'
import { NONE, OP_ADMIT, OP_LANE, OP_SETTLE } from '../js/core/codes.ts'
import { RetryQueue } from './lib/package.mjs'
import { ORIGIN, openScheduler, roomFor } from './lib/scheduler.mjs'
import { orLess } from './lib/smoke.mjs'
import { aim, figure, note, table } from './lib/table.mjs'

const N = orLess(process.argv.includes('--full') ? 1_000_000 : 100_000, 2_000)
const never = new Promise(() => {})
const answer = (status) => ({
  status,
  redirectRefused: false,
  header: () => null,
  deliver: () => null,
  discard() {},
  rest() {},
})

/** Calls become tasks a few microtasks later. */
async function admitted(runner, n) {
  await new Promise(setImmediate)
  if (runner.depth !== n) throw new Error(`${runner.depth} of ${n} tasks were taken`)
}

/** Each fills its queue with n tasks that wait, and returns what keeps them alive and the bytes outside the heap. */
const contestants = {
  'p-queue + p-retry': (n) => {
    const queue = new PQueue({ concurrency: 1 })
    for (let i = 0; i < n; i++) queue.add(() => pRetry(() => never, { retries: 4 }))
    return { keep: queue }
  },
  'fastq, promise of the result': (n) => {
    const queue = fastq.promise(() => never, 1)
    for (let i = 0; i < n; i++) queue.push(i)
    return { keep: queue }
  },
  'setTimeout for each wait': (n) => {
    const keep = []
    for (let i = 0; i < n; i++) keep.push(setTimeout(() => i, 3_600_000 + (i % 1_000)))
    return { keep }
  },
  'JS heap (flatqueue), ids only': (n) => {
    const keep = new FlatQueue()
    for (let i = 0; i < n; i++) keep.push(i, Date.now() + i)
    return { keep }
  },
  'redrive core alone': async (n) => {
    const { runner, engine, policyOf } = await openScheduler(n)
    const before = engine.memory.buffer.byteLength
    const lane = runner.core.call(OP_LANE)
    const policy = runner.core.policy(policyOf({ initialDelayMs: 3_600_000, maxDelayMs: 3_600_000 }))
    const none = Number.POSITIVE_INFINITY
    const now = Date.now()
    for (let i = 0; i < n; i++) {
      const slot = runner.core.send(OP_ADMIT, now, lane, policy, 0, 0, 1, now, none, none, NONE, now)
      runner.core.send(OP_SETTLE, now, slot, 0, 503, Number.NaN, 1)
    }
    return { keep: runner, outside: engine.memory.buffer.byteLength - before }
  },
  'redrive, enqueued': async (n) => {
    const { runner, admission, engine, callOf } = await openScheduler(n)
    runner.pause(undefined)
    const before = engine.memory.buffer.byteLength
    const call = callOf({ send: () => never })
    for (let i = 0; i < n; i++) admission.enqueue(call, Date.now())
    await admitted(runner, n)
    return { keep: runner, outside: engine.memory.buffer.byteLength - before }
  },
  'redrive, failed once, with its log': async (n) => {
    const hour = 3_600_000
    const policy = { initialDelayMs: hour, maxDelayMs: hour, jitterType: 'EQUAL' }
    const { runner, admission, engine, callOf } = await openScheduler(n, { policy })
    const before = engine.memory.buffer.byteLength
    const transport = { send: () => never, adopt: (first) => first }
    const call = { ...callOf(transport), options: { waitMs: 24 * hour, detach: true } }
    const failed = answer(503)
    for (let i = 0; i < n; i++) {
      const startedAt = runner.host.now()
      // the caller's promise is the caller's: it is made in plain fetch as well
      admission.afterFailure(
        call,
        { outcome: 0, status: 503, answer: failed, error: undefined, startedAt, durationMs: 1 },
        startedAt,
      )
    }
    await admitted(runner, n)
    return { keep: runner, outside: engine.memory.buffer.byteLength - before }
  },
  'redrive.enqueue(), request included': async (n) => {
    const queue = new RetryQueue({ ...roomFor(n), fetch: () => never })
    await queue.ready
    queue.pause()
    for (let i = 0; i < n; i++) await queue.enqueue(`${ORIGIN}/tasks/${i}`)
    return { keep: queue, outside: Number.NaN }
  },
  '  the same request alone: URL, Headers, init': (n) => {
    const keep = []
    for (let i = 0; i < n; i++) {
      const url = new URL(`${ORIGIN}/tasks/${i}`).href
      const headers = new Headers()
      keep.push({ url, init: { method: 'GET', headers, body: null } })
    }
    return { keep }
  },
}

async function settledHeap() {
  for (let i = 0; i < 4; i++) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    globalThis.gc()
  }
  return process.memoryUsage().heapUsed
}

async function measure(fill) {
  await fill(1_000) // code, shapes and tables that every run needs
  const before = await settledHeap()
  const { keep, outside = 0 } = await fill(N)
  const bytes = ((await settledHeap()) - before + (Number.isNaN(outside) ? 0 : outside)) / N
  // read after the measurement, so that it cannot be collected before
  return keep ? { bytes, outside: outside / N } : undefined
}

const only = process.argv.indexOf('--one')
if (only > 0) {
  console.log(JSON.stringify(await measure(contestants[process.argv[only + 1]])))
  process.exit(0)
}

const rows = {}
const flags = process.argv.slice(2)
const named = ['p-queue + p-retry', 'redrive core alone', 'redrive, enqueued']
for (const name of orLess(Object.keys(contestants), named)) {
  const file = fileURLToPath(import.meta.url)
  rows[name] = JSON.parse(
    execFileSync(process.execPath, ['--expose-gc', file, '--one', name, ...flags], { encoding: 'utf8' }),
  )
}
table(
  [`${N.toLocaleString('en-US')} tasks wait`, 'bytes per task', "of them in the core's memory"],
  Object.entries(rows).map(([name, { bytes, outside }]) => [
    name,
    figure(bytes),
    outside ? figure(outside) : undefined,
  ]),
)
console.log()
const core = rows['redrive, enqueued'].outside
const task = rows['redrive, enqueued'].bytes
aim("at most 128 B a waiting task beyond the caller's request in the core", core <= 128, `${figure(core)} B`)
aim('at most 250 B with its id, its state and lookup tables in JavaScript', task <= 250, `${figure(task)} B`)
note("The core's memory grows as tasks come, in chunks of 32; the figure is what it grew by, used or not.")
