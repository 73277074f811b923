/** The rows that the Rust tests read too: see tests/vectors/README.md. */

import { readFileSync } from 'node:fs'

export function vectors<Row>(name: string): readonly Row[] {
  const text = readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8')
  return (JSON.parse(text) as { vectors: Row[] }).vectors
}
