// What the key of a request with a JSON body costs: canonical form and hash.
import { measureInBoth } from './lib/both.mjs'
import { documents } from './lib/suites/json.mjs'
import { aim, figure, note, table, times } from './lib/table.mjs'

const OURS = 'redrive, contentKey'
const names = Object.keys(documents)
const bytes = (text) => Buffer.byteLength(text).toLocaleString('en-US')

for (const { where, figures } of await measureInBoth('json')) {
  const contestants = Object.keys(figures[names[0]])
  table(
    [`${where}: us per key`, ...names],
    contestants.map((who) => [who, ...names.map((name) => figure(figures[name][who] / 1_000))]),
  )
  console.log()
  for (const who of contestants.filter((name) => name !== OURS)) {
    const ratios = names.map((name) => figures[name][who] / figures[name][OURS])
    aim(
      `at least 3x ahead of ${who}`,
      ratios.every((ratio) => ratio >= 3),
      ratios.map(times).join(', '),
    )
  }
  console.log()
}
note(names.map((name) => `${name}: ${bytes(documents[name])} bytes`).join('; '))
note('orders: objects three deep, members unsorted, seven numbers in ten decimals, some text with escapes;')
note('the track: six numbers in ten have 16 or 17 digits.')
