/** docs/compat-workbox.md says of the cases what they say: those are run with both libraries in tests/browser/. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { differencesTable, sameTable, tally } from '../../browser/workbox-compat/table.ts'

const page = readFileSync(new URL('../../../docs/compat-workbox.md', import.meta.url), 'utf8')
const between = (mark: string): string | undefined =>
  new RegExp(`<!-- ${mark} -->\n\n([\\s\\S]*?)\n\n<!-- /${mark} -->`).exec(page)?.[1]

test('every case is in one of the tables, in its words', () => {
  expect(between('differences')).toBe(differencesTable())
  expect(between('same')).toBe(sameTable())
  expect(page).toContain(tally())
})
