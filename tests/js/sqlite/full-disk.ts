// A process whose folder becomes a small disk, which another program fills, in the way it is told. One line says what became of its tasks.
// It has to be run where it may mount.
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pass } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { RetryQueue } from '../../../js/index.ts'
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { fillDisk } from './small-disk.ts'

const TASKS = 60
let accepted = TASKS
const URL_OF_ALL = 'https://api.test/orders'
const [folder = '', way = '', size = '8m'] = process.argv.slice(2)

const path = join(folder, 'tasks.db')
const filler = join(folder, 'filler')
const post = (n: number) => ({
  method: 'POST',
  body: `${n} `.padEnd(2_000, 'tea '),
  redrive: { idempotencyKey: `key-${n}` },
})

let isGreedy = false
/** Another program takes all the room there is, and from now on also what is given back. */
function fill(): void {
  isGreedy = true
  fillDisk(filler)
}

/** How many attempts were answered with 200, by their key. */
const answered: Record<string, number> = {}
let isDown = true
const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
  if (isGreedy) fill()
  if (isDown) return new Response(null, { status: 503 })
  const key = new Headers(init?.headers).get('idempotency-key') ?? ''
  answered[key] = (answered[key] ?? 0) + 1
  return new Response(null, { status: 200 })
}

const reports: string[] = []
function open(): RetryQueue {
  const queue = new RetryQueue({
    store: sqliteStore({ path, idleCheckMs: 50 }),
    principal: null,
    fetch,
    breaker: false,
    retryBudget: false,
    policy: { maxAttempts: 100, initialDelayMs: 1_000, maxDelayMs: 2_000 },
  })
  queue.on('degraded', ({ code }) => reports.push(code))
  return queue
}

const enqueueAll = async (queue: RetryQueue): Promise<void> => {
  for (let n = 0; n < TASKS; n++) await queue.enqueue(URL_OF_ALL, post(n))
}

/** What becomes of one more. */
const oneMore = (queue: RetryQueue): Promise<string> =>
  queue.enqueue(URL_OF_ALL, post(TASKS)).then(
    ({ durability, isStalled }) => `${durability}${isStalled ? ', stalled' : ''}`,
    ({ code }) => code,
  )

async function until(holds: () => boolean, forMs: number): Promise<void> {
  const from = performance.now()
  while (!holds() && performance.now() - from < forMs) await pass(20)
}

const isDelivered = (): boolean => Object.keys(answered).length >= accepted
const emptyLog = (): void => {
  const database = new DatabaseSync(path)
  database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
  database.close()
}

/** Fills the disk while tasks wait for a server that is down. */
const WAYS: Readonly<Record<string, () => Promise<RetryQueue>>> = {
  async 'with its log'() {
    const queue = open()
    await enqueueAll(queue)
    fill()
    return queue
  },
  async 'with large bodies in its log'() {
    const queue = open()
    accepted = 20
    for (let n = 0; n < accepted; n++) await queue.enqueue(URL_OF_ALL, { ...post(n), body: randomBytes(180_000) })
    fill()
    return queue
  },
  async 'without a log'() {
    const queue = open()
    await enqueueAll(queue)
    emptyLog()
    fill()
    return queue
  },
  async 'before it is opened'() {
    const queue = open()
    await enqueueAll(queue)
    await queue.close({ drainMs: 0 })
    fill()
    return open()
  },
  async 'and the process is killed'() {
    const script = fileURLToPath(import.meta.url)
    const killed = spawn(process.execPath, [script, folder, 'until it is killed'], { stdio: 'inherit' })
    await new Promise((resolve) => killed.once('exit', resolve))
    return open()
  },
  async 'with its reserve'() {
    const queue = open()
    await enqueueAll(queue)
    emptyLog()
    rmSync(`${path}-reserve`, { force: true })
    fill()
    return queue
  },
}

if (way === 'until it is killed') {
  await enqueueAll(open())
  emptyLog()
  fill()
  await pass(500)
  process.kill(process.pid, 'SIGKILL')
}

execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder])
const queue = await (WAYS[way] as () => Promise<RetryQueue>)()
await pass(500)
const refused = await oneMore(queue)
const wasFailing = queue.stats().storeFailingSinceAt !== undefined
isDown = false
await until(isDelivered, way === 'with its reserve' ? 1_000 : 25_000)
const whileFull = Object.keys(answered).length
const codes = [...new Set(reports)]

isGreedy = false
rmSync(filler)
// the disk is asked each 5 s, and a task waits for 2 s at most
await until(isDelivered, 15_000)
const then = await oneMore(queue)
await until(() => answered[`key-${TASKS}`] !== undefined, 5_000)
const isFailing = queue.stats().storeFailingSinceAt !== undefined
const reserve = statSync(`${path}-reserve`).size
const seen = { refused, wasFailing, codes, whileFull, held: accepted, accepted: then, isFailing, reserve, answered }
await queue.close({ drainMs: 100 })
process.stdout.write(`${JSON.stringify(seen)}\n`)
process.exit(0)
