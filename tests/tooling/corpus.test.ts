import { expect, test } from 'vitest'
import { decode, encode, read, targets } from '../../fuzz/corpus.mjs'

test.each(targets)('the packed inputs of %s are sorted and stand there once', (target) => {
  const inputs = read(target)
  expect(inputs.length).toBeGreaterThan(20)
  expect(decode(encode([...inputs].reverse().concat(inputs.slice(0, 3))))).toEqual(inputs)
})

test('an empty input is an input, and a file that is cut off is refused', () => {
  const packed = encode([Buffer.from('ab'), Buffer.alloc(0)])
  expect(packed.toString('hex')).toBe('00000000020000006162')
  expect(() => decode(packed.subarray(0, 9))).toThrow('input 1 is cut off')
  expect(() => decode(packed.subarray(0, 6))).toThrow('a length is cut off')
})
