// `node scripts/plot/drain.mjs`: draws target/drain.svg from target/drain.json, which `npm run bench -- drain` leaves there; or from
// another file that is named.
import { readFileSync, writeFileSync } from 'node:fs'
import { at } from '../lib/paths.mjs'
import { grouped, label, legend, n, picture, RIGHT, WIDTH } from '../lib/plot.mjs'

const NAMES = 250
const WORDS = 190
const BAR = WIDTH - NAMES - RIGHT - WORDS
const ROW = 20
const GAP = 66

const { calls, measured } = JSON.parse(readFileSync(process.argv[2] ?? at('target', 'drain.json'), 'utf8'))
const isOurs = ({ name }) => name.startsWith('redrive')
const seconds = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} s`

/** Contestants that have lost calls come last, whatever their time. */
const inOrder = (a, b) => Number(a.lost > 0) - Number(b.lost > 0) || a.seconds - b.seconds

function panelOf({ world, alike, rows }, top) {
  const most = Math.max(...rows.map((row) => row.seconds))
  const title = `A server that ${world}, ${alike ? 'the same waits for all' : "each library's own waits"}`
  const bars = [...rows].sort(inOrder).map((row, i) => {
    const y = top + i * ROW
    const as = row.lost > 0 ? 'lost' : isOurs(row) ? 'ours' : 'theirs'
    const width = Math.max(2, (row.seconds / most) * BAR)
    const bar = `<rect class="mark ${as}" x="${NAMES}" y="${y}" width="${n(width)}" height="${ROW - 5}" rx="2"/>`
    const words = `${seconds(row.seconds)}, ${grouped(row.requests)} requests`
    const lost = row.lost > 0 ? `, <tspan class="word lost strong">${grouped(row.lost)} lost</tspan>` : ''
    const name = label(NAMES - 10, y + 12, row.name, { anchor: 'end', as: isOurs(row) ? 'strong' : '' })
    return name + bar + label(NAMES + width + 8, y + 12, words + lost, { as: 'soft' })
  })
  return label(NAMES, top - 12, title, { as: 'name' }) + bars.join('')
}

let top = 106
const parts = measured.map((each) => {
  const drawn = panelOf(each, top)
  top += each.rows.length * ROW + GAP
  return drawn
})
const names = [
  ['ours', 'redrive'],
  ['theirs', 'others'],
  ['lost', 'calls lost'],
]
const title = `Until ${grouped(calls)} calls are through`
const drawing = picture({
  height: top - GAP + 24,
  title,
  heading: `${title}, six at a time`,
  note: 'shorter is better',
  desc: `The time until ${grouped(calls)} calls are through, the requests made for it and the calls lost, for redrive and others, where the server fails 30 % of its requests and where it is away for 5 seconds.`,
  series: { ours: 'green', theirs: 'grey', lost: 'red' },
  parts: [legend(62, names), ...parts],
})
writeFileSync(at('target', 'drain.svg'), drawing)
