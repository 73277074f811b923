// The retry service as a process, asked over HTTP: what a POST takes, what an attempt costs beside BullMQ's, how late tasks are, what one
// tenant suffers from thousands of others and from one that floods, and whether memory grows. All on loopback, the processes that ask and answer included: on two
// processors they are in each other's way, so that costs say more than rates do.
//
//   npm run bench -- service                                about twenty minutes
//   npm run bench -- service --only sent,lateness --rounds 2   parts of it: posts, steady, sent, lateness, tenants, flood, mixed, memory
//   npm run bench -- service --only memory --minutes 60
//   npm run bench -- service --only mixed                    a calm tenant beside hostile ones, minute by minute; ten of them for each store, some with a full one
//   PROFILES=/tmp/profiles npm run bench -- service --only sent   leaves a CPU profile of each process that sends
import { parseArgs } from 'node:util'
import { orLess, smoke } from './lib/smoke.mjs'
import { aim, figure, note, table, times } from './lib/table.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '3' },
    tasks: { type: 'string', default: '6000' },
    minutes: { type: 'string', default: '10' },
    smoke: { type: 'boolean', default: false },
  },
})
const PARTS = ['posts', 'steady', 'sent', 'lateness', 'tenants', 'flood', 'mixed', 'memory']
const asked = values.only.split(',').filter(Boolean)
const unknown = asked.filter((name) => !PARTS.includes(name))
if (unknown.length > 0) throw new Error(`no such part: ${unknown.join(', ')}; there are ${PARTS.join(', ')}`)

const installed = (name) => {
  try {
    return Boolean(import.meta.resolve(name))
  } catch {
    return false
  }
}
const missing = ['bullmq', 'ioredis', 'undici'].filter((name) => !installed(name))
if (missing.length > 0) {
  note(`left out: ${missing.join(', ')} not installed`)
  process.exit()
}
const { openArena } = await import('./lib/service/arena.mjs')
const { flooded } = await import('./lib/service/flood.mjs')
const { lateness } = await import('./lib/service/lateness.mjs')
const { memory } = await import('./lib/service/memory.mjs')
const { mixed } = await import('./lib/service/mixed.mjs')
const { posts, steady } = await import('./lib/service/posts.mjs')
const { sent } = await import('./lib/service/sent.mjs')
const { isBuilt } = await import('./lib/service/service.mjs')
const { tenants } = await import('./lib/service/tenants.mjs')

const turns = { rounds: orLess(Number(values.rounds)), warmUp: orLess(1, 0) }
const TASKS = orLess(Number(values.tasks), 100)
const SINGLES = orLess(1_000, 10)
const PER_SECOND = orLess(1_000, 50)
const SECONDS = orLess(20, 1)
const DUE = orLess(1_000, 20)
const SPREAD_MS = orLess(10_000, 200)
const TENANTS = orLess(10_000, 30)
const DOWN = orLess(250, 3)
const GOOD_A_SECOND = 20
const GOOD_SECONDS = orLess(30, 1)
const FLOOD = orLess(20_000, 60)
const SLOW_MS = orLess(500, 20)
const SLOW = 20
/** Tenants that flood at once, and the targets of each, which get a task of each. */
const WIDE = orLess(50, 3)
const WIDE_TARGETS = orLess(3_000, 20)
const WIDE_FLOOD = WIDE * WIDE_TARGETS
/** Half of a target's 20 places is what a tenant finds beside a flood: these take a quarter of them. */
const SINGLES_A_SECOND = 10
const LOAD = orLess(200, 20)
const MINUTES = orLess(Number(values.minutes), 3)
const MINUTE_MS = orLess(60_000, 500)

const STORES = ['SQLite', 'Redis']
const FETCH = 'BullMQ, fetch'
const UNDICI = 'BullMQ, undici.request'
const thousands = (value) => value.toLocaleString('en-US')
const ranged = ({ median, least, most }) => `${figure(median)} (${figure(least)} to ${figure(most)})`
const ratio = (a, b) => a.median / b.median

const judged = []
const judge = (what, reached, measured) => judged.push({ what, reached, measured })
const percent = (share) => `${figure(share * 100)} %`
const atMost = (what, most, value) => judge(`${what} <= ${most} ms`, value <= most, `${figure(value)} ms`)

function lateTable(what, rows) {
  table(
    [what, 'p50 ms late', 'p99', 'most'],
    Object.entries(rows).map(([name, { p50, p99, most }]) => [name, figure(p50), figure(p99), figure(most)]),
  )
  console.log()
}

const parts = {
  async posts(arena) {
    for (const [connections, count] of [
      [1, SINGLES],
      [50, TASKS],
    ]) {
      const rows = await posts(arena, { count, connections, ...turns })
      table(
        [`POSTs on ${connections}`, 'a second', 'p50 ms', 'p99', 'Node CPU, us each', 'Redis CPU'],
        Object.entries(rows).map(([name, { rate, p50, p99, nodeMicros, redisMicros }]) => [
          name,
          ranged(rate),
          ...[p50, p99, nodeMicros, redisMicros].map(({ median }) => figure(median)),
        ]),
      )
      console.log()
    }
  },
  async steady(arena) {
    const given = { perSecond: PER_SECOND, seconds: SECONDS }
    const rows = {
      'due in an hour': await steady(arena, { ...given, isSent: false }),
      'sent at once': await steady(arena, { ...given, isSent: true }),
    }
    table(
      [`${thousands(PER_SECOND)} POSTs a second, Redis`, 'p50 ms', 'p99', 'most'],
      Object.entries(rows).map(([name, { p50, p99, most }]) => [name, figure(p50), figure(p99), figure(most)]),
    )
    console.log()
    for (const [name, { p99 }] of Object.entries(rows)) atMost(`p99 of a POST, ${name}`, 15, p99)
  },
  async sent(arena) {
    const rows = await sent(arena, TASKS, turns)
    table(
      ['sent to a server, 64 at a time', 'attempts a second', `of ${FETCH}`, 'CPU, us each', 'Node', 'Redis'],
      Object.entries(rows).map(([name, { rate, micros, nodeMicros, redisMicros }]) => [
        name,
        ranged(rate),
        times(ratio(rate, rows[FETCH].rate)),
        ranged(micros),
        figure(nodeMicros.median),
        figure(redisMicros.median),
      ]),
    )
    console.log()
    for (const store of STORES) {
      const own = rows[`redrive serve, ${store}`]
      for (const [name, least] of [
        [FETCH, 2.5],
        [UNDICI, 1],
      ]) {
        const [rate, cpu] = [ratio(own.rate, rows[name].rate), ratio(rows[name].micros, own.micros)]
        const both = `${times(cpu)} by CPU, ${times(rate)} by time`
        judge(`an attempt on ${store} >= ${least}x of ${name}`, Math.min(cpu, rate) >= least, both)
      }
    }
  },
  async lateness(arena) {
    const rows = {}
    for (const name of STORES) {
      const { leadMs, claimed, ...late } = await lateness(arena, arena.stores[name], {
        count: DUE,
        spreadMs: SPREAD_MS,
      })
      if (leadMs < 0) note(`${name}: the last of them was posted ${figure(-leadMs)} ms after the first was due`)
      rows[name] = late
      const { atOnce, within5 } = claimed
      judge(`half of the tasks are claimed in less than 1 ms, ${name}`, atOnce >= 0.5, percent(atOnce))
      judge(`99 % of the tasks are claimed within 5 ms, ${name}`, within5 >= 0.99, percent(within5))
    }
    lateTable(`${thousands(DUE)} tasks due over ${SPREAD_MS / 1_000} s: at their target`, rows)
  },
  async tenants(arena) {
    const rows = {}
    for (const name of STORES) {
      const given = { tenants: TENANTS, perSecond: GOOD_A_SECOND, seconds: GOOD_SECONDS }
      const late = await tenants(arena, arena.stores[name], given)
      rows[name] = late
      const { waiting, failedASecond, redisBusy } = late
      note(
        `${name}: ${thousands(waiting)} tasks waited, ${figure(failedASecond)} attempts a second failed meanwhile, and Redis was busy for ${percent(redisBusy)} of the time`,
      )
      atMost(`lateness p99 of the good tenant, ${name}`, 50, late.p99)
    }
    console.log()
    lateTable(`the one of ${thousands(TENANTS)} tenants whose target works`, rows)
  },
  async flood(arena) {
    const ports = await arena.target.ask('openSlow', SLOW, SLOW_MS)
    const slow = ports.map((port) => `http://127.0.0.1:${port}`)
    const many = (await arena.target.ask('openMany', WIDE_TARGETS)).map((port) => `http://127.0.0.1:${port}`)
    const [one] = slow
    const { origin } = arena
    const ways = {
      'no flood': { flood: 0, slow: [one], origin },
      'to another target': { flood: FLOOD, slow: [one], origin },
      'to the same target': { flood: FLOOD, slow: [one], origin: one },
      [`to ${SLOW} other targets`]: { flood: FLOOD, slow, origin },
      'the same, by two tenants': { flood: FLOOD, slow, origin, by: 2 },
      [`the same, by ${WIDE}`]: { flood: FLOOD, slow, origin, by: WIDE },
      [`to ${thousands(WIDE_TARGETS)} fast ones`]: { flood: WIDE_FLOOD, slow: many, origin },
      [`to as many, by ${WIDE}`]: { flood: WIDE_FLOOD, slow: many, origin, by: WIDE },
    }
    for (const name of STORES) {
      const rows = []
      let alone
      for (const [way, how] of Object.entries(ways)) {
        const given = { ...how, perSecond: SINGLES_A_SECOND, seconds: GOOD_SECONDS }
        const { p50, p99, most, handing, tookMs, left } = await flooded(arena, arena.stores[name], given)
        alone ??= p99
        const isFlood = how.flood > 0
        rows.push([
          way,
          ...[p50, p99, most].map(figure),
          isFlood ? times(p99 / alone) : undefined,
          ...(isFlood ? [figure(handing.p99), figure(tookMs / 1_000), thousands(left)] : []),
        ])
        if (isFlood) atMost(`p99 of a tenant's wait beside a flood, ${way}, ${name}`, how.by === WIDE ? 60 : 50, p99)
      }
      table(
        [
          `${name}: ms to the first attempt, beside a flood of ${thousands(FLOOD)} tasks`,
          ...['p50', 'p99', 'most', 'p99 of no flood', 'p99 while it came', 's that took', 'left of it'],
        ],
        rows,
      )
      console.log()
    }
    note(
      `Flood: targets that take ${SLOW_MS} ms. ${SINGLES_A_SECOND} single tasks a second, ${GOOD_SECONDS} s from its beginning on.`,
    )
  },
  async mixed(arena) {
    const ports = await arena.target.ask('openSlow', SLOW, SLOW_MS)
    const slow = ports.map((port) => `http://127.0.0.1:${port}`)
    const given = { slow, perSecond: SINGLES_A_SECOND, minutes: MINUTES, minuteMs: MINUTE_MS }
    for (const name of STORES) {
      const rows = await mixed(arena, arena.stores[name], given)
      table(
        [`${name}: ms to a calm first attempt`, 'p50', 'p99', 'most', 'wait', 'dead', 'answers to others'],
        rows.map(({ p50, p99, most, left, dead, answers, isFull, refused }, at) => [
          `minute ${at + 1}${isFull ? `, full, ${refused} refused` : ''}`,
          ...[p50, p99, most].map(figure),
          ...[left, dead].map(thousands),
          [...answers].map(([status, count]) => `${count} x ${status}`).join(', '),
        ]),
      )
      console.log()
      atMost(
        `p99 of a calm tenant beside a mixed flood, ${name}`,
        60,
        // while the store is full there may be none that was taken
        Math.max(...rows.flatMap(({ p99, isFull }) => (isFull && Number.isNaN(p99) ? [] : p99))),
      )
    }
    note(
      'Mixed: slow, failing and dead targets, bodies of rounded numbers, lists of 1,000; from half of the minutes to four fifths a full store, SQLite where TMPDIR leads to a disk of at most 1 GiB.',
    )
  },
  async memory(arena) {
    await arena.target.ask('begin', { failsBut: 2 })
    const given = { perSecond: LOAD, minutes: MINUTES, minuteMs: MINUTE_MS }
    const sizes = await Promise.all(STORES.map((name) => memory(arena, name, arena.stores[name], given)))
    table(
      [`MiB in memory, ${LOAD} tasks a second`, ...STORES],
      Array.from({ length: MINUTES + 1 }, (_, at) => [
        at === 0 ? 'at the start' : `minute ${at}`,
        ...sizes.map((each) => figure(each[at])),
      ]),
    )
    console.log()
  },
}

const begun = performance.now()
const arena = await openArena(DOWN)
note(`Redis ${arena.redis.version}, appendonly yes, everysec; SQLite on a disk, each write synced`)
console.log()
for (const name of PARTS) if (asked.length === 0 || asked.includes(name)) await parts[name](arena)
await arena.close()

for (const { what, reached, measured } of judged.sort((a, b) => Number(a.reached) - Number(b.reached))) {
  aim(what, reached, measured)
}
if (judged.length > 0) console.log()
const took = Math.round((performance.now() - begun) / 1_000)
note(`Medians of ${turns.rounds} rounds in turns (least to most) where there are rounds; ${took} s in all.`)
note('500 B of body. CPU: of whole processes, system time too; those of the client and of the target are not counted.')
note(
  'Every second task that is sent fails once: where all first attempts fail, breaker and ramp hold back the service.',
)
note(
  `${thousands(TENANTS)} tenants: a principal each, to ${DOWN} ports of loopback that answer 503; the good one has its own.`,
)
if (!isBuilt) note('Beside the package is no pkg-service/cli.js: the service is that of js/cli.ts.')
if (smoke) note('With --smoke no figure means anything.')
