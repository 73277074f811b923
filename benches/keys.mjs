// What the key of a request costs, beside other SHA-256s over the same bytes.
import { measureInBoth } from './lib/both.mjs'
import { sizeNames, sizes } from './lib/suites/keys.mjs'
import { aim, figure, note, table, times } from './lib/table.mjs'

const OURS = 'redrive, contentKey'
const AIMS = [
  ['hash-wasm, reused', 1.3, sizes],
  ['@noble/hashes', 3, sizes],
]
const IN_A_PAGE = [
  ['crypto.subtle', 5, [100]],
  ['crypto.subtle', 1.5, [1_000]],
]

for (const { where, figures } of await measureInBoth('keys')) {
  for (const kind of ['text', 'bytes']) {
    const of = (name, size) => figures[`${kind} ${size}`][name]
    const names = Object.keys(figures[`${kind} ${sizes[0]}`])
    table(
      [`${where}, ${kind}: us per key`, ...sizes.map((size) => sizeNames[size])],
      names.map((name) => [name, ...sizes.map((size) => figure(of(name, size) / 1_000))]),
    )
    console.log()
    for (const [name, least, at] of where === 'Node' ? AIMS : [...AIMS, ...IN_A_PAGE]) {
      const ratios = at.map((size) => of(name, size) / of(OURS, size))
      aim(
        `at least ${least}x ahead of ${name}, ${at
          .map((size) => sizeNames[size])
          .join(' to ')
          .replace(/ to .* to /, ' to ')}`,
        ratios.every((ratio) => ratio >= least),
        ratios.map(times).join(', '),
      )
    }
    console.log()
  }
}
note('generateIdempotencyKey is contentKey behind the checks of its arguments and of the URL.')
note('contentKey normalizes the URL and finds the class of the content type; the others are handed both, but for the')
note('row with new URL. SHA-256 alone is handed everything, framed.')
