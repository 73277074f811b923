import { expect, test } from 'vitest'
import { circles } from '../../scripts/check/layers.mjs'
import { orderFaults, rustGraph } from '../../scripts/check/rust-modules.mjs'

const read = (files: Readonly<Record<string, string>>) => rustGraph(new Map(Object.entries(files)))
const usesOf = (files: Readonly<Record<string, string>>, module: string) => [...(read(files).graph.get(module) ?? [])]

test('an import is laid at the file that defines the name, not at the face that hands it on', () => {
  const files = {
    policy: 'mod curve;\npub use curve::Curve;\npub struct Policy;',
    'policy/curve': 'pub struct Curve;',
    'queue/admit': 'use crate::policy::{Curve, Policy};\nuse super::task::Task;',
    'queue/task': 'pub struct Task;',
  }
  expect(usesOf(files, 'queue/admit')).toEqual(['policy/curve', 'policy', 'queue/task'])
})

test('handing a name on is no use of it; saying it is', () => {
  const child = { 'policy/curve': 'use super::Policy;' }
  const silent = { policy: 'mod curve;\npub use curve::Curve;\npub struct Policy;', ...child }
  expect(circles(read(silent).graph)).toEqual([])
  const speaking = { policy: 'mod curve;\npub use curve::Curve;\npub struct Policy(Curve);', ...child }
  expect(circles(read(speaking).graph)).toEqual([['policy', 'policy/curve']])
})

test('paths in code count, those in comments, texts and tests do not', () => {
  const files = {
    url: 'mod host;\n// crate::time::now\nfn f() { host::push(); let _ = "crate::time::now"; }\n#[cfg(test)]\nmod tests { use crate::time; }',
    'url/host': 'fn push() { crate::rng::draw() }',
    rng: '',
    time: '',
  }
  expect([usesOf(files, 'url'), usesOf(files, 'url/host')]).toEqual([['url/host'], ['rng']])
})

test('what a folder does not show is reached by its own files alone', () => {
  const files = {
    gates: 'pub mod breaker;\nmod ramp;\npub(crate) mod storm;',
    'gates/breaker': 'use super::ramp::Ramp;',
    'gates/ramp': 'pub struct Ramp;',
    'gates/storm': '',
    queue: 'use crate::gates::breaker::Breaker;\nuse crate::gates::ramp::Ramp;\nuse crate::gates::storm::Storm;',
  }
  expect(read(files).faults).toEqual([
    'src/queue imports gates/ramp past its face, gates',
    'src/queue imports gates/storm past its face, gates',
  ])
})

test('folders come in an order, and one without a place in it is named', () => {
  const graph = new Map([
    ['gates/breaker', new Set(['queue/lanes', 'time'])],
    ['http/classify', new Set(['request/url'])],
    ['attic', new Set<string>()],
  ])
  expect(orderFaults(graph)).toEqual([
    'src/gates/breaker imports queue/lanes, which does not come before it',
    'src/http/classify imports request/url, which does not come before it',
    'src/attic has no place: give attic one in scripts/check/rust-modules.mjs',
  ])
})
