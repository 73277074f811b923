import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { innerName } from '../../js/service/targets.ts'
import { filled, servicePages, serviceTables } from '../../scripts/check/service-pages.mjs'
import { root } from '../packaging/pack.ts'

const tables = { flags: '| a |\n|---|\n| 1 |', 'problem types': '| b |' }
const section = (name: string, content: string) => `<!-- ${name} -->\n${content}<!-- /${name} -->`
const FLAGS = section('flags', `\n${tables.flags}\n\n`)

test.for<readonly [string, string]>([
  ['another value', section('flags', '\n| a |\n|---|\n| 2 |\n\n')],
  ['a row that is gone', section('flags', '\n| a |\n|---|\n| 1 |\n| 2 |\n\n')],
  ['none yet', section('flags', '')],
])('a table with %s is stale, and is drawn anew', ([, text]) => {
  const page = (inside: string) => `# Page\n\n${inside}\n\nMore.\n`
  expect(filled(page(text), tables)).toEqual({ text: page(FLAGS), found: ['flags'], stale: ['flags'] })
})

test('tables that are as they should be stay as they are, each by itself', () => {
  const text = `${FLAGS}\n\n${section('problem types', '\n| c |\n\n')}\n`
  const { found, stale } = filled(text, tables)
  expect([found, stale]).toEqual([['flags', 'problem types'], ['problem types']])
  expect(filled(FLAGS, tables)).toEqual({ text: FLAGS, found: ['flags'], stale: [] })
})

test('a table that is none is refused', () => {
  expect(() => filled(section('flag', ''), tables)).toThrow('<!-- flag -->: there is no such table')
})

const pages = servicePages.map((path) => readFileSync(join(root, path), 'utf8'))

test('the pages have every table, each once, as the service is now', async () => {
  const now = await serviceTables()
  const all = pages.map((text) => filled(text, now))
  expect(all.flatMap(({ found }) => found).sort()).toEqual(Object.keys(now).sort())
  expect(all.flatMap(({ stale }) => stale)).toEqual([])
})

test('tables have a row for each thing, and as many cells in each as in their heads', async () => {
  const now = await serviceTables()
  expect(now.endpoints).toContain('| `POST /retry-tasks` | `tasks:write` |')
  expect(now.flags).toContain('| `--role api\\|worker\\|all` | all |')
  expect(now['refused ranges']).toContain('| `10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16` | `private` |')
  expect(now['fields of a task']).toMatch(/^\| `targetUrl` \| string \| .*Required \|$/m)
  for (const text of Object.values(now)) {
    for (const [block] of text.matchAll(/(?:^\|.*\n?)+/gm)) {
      const widths = block
        .trim()
        .split('\n')
        .map((row) => row.split(/(?<!\\)\|/).length)
      expect(new Set(widths).size).toBe(1)
      expect(widths.length).toBeGreaterThan(2)
    }
  }
})

test('every name that the page calls refused is', () => {
  const [, row = ''] = /^\| 3 \| the name \| (.*) \|$/m.exec(pages[1] ?? '') ?? []
  const names = [...row.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
  expect(names.length).toBeGreaterThan(12)
  expect(names.filter((name) => innerName(name) === undefined)).toEqual([])
})
