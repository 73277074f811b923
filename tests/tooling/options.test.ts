import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { byHost, optionsOf } from '../../scripts/check/options.mjs'
import { root } from '../packaging/pack.ts'

const source = `export interface Other { readonly no?: 1 }
export interface LimitOptions extends Other {
  /** Attempts in flight. 1..=10. @default 3 */
  readonly concurrency?: number
  /**
   * Where tasks
   * are kept. @default 'memory'
   */
  readonly store?: 'memory' | { readonly kind: 'file' }
  readonly queue: object
}`

test('members of an interface with their texts and defaults', () => {
  expect(optionsOf(source, 'LimitOptions')).toEqual([
    { name: 'concurrency', text: 'Attempts in flight. 1..=10.', fallback: '3' },
    { name: 'store', text: 'Where tasks are kept.', fallback: "'memory'" },
    { name: 'queue', text: '', fallback: 'required' },
  ])
  expect(() => optionsOf(source, 'Limit')).toThrow('no interface Limit')
})

test('an optional member without a default is refused by its name', () => {
  const text = 'export interface Limits {\n  /** Attempts in flight. */\n  readonly concurrency?: number\n}'
  expect(() => optionsOf(text, 'Limits')).toThrow(/^Limits\.concurrency .*add '@default'/)
  expect(() => optionsOf(text.replace(' */', ' @default none */'), 'Limits')).not.toThrow()
})

test.for<readonly [string, readonly string[]]>([
  ['3', ['3', '3', '3', '3']],
  ['10 in a page; 3 elsewhere', ['10', '3', '3', '3']],
  ['all in Node; 40 in a Worker; 1 in an object', ['none', 'all', '40', '1']],
  ['what the host has; see its manual', Array(4).fill('what the host has; see its manual')],
])('the default %s for each host', ([fallback, expected]) => {
  expect(Object.values(byHost(fallback))).toEqual(expected)
})

test('docs/options.md has every option that the rules of js/options/ check', () => {
  const page = readFileSync(join(root, 'docs', 'options.md'), 'utf8')
  const folder = join(root, 'js', 'options')
  const rules = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
  const names = rules.flatMap((text) =>
    [...text.matchAll(/: Rules<\w+> = \{\n([\s\S]*?)\n\}/g)].flatMap(([, body = '']) =>
      [...body.matchAll(/^ {2}(\w+)(?::|,$)/gm)].map(([, name]) => name),
    ),
  )
  expect(names.length).toBeGreaterThan(60)
  expect(names.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([])
})
