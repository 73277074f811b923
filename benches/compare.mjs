// Two builds of redrive, row by row, in turns: each a folder that holds the package, a checkout that was built, or a name that git
// knows, which is checked out and built first.
//
//   npm run bench -- compare main HEAD [--only enqueue] [--rounds 5]
//   npm run bench -- compare ../before/pkg pkg
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildOf } from './lib/compare/builds.mjs'
import { rows } from './lib/compare/rows.mjs'
import { median } from './lib/measure.mjs'
import { orLess, smoke } from './lib/smoke.mjs'
import { figure, note } from './lib/table.mjs'

/** A difference from here on is marked. */
const NOTABLE = 0.05
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '5' },
    smoke: { type: 'boolean', default: false },
  },
})
const rounds = orLess(Number(values.rounds))
if (positionals.length !== 2 || !(rounds >= 1)) {
  console.error('npm run bench -- compare OLD NEW [--only part-of-a-row] [--rounds 5]')
  process.exit(2)
}

/** A process that measures one row for one build. */
async function openSide(name, { pkg, tree = '' }) {
  const file = fileURLToPath(new URL('lib/compare/side.mjs', import.meta.url))
  const side = fork(file, [name, tree, ...(smoke ? ['--smoke'] : [])], {
    execArgv: ['--expose-gc'],
    env: { ...process.env, REDRIVE_PKG: pkg },
  })
  const ended = once(side, 'exit').then(([code]) => [new Error(`${name}, ${pkg}: ended with ${code}`)])
  const said = async () => {
    const [heard] = await Promise.race([once(side, 'message'), ended])
    if (heard instanceof Error) throw heard
    return heard
  }
  await said()
  return {
    measure() {
      side.send('measure')
      return said()
    },
    close: () => side.disconnect(),
  }
}

/** @returns {Promise<[number, number][]>} of each round what both took */
async function inTurns(name, builds, { rounds, warmUp }) {
  const sides = await Promise.all(builds.map((build) => openSide(name, build)))
  const found = []
  for (let round = -warmUp; round < rounds; round++) {
    const pair = []
    for (const i of round % 2 === 0 ? [0, 1] : [1, 0]) pair[i] = await sides[i].measure()
    if (round >= 0) found.push(pair)
  }
  for (const side of sides) side.close()
  return found
}

function cellsOf(unit, pairs) {
  const ratios = pairs.map(([old, now]) => now / old)
  const ratio = median(ratios)
  const mark = ratio > 1 + NOTABLE ? 'WORSE' : ratio < 1 - NOTABLE ? 'better' : ''
  const range = pairs.length > 1 ? `${figure(Math.min(...ratios))} to ${figure(Math.max(...ratios))}` : ''
  const medians = [0, 1].map((i) => figure(median(pairs.map((pair) => pair[i]))))
  return [unit, ...medians, figure(ratio), range, mark]
}

const builds = []
for (const name of positionals) builds.push(await buildOf(name))
const wanted = Object.entries(rows).filter(([name]) => name.includes(values.only))
const widths = [Math.max(...wanted.map(([name]) => name.length)), 22, 9, 9, 9, 14, 6]
/** Rows take their time: each is printed when it is known. */
function print(cells) {
  const padded = widths.map((width, i) => (i < 2 ? (cells[i] ?? '').padEnd(width) : (cells[i] ?? '-').padStart(width)))
  console.log(`| ${padded.join(' | ')} |`)
}
console.log()
print(['', '', 'OLD', 'NEW', 'NEW / OLD', 'rounds', ''])
print(widths.map((width, i) => (i < 2 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)))
for (const [name, row] of wanted) {
  const able = !row.sources || builds.every(({ tree }) => tree)
  const turns = { warmUp: orLess(1, 0), ...row, rounds: Math.min(rounds, row.rounds ?? rounds) }
  print([name, ...(able ? cellsOf(row.unit, await inTurns(name, builds, turns)) : [row.unit])])
}
console.log()
note(`OLD is ${builds[0].name}, NEW is ${builds[1].name}; in every row less is better.`)
note(`Medians of ${rounds} rounds in which both take turns; the ratio is the median of the rounds' own ratios.`)
note('A dash: the row measures what the package does not export, and there are no sources beside it.')
