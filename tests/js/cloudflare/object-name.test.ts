/** Which object keeps whose tasks: two users must never share one because of how they are called. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { objectName, readObjectName } from '../../../js/cloudflare/namespace.ts'
import { bySize } from '../../size.ts'

const principals = fc.oneof(
  fc.constant(null),
  fc.string({ unit: 'grapheme' }).filter((name) => !name.includes('\u0000')),
  // what the parts are told apart by, and what they are written with
  fc.string({ unit: fc.constantFrom(' ', '#', '%', '2', '0', '3', 'a', '/', ':', '\u0001', '+', '\u00e9') }),
)
const origins = fc.constantFrom(
  'https://api.test',
  'https://api.test:8443',
  'http://api.test',
  'https://a',
  'http://[::1]:1',
)
const shards = fc.option(fc.integer({ min: 0, max: 255 }), { nil: undefined })
const owners: fc.Arbitrary<[string | null, string, number | undefined]> = fc.tuple(principals, origins, shards)

test('S16 a name is read back as what it was made of, so no two owners share one', () => {
  fc.assert(
    fc.property(owners, ([principal, origin, shard]) => {
      const read = readObjectName(objectName(principal, origin, shard))
      expect(read).toEqual({ principal, origin, shard })
    }),
    { numRuns: bySize(64, 2_000) },
  )
})

test('names of plain ids can be read', () => {
  expect(objectName(null, 'https://api.test')).toBe('https://api.test')
  expect(objectName('user-7', 'https://api.test')).toBe('https://api.test user-7')
  expect(objectName('user-7', 'https://api.test', 3)).toBe('https://api.test user-7 #3')
  expect(objectName(null, 'https://api.test', 0)).toBe('https://api.test #0')
})

test.each<[what: string, args: readonly unknown[], says: RegExp]>([
  ['a path', ['ann', 'https://api.test/'], /origin.*'https:\/\/api\.test' was meant/],
  ['an origin with a principal in it', [null, 'https://api.test ann'], /origin/],
  ['no origin', ['ann', undefined], /origin/],
  ['a number for a principal', [7, 'https://api.test'], /principal/],
  ['half a character', ['a\ud800', 'https://api.test'], /principal/],
  ['no principal at all', [undefined, 'https://api.test'], /principal/],
  ['a shard beyond the last', [null, 'https://api.test', 256], /shard/],
  ['half a shard', [null, 'https://api.test', 0.5], /shard/],
  ['a shard as text', [null, 'https://api.test', '3'], /shard/],
])('%s makes no name', (_, args, says) => {
  expect(() => objectName(...(args as Parameters<typeof objectName>))).toThrow(says)
})

test.each([
  'orders',
  '',
  'https://api.test/',
  'https://api.test ann extra',
  'https://api.test #x',
  'https://api.test #03',
  'https://api.test a#b',
  'https://api.test %zz',
  'https://api.test #1 #2',
])('a name that objectName does not make says nothing: %j', (name) => {
  expect(readObjectName(name)).toBeUndefined()
})
