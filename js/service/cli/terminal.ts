/** Text for a terminal: colours, tables, paragraphs. Nothing here writes. */

import { harmless } from 'redrive/internal'
import type { Io } from './io.ts'

const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const
export type Style = keyof typeof STYLES
export type Paint = (style: Style, text: string) => string

/** Colours where a terminal reads them and its user has not set NO_COLOR (no-color.org). */
export function paintOf({ isTTY, env }: Pick<Io, 'isTTY' | 'env'>): Paint {
  const hasColour = isTTY && !env.NO_COLOR && env.TERM !== 'dumb'
  return (style, text) => (hasColour && text ? `\u001b[${STYLES[style]}m${text}\u001b[0m` : text)
}

/** Columns to fill: never fewer than 40, since nothing could be read. */
export const widthOf = ({ columns }: Pick<Io, 'columns'>): number => Math.max(40, columns || 80)

/** Words in lines of at most `width`. A word that is longer stands alone, or is `broken` where a line ends. */
export function wrap(text: string, width: number, broken?: 'broken'): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const isBroken = broken !== undefined && word.length > width
    if (line && !isBroken && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line ? `${line} ${word}` : word
    }
    for (; isBroken && line.length > width; line = line.slice(width)) lines.push(line.slice(0, width))
  }
  return [...lines, line]
}

/** A paragraph; lines after the first begin with `hang` spaces. */
export const paragraph = (text: string, width: number, hang = 0): string =>
  wrap(text, width - hang).join(`\n${' '.repeat(hang)}`)

/** A line that begins with a name in `column` characters, and goes on below what follows it. */
export const hung = (line: string, width: number, column: number): string =>
  line.slice(0, column) + paragraph(line.slice(column), width, column)

export interface Column {
  readonly title: string
  /** @default 'left' */
  readonly align?: 'left' | 'right'
  /** The last one: its text takes several lines where the table is too wide. */
  readonly gives?: true
}

const GAP = '  '
/** A text in fewer columns than these is hard to read: it goes below its row. */
const LEAST_ROOM = 30
const BELOW = '    '

interface Sizes {
  readonly width?: number | undefined
  readonly paint: Paint
}

/**
 * Rows under their titles, and nothing of them is left out. `width`: no line is longer; undefined: each row is one line. Where the columns
 * that do not give are too wide by themselves, each cell has a line of its own.
 */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[], sizes: Sizes): string {
  const { width = Number.POSITIVE_INFINITY, paint } = sizes
  const cells = rows.map((row) => row.map(harmless))
  const titles = columns.map(({ title }) => title)
  const widths = titles.map((title, i) => Math.max(title.length, ...cells.map((row) => row[i]?.length ?? 0)))
  const giver = columns.at(-1)?.gives ? columns.length - 1 : columns.length
  const line = (row: readonly string[], to: number): string =>
    row
      .slice(0, to)
      .map((cell, i) => (columns[i]?.align === 'right' ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join(GAP)
      .trimEnd()
  const sum = (list: readonly number[]): number => list.reduce((all, each) => all + each + GAP.length, -GAP.length)
  const head = (to: number): string => paint('dim', line(titles, to))
  if (sum(widths) <= width) return [head(columns.length), ...cells.map((row) => line(row, columns.length))].join('\n')
  const fixed = sum(widths.slice(0, giver))
  if (fixed > width) return cells.map((row) => record(titles, row, width, paint)).join('\n')
  const room = width - fixed - GAP.length
  const more = (row: readonly string[], most: number): string[] => wrap(row[giver] ?? '', most, 'broken')
  if (room >= LEAST_ROOM) {
    const below = cells.map((row) => {
      const [first = '', ...rest] = more(row, room)
      return [
        line([...row.slice(0, giver), first], columns.length),
        ...rest.map((text) => ' '.repeat(width - room) + text),
      ]
    })
    return [head(columns.length), ...below.flat()].join('\n')
  }
  const below = cells.map((row) => [
    line(row, giver),
    ...more(row, width - BELOW.length).flatMap((text) => (text ? BELOW + text : [])),
  ])
  return [head(giver), paint('dim', BELOW + (titles[giver] ?? '')), ...below.flat()].join('\n')
}

/** A row as its first cell, and the others by their titles. */
function record(
  titles: readonly string[],
  [first = '', ...rest]: readonly string[],
  width: number,
  paint: Paint,
): string {
  const pairs = rest.flatMap((cell, i) => (cell ? [[titles[i + 1] ?? '', cell] as const] : []))
  return [...wrap(first, width, 'broken'), ...named(pairs, { width, paint }, GAP, 'broken')].join('\n')
}

/** Names and their values, one a line; a value goes on below itself, or on lines of its own on a narrow terminal. A word stays whole. */
export const facts = (pairs: readonly (readonly [string, string])[], sizes: Sizes): string =>
  named(
    pairs.map((pair) => pair.map(harmless) as [string, string]),
    sizes,
  ).join('\n')

function named(
  pairs: readonly (readonly [string, string])[],
  { width = Number.POSITIVE_INFINITY, paint }: Sizes,
  indent = '',
  broken?: 'broken',
): string[] {
  const column = Math.max(0, ...pairs.map(([name]) => name.length)) + GAP.length
  const room = width - indent.length - column
  return pairs.flatMap(([name, value]) => {
    const head = indent + paint('dim', name.padEnd(column))
    if (room >= value.length) return (head + value).trimEnd()
    if (room < LEAST_ROOM) {
      const below = `${indent}${GAP}`
      return [head.trimEnd(), ...wrap(value, width - below.length, broken).map((line) => below + line)]
    }
    const [first = '', ...rest] = wrap(value, room, broken)
    return [head + first, ...rest.map((line) => ' '.repeat(indent.length + column) + line)]
  })
}
