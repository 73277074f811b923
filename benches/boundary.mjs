// What a call into the wasm costs, and what text costs on top: the figures behind "numbers in, numbers out"
// (docs/adr/0003-numbers-across-the-boundary.md). Run it after `npm run build`: node benches/boundary.mjs
import { Calls } from '../js/core/calls.ts'
import { NONE, OP_ADMIT, OP_DEPTH, OP_HELD_UNTIL, OP_LANE } from '../js/core/codes.ts'
import { instantiate } from '../js/core/file.ts'
import { policyFields } from '../js/core/policy-row.ts'
import { policyDefaults } from '../js/options/policy.ts'
import { resolvePolicy } from '../js/options/policy-rules.ts'
import { takeTurns } from './lib/measure.mjs'
import { orLess } from './lib/smoke.mjs'

const engine = await instantiate()
const { glue, memory, scratch } = engine
const queue = new Calls(engine, 3, 3, 100, 1e6, 60_000, 1n)
const lane = queue.call(OP_LANE)
const now = 1_790_000_000_000
const policy = queue.policy(policyFields(resolvePolicy({}, policyDefaults)))
queue.send(OP_ADMIT, now, lane, policy, 0, 0, 1, now, Infinity, Infinity, NONE)

const header = 'x'.repeat(200)
const name = 'idempotency-key'
const encoder = new TextEncoder()
const buffer = new Uint8Array(memory.buffer, glue.scratch(1024), 1024)

/** How wasm-bindgen begins with every `&str`, and the queue with short text. */
function oneByOne(text) {
  const { length } = text
  for (let i = 0; i < length; i++) buffer[i] = text.charCodeAt(i)
  return length
}

const cases = {
  'an empty call': () => queue.call(OP_DEPTH),
  'two numbers in, one out': () => queue.call(OP_HELD_UNTIL, lane, now),
  'ten numbers in, two out': () => queue.send(OP_ADMIT, now, NONE, policy, 0, 0, 1, now, Infinity, Infinity, NONE),
  'a number of the last answer': () => queue.at(0),
  '200 characters, encodeInto a kept buffer': () => encoder.encodeInto(header, buffer).written,
  '200 characters, one by one': () => oneByOne(header),
  '15 characters, encodeInto a kept buffer': () => encoder.encodeInto(name, buffer).written,
  '15 characters, one by one': () => oneByOne(name),
  '200 characters as the queue hands them over': () => scratch.text(header),
  'lists out: stats() of one lane': () => queue.stats(now)[0],
}

const calls = orLess(20_000, 10)
let sink = 0
function nanoseconds(work) {
  const started = performance.now()
  for (let call = 0; call < calls; call++) sink += work()
  return ((performance.now() - started) * 1e6) / calls
}

const contestants = Object.fromEntries(Object.entries(cases).map(([name, work]) => [name, () => nanoseconds(work)]))
const figures = await takeTurns(contestants, { rounds: 40, warmUp: 5 })
console.log(`ns per call, medians (Node ${process.versions.node})`)
for (const [name, ns] of Object.entries(figures)) console.log(`${name.padEnd(46)}${ns.toFixed(1).padStart(9)}`)
if (Number.isNaN(sink)) throw new Error('a case gave no number')
