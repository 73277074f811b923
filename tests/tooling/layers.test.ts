import { expect, test } from 'vitest'
import { circles, violations } from '../../scripts/check/layers.mjs'

const order = [['platform'], ['core'], ['stores'], ['adapters', 'testing'], ['entries']]
const graph = (edges: Readonly<Record<string, readonly string[]>>) =>
  new Map(Object.entries(edges).map(([module, used]) => [module, new Set(used)]))
const faultsOf = (edges: Readonly<Record<string, readonly string[]>>) => violations(graph(edges), order, 'js')

test('imports from earlier folders and from the own one are fine', () => {
  expect(
    faultsOf({ 'core/a': ['platform/clock', 'core/b'], 'core/b': [], 'platform/clock': [], index: ['core/a'] }),
  ).toEqual([])
})

test('an import from a later folder is named', () => {
  expect(faultsOf({ 'core/a': ['stores/b'], 'stores/b': [] })).toEqual([
    'js/core/a imports stores/b, whose folder does not come before its own',
  ])
})

test('an import from another folder of the same rank is named', () => {
  expect(faultsOf({ 'adapters/axios': ['testing/server'], 'testing/server': [] })).toEqual([
    'js/adapters/axios imports testing/server, whose folder does not come before its own',
  ])
})

test('an import of an entry is named', () => {
  expect(faultsOf({ 'core/a': ['index'], index: [] })[0]).toMatch(/^js\/core\/a imports index/)
})

test('an import past a face is named; the face and its own folder may', () => {
  expect(
    faultsOf({
      'stores/sqlite': ['stores/sqlite/group'],
      'stores/sqlite/group': ['stores/sqlite/rows'],
      'stores/sqlite/rows': [],
      'stores/memory': ['stores/sqlite/rows'],
    }),
  ).toEqual(['js/stores/memory imports stores/sqlite/rows past its face, stores/sqlite'])
})

test('a folder without a face can be imported from', () => {
  expect(faultsOf({ 'stores/sqlite': ['stores/sql/rows'], 'stores/sql/rows': [] })).toEqual([])
})

test('every circle is named whole', () => {
  const edges = { 'core/a': ['core/b'], 'core/b': ['core/c'], 'core/c': ['core/a', 'core/d'], 'core/d': [] }
  expect(faultsOf(edges)).toEqual(['js: a circle of 3: core/a, core/b, core/c'])
  const two = graph({ a: ['b'], b: ['a'], c: ['d', 'a'], d: ['c'] })
  expect(circles(two)).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ])
})

test('a folder without a place in the order is named', () => {
  expect(faultsOf({ 'attic/a': [] })[0]).toMatch(/^js\/attic\/a: the folder attic has no place/)
})
