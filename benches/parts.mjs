// What each part of the core weighs: the functions of the linked modules by the Rust module they come from. Code bytes
// are counted before the optimiser, which drops the names; the gzip column shares out the optimised module's own size in
// proportion, so it is an estimate: code compresses unevenly. Run it after `npm run build`: `npm run bench -- parts`.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { linkedWasm } from '../scripts/build-wasm.mjs'
import { generated, wasmModules } from '../scripts/lib/paths.mjs'
import { table } from './lib/table.mjs'

/** First match wins. A generic of another crate is listed where it was written, whoever uses it. */
const parts = [
  ['allocator', /^talc|__rust_(alloc|dealloc|realloc)|__rg_/],
  ['serde', /^serde/],
  ['queue: calls', /^corequeue|redrive::wasm::queue|redrive::calls|CoreQueue/],
  ['timer', /^waketimer|redrive::wasm::timer|gloo_timers|WakeTimer/],
  ['curves, policies, schedule', /redrive::(policy|error|wait::(backoff|schedule))|^backoff_|^calculate_/],
  ['Retry-After, dates', /redrive::http::(asked|retry_after|reset|http_date)|^said/],
  ['RateLimit', /redrive::http::(ratelimit|structured)|^parse_rate_limit/],
  ['crowds, storms', /\bsim::|^lab(crowd|frontier|outage)_/],
  ['secrets in URLs', /redrive::request::url_secrets|^url_secrets/],
  ['headers', /redrive::(request::headers|wasm::headers)|^headerrules|^secret_values|HeaderRules/],
  ['agenda, queues, slots', /redrive::(chunks|slots|queue::(agenda|wheel|fifo|orders|lanes))/],
  ['queue: decisions', /redrive::(queue|outcome|time|rng|gates|http::classify)/],
  ['canonical JSON', /redrive::request::json|^canonical_json|HostNumbers/],
  ['keys, SHA-256', /redrive::request::key|sha2|^hex|digest|block_buffer|^content_key|^fingerprint|^sha256/],
  ['URLs', /redrive::request::url/],
  ['durations, statuses', /redrive::wait::duration|^parse_duration|^evaluate_retry/],
  ['boundary', /redrive|^random_u32|^scratch|^answer_at/],
  ['wasm-bindgen, js-sys', /wasm_bindgen|wbindgen|js_sys|externref|getrandom|__wbg/],
  ['std', /./],
]

/** A mangled name, legacy or v0, as a path: both write each identifier behind its length. */
function pathOf(name) {
  if (!/^_(ZN|R)/.test(name)) return name
  const words = []
  for (let at = 2; at < name.length; ) {
    const digits = /^\d+/.exec(name.slice(at))?.[0]
    if (!digits) at++
    else {
      at += digits.length
      words.push(name.slice(at, at + Number(digits)))
      at += Number(digits)
    }
  }
  return words.join('::')
}

/** Every function of a module: its path and the bytes of its code. */
function functions(bytes) {
  let at = 8
  const number = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++]
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value >>> 0
    }
  }
  const text = () => {
    const length = number()
    at += length
    return bytes.subarray(at - length, at).toString()
  }
  const sizes = []
  const names = new Map()
  while (at < bytes.length) {
    const id = bytes[at++]
    const end = number() + at
    if (id === 10) {
      for (let left = number(); left > 0; left--) {
        const size = number()
        sizes.push(size)
        at += size
      }
    } else if (id === 0 && text() === 'name') {
      while (at < end) {
        const kind = bytes[at++]
        const subsection = number() + at
        if (kind === 1) for (let left = number(); left > 0; left--) names.set(number(), text())
        at = subsection
      }
    }
    at = end
  }
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(bytes)).filter(({ kind }) => kind === 'function')
  return sizes.map((size, index) => ({ size, path: pathOf(names.get(index + imports.length) ?? '') }))
}

const gzipped = (bytes) => gzipSync(bytes, { level: 9 }).length

for (const name of wasmModules) {
  const optimised = readFileSync(join(generated, name, `${name}.wasm`))
  // What tells wasm-bindgen about types is gone from what ships.
  const linked = functions(readFileSync(linkedWasm(name))).filter(({ path }) => !/describe/.test(path))
  const sums = new Map()
  for (const { size, path } of linked) {
    const [part] = parts.find(([, pattern]) => pattern.test(path))
    sums.set(part, (sums.get(part) ?? 0) + size)
  }
  const all = linked.reduce((sum, { size }) => sum + size, 0)
  const gzip = gzipped(optimised)
  const rows = [...sums].sort(([, a], [, b]) => b - a)
  console.log(`\n### ${name}: ${optimised.length.toLocaleString('en')} bytes, ${gzip.toLocaleString('en')} gzipped\n`)
  table(
    ['part', 'code before wasm-opt', 'gzip, estimated'],
    rows.map(([part, size]) => [part, size.toLocaleString('en'), Math.round((size / all) * gzip).toLocaleString('en')]),
  )
}
