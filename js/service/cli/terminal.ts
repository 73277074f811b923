/** Text for a terminal: colours, tables, paragraphs. Nothing here writes. */

import { harmless } from '../../display/harmless.ts'
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

/** Words in lines of at most `width`; a word that is longer stands alone. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line ? `${line} ${word}` : word
    }
  }
  return [...lines, line]
}

/** A paragraph; lines after the first begin with `hang` spaces. */
export const paragraph = (text: string, width: number, hang = 0): string =>
  wrap(text, width - hang).join(`\n${' '.repeat(hang)}`)

export interface Column {
  readonly title: string
  /** @default 'left' */
  readonly align?: 'left' | 'right'
  /** The one that is cut where the table is too wide. */
  readonly gives?: true
}

const GAP = '  '

/** Rows under their titles. `width`: no line is longer, as far as the column that gives can be cut; undefined: as wide as it is. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  { width, paint }: { readonly width?: number | undefined; readonly paint: Paint },
): string {
  const cells = rows.map((row) => row.map(harmless))
  const widths = columns.map(({ title }, i) => Math.max(title.length, ...cells.map((row) => row[i]?.length ?? 0)))
  const over = widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length) - (width ?? Number.POSITIVE_INFINITY)
  const giver = columns.findIndex(({ gives }) => gives)
  if (over > 0 && giver >= 0) widths[giver] = Math.max(8, (widths[giver] ?? 0) - over)
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => {
        const room = widths[i] ?? 0
        const text = cell.length > room ? `${cell.slice(0, room - 1)}…` : cell
        return columns[i]?.align === 'right' ? text.padStart(room) : text.padEnd(room)
      })
      .join(GAP)
      .trimEnd()
  return [paint('dim', line(columns.map(({ title }) => title))), ...cells.map(line)].join('\n')
}

/** Names and their values, one a line. */
export function facts(pairs: readonly (readonly [string, string])[], paint: Paint): string {
  const width = Math.max(...pairs.map(([name]) => name.length))
  return pairs
    .map(([name, value]) => `${paint('dim', harmless(name).padEnd(width))}  ${harmless(value)}`.trimEnd())
    .join('\n')
}
