// What a call into the wasm costs, and what text costs on top: the figures behind "numbers in, numbers out"
// (docs/adr/0003-numbers-across-the-boundary.md). Run it after `npm run build`: node benches/boundary.mjs
import { readFile } from 'node:fs/promises'
import { takeTurns } from './lib/measure.mjs'

const generated = new URL('../js/core/generated/', import.meta.url)
const glue = await import(new URL('glue.js', generated).href)
const bytes = await readFile(new URL('redrive.wasm', generated))
const { instance } = await WebAssembly.instantiate(bytes, { './redrive_bg.js': glue })
glue.__wbg_set_wasm(instance.exports)
instance.exports.__wbindgen_start()

const queue = new glue.CoreQueue(3, 3, 100, 1e6, 1n)
const lane = queue.lane()
const now = 1_790_000_000_000
queue.admit(now, lane, queue.policy(new Float64Array(20).fill(Number.NaN)), 0, 0, 1, now, Infinity, Infinity, false)

// Refused at its first byte, so that what is left is the crossing.
const header = 'x'.repeat(200)
const encoder = new TextEncoder()
const buffer = new Uint8Array(instance.exports.memory.buffer, instance.exports.__wbindgen_malloc(1024, 1), 1024)

const cases = {
  'an empty call': () => queue.depth(),
  'two numbers in, one out': () => queue.heldUntil(lane, now),
  'a view of the wasm memory': () => new Uint32Array(instance.exports.memory.buffer, queue.actionsPtr(), 2).length,
  '200 characters in, as &str': () => glue.parse_retry_after(header, undefined, now),
  '200 characters, encodeInto a kept buffer': () => encoder.encodeInto(header, buffer).written,
  'an object out: stats() of one lane': () => queue.stats().depth,
}

const calls = 20_000
let sink = 0
function nanoseconds(work) {
  const started = performance.now()
  for (let call = 0; call < calls; call++) sink += work()
  return ((performance.now() - started) * 1e6) / calls
}

const contestants = Object.fromEntries(Object.entries(cases).map(([name, work]) => [name, () => nanoseconds(work)]))
const figures = await takeTurns(contestants, { rounds: 40, warmUp: 5 })
console.log(`ns per call, medians (Node ${process.versions.node})`)
for (const [name, ns] of Object.entries(figures)) console.log(`${name.padEnd(42)}${ns.toFixed(1).padStart(9)}`)
if (Number.isNaN(sink)) throw new Error('a case gave no number')
