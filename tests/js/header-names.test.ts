/** A sanitizer remembers what the core said of a name, and nothing else. */

import { expect, onTestFinished, test } from 'vitest'
import type { Engine } from '../../js/core/engine.ts'
import { instantiate } from '../../js/core/inline.ts'
import { Sanitizer } from '../../js/core/sanitizer.ts'
import type { SanitizeOptions } from '../../js/options/sanitize.ts'
import { vectors } from './vectors.ts'

const engine = await instantiate()

/** A sanitizer, and how often it asks the core about names. */
function setup(options: SanitizeOptions = {}) {
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
  const { sanitizer, asked } = setup()
  for (const value of ['a', 'b']) {
    expect(sanitizer.headers([['X-Request-Id', value]]).headers).toEqual({ 'x-request-id': value })
  }
  expect(asked()).toBe(1)
  sanitizer.headers([['x-request-id', 'c']])
  expect(asked()).toBe(2) // in other letters
})

test('S12 a name that was harmless once does not vouch for a value', () => {
  const { sanitizer } = setup()
  const id = (value: string) => sanitizer.headers([['x-request-id', value]])
  expect(id('1').headers).toEqual({ 'x-request-id': '1' })
  expect(id(TOKEN)).toEqual({ headers: {}, withheld: ['x-request-id'], unknown: [] })
  expect(id('2').headers).toEqual({ 'x-request-id': '2' })
})

test('S12 of a header of which one value is a secret nothing is kept, in whatever order', () => {
  const { sanitizer } = setup()
  for (const values of [
    ['1', TOKEN],
    [TOKEN, '1'],
  ]) {
    const given = [...values.map((value) => ['baggage', value] as const), ['accept', '*/*'] as const]
    expect(sanitizer.headers(given)).toEqual({ headers: { accept: '*/*' }, withheld: ['baggage'], unknown: [] })
  }
})

test('each name has its class however many others came before, and again', () => {
  const { sanitizer } = setup()
  const rows = vectors<{ name: string; class: string; persist?: unknown; deny?: unknown }>('headers').filter(
    (row) => !row.persist && !row.deny && row.class !== 'refused',
  )
  const classOf = (name: string) => {
    const { headers, withheld, unknown } = sanitizer.headers([[name, 'v']])
    if (Object.keys(headers).length > 0) return 'kept'
    return withheld.length > 0 ? 'withheld' : unknown.length > 0 ? 'unknown' : 'dropped'
  }
  const wrong = () => rows.filter((row) => classOf(row.name) !== row.class)
  expect(rows.length).toBeGreaterThan(256) // more than are remembered
  expect(wrong()).toEqual([])
  expect(wrong()).toEqual([])
})

test('a name too long to be remembered is asked about each time', () => {
  const { sanitizer, asked } = setup({ persistHeaders: ['x-*'] })
  const name = `x-${'a'.repeat(63)}`
  for (const value of ['1', '2']) expect(sanitizer.headers([[name, value]]).headers).toEqual({ [name]: value })
  expect(asked()).toBe(2)
})

test('a refused name is refused again', () => {
  const { sanitizer } = setup()
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
  const { sanitizer } = setup({ persistHeaders: ['__proto__', 'constructor', 'hasownproperty'] })
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
