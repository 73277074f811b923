/** The plots of a plan as a picture that stands by itself, for light and dark grounds. */

import { type Axis, duration, linearAxis, logAxis, plural } from 'redrive/internal'
import { CROWD_RETRIES, type Plan } from './plan-numbers.ts'

const WIDTH = 880
const HEIGHT = 620
const LEFT = 64
const RIGHT = 24
const PLOT = WIDTH - LEFT - RIGHT
const BANDS = { top: 96, height: 200 }
const DOTS = { top: 366, height: 200 }
const HUES = 6

/** Pairs for a light ground and a dark one. */
const COLOURS = {
  ink: ['#1d2733', '#e6ebf0'],
  soft: ['#5b6b7b', '#9fb0c0'],
  line: ['#d3dbe3', '#36424e'],
  fill: ['#ffffff', '#1c242c'],
  back: ['#f5f7fa', '#12181e'],
  c0: ['#1f5fa8', '#6fb1f5'],
  c1: ['#c2571a', '#f0935a'],
  c2: ['#0b6e4f', '#4cc79a'],
  c3: ['#8a3f9e', '#cf8fe0'],
  c4: ['#8a6d00', '#d9b64a'],
  c5: ['#b3362d', '#ee7f76'],
} as const

const root = (ground: 0 | 1): string =>
  `:root { ${Object.entries(COLOURS)
    .map(([name, both]) => `--${name}: ${both[ground]}`)
    .join('; ')} }`

const STYLE = `
    ${root(0)}
    @media (prefers-color-scheme: dark) { ${root(1)} }
    .back { fill: var(--back) } .box { fill: var(--fill); stroke: var(--line) } .grid { stroke: var(--line) }
    text { fill: var(--ink) } .soft { fill: var(--soft); font-size: 12px } .name { font-weight: 600; font-size: 14px }
    .band { fill: var(--c0); opacity: .35 } .mean { fill: var(--c0) }
    ${Array.from({ length: HUES }, (_, i) => `.r${i} { fill: var(--c${i}) }`).join(' ')}`

const n = (value: number): string => String(Math.round(value * 10) / 10)
const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`).replace(/[^\P{C}]/gu, '')

const label = (x: number, y: number, text: string, as = '', anchor = 'start'): string =>
  `<text x="${n(x)}" y="${n(y)}"${anchor === 'start' ? '' : ` text-anchor="${anchor}"`}${as && ` class="${as}"`}>${escaped(text)}</text>`

/** `curve`: the policy in a line. */
export function planSvg(plan: Plan, curve: string): string {
  const { policy, schedule, tasks } = plan
  const longest = duration(schedule.at(-1)?.totalMaxMs ?? 0)
  const title = `Waits of ${policy.policyId}`
  const desc = `${curve}. ${plural(schedule.length, 'retry', 'retries')} within ${longest} at most.`
  const shown = Math.min(schedule.length, CROWD_RETRIES)
  const crowd = `Retries 1 to ${shown} of ${plural(tasks, 'task')} that fail at the same moment`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="t d" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif" font-size="13.5">
  <title id="t">${escaped(title)}</title>
  <desc id="d">${escaped(desc)}</desc>
  <style>${STYLE}
  </style>
  <rect class="back" width="${WIDTH}" height="${HEIGHT}" rx="10"/>
  ${label(LEFT, 34, title, 'name')}
  ${label(LEFT, 54, shortened(desc), 'soft')}
  ${label(LEFT, BANDS.top - 10, 'Wait before each retry: least, mean, longest', 'soft')}
  ${bands(plan)}
  ${label(LEFT, DOTS.top - 26, crowd, 'soft')}
  ${crowdDots(plan)}
</svg>
`
}

const MOST_LETTERS = 125
const shortened = (text: string): string => (text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text)

const box = ({ top, height }: typeof BANDS): string =>
  `<rect class="box" x="${LEFT}" y="${top}" width="${PLOT}" height="${height}"/>`

function bands({ schedule }: Plan): string {
  const axis = logAxis(schedule)
  const y = (ms: number): number => BANDS.top + BANDS.height - 8 - axis.place(ms) * (BANDS.height - 16)
  const step = PLOT / schedule.length
  const width = Math.min(34, Math.max(1, step * 0.6))
  const rules = axis.ticks.map(
    (ms) =>
      `<path class="grid" d="M${LEFT} ${n(y(ms))}h${PLOT}"/>${label(LEFT - 8, y(ms) + 4, duration(ms), 'soft', 'end')}`,
  )
  // numbers stand as close as they can be read
  const every = Math.ceil(24 / step)
  const bars = schedule.map(({ attempt, minMs, meanMs, maxMs }, i) => {
    const x = LEFT + (i + 0.5) * step
    const height = Math.max(3, y(minMs) - y(maxMs))
    const band = `<rect class="band" x="${n(x - width / 2)}" y="${n(y(maxMs))}" width="${n(width)}" height="${n(height)}" rx="1.5"/>`
    const mean = `<rect class="mean" x="${n(x - width / 2)}" y="${n(y(meanMs) - 1.5)}" width="${n(width)}" height="3"/>`
    const number = i % every === 0 ? label(x, BANDS.top + BANDS.height + 18, String(attempt), 'soft', 'middle') : ''
    return band + mean + number
  })
  return [box(BANDS), ...rules, ...bars].join('')
}

function crowdDots({ dots, tasks }: Plan): string {
  const endMs = dots.reduce((most, { atMs }) => Math.max(most, atMs), 0)
  const axis: Axis = linearAxis(endMs, 9)
  const x = (ms: number): number => LEFT + 6 + axis.place(ms) * (PLOT - 12)
  const y = (task: number): number => DOTS.top + 6 + ((task + 0.5) / tasks) * (DOTS.height - 12)
  const rules = axis.ticks.map(
    (ms) =>
      `<path class="grid" d="M${n(x(ms))} ${DOTS.top}v${DOTS.height}"/>${label(x(ms), DOTS.top + DOTS.height + 18, duration(ms), 'soft', 'middle')}`,
  )
  const radius = tasks > 300 ? 1.2 : 1.8
  const circles = dots.map(
    ({ task, retry, atMs }) =>
      `<circle class="r${(retry - 1) % HUES}" cx="${n(x(atMs))}" cy="${n(y(task))}" r="${radius}"/>`,
  )
  return [box(DOTS), ...rules, ...circles, ...numbers(dots, x)].join('')
}

/** The number of each retry over the middle of its dots, as far as there is room. */
function numbers(dots: Plan['dots'], x: (ms: number) => number): string[] {
  const last = dots.reduce((most, { retry }) => Math.max(most, retry), 0)
  let end = 0
  return Array.from({ length: last }, (_, i) => {
    const times = dots.filter(({ retry }) => retry === i + 1).map(({ atMs }) => atMs)
    const middle = x(times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0)
    if (middle < end + 12) return ''
    end = middle + 6
    return label(middle, DOTS.top - 8, String(i + 1), `soft r${i % HUES}`, 'middle')
  })
}
