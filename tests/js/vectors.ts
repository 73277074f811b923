/** The rows that the Rust tests read too: see tests/vectors/README.md. */

import { readFileSync } from 'node:fs'

export function vectors<Row>(name: string): readonly Row[] {
  const text = readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8')
  return (JSON.parse(text) as { vectors: (Row | Rows)[] }).vectors.flatMap((line) => rowsOf<Row>(line))
}

/** Many rows that differ in `columns` alone. */
interface Rows {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
}

function rowsOf<Row>(line: Row | Rows): readonly Row[] {
  const { columns, rows, ...same } = line as Partial<Rows>
  if (!columns || !rows) return [line as Row]
  return rows.map((row) => ({ ...same, ...Object.fromEntries(columns.map((column, at) => [column, row[at]])) }) as Row)
}
