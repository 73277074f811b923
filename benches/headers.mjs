// What it costs to find which of 20 headers may be kept and shown.
import { measureInBoth } from './lib/both.mjs'
import { aim, figure, note, table } from './lib/table.mjs'

const OURS = 'redrive, Sanitizer'
const GROUP = '20 headers'

const both = await measureInBoth('headers')
table(
  ['us for 20 headers', ...both.map(({ where }) => where)],
  Object.keys(both[0].figures[GROUP]).map((who) => [
    who,
    ...both.map(({ figures }) => figure(figures[GROUP][who] / 1_000)),
  ]),
)
console.log()
for (const { where, figures } of both) {
  const us = figures[GROUP][OURS] / 1_000
  aim(`${where}: about 2 us`, us <= 2.5, `${figure(us)} us`)
}
note('only the first looks into values for secrets, knows patterns of names and refuses what HTTP does not allow;')
note('the others are told the classes of just these names.')
