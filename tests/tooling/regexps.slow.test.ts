import { expect, test } from 'vitest'
import { regexpsIn, slowOnes } from '../../scripts/check/regexps.mjs'

const found = (source: string, flags = '') => ({ path: 'js/x.ts', line: 1, source, flags })
/** Of the processor's time: enough for whatever is linear. */
const OPTIONS = { length: 40_000, limitMs: 100, stopMs: 400 }

test.for([
  ['two unbounded parts around a character', '.*@.*|[?#].*', 's'],
  ['white space before an end', '\\s+$', 'g'],
  ['an end that may not come', '<[^>]*>', ''],
  ['a run before a character that is missing', '[a-z]*b', ''],
  ['a run before a sign', '(\\w+)@(\\w+)', ''],
  ['two runs that share letters', '\\d+\\.?\\d+x', ''],
  ['a repeated repetition', '^(a+)+$', ''],
  ['alternatives that overlap', '^(a|a)*$', ''],
  ['a word of its own before the end', 'https?:.*x$', ''],
] as const)('%s is slow', async ([, source, flags]) => {
  const [line, ...more] = await slowOnes([found(source, flags)], OPTIONS)
  expect(line).toMatch(/^js\/x\.ts:1: \/.* takes (more than 400|\d+) ms for 40000 characters of /s)
  expect(more).toEqual([])
})

test('one unbounded part is quick, and so is what has none', async () => {
  const quick = [
    '^.*@',
    '[?#].*',
    '[\\s,;:=&"]+',
    '\\bhttps?:\\/\\/[^\\s"\'<>`]+',
    '^(.{40}).+',
    '["\\\\]',
    '^\\w+(-\\w+)?$',
    '',
  ]
  expect(
    await slowOnes(
      quick.map((source) => found(source, 'gs')),
      OPTIONS,
    ),
  ).toEqual([])
})

test('one that is slow does not keep the next from being tried', async () => {
  const lines = await slowOnes([found('^(a+)+$'), found('x'), found('\\s+$')], OPTIONS)
  expect(lines.map((line) => line.split(' takes ')[0])).toEqual(['js/x.ts:1: /^(a+)+$/', 'js/x.ts:1: /\\s+$/'])
})

test('literals are found in TypeScript, and RegExp of literal texts', () => {
  const code = [
    "const a: string = 'x'.replace(/[?#].*/s, '')",
    'const half = 6 / 2 / 3 // no /regexp/',
    "const b = new RegExp('a+b', 'g') satisfies RegExp",
    'const c = RegExp(String.raw`\\d+`)',
    "const d = '/no/'",
  ].join('\n')
  expect(regexpsIn('js/x.ts', code)).toEqual({
    found: [
      { path: 'js/x.ts', line: 1, source: '[?#].*', flags: 's' },
      { path: 'js/x.ts', line: 3, source: 'a+b', flags: 'g' },
      { path: 'js/x.ts', line: 4, source: '\\d+', flags: '' },
    ],
    unreadable: [],
  })
})

test('one that is made when it runs cannot be tried, and is told with its line', () => {
  const { found, unreadable } = regexpsIn('js/x.ts', '\nconst of = (name: string) => new RegExp(name)')
  expect(found).toEqual([])
  expect(unreadable).toEqual(['js/x.ts:2: RegExp of a text that is made when it runs: write a literal'])
})
