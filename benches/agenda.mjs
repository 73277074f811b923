// What one step of a queue costs beside two heaps; the wheel by itself is in benches/agenda.
import { measureInBoth } from './lib/both.mjs'
import { exponent } from './lib/measure.mjs'
import { smoke } from './lib/smoke.mjs'
import { sizesOf } from './lib/suites/agenda.mjs'
import { figure, note, table } from './lib/table.mjs'

const sizes = sizesOf({ full: process.argv.includes('--full'), smoke })

for (const { where, figures } of await measureInBoth('agenda')) {
  const of = (who, n) => figures[String(n)][who]
  table(
    [`${where}: ns per step`, ...sizes.map((n) => n.toLocaleString('en-US')), 'exponent'],
    Object.keys(figures[String(sizes[0])]).map((who) => [
      who,
      ...sizes.map((n) => figure(of(who, n))),
      exponent(sizes.map((n) => [n, of(who, n)])).toFixed(2),
    ]),
  )
  console.log()
}
note(
  'a step: one task comes due, fails, and waits another 0 to 60 s. The core decides all of that; the heaps only sort.',
)
