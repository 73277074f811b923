// The pictures of docs/concepts/ are those that scripts/plot/concepts.mjs draws, and each page has its own.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { concepts } from '../../scripts/plot/concepts.mjs'

const folder = fileURLToPath(new URL('../../docs/concepts', import.meta.url))
const read = (name: string): string => readFileSync(join(folder, name), 'utf8')

test('each page has one picture, as it is drawn', () => {
  const pages = readdirSync(folder).filter((name) => name.endsWith('.md'))
  expect(pages.map((name) => name.replace('.md', '')).sort()).toEqual(Object.keys(concepts).sort())
  for (const [name, svg] of Object.entries(concepts)) {
    expect([...read(`${name}.md`).matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, file]) => file)).toEqual([`${name}.svg`])
    expect(read(`${name}.svg`)).toBe(svg)
  }
})
