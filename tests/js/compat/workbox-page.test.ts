/** docs/compat-workbox.md says of the cases what they say: those are run with both libraries in tests/browser/. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { differencesTable, tally } from '../../browser/workbox-compat/table.ts'

const page = readFileSync(new URL('../../../docs/compat-workbox.md', import.meta.url), 'utf8')
const [, differences] = /<!-- differences -->\n\n([\s\S]*?)\n\n<!-- \/differences -->/.exec(page) ?? []

test('every case that differs is in the table, in its words, and the others are counted', () => {
  expect(differences).toBe(differencesTable())
  expect(page).toContain(tally())
})
