// What it would cost to count tasks in memory in the limits over processes: a transaction of the store before their attempts.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { inProfile, newProfile } from './lib/indexeddb/profile.mjs'
import { median, takeTurns } from './lib/measure.mjs'
import { RetryQueue } from './lib/package.mjs'
import { bundle, servePage } from './lib/page.mjs'
import { attempts, WAYS } from './lib/seats/run.mjs'
import { orLess } from './lib/smoke.mjs'
import { openSqlite } from './lib/stores.mjs'
import { figure, note, table } from './lib/table.mjs'

const ROUNDS = orLess(15)
const COUNT = orLess(300, 6)
const CONCURRENCY = [3, 10]

const loopback = fork(new URL('loopback-server.mjs', import.meta.url), { execArgv: [] })
const [port] = await once(loopback, 'message')
const server = await servePage(await bundle("import './seats/page.mjs'"))
let serial = 0

/** One small row, written. */
const transact = (store) => store.homes.holdHome('seat', 60_000)
const cpu = []

const rates = await inProfile(newProfile(), async (open) => {
  const page = await open(server.url)
  const kinds = {
    async SQLite(given) {
      const before = process.cpuUsage()
      const url = `http://127.0.0.1:${port}/${++serial}/`
      const rate = await attempts(RetryQueue, openSqlite(), { ...given, count: COUNT, url, transact })
      const { user, system } = process.cpuUsage(before)
      cpu.push({ ...given, micros: (user + system) / (2 * COUNT) })
      return rate
    },
    'IndexedDB in Chromium': (given) =>
      page.evaluate(([name, given]) => bench.attempts(name, given), [`seats-${++serial}`, { ...given, count: COUNT }]),
  }
  const found = []
  for (const [kind, run] of Object.entries(kinds)) {
    for (const concurrency of CONCURRENCY) {
      const contestants = Object.fromEntries(WAYS.map((way) => [way, () => run({ way, concurrency })]))
      const rate = await takeTurns(contestants, { rounds: ROUNDS, warmUp: 3, collect: false })
      found.push([`${kind}, ${concurrency} at once`, ...compared(rate)])
    }
  }
  return found
})
const heads = ['no transaction', 'one before each', 'kept up to 1 s']
table(['attempts a second', ...heads], rates)
console.log()
table(
  ['CPU of an attempt, us', ...heads],
  CONCURRENCY.map((concurrency) => {
    const of = (way) => cpu.filter((run) => run.way === way && run.concurrency === concurrency).slice(orLess(3, 0))
    const micros = WAYS.map((way) => [way, median(of(way).map(({ micros }) => micros))])
    return [`SQLite, ${concurrency} at once`, ...compared(Object.fromEntries(micros))]
  }),
)
note(`medians of ${ROUNDS} rounds of ${COUNT} GETs; in Node each has a 503 and a 200, in the page a 200.`)
note('CPU time differs less where the machine is busy. A transaction that takes a seat would do more than these.')
server.close()
loopback.disconnect()

/** The first as it is, the others beside it. */
function compared({ none, ...others }) {
  const shares = Object.values(others).map(
    (value) => `${value >= none ? '+' : ''}${figure((value / none - 1) * 100)} %`,
  )
  return [figure(none), ...shares]
}
