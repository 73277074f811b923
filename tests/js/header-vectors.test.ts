/** Which headers, values and URLs may be shown, every row through the wasm; and a sanitizer remembers what the core said of a name, and nothing else. */

import { expect, onTestFinished, test } from 'vitest'
import type { Engine } from '../../js/core/engine.ts'
import { instantiate } from '../../js/core/file.ts'
import { Sanitizer } from '../../js/core/sanitizer.ts'
import { loadCore } from '../../js/core.ts'
import type { SanitizeOptions } from '../../js/options/sanitize.ts'
import { vectors } from './vectors.ts'

interface HeaderRow {
  readonly name: string
  readonly persist?: readonly string[]
  readonly deny?: readonly string[]
  readonly class: 'kept' | 'withheld' | 'unknown' | 'dropped' | 'refused'
}

const core = await loadCore()
const engine = await instantiate()

function sanitizer(options: SanitizeOptions = {}): Sanitizer {
  const made = new Sanitizer(engine, options)
  onTestFinished(() => made.free())
  return made
}

function kindOf({ headers, withheld, unknown }: ReturnType<typeof core.sanitizeHeaders>): string {
  if (Object.keys(headers).length > 0) return 'kept'
  return withheld.length > 0 ? 'withheld' : unknown.length > 0 ? 'unknown' : 'dropped'
}

function classOf({ name, persist = [], deny = [] }: HeaderRow): string {
  try {
    return kindOf(core.sanitizeHeaders([[name, 'v']], { persistHeaders: persist, denyHeaders: deny }))
  } catch (error) {
    return error instanceof TypeError ? 'refused' : String(error)
  }
}

test('S12 every header is kept, withheld, unknown, dropped or refused as its row says', () => {
  const rows = vectors<HeaderRow>('headers')
  expect(rows.length).toBeGreaterThanOrEqual(504)
  const wrong = rows.map((row) => ({ row, got: classOf(row) })).filter(({ row, got }) => got !== row.class)
  expect(wrong).toEqual([])
})

const plain = vectors<HeaderRow>('headers').filter(
  ({ persist, deny, class: kind }) => !persist && !deny && kind !== 'refused',
)

test('S12 a name has one class alone and among all others', () => {
  const { headers, withheld, unknown } = core.sanitizeHeaders(plain.map(({ name }) => [name, 'v'] as [string, string]))
  const named = (kind: string) =>
    [...new Set(plain.filter((row) => row.class === kind).map(({ name }) => name.toLowerCase()))].sort()
  expect(Object.keys(headers).sort()).toEqual(named('kept'))
  expect([...withheld].sort()).toEqual(named('withheld'))
  expect([...unknown].sort()).toEqual(named('unknown'))
})

const values = vectors<{ value: string; secret: boolean }>('header-values')

test('S12 a value of a kept header is shown unless it looks like a secret', () => {
  const wrong = values.filter(({ value, secret }) => {
    const { headers, withheld } = core.sanitizeHeaders([['x-request-id', value]])
    return secret !== ('x-request-id' in headers === false) || secret !== (withheld.length === 1)
  })
  expect(wrong).toEqual([])
})

test('S12 many values at once are told apart as one by one', () => {
  const all = values.map(({ value }, i) => [`x-own-${i}`, value] as [string, string])
  const { headers, withheld } = core.sanitizeHeaders(all, { persistHeaders: ['x-own-*'] })
  const split = (secret: boolean) => values.flatMap((row, i) => (row.secret === secret ? [`x-own-${i}`] : []))
  expect(Object.keys(headers)).toEqual(split(false))
  expect(withheld).toEqual(split(true))
})

const urls = vectors<{ url: string; secrets: readonly string[] }>('url-secrets')
const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

test('S12 every secret of a URL is REDACTED, its name and all the rest stay', () => {
  const shown = sanitizer()
  for (const { url, secrets } of urls) {
    const got = shown.url(url)
    if (secrets.length === 0) {
      expect(got).toBe(url)
      continue
    }
    // the parts between the marks are those of the URL, in order
    const parts = got.split('REDACTED')
    expect([url, parts.length]).toEqual([url, secrets.length + 1])
    expect(url).toMatch(new RegExp(`^${parts.map(escaped).join('.+')}$`))
    for (const [i, name] of secrets.entries()) {
      const before = parts[i] ?? ''
      if (name === 'user info') expect([url, before.endsWith('://')]).toEqual([url, true])
      else expect([url, before.endsWith(name === '' ? '' : `${name}=`)]).toEqual([url, true])
    }
    expect(shown.url(got.replaceAll('REDACTED', ''))).not.toContain('EXAMPLE0')
  }
})

test('S12 bytes that core and script count differently are cut at the same place', () => {
  const shown = sanitizer()
  // what `URL.href` never gives, and somebody's own transport may
  expect(shown.url('https://a.test/?q=ü&token=hush&漢=1')).toBe('https://a.test/?q=ü&token=REDACTED&漢=1')
  expect(shown.url('https://a.test/\u{1f600}?token=hush')).toBe('https://a.test/\u{1f600}?token=REDACTED')
})

test("S12 urlSecrets 'keep' shows the URL as it is", () => {
  const shown = sanitizer({ urlSecrets: 'keep' })
  for (const { url } of urls) expect(shown.url(url)).toBe(url)
})

/** A sanitizer, and how often it asks the core about names. */
function counting(options: SanitizeOptions = {}) {
  let asked = 0
  const { glue } = engine
  class Counted extends glue.HeaderRules {
    override classify(length: number): number {
      asked++
      return super.classify(length)
    }
  }
  const sanitizer = new Sanitizer({ ...engine, glue: { ...glue, HeaderRules: Counted } } as Engine, options)
  onTestFinished(() => sanitizer.free())
  return { sanitizer, asked: () => asked }
}

const TOKEN = 'Bearer not-a-token-at-all'

test('the core is asked about a name once', () => {
  const { sanitizer, asked } = counting()
  for (const value of ['a', 'b']) {
    expect(sanitizer.headers([['X-Request-Id', value]]).headers).toEqual({ 'x-request-id': value })
  }
  expect(asked()).toBe(1)
  sanitizer.headers([['x-request-id', 'c']])
  expect(asked()).toBe(2) // in other letters
})

test('S12 a name that was harmless once does not vouch for a value', () => {
  const { sanitizer } = counting()
  const id = (value: string) => sanitizer.headers([['x-request-id', value]])
  expect(id('1').headers).toEqual({ 'x-request-id': '1' })
  expect(id(TOKEN)).toEqual({ headers: {}, withheld: ['x-request-id'], unknown: [] })
  expect(id('2').headers).toEqual({ 'x-request-id': '2' })
})

test('S12 of a header of which one value is a secret nothing is kept, in whatever order', () => {
  const { sanitizer } = counting()
  for (const values of [
    ['1', TOKEN],
    [TOKEN, '1'],
  ]) {
    const given = [...values.map((value) => ['baggage', value] as const), ['accept', '*/*'] as const]
    expect(sanitizer.headers(given)).toEqual({ headers: { accept: '*/*' }, withheld: ['baggage'], unknown: [] })
  }
})

test('each name has its class however many others came before, and again', () => {
  const { sanitizer } = counting()
  const wrong = () => plain.filter((row) => kindOf(sanitizer.headers([[row.name, 'v']])) !== row.class)
  expect(plain.length).toBeGreaterThan(256) // more than are remembered
  expect(wrong()).toEqual([])
  expect(wrong()).toEqual([])
})

test('a name too long to be remembered is asked about each time', () => {
  const { sanitizer, asked } = counting({ persistHeaders: ['x-*'] })
  const name = `x-${'a'.repeat(63)}`
  for (const value of ['1', '2']) expect(sanitizer.headers([[name, value]]).headers).toEqual({ [name]: value })
  expect(asked()).toBe(2)
})

test('a refused name is refused again', () => {
  const { sanitizer } = counting()
  for (let time = 0; time < 2; time++) {
    expect(() =>
      sanitizer.headers([
        ['accept', 'a'],
        ['x y', 'b'],
      ]),
    ).toThrow('number 2 is not one')
  }
})

test('a header by the name of a property of every object is a header', () => {
  const { sanitizer } = counting({ persistHeaders: ['__proto__', 'constructor', 'hasownproperty'] })
  const given: [string, string][] = [
    ['__proto__', 'a'],
    ['constructor', 'b'],
    ['__Proto__', 'c'],
    ['HasOwnProperty', 'd'],
  ]
  const { headers } = sanitizer.headers(given)
  expect(Object.entries(headers)).toEqual([
    ['__proto__', 'a, c'],
    ['constructor', 'b'],
    ['hasownproperty', 'd'],
  ])
  expect(Object.getPrototypeOf(headers)).toBe(Object.prototype)
})
