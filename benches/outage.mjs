// An outage as callers see it: 1,000 awaited calls in ten seconds to a server that goes away in the middle, by redrive and by what people
// use today, each as its documentation has it, with no option set.
//
//   npm run bench -- outage [--rounds 1] [--only closed] [--seconds 1,5,20] [--out target/outage.json]
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { at } from '../scripts/lib/paths.mjs'
import { median } from './lib/measure.mjs'
import { contestants } from './lib/outage/contestants.mjs'
import { run } from './lib/outage/run.mjs'
import { verdicts } from './lib/outage/verdicts.mjs'
import { orLess } from './lib/smoke.mjs'
import { aim, figure, note, table } from './lib/table.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    seconds: { type: 'string', default: '1,5,20' },
    out: { type: 'string', default: at('target', 'outage.json') },
    smoke: { type: 'boolean', default: false },
  },
})
const rounds = orLess(Number(values.rounds))
if (!(rounds >= 1)) throw new Error('--rounds takes a number of at least 1')
const names = Object.keys(contestants)
const seconds = orLess(values.seconds.split(',').map(Number), [1])
const kinds = orLess(['closed', '503', 'hang'], ['closed'])
/** How long each answer of a slow server takes, in seconds. */
const SLOW_S = 15
const arrivals = orLess(['steady', 'bursts'], ['steady'])
const worlds = kinds
  .flatMap((kind) => seconds.flatMap((awayS) => arrivals.map((arrival) => ({ kind, awayS, arrival }))))
  .concat(orLess(['one', 'steady'], []).map((arrival) => ({ kind: 'slow', awayS: SLOW_S, arrival })))
  .map((world) => ({ ...world, name: `${world.kind}, ${world.awayS} s, ${world.arrival}` }))
  .filter(({ name }) => name.includes(values.only))

async function inPairs(list, work) {
  const results = []
  for (let i = 0; i < list.length; i += 2) results.push(...(await Promise.all(list.slice(i, i + 2).map(work))))
  return results
}

const KEYS = ['errors', 'late', 'seconds', 'tail', 'inVain', 'requests', 'p50']
const measured = []
for (const world of worlds) {
  const runs = names.map(() => [])
  for (let round = 0; round < rounds; round++) {
    // two at a time, each with a server of its own: they wait more than they work
    const results = await inPairs(names, (name) =>
      run({ ...world, name, calls: world.arrival === 'one' ? 1 : orLess(1_000, 60) }),
    )
    results.forEach((result, i) => {
      runs[i].push(result)
    })
  }
  const rows = names.map((name, i) => ({
    name,
    ...Object.fromEntries(KEYS.map((key) => [key, median(runs[i].map((each) => each[key]))])),
    lostInTens: runs[i].at(-1).lostInTens,
  }))
  measured.push({ ...world, rows })
  console.log(`### The server: ${world.name}\n`)
  table(
    [
      '',
      'errors',
      'of calls made after its return',
      'all through, s',
      'after its return, s',
      'requests in vain',
      'requests',
      'p50, ms',
    ],
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
note(
  'closed: its port is. hang: it is stopped, and answers what it has accepted once it goes on. slow: each answer takes so long, for good. A call that has no end 45 s after',
)
note(
  'the last was made counts as an error. Requests in vain: those refused, answered 503, or sent while it was stopped.',
)
mkdirSync(dirname(values.out), { recursive: true })
const about = { rounds, machine: cpus()[0].model.trim(), node: process.versions.node }
writeFileSync(values.out, `${JSON.stringify({ ...about, measured }, undefined, 2)}\n`)
