// `node scripts/plot/calls.mjs`: draws docs/calls.svg from target/outage.json, which `npm run bench -- outage` leaves there: each
// library's 1,000 calls in the order in which they were made, ten to a bar, answered or lost, while a server is down for five seconds.
import { readFileSync, writeFileSync } from 'node:fs'
import { at } from '../lib/paths.mjs'
import { grouped, label, legend, n, picture, RIGHT, WIDTH } from '../lib/plot.mjs'

const NAMES = 176
const WORDS = 196
const STRIP = WIDTH - NAMES - RIGHT - WORDS
const TOP = 96
const ROW = 36
const HEIGHT = 22
const AWAY_FROM_S = 0.5

const { measured } = JSON.parse(readFileSync(process.argv[2] ?? at('target', 'outage.json'), 'utf8'))
const world = measured.find(({ name }) => name === 'closed, 5 s, steady')
if (!world) throw new Error('no row of a closed port: npm run bench -- outage --seconds 5 --only steady')
const { rows, awayS } = world
const calls = rows[0].lostInTens.length * 10
const bottom = TOP + rows.length * ROW
const place = (second) => NAMES + (second / (calls / 100)) * STRIP

function strip({ name, errors, inVain, lostInTens }, i) {
  const y = TOP + i * ROW
  const width = STRIP / lostInTens.length
  const whole = `<rect class="mark got" x="${NAMES}" y="${y}" width="${STRIP}" height="${HEIGHT}"/>`
  const lost = lostInTens.map((count, at) => {
    const high = (count / 10) * HEIGHT
    return (
      count &&
      `<rect class="mark lost" x="${n(NAMES + at * width)}" y="${n(y + HEIGHT - high)}" width="${n(width + 0.2)}" height="${n(high)}"/>`
    )
  })
  const isOurs = name === 'redrive'
  const who = label(NAMES - 12, y + 15, name, { anchor: 'end', as: isOurs ? 'strong' : '' })
  const said = `<tspan class="word ${errors ? 'lost' : 'got'} strong">${grouped(errors)} lost</tspan>, ${grouped(inVain)} in vain`
  return who + whole + lost.filter(Boolean).join('') + label(NAMES + STRIP + 12, y + 15, said, { as: 'soft' })
}

const seconds = Array.from({ length: calls / 200 + 1 }, (_, i) => i * 2)
const drawing = picture({
  height: bottom + 34,
  title: `${grouped(calls)} calls while a server is down for ${awayS} seconds`,
  desc: rows.map(({ name, errors, inVain }) => `${name}: ${errors} calls lost, ${inVain} requests in vain`).join('; '),
  note: 'each library with no option set',
  series: { got: 'green', lost: 'red' },
  parts: [
    legend(62, [
      ['got', 'calls answered'],
      ['lost', 'calls lost'],
    ]),
    ...rows.map(strip),
    ...[AWAY_FROM_S, AWAY_FROM_S + awayS].map(
      (s) => `<path class="limit" d="M${n(place(s))} ${TOP - 8}V${bottom - 6}"/>`,
    ),
    label(place(AWAY_FROM_S + awayS / 2), TOP - 14, 'the server is down', { anchor: 'middle', as: 'soft' }),
    label(NAMES + STRIP + 12, TOP - 14, 'calls lost, requests in vain', { as: 'soft' }),
    ...seconds.map((s) =>
      label(place(s), bottom + 12, s ? `${s} s` : 'calls made at 0 s', { anchor: s ? 'middle' : 'end', as: 'soft' }),
    ),
  ],
})
writeFileSync(at('docs', 'calls.svg'), drawing)
