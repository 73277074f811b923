// Tasks in Redis: redrive's store beside BullMQ, with the same requests, on the same server. Two clients of Redis can be the slower part:
// the server, which has one thread, and Node. So each figure of speed has what it cost both processors beside it, which holds on a busy
// machine too.
//
//   npm run bench -- redis                                     about half an hour
//   npm run bench -- redis --only run,claim --rounds 2         parts of it: enqueue, single, run, four, fails, memory, claim,
//                                                              longest, lanes, sent; with `--only run,aof` on a server with a file
//   npm run bench -- redis --full                              the longest script of 1,000,000 tasks, and not of 100,000
import { parseArgs } from 'node:util'
import { orLess, smoke } from './lib/smoke.mjs'
import { aim, figure, note, table, times } from './lib/table.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '5' },
    tasks: { type: 'string', default: '15000' },
    full: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
  },
})
const PARTS = ['enqueue', 'single', 'run', 'four', 'fails', 'memory', 'claim', 'longest', 'lanes', 'sent']
/** Those of which the file is a part of the work. */
const WRITES = ['enqueue', 'single', 'run', 'four', 'fails']
const only = values.only.split(',').filter(Boolean)
const unknown = only.filter((name) => name !== 'aof' && !PARTS.includes(name))
if (unknown.length > 0) throw new Error(`no such part: ${unknown.join(', ')}; there are ${PARTS.join(', ')} and aof`)
const asked = only.filter((name) => name !== 'aof')
const has = (name) => asked.length === 0 || asked.includes(name)
const servers = only.length === 0 ? [false, true] : [only.includes('aof')]

const installed = (name) => {
  try {
    return Boolean(import.meta.resolve(name))
  } catch {
    return false
  }
}
const missing = ['bullmq', 'ioredis', 'redis'].filter((name) => !installed(name))
if (missing.length > 0) {
  note(`left out: ${missing.join(', ')} not installed`)
  process.exit()
}
const { openRedis } = await import('./lib/redis/server.mjs')
const { isBuilt } = await import('./lib/redis/ours.mjs')
const { enqueued, lanes, processed } = await import('./lib/redis/store-runs.mjs')
const { bytesEach, claims, scripts } = await import('./lib/redis/sizes.mjs')
const { endToEnd } = await import('./lib/redis/end-to-end.mjs')

/** More than are kept when they are done, so that old ones are deleted meanwhile. */
const TASKS = orLess(Number(values.tasks), 200)
const ROUNDS = orLess(Number(values.rounds))
const SINGLES = orLess(2_000, 20)
const SENT = orLess(Math.min(10_000, Number(values.tasks)), 200)
const LANES = orLess(10_000, 100)
const WAITING = orLess([10_000, 100_000], [500])
const DUE = orLess(50_000, 500)
const CLAIMS = orLess(400, 3)
const LIFE = orLess(values.full ? 1_000_000 : 100_000, 1_000)

const US = 'redrive, ioredis'
const THEM = 'BullMQ'
const ranged = ({ median, least, most }) => `${figure(median)} (${figure(least)} to ${figure(most)})`
const ratio = (a, b) => a.median / b.median
const thousands = (value) => value.toLocaleString('en-US')

/** One line for each contestant: its rate, what of BullMQ's that is, and what it costs. */
function speeds(what, of, rows, base = THEM) {
  table(
    [what, `${of} a second`, `of ${base}`, 'Redis CPU, us each', `of ${base}`, 'Node CPU, us each'],
    Object.entries(rows).map(([name, { rate, redisMicros, nodeMicros }]) => [
      name,
      ranged(rate),
      times(ratio(rate, rows[base].rate)),
      ranged(redisMicros),
      times(ratio(redisMicros, rows[base].redisMicros)),
      ranged(nodeMicros),
    ]),
  )
  console.log()
}

const judged = []
const judge = (what, reached, measured) => judged.push({ what, reached, measured })
const atLeast = (what, least, value) => judge(`${what} >= ${least}x`, value >= least, times(value))

const parts = {
  async enqueue(redis, where) {
    const taken = await enqueued(redis, TASKS, { rounds: ROUNDS })
    speeds('enqueued, 200 a call', 'tasks', taken)
    atLeast(`enqueue in bulk${where}`, 2, ratio(taken[US].rate, taken[THEM].rate))
  },
  async single(redis) {
    speeds('enqueued, each awaited', 'tasks', await enqueued(redis, SINGLES, { rounds: ROUNDS, aCall: 1 }))
  },
  async run(redis, where) {
    const run = await processed(redis, TASKS, { rounds: ROUNDS })
    speeds('processed, one runner, 64 at a time', 'attempts', run)
    atLeast(`processing, one runner${where}`, 3, ratio(run[US].rate, run[THEM].rate))
    const cpu = ratio(run[US].redisMicros, run[THEM].redisMicros)
    judge(`Redis CPU per attempt <= 1/3${where}`, cpu <= 1 / 3, times(cpu))
  },
  async four(redis, where) {
    const run = await processed(redis, TASKS, { rounds: ROUNDS, runners: 4 })
    speeds('processed, four runners', 'attempts', run)
    atLeast(`processing, four runners${where}`, 4, ratio(run[US].rate, run[THEM].rate))
  },
  async fails(redis) {
    const run = await processed(redis, Math.ceil(TASKS / 2), { rounds: ROUNDS, fails: true })
    speeds('fails once, then succeeds', 'attempts', run)
  },
  async memory(redis) {
    const sizes = []
    for (const count of WAITING) sizes.push(await bytesEach(redis, count))
    table(
      ['bytes of a waiting task, 500 B of body', ...WAITING.map((count) => `of ${thousands(count)}`)],
      Object.keys(sizes[0]).map((name) => [name, ...sizes.map((each) => figure(each[name]))]),
    )
    console.log()
    const last = sizes.at(-1)
    const due = last['redrive, due'] / last['BullMQ, waiting']
    const later = last['redrive, due in an hour'] / last['BullMQ, delayed for an hour']
    judge('memory per task <= 1.1x', Math.max(due, later) <= 1.1, `${times(due)} due, ${times(later)} delayed`)
  },
  async claim(redis) {
    const claim = await claims(redis, { due: DUE, count: CLAIMS })
    table(
      [`claim of 64, ${thousands(DUE)} due, ms`, 'p50', 'p99'],
      [
        ['for the caller', figure(claim.call.p50), figure(claim.call.p99)],
        ['its script', figure(claim.script.p50), figure(claim.script.p99)],
        ["Redis' CPU, mean", figure(claim.cpuMs)],
      ],
    )
    console.log()
    const said = `${figure(claim.call.p99)} ms, its script ${figure(claim.script.p99)} ms, Redis' CPU ${figure(claim.cpuMs)} ms`
    judge(`claim of 64 among ${thousands(DUE)} due <= 3 ms p99`, claim.call.p99 <= 3, said)
  },
  async longest(redis) {
    const life = await scripts(redis, LIFE)
    table(
      [`scripts in a run of ${thousands(LIFE)} tasks, ms`, 'p50', 'p99', 'longest'],
      Object.entries(life).map(([name, { p50, p99, longest }]) => [name, ...[p50, p99, longest].map(figure)]),
    )
    console.log()
    const longest = Math.max(life.enqueue.longest, life.turn.longest)
    judge('longest script <= 10 ms', longest <= 10, `${figure(longest)} ms`)
  },
  async lanes(redis) {
    const run = await lanes(redis, TASKS, LANES, { rounds: ROUNDS })
    speeds('processed, 64 a turn', 'attempts', run, '1 lane')
    const [one, many] = Object.values(run)
    const [cpu, wall] = [ratio(many.redisMicros, one.redisMicros), ratio(one.rate, many.rate)]
    const cost = `${times(cpu)} of Redis' CPU, ${times(wall)} of the time`
    judge(`${thousands(LANES)} lanes <= 2x of one`, Math.max(cpu, wall) <= 2, cost)
  },
  async sent(redis) {
    const { enqueue, run } = await endToEnd(redis, SENT, { rounds: ROUNDS })
    speeds('sent to a server, 64 at a time', 'tasks', run, 'BullMQ, fetch')
    speeds('handed to the queue, 200 at once', 'tasks', enqueue, 'BullMQ, fetch')
    atLeast('end to end', 2.5, ratio(run[US].rate, run['BullMQ, fetch'].rate))
  },
}

const begun = performance.now()
for (const appendonly of servers) {
  const redis = await openRedis({ appendonly })
  console.log(`### Redis ${redis.version}, ${appendonly ? 'appendonly yes, everysec' : 'nothing on disk'}\n`)
  const where = appendonly ? ', AOF' : ''
  for (const name of PARTS) {
    if (has(name) && (!appendonly || WRITES.includes(name))) await parts[name](redis, where)
  }
  await redis.close()
}

for (const { what, reached, measured } of judged.sort((a, b) => Number(a.reached) - Number(b.reached))) {
  aim(what, reached, measured)
}
console.log()
note(
  `Medians of ${ROUNDS} rounds in turns (least to most), ${Math.round((performance.now() - begun) / 1_000)} s in all.`,
)
note('500 B of body; of those that are done 10,000 are kept; runners do nothing with a task. Redis over loopback.')
note(
  'CPU: of the whole process, system time too. It is another for each machine; on a busy one it rises less than time does.',
)
if (!isBuilt) note('The package has no redis.js: the store is that of js/stores/redis.ts.')
if (smoke) note('With --smoke no figure means anything.')
