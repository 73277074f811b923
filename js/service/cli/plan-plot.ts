/** A plan as text: a table whose rows show their wait as a band, and the retries of a crowd as dots. */

import type { BackoffStep } from 'redrive/core'
import { type Axis, duration, linearAxis, logAxis } from 'redrive/internal'
import type { Dot, Plan } from './plan-numbers.ts'
import type { Paint, Style } from './terminal.ts'

const GAP = '  '
const LEAST_BAND = 16
const WIDEST_BAND = 60
/** On a narrower terminal the means are left out. */
const NARROW = 60

/** Retry, least, mean and longest wait, both running sums, and the band between least and longest on a logarithmic axis. */
export function scheduleTable(schedule: readonly BackoffStep[], width: number, paint: Paint): string {
  const rows = schedule.map(({ attempt, minMs, meanMs, maxMs, totalMeanMs, totalMaxMs }) => [
    String(attempt),
    ...(width < NARROW ? [minMs, maxMs, totalMaxMs] : [minMs, meanMs, maxMs, totalMeanMs, totalMaxMs]).map(duration),
  ])
  const titles = ['retry', 'min', 'mean', 'max', 'sum mean', 'sum max'].filter(
    (title) => width >= NARROW || !title.endsWith('mean'),
  )
  const widths = titles.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: readonly string[]) => cells.map((cell, i) => cell.padStart(widths[i] ?? 0)).join(GAP)
  const used = widths.reduce((sum, each) => sum + each + GAP.length, 0)
  const room = Math.min(WIDEST_BAND, width - used - 1)
  if (room < LEAST_BAND) return [paint('dim', line(titles)), ...rows.map(line)].join('\n')
  const axis = logAxis(schedule)
  const head = paint('dim', `${line(titles)}${GAP}${labels(axis, room)}`.trimEnd())
  const drawn = rows.map((row, i) => `${line(row)}${GAP}${band(schedule[i], axis, room, paint)}`)
  return [head, ...drawn].join('\n')
}

const columnOf = (axis: Axis, ms: number, width: number): number => Math.round(axis.place(ms) * (width - 1))

/** The names of ticks, each beginning at its column, but for those without room. */
function labels(axis: Axis, width: number): string {
  let line = ''
  for (const ms of axis.ticks) {
    const text = duration(ms)
    const at = Math.min(columnOf(axis, ms, width), width - text.length)
    if (line.length === 0 || at > line.length) line = line.padEnd(at) + text
  }
  return line
}

function band(step: BackoffStep | undefined, axis: Axis, width: number, paint: Paint): string {
  if (!step) return ''
  const [from, mean, to] = [step.minMs, step.meanMs, step.maxMs].map((ms) => columnOf(axis, ms, width)) as [
    number,
    number,
    number,
  ]
  const ticks = new Set(axis.ticks.map((ms) => columnOf(axis, ms, width)))
  let line = ''
  for (let column = 0; column < width; column += 1) {
    if (column === mean) line += paint('bold', '●')
    else if (column >= from && column <= to) line += paint('cyan', '━')
    else line += ticks.has(column) ? paint('dim', '·') : ' '
  }
  return line.trimEnd()
}

const DOT_BITS = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const
const BRAILLE = 0x2800
const MOST_LINES = 16
const LEAST_LINES = 4
const COLOURS: readonly Style[] = ['cyan', 'yellow', 'magenta', 'green', 'blue', 'red']
const MARGIN = 2
const TICK_WIDTH = 11

/** One dot a retry: to the right the time, from top to bottom the tasks. Numbers above say which retry it is. */
export function crowdPlot({ dots, tasks }: Plan, width: number, paint: Paint): string {
  const columns = width - 2 * MARGIN
  const lines = Math.min(MOST_LINES, Math.max(LEAST_LINES, Math.ceil(tasks / 4)))
  const endMs = dots.reduce((most, { atMs }) => Math.max(most, atMs), 0)
  const axis = linearAxis(endMs, Math.floor(columns / TICK_WIDTH))
  const cells = Array.from({ length: lines * columns }, () => ({ bits: 0, retry: 0 }))
  for (const { task, retry, atMs } of dots) {
    const x = Math.min(columns * 2 - 1, Math.floor(axis.place(atMs) * columns * 2))
    const y = Math.floor((task / tasks) * lines * 4)
    const cell = cells[Math.floor(y / 4) * columns + Math.floor(x / 2)]
    if (!cell) continue
    cell.bits |= DOT_BITS[(y % 4) as 0 | 1 | 2 | 3][(x % 2) as 0 | 1]
    cell.retry = retry
  }
  const indent = ' '.repeat(MARGIN)
  const picture = Array.from({ length: lines }, (_, line) => {
    const row = cells.slice(line * columns, (line + 1) * columns)
    return indent + coloured(row, paint).trimEnd()
  })
  const ruler = axis.ticks.reduce((line, ms) => put(line, columnOf(axis, ms, columns), '┴'), '─'.repeat(columns))
  return [
    indent + numbersOf(dots, axis, columns, paint),
    ...picture,
    indent + paint('dim', ruler),
    indent + paint('dim', labels(axis, columns)),
  ].join('\n')
}

const put = (line: string, at: number, mark: string): string => line.slice(0, at) + mark + line.slice(at + mark.length)

const colourOf = (retry: number): Style => COLOURS[(retry - 1) % COLOURS.length] ?? 'cyan'

/** Runs of one colour are painted at once. */
function coloured(row: readonly { readonly bits: number; readonly retry: number }[], paint: Paint): string {
  let line = ''
  let run = ''
  let colour: Style | undefined
  const end = () => {
    line += colour ? paint(colour, run) : run
    run = ''
  }
  for (const { bits, retry } of row) {
    const next = bits ? colourOf(retry) : undefined
    if (next !== colour) end()
    colour = next
    run += bits ? String.fromCharCode(BRAILLE + bits) : ' '
  }
  if (colour) end()
  return line
}

/** Each number above the middle of its retries, as far as there is room. */
function numbersOf(dots: readonly Dot[], axis: Axis, columns: number, paint: Paint): string {
  let plain = ''
  let line = ''
  const last = dots.reduce((most, { retry }) => Math.max(most, retry), 0)
  for (let retry = 1; retry <= last; retry += 1) {
    const times = dots.filter((dot) => dot.retry === retry).map(({ atMs }) => atMs)
    const middle = times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
    const at = Math.min(columnOf(axis, middle, columns), columns - String(retry).length)
    if (plain.length > 0 && at <= plain.length) continue
    const space = ' '.repeat(at - plain.length)
    plain += space + retry
    line += space + paint(colourOf(retry), String(retry))
  }
  return line
}
