// Parts of the plots in docs/: one palette for light and dark grounds, a frame with its ticks, lines, bands, a legend.
// A series is a class that names its colour; what is drawn with it takes the colour from there.
export const WIDTH = 880
export const LEFT = 64
export const RIGHT = 24
const PLOT = WIDTH - LEFT - RIGHT

/** Colours on a light ground and on a dark one. */
const colours = {
  ink: ['#1d2733', '#e6ebf0'],
  soft: ['#5b6b7b', '#9fb0c0'],
  line: ['#d3dbe3', '#36424e'],
  fill: ['#ffffff', '#1c242c'],
  back: ['#f5f7fa', '#12181e'],
  orange: ['#c2571a', '#f0935a'],
  green: ['#0b6e4f', '#4cc79a'],
  grey: ['#7a8794', '#8d9aa7'],
  blue: ['#1f5fa8', '#6fb1f5'],
  pale: ['#9fd3bf', '#2b6a55'],
  yellow: ['#e2b33c', '#d9a92f'],
  red: ['#c8473d', '#e0645a'],
}
const root = (ground) =>
  `:root { ${Object.entries(colours)
    .map(([name, both]) => `--${name}: ${both[ground]}`)
    .join('; ')} }`

/** The colours as custom properties, `--ink` and its like, for the ground that the reader prefers. */
export const palette = `${root(0)}
    @media (prefers-color-scheme: dark) { ${root(1)} }`

const style = (series) => `
    ${palette}
    ${Object.entries(series)
      .map(([name, colour]) => `.${name} { --c: var(--${colour}) }`)
      .join(' ')}
    .back { fill: var(--back) } .box { fill: var(--fill); stroke: var(--line) } .grid { stroke: var(--line) }
    text { fill: var(--ink) } .soft { fill: var(--soft); font-size: 12px } .name { font-weight: 600; font-size: 14px }
    .plot { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round } .thin { stroke-width: 1.5 }
    .area { fill: var(--c); opacity: .14 } .mark, .word { fill: var(--c) } .strong { font-weight: 600 }
    .band { fill: var(--red); opacity: .09 } .limit { stroke: var(--soft); stroke-width: 1.2; stroke-dasharray: 6 4 }
    .edge { stroke: var(--soft); stroke-width: 1.2; stroke-dasharray: 2 3 }`

/** At most one digit behind the point. */
export const n = (value) => String(Math.round(value * 10) / 10)

export const grouped = (value) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',')

/** From an instant to its place, where `endAt` is the last one. */
export const scale = (endAt) => (at) => LEFT + (at / endAt) * PLOT

export const label = (x, y, words, { anchor = 'start', as = '' } = {}) =>
  `<text x="${n(x)}" y="${n(y)}"${anchor === 'start' ? '' : ` text-anchor="${anchor}"`}${as && ` class="${as}"`}>${words}</text>`

/** `series`: the classes that the parts use, with their colours. `note` stands at the right of the heading. */
export function picture({ height, title, heading = title, note, desc, series, parts }) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="t d" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif" font-size="13.5">
  <title id="t">${title}</title>
  <desc id="d">${desc}</desc>
  <style>${style(series)}
  </style>
  <rect class="back" width="${WIDTH}" height="${height}" rx="10"/>
  ${[label(LEFT, 34, heading, { as: 'name' }), note && label(WIDTH - RIGHT, 34, note, { anchor: 'end', as: 'soft' }), ...parts].filter(Boolean).join('\n  ')}
</svg>
`
}

/** A frame from 0 to `most`, with a rule at each of `ticks`. */
export function panel({ top, height, most = 1, title, ticks = [0, most / 2, most] }) {
  const y = (value) => top + height - (Math.min(value, most) / most) * height
  const rules = ticks.map((tick) => {
    const rule = tick === 0 ? '' : `<path class="grid" d="M${LEFT} ${n(y(tick))}h${PLOT}"/>`
    return rule + label(LEFT - 8, y(tick) + 4, grouped(tick), { anchor: 'end', as: 'soft' })
  })
  const box = `<rect class="box" x="${LEFT}" y="${top}" width="${PLOT}" height="${height}"/>`
  return { top, height, y, frame: box + label(LEFT, top - 10, title, { as: 'name' }) + rules.join('') }
}

/** The time between two instants, over the height of a panel. */
export const band = ({ top, height }, from, to) =>
  `<rect class="band" x="${n(from)}" y="${top}" width="${n(to - from)}" height="${height}"/>`

export const limit = ({ y }, value) => `<path class="limit" d="M${LEFT} ${n(y(value))}h${PLOT}"/>`

/** A line through points; filled down to the foot of its panel if that is given. */
export function line(as, points, filledIn) {
  const path = points.map(([x, y]) => `${n(x)} ${n(y)}`).join('L')
  const drawn = `<path class="plot ${as}" d="M${path}"/>`
  if (!filledIn) return drawn
  const foot = `L${n(points.at(-1)[0])} ${filledIn.top + filledIn.height}H${n(points[0][0])}z`
  return `<path class="area ${as}" d="M${path}${foot}"/>${drawn}`
}

/** Right-aligned, the last one outermost. Widths are guesses: no renderer is asked. */
export function legend(y, names) {
  let right = WIDTH - RIGHT + 16
  const entries = [...names].reverse().map(([as, word]) => {
    right -= 36 + word.length * 6.4
    const mark = `<rect class="mark ${as}" x="${n(right)}" y="${y - 10}" width="11" height="11" rx="2"/>`
    return mark + label(right + 16, y, word, { as: 'soft' })
  })
  return entries.join('')
}
