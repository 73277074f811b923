import { expect, test } from 'vitest'
import { violations } from '../../scripts/check/layers.mjs'

const order = [['errors', 'clock'], ['core/*'], ['queue']]
const graph = (edges: Readonly<Record<string, readonly string[]>>) =>
  new Map(Object.entries(edges).map(([module, used]) => [module, new Set(used)]))

test('imports from earlier layers and from the own one are fine', () => {
  expect(
    violations(graph({ errors: ['clock'], clock: [], 'core/a': ['errors'], queue: ['core/a'] }), order, 'js'),
  ).toEqual([])
})

test('an import from a later layer is named', () => {
  expect(violations(graph({ 'core/a': ['queue'], queue: [] }), order, 'js')).toEqual([
    'js/core/a imports queue, which comes after it',
  ])
})

test('a circle inside a layer is named', () => {
  expect(violations(graph({ errors: ['clock'], clock: ['errors'] }), order, 'js')).toEqual([
    'js: a circle: errors -> clock -> errors',
  ])
})

test('a circle of types alone is fine', () => {
  const types = graph({ errors: ['clock'], clock: ['errors'] })
  expect(violations(types, order, 'js', graph({ errors: ['clock'], clock: [] }))).toEqual([])
})

test('a module nobody placed is named', () => {
  expect(violations(graph({ newcomer: [] }), order, 'js')[0]).toMatch(/^js\/newcomer has no layer/)
})
