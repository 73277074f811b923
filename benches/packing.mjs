// What the two modules weigh, however they travel: inside a chunk of JavaScript that its host compresses once more. And what it
// costs the receiver to have the module again. docs/adr/0093 chose by these figures: `npm run bench -- packing`.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { unpack } from '../js/core/unpack.ts'
import { generated, wasmModules } from '../scripts/lib/paths.mjs'
import { median } from './lib/measure.mjs'
import { orLess } from './lib/smoke.mjs'
import { figure, note, table } from './lib/table.mjs'

const ROUNDS = orLess(9, 2)

const gzip = (bytes) => gzipSync(bytes, { level: 9 })
const brotli = (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })
const asText = (bytes) => Buffer.from(`export default '${Buffer.from(bytes).toString('base64')}'`)

// Node loads its fetch when it is first touched, which is no part of it
await new Response(new Blob(['-']).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer()

/** Milliseconds of the processor's. */
async function cost(work) {
  const took = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage()
    await work()
    const { user } = process.cpuUsage(before)
    took.push(user / 1_000)
  }
  return [took[0], median(took.slice(1))]
}

for (const name of wasmModules) {
  const wasm = readFileSync(join(generated, name, `${name}.wasm`))
  const { default: packed } = await import(pathToFileURL(join(generated, name, 'packed.js')).href)
  const forms = {
    'the bare file': wasm,
    'base64 of the file': asText(wasm),
    'base64 of its gzip': asText(gzip(wasm)),
    'base64 of its brotli, which few browsers unpack for a script': asText(brotli(wasm)),
    'as it travels': asText(Buffer.from(packed[0], 'base64')),
  }
  const rows = Object.entries(forms).map(([form, sent]) => [
    form,
    ...[gzip, brotli].map((by) => figure(by(sent).length)),
  ])
  console.log(`\n### ${name}: ${wasm.length.toLocaleString('en')} bytes\n`)
  table(['', 'after gzip', 'after brotli'], rows)
  const [first, later] = await cost(() => unpack(packed))
  note(`unpacked in ${figure(first)} ms the first time, later in ${figure(later)} ms of the processor's`)
}
