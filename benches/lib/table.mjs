// Markdown that also reads well in a terminal.

/** First column left, the others right; undefined cells are a dash. */
export function table(head, rows) {
  const cells = [head, ...rows].map((row) => head.map((_, i) => String(row[i] ?? '-')))
  const widths = head.map((_, i) => Math.max(...cells.map((row) => row[i].length)))
  const line = (row) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(' | ')} |`
  const rule = `|${widths.map((width, i) => (i === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  console.log([line(cells[0]), rule, ...cells.slice(1).map(line)].join('\n'))
}

/** Three significant digits, thousands set apart. */
export function figure(value) {
  if (value === undefined || Number.isNaN(value)) return undefined
  return Number(value.toPrecision(3)).toLocaleString('en-US', { maximumFractionDigits: 3 })
}

export const times = (value) => (value === undefined || Number.isNaN(value) ? undefined : `${figure(value)}x`)

export function aim(what, reached, measured) {
  console.log(`${reached ? 'reached' : 'MISSED '}  ${what}: ${measured}`)
}

export const note = (text) => console.log(`  ${text}`)
