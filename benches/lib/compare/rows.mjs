// What two builds are compared in. `open` runs in a process for one build, with REDRIVE_PKG naming its package, and gives a
// function that measures once; a row with `sources` needs the checkout as well, and uses that checkout's own contestants.
import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { at } from '../../../scripts/lib/paths.mjs'
import { eachMicros } from '../measure.mjs'
import { orLess, smoke } from '../smoke.mjs'

const ATTEMPTS = 2
/** A sample is at least so many tasks, so that the clock and a collection of garbage matter little. */
const TASKS = orLess(20_000, 100)
const CALLS = orLess(10_000, 10)

function scheduling(contestant, n, more) {
  const open = async ({ tree }) => {
    const file = more.sources ? join(tree, 'benches/lib/schedulers.mjs') : at('benches/lib/schedulers.mjs')
    const { contestants } = await import(pathToFileURL(file).href)
    const { make } = contestants[contestant]
    const runs = Math.max(1, Math.floor(TASKS / n))
    return async () => {
      let ms = 0
      for (let i = 0; i < runs; i++) {
        const run = make(n)
        const start = performance.now()
        await run()
        ms += performance.now() - start
      }
      return (ms * 1_000) / (runs * n * ATTEMPTS)
    }
  }
  return { unit: 'us per attempt', open, ...more }
}

const GET = 'https://api.example.test/orders/17?expand=lines'
const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"sku":17,"count":2}' }

function happyPath(init) {
  const open = async () => {
    const { RetryQueue, wrapFetch } = await import('../package.mjs')
    const wrapped = wrapFetch(new RetryQueue({ fetch: async () => new Response(null, { status: 200 }) }))
    return () => eachMicros(CALLS, () => wrapped(GET, init && { ...init }))
  }
  return { unit: 'us per call', open }
}

async function openLoopback() {
  const { RetryQueue, wrapFetch } = await import('../package.mjs')
  const server = fork(new URL('../../loopback-server.mjs', import.meta.url), { execArgv: [] })
  const [port] = await once(server, 'message')
  const policy = { initialDelayMs: 0, jitterType: 'NONE' }
  const wrapped = wrapFetch(new RetryQueue({ policy, breaker: false, retryBudget: false }))
  let serial = 0
  const call = async () => {
    const text = await (await wrapped(`http://127.0.0.1:${port}/orders/${serial++}`)).text()
    if (text !== '{"ok":true}') throw new Error(`expected the second answer, got ${text}`)
  }
  return () => eachMicros(orLess(500), call)
}

function memory(contestant, more) {
  const open =
    async ({ tree }) =>
    async () => {
      const file = more.sources
        ? join(tree, 'benches/memory.mjs')
        : fileURLToPath(new URL('../../memory.mjs', import.meta.url))
      const args = ['--expose-gc', file, '--one', contestant, ...(smoke ? ['--smoke'] : [])]
      const { stdout } = await promisify(execFile)(process.execPath, args)
      return JSON.parse(stdout).bytes
    }
  return { unit: 'bytes per waiting task', open, rounds: 3, warmUp: 0, ...more }
}

function size(which) {
  const open = async () => {
    const [{ folder }, { sizesOf }] = await Promise.all([import('../package.mjs'), import('./sizes.mjs')])
    return async () => (await sizesOf(folder))[which]
  }
  return { unit: 'bytes, gzip', open, rounds: 1, warmUp: 0 }
}

const SCHEDULER = 'redrive, its scheduler'
const ENQUEUE = 'redrive, enqueue()'

export const rows = {
  'scheduler, 1,000 tasks': scheduling(SCHEDULER, orLess(1_000, 50), { sources: true }),
  'scheduler, 10,000': scheduling(SCHEDULER, orLess(10_000, 100), { sources: true }),
  'scheduler, 100,000': scheduling(SCHEDULER, orLess(100_000, 200), { sources: true }),
  'enqueue(), 1,000': scheduling(ENQUEUE, orLess(1_000, 50), {}),
  'enqueue(), 10,000': scheduling(ENQUEUE, orLess(10_000, 100), {}),
  'enqueue(), 100,000': scheduling(ENQUEUE, orLess(100_000, 200), {}),
  'happy path, GET': happyPath(),
  'happy path, POST': happyPath(json),
  'loopback, 503 then 200': { unit: 'us per task', open: openLoopback },
  'memory, scheduler': memory('redrive, enqueued', { sources: true }),
  'memory, enqueue()': memory('redrive.enqueue(), request included', {}),
  'size, a page at once': size('atOnce'),
  'size, a page later': size('later'),
  'size, queue.wasm': size('queue'),
  'size, keys.wasm': size('keys'),
}
