// Everybody gets the same work: n tasks, the first attempt of each answers 503 and the second 200, at once; at most
// six run together; whoever gave a task gets a promise of its end. A factory returns `run`, which resolves when all
// have ended. `lacks` says what a contestant does not do that redrive's rows do.

import fastq from 'fastq'
import FlatQueue from 'flatqueue'
import PQueue from 'p-queue'
import pRetry from 'p-retry'
import { NONE, OP_ADMIT, OP_LANE, OP_POLL, OP_SETTLE, OP_WAKE_AT } from '../../js/core/codes.ts'
import { RetryQueue } from './package.mjs'
import { CONCURRENCY, NO_WAITS, ORIGIN, openScheduler, roomFor } from './scheduler.mjs'

const FAILED = Object.assign(new Error('503'), { status: 503 })

/** The instant handler: one byte a task says how often it was called. What it answers with is the contestant's. */
function makeHandler(n, failure = 503, success = 200) {
  const calls = new Uint8Array(n)
  return async (i) => (calls[i]++ === 0 ? failure : success)
}

function pQueueAndPRetry(n) {
  const handler = makeHandler(n)
  const queue = new PQueue({ concurrency: CONCURRENCY })
  // one error for all: making one, with its stack, would cost more than the rest
  const attempt = async (i) => {
    if ((await handler(i)) !== 200) throw FAILED
  }
  return async () => {
    const ends = []
    for (let i = 0; i < n; i++) ends.push(queue.add(() => pRetry(() => attempt(i), { retries: 4, minTimeout: 0 })))
    await Promise.all(ends)
  }
}

function fastqAndTimers(n) {
  const handler = makeHandler(n)
  const queue = fastq.promise(async (task) => {
    if ((await handler(task.i)) === 200) task.resolve()
    else setTimeout(() => queue.push(task), 0)
  }, CONCURRENCY)
  return async () => {
    const ends = []
    for (let i = 0; i < n; i++) ends.push(new Promise((resolve) => queue.push({ i, resolve })))
    await Promise.all(ends)
  }
}

/** A binary heap by due time and a loop around it: about what a careful person writes in an afternoon. */
function flatQueueHeap(n) {
  const handler = makeHandler(n)
  const heap = new FlatQueue()
  let running = 0
  const pump = () => {
    const now = Date.now()
    while (running < CONCURRENCY && heap.length > 0 && heap.peekValue() <= now) {
      running++
      start(heap.pop())
    }
  }
  const start = async (task) => {
    const status = await handler(task.i)
    running--
    if (status === 200) task.resolve()
    else heap.push(task, Date.now())
    pump()
  }
  return async () => {
    const ends = []
    for (let i = 0; i < n; i++) ends.push(new Promise((resolve) => heap.push({ i, resolve }, Date.now())))
    pump()
    await Promise.all(ends)
  }
}

/** As found in many apps: an interval that filters an array. Its ticks are made to follow at once here. */
function naiveLoop(n) {
  const handler = makeHandler(n)
  let tasks = []
  const tick = async () => {
    const now = Date.now()
    const [task] = tasks.filter((each) => each.nextAttemptAt <= now)
    if (!task) return
    if ((await handler(task.i)) === 200) {
      tasks = tasks.filter((each) => each.id !== task.id)
      task.resolve()
    } else task.nextAttemptAt = Date.now()
  }
  return async () => {
    for (let i = 0; i < n; i++) {
      new Promise((resolve) => tasks.push({ id: `task-${i}`, i, nextAttemptAt: Date.now(), resolve }))
    }
    while (tasks.length > 0) await tick()
  }
}

/** The public way: URL, Headers, key and all, and a stub in place of fetch. */
function redriveEnqueue(n) {
  const handler = makeHandler(n, new Response(null, { status: 503 }), new Response(null, { status: 200 }))
  const prefix = `${ORIGIN}/tasks/`
  const queue = new RetryQueue({
    ...roomFor(n),
    policy: NO_WAITS,
    warn: false,
    fetch: (url) => handler(Number(url.slice(prefix.length))),
  })
  return async () => {
    await queue.ready
    const ends = []
    for (let i = 0; i < n; i++) {
      ends.push(queue.enqueue(prefix + i).then((receipt) => queue.result(receipt.taskId)))
    }
    await Promise.all(ends)
    await queue.close()
  }
}

/** What a handler's answer looks like to the scheduler. */
class PlainAnswer {
  redirectRefused = false
  constructor(status) {
    this.status = status
  }
  eachHeader() {}
  header() {
    return null
  }
  deliver() {
    return this
  }
  clone() {
    return null
  }
  discard() {}
  rest() {}
}

/** redrive without fetch's objects: the scheduler itself, given a handler as the others are. */
export function redriveScheduler(n, options) {
  return overHandler(n, makeHandler(n, new PlainAnswer(503), new PlainAnswer(200)), options)
}

/** Every second task fails once: no row of failures for which a gate would keep anything back. */
export function redriveSchedulerWithoutRows(n, options) {
  const fine = new PlainAnswer(200)
  const handler = makeHandler(n, new PlainAnswer(503), fine)
  return overHandler(n, async (i) => (i % 2 === 0 ? fine : handler(i)), options)
}

function overHandler(n, handler, options) {
  return async () => {
    const { runner, admission, callOf } = await openScheduler(n, options)
    const endOf = ({ taskId }) => runner.result(runner.registry.get(taskId, 0))
    const ends = []
    for (let i = 0; i < n; i++) {
      const transport = { send: () => handler(i), isFinal: () => false }
      ends.push(admission.enqueue(callOf(transport), runner.host.now()).then(endOf))
    }
    await Promise.all(ends)
    await runner.close(0)
  }
}

/** A time that jumps to the next wake-up: waits are kept in order, and nobody waits. */
function jumpingClock() {
  let time = Date.UTC(2030, 0, 1)
  return {
    now: () => time,
    monotonic: () => time,
    after(delayMs, wake) {
      const at = time + delayMs
      const timer = setImmediate(() => {
        time = Math.max(time, at)
        wake()
      })
      return () => clearImmediate(timer)
    },
  }
}

/** A heap and the core alike: every task fails at once, waits its own 0 to 60 s, and succeeds; no promises, one loop. */
const SPREAD_MS = 60_000

function bareHeap(n) {
  const heap = new FlatQueue()
  return () => {
    let now = 0
    for (let i = 0; i < n; i++) heap.push(i, now)
    const failed = new Uint8Array(n)
    while (heap.length > 0) {
      now = Math.max(now, heap.peekValue())
      const i = heap.pop()
      if (failed[i]++ === 0) heap.push(i, now + Math.floor(Math.random() * SPREAD_MS))
    }
  }
}

function bareCore(n) {
  return async () => {
    const { runner, policyOf } = await openScheduler(n)
    const { core } = runner
    const lane = core.call(OP_LANE)
    const policy = core.policy(policyOf({ initialDelayMs: SPREAD_MS, maxDelayMs: SPREAD_MS }))
    const none = Number.POSITIVE_INFINITY
    const failed = new Set()
    let now = Date.now()
    for (let i = 0; i < n; i++) core.send(OP_ADMIT, now, lane, policy, 0, 0, 1, now, none, none, NONE)
    for (let left = n; left > 0; ) {
      const count = core.call(OP_POLL, now)
      if (count === 0) {
        now = core.call(OP_WAKE_AT)
        continue
      }
      const actions = Array.from({ length: 2 * count }, (_, i) => core.at(1 + i))
      for (let i = 0; i < actions.length; i += 2) {
        const slot = actions[i]
        if (!failed.delete(slot)) {
          failed.add(slot)
          core.send(OP_SETTLE, now, slot, 0, 503, Number.NaN, 0)
        } else if (core.send(OP_SETTLE, now, slot, 0, 200, Number.NaN, 0) === 0) left--
      }
    }
    await runner.close(0)
  }
}

export const contestants = {
  'p-queue + p-retry': {
    make: pQueueAndPRetry,
    lacks: 'log, fair lanes, waiting outside the slot (a task keeps its slot while it waits)',
  },
  'fastq + own timers': {
    make: fastqAndTimers,
    lacks: 'abort, log, priorities, lanes, attempt limit; a timer for each wait',
  },
  'JS heap (flatqueue)': { make: flatQueueHeap, lacks: 'abort, log, priorities, lanes, policy, attempt limit' },
  'naive loop': { make: naiveLoop, lacks: 'all that, and it runs one at a time' },
  'redrive, enqueue()': {
    make: redriveEnqueue,
    lacks: 'nothing; reads URL and Headers of each request, which no other row has',
  },
  'redrive, its scheduler': { make: redriveScheduler, lacks: 'nothing but fetch' },
  'redrive, its scheduler, waits of 0 to 60 s': {
    make: (n) =>
      redriveScheduler(n, {
        clock: jumpingClock(),
        policy: { ...NO_WAITS, initialDelayMs: SPREAD_MS, maxDelayMs: SPREAD_MS, jitterType: 'FULL' },
      }),
    lacks: 'nothing but fetch; the clock jumps',
  },
  'JS heap alone, waits of 0 to 60 s': { make: bareHeap, lacks: 'everything but order by time' },
  'redrive core alone, waits of 0 to 60 s': {
    make: bareCore,
    lacks: 'promises and requests: the wasm and its boundary',
  },
}
