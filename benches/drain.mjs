// How long until 1,000 calls are through, six at a time, where the server fails some or is away for a while: redrive beside what
// people use today, with the waits that each has by default, and with the same waits for all.
//
//   npm run bench -- drain [--rounds 5] [--calls 1000] [--only redrive] [--out target/drain.json]
//   node scripts/plot/drain.mjs                draws target/drain.svg from that file
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { at } from '../scripts/lib/paths.mjs'
import { openArena } from './lib/drain/arena.mjs'
import { contestants } from './lib/drain/contestants.mjs'
import { WORLDS } from './lib/drain/faults.mjs'
import { verdicts } from './lib/drain/verdicts.mjs'
import { median } from './lib/measure.mjs'
import { orLess, smoke } from './lib/smoke.mjs'
import { aim, figure, note, table } from './lib/table.mjs'

/** Nobody's time varies much that waits for so long: one round says enough. */
const LONG_S = 45
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    calls: { type: 'string', default: '1000' },
    only: { type: 'string', default: '' },
    out: { type: 'string', default: at('target', 'drain.json') },
    smoke: { type: 'boolean', default: false },
  },
})
const rounds = orLess(Number(values.rounds))
const calls = orLess(Number(values.calls), 12)
if (!(rounds >= 1 && calls >= 4)) throw new Error('--rounds takes a number of at least 1, --calls one of at least 4')

const KEYS = ['seconds', 'requests', 'lost', 'p50', 'p99', 'megabytes', 'atOnce']
const arena = await openArena()
const missing = [
  arena.redisPort === undefined && 'a redis-server (REDIS_PATH=/path/to/it)',
  !isInstalled('bullmq') && 'npm install --no-save bullmq@6.7.0 ioredis@6.0.0',
].filter(Boolean)
const names = Object.keys(contestants).filter(
  (name) => name.includes(values.only) && !(contestants[name].needsRedis && missing.length > 0),
)
/** With `--smoke` one world that fails some and is away for a moment. */
const worlds = orLess(WORLDS, { 'does both': { failShare: 0.3, awayMs: 200 } })
const cases = orLess([false, true], [true])
  .flatMap((alike) => Object.keys(worlds).map((world) => ({ world, alike })))
  .map((each) => ({ ...each, runs: Object.fromEntries(names.map((name) => [name, []])) }))

for (let round = 0; round < rounds; round++) {
  for (const { world, alike, runs } of cases) {
    for (const name of names) {
      if (runs[name][0]?.seconds > LONG_S) continue
      runs[name].push(await arena.run({ name, alike, calls, seed: round + 1, ...worlds[world] }))
    }
  }
  if (!smoke) save(round + 1)
}
arena.close()

function isInstalled(name) {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}

function medians() {
  const row = (name, runs) => ({
    name,
    rounds: runs.length,
    ...Object.fromEntries(KEYS.map((key) => [key, median(runs.map((run) => run[key]))])),
  })
  return cases.map(({ world, alike, runs }) => ({ world, alike, rows: names.map((name) => row(name, runs[name])) }))
}

/** After each round, of which all take many minutes. */
function save(roundsDone) {
  mkdirSync(dirname(values.out), { recursive: true })
  const about = { calls, rounds: roundsDone, machine: cpus()[0].model.trim(), node: process.versions.node }
  writeFileSync(values.out, `${JSON.stringify({ ...about, measured: medians() }, undefined, 2)}\n`)
}

const measured = medians()
for (const { world, alike, rows } of measured) {
  console.log(`### A server that ${world}; ${alike ? 'the same waits for all' : "each library's own waits"}\n`)
  table(
    ['', 'all through, s', 'requests', 'calls lost', 'p50, s', 'p99, s', 'memory, MB', 'at once'],
    rows.map((row) => [row.name, ...KEYS.map((key) => figure(row[key]))]),
  )
  console.log()
}
const judged = measured.flatMap(verdicts)
for (const { what, reached, said } of [...judged].sort((a, b) => Number(a.reached) - Number(b.reached))) {
  aim(what, reached, said)
}
console.log()
for (const name of names) note(`${name}: ${contestants[name].how}`)
if (missing.length > 0) note(`BullMQ is left out; it needs ${missing.join(' and ')}.`)
note(
  `Medians of ${rounds} rounds in turns, each with faults of its own; one round where a contestant takes ${LONG_S} s.`,
)
note('The same waits: full jitter below 100 ms, then 200, 400 and so on, and ten attempts.')
note(
  'p50, p99: from the first call to the answer, for 1,000 callers who come at once. Memory: the most that was resident.',
)
note('At once: the most requests that the server had at a time.')
