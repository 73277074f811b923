import { expect, test } from 'vitest'
import { draw, houseOf, stale, structureOf } from '../../scripts/check/house.mjs'

const order = [['platform'], ['api'], ['adapters', 'testing'], ['entries']]
const imports: Readonly<Record<string, readonly string[]>> = {
  index: ['api/errors', 'adapters/fetch'],
  'adapters/fetch': ['adapters/axios', 'api/errors'],
  'adapters/axios': ['api/errors', 'platform/clock'],
  'testing/clock': ['platform/clock'],
  'api/errors': [],
  'platform/clock': [],
}
const house = (changed: Readonly<Record<string, readonly string[]>> = {}, lines = 10) => {
  const graph = new Map(Object.entries({ ...imports, ...changed }).map(([module, used]) => [module, new Set(used)]))
  return houseOf(graph, order, () => lines)
}

test('a house has its folders, last layer first, and counts the imports between two', () => {
  expect(house().folders).toEqual([
    { name: 'entries', files: 1, lines: 10 },
    { name: 'testing', files: 1, lines: 10 },
    { name: 'adapters', files: 2, lines: 20 },
    { name: 'api', files: 1, lines: 10 },
    { name: 'platform', files: 1, lines: 10 },
  ])
  expect(house().arrows.get('adapters api')).toBe(2)
  expect(house().arrows.has('adapters adapters')).toBe(false)
})

test('the picture shows every folder and every arrow', () => {
  expect(structureOf(draw(house()))).toEqual({
    folders: ['entries', 'testing', 'adapters', 'api', 'platform'],
    arrows: ['adapters api', 'adapters platform', 'entries adapters', 'entries api', 'testing platform'],
  })
})

test('more lines and more imports along an arrow leave the picture valid', () => {
  const changed = house({ index: ['api/errors', 'adapters/fetch', 'adapters/axios'] }, 99)
  expect(stale(draw(house()), changed)).toEqual([])
})

test.for<readonly [string, Readonly<Record<string, readonly string[]>>, string]>([
  ['a new arrow', { 'api/errors': ['platform/clock'] }, 'new: api platform'],
  ['an arrow that is gone', { 'testing/clock': [] }, 'gone: testing platform'],
])('%s makes it stale', ([, changed, fault]) => {
  expect(stale(draw(house()), house(changed))).toEqual([fault])
})

test('another order of folders makes it stale, and so does a picture that is not there', () => {
  const other = houseOf(new Map(), [['api'], ['platform']], () => 0)
  expect(stale(draw(house()), other)).toContain('folders: platform, api')
  expect(stale('', house())).toContain('new: adapters api')
})

test('an arrow that points up is shown as wrong, and said', () => {
  const svg = draw(house({ 'platform/clock': ['api/errors'] }))
  expect(svg).toContain('<rect class="wrong"')
  expect(svg).toContain('Arrows that point up: 1.')
})
