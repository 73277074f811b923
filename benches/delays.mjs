// What it costs to work out one wait. A queue never calls any of these: its waits come out of `settle`.
import { measureInBoth } from './lib/both.mjs'
import { figure, note, table } from './lib/table.mjs'

const both = await measureInBoth('delays')
const groups = Object.keys(both[0].figures)
for (const group of groups) {
  table(
    [`ns per call, ${group}`, ...both.map(({ where }) => where)],
    Object.keys(both[0].figures[group]).map((who) => [who, ...both.map(({ figures }) => figure(figures[group][who]))]),
  )
  console.log()
}
note('core.calculateBackoffDelay checks its arguments and resolves the policy each time.')
note('drawn: Math.random in JS; crypto.getRandomValues for the core, twice in the second row of it.')
