// Draws the pictures of docs/concepts/, one a page: `node scripts/plot/concepts.mjs`. Narrower than the plots, since a phone shows them in
// full width. A test holds the files to this.
import { writeFileSync } from 'node:fs'
import { at } from '../lib/paths.mjs'
import { palette } from '../lib/plot.mjs'
import { isEntry } from '../lib/steps.mjs'

const WIDTH = 460

const style = `
    ${palette}
    .back { fill: var(--back) } .box { fill: var(--fill); stroke: var(--line) } text { fill: var(--ink) }
    .soft { fill: var(--soft); font-size: 13px } .name { font-weight: 600 } .mid { text-anchor: middle } .end { text-anchor: end }
    .wire { fill: none; stroke: var(--soft); stroke-width: 1.6 } .life { stroke: var(--line); stroke-width: 1.6 } .dash { stroke-dasharray: 4 4 }
    .head { fill: var(--soft) } .green { fill: var(--green) } .red { fill: var(--red) } .blue { fill: var(--blue) } .orange { fill: var(--orange) }
    .cross { fill: none; stroke: var(--red); stroke-width: 2.4; stroke-linecap: round } .pale { fill-opacity: .18 }
    .shut { fill: none; stroke: var(--red); stroke-width: 3; stroke-linecap: round } .ring { fill: var(--fill); stroke: var(--soft); stroke-width: 1.6 }
    .key { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 13px }`

const text = (x, y, words, as = '') => `<text x="${x}" y="${y}"${as && ` class="${as}"`}>${words}</text>`
const rect = (x, y, width, height, as) =>
  `<rect class="${as}" x="${x}" y="${y}" width="${width}" height="${height}" rx="7"/>`
/** Opaque, where its colour is a pale one too. */
const box = (x, y, width, height, as = 'box') =>
  `${as === 'box' ? '' : rect(x, y, width, height, 'back')}${rect(x, y, width, height, as)}`
const dot = (x, y, as) => `<circle class="${as}" cx="${x}" cy="${y}" r="6"/>`
const cross = (x, y) => `<path class="cross" d="M${x - 6} ${y - 6}l12 12m0-12l-12 12"/>`

/** A level arrow, its head at the end. */
function arrow(from, to, y, as = '') {
  const way = to > from ? -1 : 1
  return `<path class="wire ${as}" d="M${from} ${y}H${to + way * 7}"/><path class="head" d="M${to} ${y}l${way * 8} -4.5v9z"/>`
}

const picture = ({ height, title, desc, parts }) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="t d" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif" font-size="14.5">
  <title id="t">${title}</title>
  <desc id="d">${desc}</desc>
  <style>${style}
  </style>
  <rect class="back" width="${WIDTH}" height="${height}" rx="10"/>
  ${parts.join('\n  ')}
</svg>
`

const atLeastOnce = () => {
  const [queue, server] = [70, 330]
  return picture({
    height: 322,
    title: 'An answer that is lost, and a second attempt under the same key',
    desc: 'The server does the work of the first attempt, and its answer is lost. The second attempt carries the same key: the server knows it, and repeats its answer without doing the work again.',
    parts: [
      text(queue, 32, 'queue', 'name mid'),
      text(server, 32, 'server', 'name mid'),
      `<path class="life" d="M${queue} 46V304M${server} 46V304"/>`,
      text(200, 72, 'attempt 1, key 7f3a', 'soft mid'),
      arrow(queue, server, 82),
      box(server - 62, 94, 124, 30, 'green pale'),
      text(server, 114, 'does the work', 'mid'),
      arrow(server, 222, 146, 'dash'),
      cross(208, 146),
      text(190, 151, 'lost', 'soft end'),
      text(200, 192, 'attempt 2, key 7f3a', 'soft mid'),
      arrow(queue, server, 202),
      box(server - 62, 214, 124, 30, 'blue pale'),
      text(server, 234, 'knows 7f3a', 'mid'),
      text(200, 260, 'the same answer', 'soft mid'),
      arrow(server, queue, 270),
      dot(queue, 292, 'green'),
      text(queue + 14, 297, 'done', 'soft'),
    ],
  })
}

const keys = () => {
  const row = (y, first, key, effect, as) => [
    box(20, y, 150, 34),
    text(95, y + 22, first, 'mid'),
    arrow(174, 206, y + 17),
    text(250, y + 22, key, 'key mid'),
    arrow(294, 326, y + 17),
    box(330, y, 110, 34, `${as} pale`),
    text(385, y + 22, effect, 'mid'),
  ]
  return picture({
    height: 296,
    title: 'A key for each call, or one that the caller gives',
    desc: 'Two clicks are two calls with two random keys, so two orders. The same event enqueued twice under its own id has one key, so there is one task and one order.',
    parts: [
      text(20, 32, 'two clicks: each call has a key of its own', 'name'),
      ...row(46, 'click', '7f3a…', 'order 1', 'green'),
      ...row(92, 'click', 'c04d…', 'order 2', 'green'),
      text(20, 176, 'one event, enqueued twice under its own id', 'name'),
      ...row(190, 'event 2041', 'evt_2041', 'order 3', 'blue'),
      box(20, 236, 150, 34),
      text(95, 258, 'event 2041', 'mid'),
      `<path class="wire" d="M174 253H250V224"/><path class="head" d="M250 217l-4.5 8h9z"/>`,
      text(266, 258, 'the same task', 'soft'),
    ],
  })
}

const lanes = () => {
  const lane = (y, user, origin, waiting, open) => [
    text(20, y - 10, user, 'name'),
    text(440, y - 10, origin, 'soft end'),
    box(20, y, 420, 40),
    ...waiting.map((x) => dot(x, y + 20, open ? 'green' : 'ring')),
    ...(open
      ? [arrow(320, 424, y + 20)]
      : [`<path class="shut" d="M300 ${y + 6}v28"/>`, text(314, y + 25, 'held until 14:03', 'soft')]),
  ]
  return picture({
    height: 280,
    title: 'Three lanes, one of them held',
    desc: 'A lane has the requests of one principal to one origin. The lane of ann to api.example.com is held until 14:03; those of ben to the same origin, and of ann to another, go on.',
    parts: [
      ...lane(42, 'ann', 'api.example.com', [50, 78, 106, 134, 162], false),
      ...lane(132, 'ben', 'api.example.com', [50, 78], true),
      ...lane(222, 'ann', 'pay.example.com', [50, 78, 106], true),
    ],
  })
}

const leases = () => {
  const [a, b] = [64, 152]
  return picture({
    height: 282,
    title: 'A lease that ends with its process, and a token that rises',
    desc: 'Process A takes a task with token 4 and dies in the middle of an attempt. Process B takes it with token 5 and delivers it. What A might still say under token 4 changes nothing.',
    parts: [
      text(20, a + 5, 'A', 'name'),
      text(20, b + 5, 'B', 'name'),
      `<path class="life" d="M44 ${a}H440M44 ${b}H440"/>`,
      box(64, a - 17, 128, 34, 'orange pale'),
      text(128, a + 5, 'token 4', 'mid'),
      cross(192, a),
      text(208, a - 8, 'A dies: its lock is free,', 'soft'),
      text(208, a + 12, 'and with it the lease', 'soft'),
      `<path class="wire dash" d="M192 ${a + 12}V${b - 24}"/><path class="head" d="M192 ${b - 18}l-4.5 -8h9z"/>`,
      box(192, b - 17, 128, 34, 'green pale'),
      text(256, b + 5, 'token 5', 'mid'),
      dot(320, b, 'green'),
      text(334, b - 8, 'delivered', 'soft'),
      box(20, 202, 420, 56),
      text(34, 225, 'Under token 4, from now on:', 'soft'),
      text(34, 245, 'a failure changes nothing; a success still counts.'),
    ],
  })
}

const gates = () => {
  const rows = [
    ['deadline', 'over: the task ends'],
    ['attempts', 'used up: the task ends'],
    ['hold of the lane', 'the server asked for a wait'],
    ['breaker, ramp', 'the server is down, or just back'],
    ['retry budget', 'retries would add too much load'],
    ['rate, limits', 'enough are under way'],
  ]
  return picture({
    height: 80 + rows.length * 44 + 44,
    title: 'The gates between a task that is due and its next attempt',
    desc: `In this order: ${rows.map(([name, why]) => `${name} (${why})`).join(', ')}.`,
    parts: [
      `<path class="wire" d="M40 44V${70 + rows.length * 44 + 6}"/><path class="head" d="M40 ${70 + rows.length * 44 + 14}l-4.5 -8h9z"/>`,
      dot(40, 34, 'blue'),
      text(60, 39, 'a task that is due', 'name'),
      ...rows.flatMap(([name, why], index) => {
        const y = 58 + index * 44
        const colour = index < 2 ? 'red' : 'orange'
        return [
          box(60, y, 380, 34),
          `<rect class="${colour}" x="24" y="${y + 14}" width="32" height="5" rx="2.5"/>`,
          text(72, y + 22, name),
          text(428, y + 22, why, 'soft end'),
        ]
      }),
      dot(40, 80 + rows.length * 44 + 14, 'green'),
      text(60, 85 + rows.length * 44 + 14, 'an attempt', 'name'),
    ],
  })
}

export const concepts = {
  'at-least-once': atLeastOnce(),
  keys: keys(),
  lanes: lanes(),
  leases: leases(),
  gates: gates(),
}

if (isEntry(import.meta.url)) {
  for (const [name, svg] of Object.entries(concepts)) writeFileSync(at('docs', 'concepts', `${name}.svg`), svg)
}
