// The picture of a run: what the server saw, what the queues held, what their breakers did, over one axis of time.
const WIDTH = 880
const LEFT = 64
const RIGHT = 24
const PLOT = WIDTH - LEFT - RIGHT
const STATES = { CLOSED: 'closed', HALF_OPEN: 'half', OPEN: 'open' }
/** Rates are taken over so many samples: a second. */
const SPAN = 4

const style = `
    :root { --ink: #1d2733; --soft: #5b6b7b; --line: #d3dbe3; --fill: #ffffff; --back: #f5f7fa; --seen: #c2571a; --done: #0b6e4f; --sent: #7a8794; --depth: #1f5fa8; --closed: #9fd3bf; --half: #e2b33c; --open: #c8473d; --down: #c8473d }
    @media (prefers-color-scheme: dark) { :root { --ink: #e6ebf0; --soft: #9fb0c0; --line: #36424e; --fill: #1c242c; --back: #12181e; --seen: #f0935a; --done: #4cc79a; --sent: #8d9aa7; --depth: #6fb1f5; --closed: #2b6a55; --half: #d9a92f; --open: #e0645a; --down: #e0645a } }
    .back { fill: var(--back) } .box { fill: var(--fill); stroke: var(--line) } .grid { stroke: var(--line); stroke-width: 1 }
    text { fill: var(--ink) } .soft { fill: var(--soft); font-size: 12px } .name { font-weight: 600; font-size: 14px }
    .plot { fill: none; stroke-width: 2; stroke-linejoin: round }
    .seen { stroke: var(--seen) } .done { stroke: var(--done) } .sent { stroke: var(--sent); stroke-width: 1.5 } .depth { stroke: var(--depth) }
    .area { fill: var(--depth); opacity: .14 } .limit { stroke: var(--soft); stroke-width: 1.2; stroke-dasharray: 6 4 }
    .outage { fill: var(--down); opacity: .09 } .edge { stroke: var(--soft); stroke-width: 1.2; stroke-dasharray: 2 3 }
    .tseen { fill: var(--seen) } .tdone { fill: var(--done) } .tsent { fill: var(--sent) } .tdepth { fill: var(--depth) } .tdown { fill: var(--down); font-weight: 600 }
    .closed { fill: var(--closed) } .half { fill: var(--half) } .open { fill: var(--open) }`

/** @param {Awaited<ReturnType<typeof import('./run.mjs').outage>>} run */
export function chart({ samples, circuits, capacity, downAt, upAt, drainedAt, options, summary }) {
  const endAt = samples.at(-1).at
  const x = (at) => LEFT + (at / endAt) * PLOT
  const rates = samples.map((each, i) => {
    // the first second has none before it: it is shown as a whole
    const sample = i < SPAN ? (samples[SPAN] ?? each) : each
    const before = samples[Math.max(0, i - SPAN)]
    const over = (key) => (sample.at > before.at ? (sample[key] - before[key]) / (sample.at - before.at) : 0)
    return { at: each.at, seen: over('seen'), succeeded: over('succeeded'), attempts: over('attempts') }
  })
  const busiest = rates.reduce((most, { seen, attempts }) => Math.max(most, seen, attempts), capacity)
  const deepest = samples.reduce((most, { depth }) => Math.max(most, depth), 1)

  const traffic = panel({ top: 84, height: 170, most: niceOver(busiest), title: 'Requests a second' })
  const backlog = panel({ top: 308, height: 120, most: niceOver(deepest), title: 'Tasks held' })
  const rowHeight = 16
  const rows = { top: 482, height: options.clients * rowHeight }
  const bottom = rows.top + rows.height
  const height = bottom + 66

  const band = (top, tall) =>
    `<rect class="outage" x="${n(x(downAt))}" y="${top}" width="${n(x(upAt) - x(downAt))}" height="${tall}"/>`
  const tall = [traffic, backlog, rows].map(({ top, height }) => `M${n(x(drainedAt))} ${top}v${height}`).join('')
  const mark = drainedAt === null ? '' : `<path class="edge" d="${tall}"/>`
  const limit = `<path class="limit" d="M${LEFT} ${n(traffic.y(capacity))}h${PLOT}"/>`
  const depthLine = line(
    samples,
    (each) => x(each.at),
    (each) => backlog.y(each.depth),
  )
  const parts = [
    head(height, options, summary),
    traffic.frame,
    backlog.frame,
    `<rect class="box" x="${LEFT}" y="${rows.top}" width="${PLOT}" height="${rows.height}"/>`,
    band(traffic.top, traffic.height),
    band(backlog.top, backlog.height),
    limit,
    `<text x="${LEFT + 6}" y="${n(traffic.y(capacity) - 6)}" class="soft">what the server can do</text>`,
    ...[
      ['attempts', 'sent'],
      ['seen', 'seen'],
      ['succeeded', 'done'],
    ].map(
      ([key, name]) =>
        `<path class="plot ${name}" d="${line(
          rates,
          (each) => x(each.at),
          (each) => traffic.y(each[key]),
        )}"/>`,
    ),
    legend(traffic.top - 10, [
      ['tdone', 'succeeded'],
      ['tseen', 'reached the server'],
      ['tsent', 'sent'],
    ]),
    `<path class="area" d="${depthLine}L${n(x(endAt))} ${backlog.top + backlog.height}H${LEFT}z"/>`,
    `<path class="plot depth" d="${depthLine}"/>`,
    `<text x="${LEFT}" y="${rows.top - 10}" class="name">Breaker of each process</text>`,
    ...Array.from({ length: options.clients }, (_, client) =>
      states(circuits, client, x, endAt, rows.top + client * rowHeight, rowHeight),
    ),
    stateLegend(rows.top - 10),
    mark,
    axis(x, bottom, endAt),
    words(x, bottom + 42, { downAt, upAt, drainedAt, endAt }),
    '</svg>',
  ]
  return `${parts
    .filter(Boolean)
    .join('\n  ')
    .replace(/\n {2}<\/svg>$/, '\n</svg>')}\n`
}

const n = (value) => String(Math.round(value * 10) / 10)

/** The next of 1, 2, 2.5, 5 times a power of ten. */
function niceOver(value) {
  const unit = 10 ** Math.floor(Math.log10(value))
  return unit * ([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((step) => step * unit >= value * 1.05) ?? 10)
}

function head(height, { clients, load, downS }, { calls, amplification, lost }) {
  const title = `A server that is away for ${downS} s`
  const desc = `${clients} processes keep calling at ${Math.round(load * 100)} % of what the server can do. Requests a second, tasks held and breakers, before, during and after an outage of ${downS} seconds.`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="t d" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif" font-size="13.5">
  <title id="t">${title}</title>
  <desc id="d">${desc}</desc>
  <style>${style}
  </style>
  <rect class="back" width="${WIDTH}" height="${height}" rx="10"/>
  <text x="${LEFT}" y="34" class="name" font-size="16">${title}, and ${clients} processes that keep calling</text>
  <text x="${WIDTH - RIGHT}" y="34" text-anchor="end" class="soft">${grouped(calls)} calls, ${amplification.toFixed(2)} requests for each, ${lost} lost</text>`
}

function panel({ top, height, most, title }) {
  const y = (value) => top + height - (Math.min(value, most) / most) * height
  const ticks = [0, 0.5, 1].map((share) => {
    const at = n(y(share * most))
    const rule = share === 0 ? '' : `<path class="grid" d="M${LEFT} ${at}h${PLOT}"/>`
    return `${rule}<text x="${LEFT - 8}" y="${Number(at) + 4}" text-anchor="end" class="soft">${grouped(share * most)}</text>`
  })
  const frame = `<rect class="box" x="${LEFT}" y="${top}" width="${PLOT}" height="${height}"/>
  <text x="${LEFT}" y="${top - 10}" class="name">${title}</text>
  ${ticks.join('')}`
  return { top, height, y, frame }
}

const grouped = (value) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',')

const line = (rows, x, y) => `M${rows.map((row) => `${n(x(row))} ${n(y(row))}`).join('L')}`

/** Right-aligned, the last one outermost. Widths are guesses: no renderer is asked. */
function legend(y, names) {
  let right = WIDTH - RIGHT
  const texts = []
  for (const [name, word] of [...names].reverse()) {
    texts.push(`<text x="${right}" y="${y}" text-anchor="end" class="${name}" font-size="12.5">— ${word}</text>`)
    right -= 34 + word.length * 6.6
  }
  return texts.join('')
}

function stateLegend(y) {
  let right = WIDTH - RIGHT
  const parts = []
  for (const [name, word] of [
    ['open', 'open'],
    ['half', 'half-open'],
    ['closed', 'closed'],
  ]) {
    parts.push(`<text x="${right}" y="${y}" text-anchor="end" class="soft">${word}</text>`)
    right -= 10 + word.length * 6.4
    parts.push(`<rect class="${name}" x="${n(right - 10)}" y="${y - 10}" width="11" height="11" rx="2"/>`)
    right -= 24
  }
  return parts.join('')
}

/** The row of a process. What is half-open for the blink of a probe is still to be seen. */
function states(circuits, client, x, endAt, top, height) {
  const changes = [{ at: 0, to: 'CLOSED' }, ...circuits.filter((change) => change.client === client)]
  const rects = changes.map(({ at, to }, i) => {
    const from = x(Math.min(Math.max(at, 0), endAt))
    const until = x(Math.min(changes[i + 1]?.at ?? endAt, endAt))
    const width = Math.max(until - from, to === 'HALF_OPEN' ? 2 : 0)
    return {
      to,
      rect: `<rect class="${STATES[to]}" x="${n(from)}" y="${top + 1}" width="${n(width)}" height="${height - 2}"/>`,
    }
  })
  // on top of what follows them
  rects.sort((a, b) => Number(a.to === 'HALF_OPEN') - Number(b.to === 'HALF_OPEN'))
  const number = `<text x="${LEFT - 8}" y="${top + 12}" text-anchor="end" class="soft">${client + 1}</text>`
  return rects.map(({ rect }) => rect).join('') + number
}

function axis(x, y, endAt) {
  const step = [1, 2, 5, 10, 20, 30, 60].find((each) => endAt / each <= 14) ?? 120
  const ticks = []
  for (let at = 0; at <= endAt; at += step) {
    ticks.push(
      `<text x="${n(x(at))}" y="${y + 18}" text-anchor="middle" class="soft">${at}${at === 0 ? ' s' : ''}</text>`,
    )
  }
  return ticks.join('')
}

function words(x, y, { downAt, upAt, drainedAt, endAt }) {
  const middle = (downAt + upAt) / 2
  const away = `<text x="${n(x(middle))}" y="${y}" text-anchor="middle" class="tdown">away</text>`
  if (drainedAt === null) return away
  const side = drainedAt > endAt * 0.7 ? 'end' : 'start'
  const text = `backlog gone ${Math.round(drainedAt - upAt)} s after it is back`
  return `${away}<text x="${n(x(drainedAt))}" y="${y}" text-anchor="${side}">${text}</text>`
}
