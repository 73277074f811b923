// What it costs to keep tasks where they outlive the process: taking them, running them, taking them up again, and
// whether an origin that is held with many of them costs the others anything.
import { spawnSync } from 'node:child_process'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { median, quantile, takeTurns } from './lib/measure.mjs'
import { orLess } from './lib/smoke.mjs'
import { newFile, openMemory, openQueue, openSqlite } from './lib/stores.mjs'
import { aim, figure, note, table, times } from './lib/table.mjs'
import { claimOf, delivered, fill, PRINCIPAL, taskOf } from './lib/tasks.mjs'

const URL = 'https://api.example.test/orders'
const POST = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"sku":17,"count":2}' }
const ok = async () => new Response(null, { status: 200 })
const CONCURRENCY = 6

await measureEnqueue()
await measureRuns()
await measureTakeUp()
await measureHeld()

/** Milliseconds of `work`. */
async function millis(work) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** The least a file can do: one row and its body, with the same wait for the disk, several rows in one transaction. */
function rawInserts() {
  const database = new DatabaseSync(newFile())
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec('CREATE TABLE tasks (id TEXT PRIMARY KEY, task TEXT NOT NULL, body BLOB NOT NULL) STRICT')
  const insert = database.prepare('INSERT INTO tasks VALUES (?, ?, ?)')
  return (tasks) => {
    database.exec('BEGIN IMMEDIATE')
    for (const { body, ...task } of tasks) insert.run(task.taskId, JSON.stringify(task), body)
    database.exec('COMMIT')
  }
}

async function measureEnqueue() {
  const SINGLES = orLess(300, 3)
  const AT_ONCE = orLess(100, 4)
  const open = async (store) => {
    const queue = openQueue(store, ok)
    queue.pause()
    await queue.ready
    return queue
  }
  const queues = {
    'queue, in memory': await open('memory'),
    'queue, MemoryStore': await open(openMemory()),
    'queue, SQLite': await open(openSqlite()),
  }
  const store = openSqlite()
  const raw = rawInserts()
  const one = {
    ...Object.fromEntries(Object.entries(queues).map(([name, queue]) => [name, () => queue.enqueue(URL, POST)])),
    'SQLite store alone': () => store.enqueue([taskOf()]),
    'raw insert, node:sqlite': () => raw([taskOf()]),
  }
  const many = {
    ...Object.fromEntries(
      Object.entries(queues).map(([name, queue]) => [
        name,
        () => Promise.all(Array.from({ length: AT_ONCE }, () => queue.enqueue(URL, POST))),
      ]),
    ),
    'SQLite store alone': () => Promise.all(Array.from({ length: AT_ONCE }, () => store.enqueue([taskOf()]))),
    'raw insert, node:sqlite': () => raw(Array.from({ length: AT_ONCE }, () => taskOf())),
  }
  const perSecond = (count, work, rounds) => async () =>
    (count * 1_000) /
    (await millis(async () => {
      for (let i = 0; i < rounds; i++) await work()
    }))
  const singles = await takeTurns(
    Object.fromEntries(Object.entries(one).map(([name, work]) => [name, perSecond(SINGLES, work, SINGLES)])),
    { rounds: 5 },
  )
  const batches = await takeTurns(
    Object.fromEntries(Object.entries(many).map(([name, work]) => [name, perSecond(AT_ONCE * 3, work, 3)])),
    { rounds: 5 },
  )
  const raws = [singles['raw insert, node:sqlite'], batches['raw insert, node:sqlite']]
  table(
    ['tasks taken a second', 'one by one', 'of raw', `${AT_ONCE} at once`, 'of raw'],
    Object.keys(one).map((name) => [
      name,
      figure(singles[name]),
      times(singles[name] / raws[0]),
      figure(batches[name]),
      times(batches[name] / raws[1]),
    ]),
  )
  note(
    `one by one: each awaited; medians of 5 rounds of ${SINGLES}, and of 3 times ${AT_ONCE}. SQLite waits for the disk (synchronous FULL) in every row.\n`,
  )
  for (const queue of Object.values(queues)) await queue.close({ drainMs: 0 })
  await store.close()
}

async function measureRuns() {
  const TASKS = orLess(1_000, 20)
  const stores = { 'in memory': () => 'memory', MemoryStore: openMemory, SQLite: openSqlite }
  const rates = await takeTurns(
    Object.fromEntries(
      Object.entries(stores).map(([name, open]) => [
        name,
        async () => {
          const queue = openQueue(open(), ok, { concurrency: CONCURRENCY })
          await queue.ready
          const ms = await millis(async () => {
            await Promise.all(Array.from({ length: TASKS }, () => queue.enqueue(URL, POST)))
            await queue.idle()
          })
          await queue.close()
          return (TASKS * 1_000) / ms
        },
      ]),
    ),
    { rounds: 5 },
  )
  const between = {}
  for (const [name, open] of Object.entries(stores)) between[name] = await gaps(open(), TASKS)
  table(
    ['', 'tasks a second', 'of in memory', 'attempt to attempt, p50 us', 'p99 us'],
    Object.keys(stores).map((name) => [
      name,
      figure(rates[name]),
      times(rates[name] / rates['in memory']),
      figure(quantile(between[name], 0.5) * 1_000),
      figure(quantile(between[name], 0.99) * 1_000),
    ]),
  )
  const p99 = quantile(between.SQLite, 0.99)
  aim('an attempt costs at most 1 ms beside its request, SQLite, p99', p99 <= 1, `${figure(p99)} ms`)
  note(`${TASKS} tasks, an instant handler, ${CONCURRENCY} at a time, from the first enqueue to the last settlement.`)
  note('attempt to attempt: with one at a time, from one request to the next; it was settled, the next claimed.\n')
}

/** Milliseconds between the requests of tasks that run one after another. */
async function gaps(store, count) {
  const at = []
  const handler = async () => {
    at.push(performance.now())
    return new Response(null, { status: 200 })
  }
  const queue = openQueue(store, handler, { concurrency: 1 })
  await queue.ready
  queue.pause()
  await Promise.all(Array.from({ length: count }, () => queue.enqueue(URL, POST)))
  queue.resume()
  await queue.idle()
  await queue.close()
  return at.slice(1).map((each, i) => each - at[i])
}

async function measureTakeUp() {
  const STORED = orLess(100_000, 1_001)
  const RUNS = orLess(5)
  const sizes = [1_000, STORED]
  const rows = []
  let cold
  for (const size of sizes) {
    const path = newFile()
    const store = openSqlite(path)
    await fill(store, size, () => taskOf())
    await store.close()
    const warm = []
    for (let run = -1; run < RUNS; run++) warm.push(await takeUp(path))
    cold = Array.from({ length: RUNS }, () => inFreshProcess(path))
    const claim = []
    for (let run = 0; run < RUNS; run++) {
      const again = openSqlite(path)
      claim.push(
        await millis(() => again.turn({ owner: 'bench', settle: [], renew: [], claim: claimOf({ limit: 1 }) })),
      )
      await again.close()
    }
    rows.push([size.toLocaleString('en-US'), ...[median(warm.slice(1)), median(cold), median(claim)].map(figure)])
    if (size === STORED) {
      aim(
        'first attempt within 20 ms of `new RetryQueue`, 100,000 stored',
        median(warm.slice(1)) <= 20,
        `${figure(median(warm.slice(1)))} ms`,
      )
      aim('the same in a fresh process', median(cold) <= 20, `${figure(median(cold))} ms`)
    }
  }
  table(['tasks stored', 'new RetryQueue to first attempt, ms', 'in a fresh process', 'open the file and claim'], rows)
  note(
    `p50 of ${RUNS}. A fresh process loads and starts the core as well; its modules are imported before the clock starts.\n`,
  )
}

/** Milliseconds from `new RetryQueue` to the first request. */
function takeUp(path) {
  return new Promise((resolve) => {
    const handler = async () => {
      resolve([performance.now() - start, queue])
      return new Promise(() => {})
    }
    const start = performance.now()
    const queue = openQueue(openSqlite(path), handler)
  }).then(async ([ms, queue]) => {
    await queue.close({ drainMs: 0 })
    return ms
  })
}

function inFreshProcess(path) {
  const script = fileURLToPath(new globalThis.URL('lib/take-up.mjs', import.meta.url))
  const { stdout, stderr } = spawnSync(process.execPath, [script, path], { encoding: 'utf8', timeout: 60_000 })
  const ms = Number(stdout)
  if (!(ms > 0)) throw new Error(`take-up failed: ${stderr}`)
  return ms
}

async function measureHeld() {
  const HELD = orLess(50_000, 200)
  const ORIGINS = 50
  const EACH = orLess(40, 2)
  const held = 'https://held.example.test'
  const HOUR_MS = 3_600_000
  /** Two principals at 50 origins; `make` of the 50,000 is how they are kept back. */
  const filled = async (make, count) => {
    const store = openSqlite()
    await fill(store, count, make)
    for (const principal of [PRINCIPAL, 'ben']) {
      await fill(store, (ORIGINS - 1) * EACH, (i) => taskOf(`https://${i % (ORIGINS - 1)}.example.test`, { principal }))
    }
    return store
  }
  const cases = {
    'without it': { count: 0 },
    'held by Retry-After': { make: () => taskOf(held, { holdLaneForMs: HOUR_MS }) },
    'its breaker open, or paused': { claim: { bounds: [{ lane: `${held} ${PRINCIPAL}`, max: 0 }] } },
    'at its limit': { perLane: true },
    "of another tab's callers": { make: () => taskOf(held, { home: 'other' }), claim: { skipHomes: ['other'] } },
    'of the other principal': { make: () => taskOf(held, { principal: 'ben' }) },
  }
  const stats = {}
  for (const [name, { make = () => taskOf(held), claim = {}, count = HELD, perLane }] of Object.entries(cases)) {
    const store = await filled(make, count)
    let limits = claim
    if (perLane) {
      const only = claimOf({ limit: 2, lanes: [{ lane: `${held} ${PRINCIPAL}`, max: 2 }] })
      await store.turn({ owner: 'other', settle: [], renew: [], claim: only })
      limits = { perLane: 2 }
    }
    stats[name] = await turns(store, claimOf({ limit: 2, ...limits }), (ORIGINS - 1) * EACH)
    await store.close()
  }
  const rates = {}
  for (const name of ['without it', 'held by Retry-After']) {
    const { make, count = HELD } = cases[name]
    const store = await filled(make, count)
    const others = (ORIGINS - 1) * EACH
    let seen = 0
    const start = performance.now()
    const queue = await new Promise((resolve) => {
      const handler = async () => {
        if (++seen === others) resolve(opened)
        return new Response(null, { status: 200 })
      }
      const opened = openQueue(store, handler, { concurrency: CONCURRENCY })
    })
    rates[name] = (others * 1_000) / (performance.now() - start)
    await queue.close()
  }
  const base = stats['without it']
  table(
    [
      `with ${HELD.toLocaleString('en-US')} due tasks that must wait`,
      'turn, p50 us',
      'p99 us',
      'of without',
      'attempts a second',
      'of without',
    ],
    Object.entries(stats).map(([name, { p50, p99 }]) => [
      name,
      figure(p50 * 1_000),
      figure(p99 * 1_000),
      times(p50 / base.p50),
      figure(rates[name]),
      times(rates[name] / rates['without it']),
    ]),
  )
  for (const [name, { p50 }] of Object.entries(stats)) {
    if (name !== 'without it')
      aim(`L4, ${name}: a turn costs at most 1.2x`, p50 / base.p50 <= 1.2, times(p50 / base.p50))
  }
  note(
    `${ORIGINS} origins, two principals; a turn settles two tasks and claims two. attempts a second: a queue at the other origins, ${CONCURRENCY} at a time.`,
  )
}

/** Milliseconds of turns that settle what the one before claimed, until the others are done. */
async function turns(store, claim, others) {
  const took = []
  let settle = []
  for (let done = 0; done < others; ) {
    const start = performance.now()
    const turn = await store.turn({ owner: 'bench', settle, renew: [], claim })
    took.push(performance.now() - start)
    if (turn.claimed.length === 0) break
    settle = delivered(turn.claimed)
    done += turn.claimed.length
  }
  return { p50: quantile(took, 0.5), p99: quantile(took, 0.99) }
}
