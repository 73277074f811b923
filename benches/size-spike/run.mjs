// What will the finished core weigh? Builds stubs of all its parts in the shape that ships, then
// leaves out one part at a time: the difference is what the part costs, shared code not counted.
//
//   node benches/size-spike/run.mjs             parts, then choices; some minutes
//   node benches/size-spike/run.mjs json key    only these rows, beside the whole
//   node benches/size-spike/run.mjs crate+talc  features of Cargo.toml, put together
//
// Uses the repo's own tools: cargo, xtask (wasm-bindgen), binaryen, esbuild.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { cargoHome, sysroot } from '../../scripts/lib/machine-paths.mjs'
import { at, packageBin, root, toolsTargetDir, wasmTarget } from '../../scripts/lib/paths.mjs'
import { main, run, StepError } from '../../scripts/lib/steps.mjs'
import { wasmCargo } from '../../scripts/setup.mjs'

const here = at('benches', 'size-spike')
const targetDir = at('target', 'size-spike')
const spikeWasm = join(targetDir, wasmTarget, 'release', 'size_spike.wasm')
const out = join(targetDir, 'out')
const loadable = join(targetDir, 'loadable')
const budget = 45_000
const aim = 30_000

const parts = {
  queue: 'slots, timing wheel, lanes, state machine',
  gates: 'breaker, retry budget, adaptive limit',
  policy: 'policy checks, messages',
  backoff: '9 curves, 7 jitters, schedule, libm pow',
  dates: 'Retry-After, three HTTP dates',
  ratelimit: 'RateLimit structured fields',
  headers: 'allow and deny lists, words, value prefixes, URL secrets',
  json: 'RFC 8785, numbers by the host',
  key: 'sha2 with simd128, hex, URL normal form',
  stats: 'serde-wasm-bindgen, outward only',
  timer: 'gloo-timers',
  entropy: 'getrandom',
  talc: 'talc; without it dlmalloc, the default allocator',
}
const whole = Object.keys(parts)
const dependenciesSmall = [
  'profile.release.package."*".opt-level="s"',
  'profile.release.package.sha2.opt-level=3',
].flatMap((line) => ['--config', line])
const scalar = { rustFlags: [] }

/** Rows that change how the whole is built, or add what the design forbids. */
const choices = {
  'sha-scalar': { what: 'sha2 without simd128 (the module too)', features: whole, ...scalar },
  'sha-compact': {
    what: 'sha2 compact, without simd128',
    features: whole,
    rustFlags: ['--cfg=sha2_backend_soft="compact"'],
  },
  'opt-s': { what: 'opt-level s, wasm-opt -Os', features: whole, profile: 's', wasmOpt: '-Os' },
  'opt-z': { what: 'opt-level z, wasm-opt -Oz', features: whole, profile: 'z', wasmOpt: '-Oz' },
  'dependencies-s': {
    what: 'opt-level s for the dependencies, 3 for own code and sha2',
    features: whole,
    config: dependenciesSmall,
  },
  'inline-10': {
    what: 'inline threshold of LLVM 10 instead of 225',
    features: whole,
    rustFlags: ['-Ctarget-feature=+simd128', '-Cllvm-args=-inline-threshold=10'],
  },
  'no-wasm-opt': { what: 'wasm-opt left out', features: whole, wasmOpt: null },
  'std-sort': { what: 'sort_unstable_by instead of a heap sort', features: [...whole, 'std-sort'] },
  'str-search': { what: 'str::match_indices instead of bytes', features: [...whole, 'str-search'] },
  fmt: { what: 'format! of text and integers in messages', features: [...whole, 'fmt'] },
  today: { what: 'the crate as it is', features: ['crate'] },
  'today-z': { what: 'the crate as it is, opt-level z', features: ['crate'], profile: 'z', wasmOpt: '-Oz' },
  forecast: { what: 'the crate as it is, with the parts it lacks; no gates, no order keys', features: ['forecast'] },
  'float-parse': { what: 'forbidden: str::parse::<f64>', features: [...whole, 'float-parse'] },
  'float-print': { what: 'forbidden: format!("{f64}")', features: [...whole, 'float-print'] },
  'serde-inward': { what: 'forbidden: serde-wasm-bindgen inward', features: [...whole, 'serde-inward'] },
}

// Not `--all-features`: then wasm-opt writes import kinds that no engine loads yet.
const features = [
  'simd',
  'bulk-memory',
  'sign-ext',
  'nontrapping-float-to-int',
  'reference-types',
  'multivalue',
  'mutable-globals',
]
const wasmOptFlags = [...features.map((name) => `--enable-${name}`), '--strip-debug', '--strip-producers']

/** Rows that also run: they trade speed for bytes, so both are printed. */
const racing = ['talc', 'sha-scalar', 'sha-compact', 'opt-s', 'opt-z', 'inline-10', 'dependencies-s']

const gzip = (bytes) => gzipSync(bytes, { level: 9 })

async function compile(cargo, { features, rustFlags = ['-Ctarget-feature=+simd128'], profile = '3', config = [] }) {
  const sources = join(cargoHome(), 'registry', 'src')
  const crates = existsSync(sources) ? readdirSync(sources).map((name) => [join(sources, name), '/crates']) : []
  const remap = [[sysroot(), '/rust'], [cargoHome(), '/cargo'], ...crates, [root, '/redrive']]
  const flags = [...rustFlags, ...remap.map((pair) => `--remap-path-prefix=${pair.join('=')}`)].join('\x1f')
  const env = { CARGO_TARGET_DIR: targetDir, CARGO_ENCODED_RUSTFLAGS: flags, CARGO_PROFILE_RELEASE_OPT_LEVEL: profile }
  const choice = features.length > 0 ? ['--features', features.join(',')] : []
  await run(cargo[0], [...cargo.slice(1), 'build', '--release', '--target', wasmTarget, ...choice, ...config], {
    cwd: here,
    env,
  })
}

async function bind() {
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  const xtask = ['run', '--quiet', '--package', 'xtask', '--', spikeWasm, out]
  await run('cargo', xtask, { cwd: root, env: { CARGO_TARGET_DIR: toolsTargetDir } })
}

async function optimise(level) {
  const input = join(out, 'redrive_bg.wasm')
  if (level === null) return readFileSync(input)
  const output = join(out, 'optimised.wasm')
  const bin = packageBin('binaryen', 'bin/wasm-opt')
  await run(process.execPath, [bin, input, '-o', output, level, ...wasmOptFlags])
  return readFileSync(output)
}

/** The chunk as a page gets it: glue, loader and base64 of the gzipped module in one minified file, gzipped again. */
async function chunk(wasm) {
  const { build } = await import('esbuild')
  writeFileSync(join(out, 'base64.js'), `export default '${gzip(wasm).toString('base64')}'\n`)
  writeFileSync(
    join(out, 'chunk.js'),
    `import base64 from './base64.js'
import * as glue from './redrive_bg.js'
export async function load() {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))
  const { instance } = await WebAssembly.instantiate(await new Response(stream).arrayBuffer(), { './redrive_bg.js': glue })
  glue.__wbg_set_wasm(instance.exports)
  instance.exports.__wbindgen_start()
  return { ...glue, memory: instance.exports.memory }
}
`,
  )
  const options = { bundle: true, minify: true, format: 'esm', target: 'es2022', write: false, logLevel: 'error' }
  const bundled = async (file) =>
    Buffer.from((await build({ ...options, entryPoints: [join(out, file)] })).outputFiles[0].contents)
  return { shipped: await bundled('chunk.js'), glue: await bundled('redrive_bg.js') }
}

/** Stubs that do nothing weigh nothing: the whole must give the answers the finished core will give. */
function smoke(core) {
  const bytes = (string) => new TextEncoder().encode(string)
  const text = (array) => new TextDecoder().decode(array)
  const request = ['POST', 'HTTPS://u@A.test:443/x/../%7ey%2f?b=1#c', 'Text/Plain; q=1', 'scope', ''].join('\0')
  const sha = createHash('sha256')
  for (const field of [
    ...['POST', 'https://a.test/~y%2F?b=1', 'text/plain', 'scope', ''].map(bytes),
    new Uint8Array(3),
  ]) {
    const length = Buffer.alloc(8)
    length.writeBigUInt64BE(BigInt(field.length))
    sha.update(length).update(field)
  }
  const digest = sha.digest('hex')
  const queue = new core.CoreQueue(2, 2, 8, 1024, undefined)
  const policy = queue.policy(new Float64Array([0, 3, 500]))
  const slot = queue.admit(1000, queue.lane(), policy, 0, 10, 3, 1000, Infinity, Infinity, false, 0xffffffff)
  const expected = [
    ['a task that is due starts', queue.poll(1000), 1],
    ['a 503 is tried again', queue.settle(1001, slot, policy, 0, 503, NaN, 5), 1],
    ['and wakes within the first ceiling', queue.wakeAt() >= 1001 && queue.wakeAt() <= 1501, true],
    ['one task', queue.stats().depth, 1],
    [
      'members by UTF-16 unit',
      text(core.canonicalJson(bytes('{"\\ufb33":1,"\\ud83d\\ude00":1e2,"a":[-0,4.50]}'))),
      '{"a":[0,4.5],"😀":100,"\ufb33":1}',
    ],
    ['asctime date', core.parseRetryAfter(bytes('Sun Nov  6 08:49:37 1994'), bytes(''), 784111777000 - 5000), 5000],
    ['RateLimit', core.parseRateLimit(bytes('"a";r=5;t=9, "b";r=0;t=30')).join(), '0,30000'],
    [
      'zizq, retry 25',
      core.calculateBackoffDelay(new Float64Array([3, 26, ...Array(8).fill(NaN), 15000, 4, 30000]), 25, 0, 0, 0),
      390640000,
    ],
    [
      'headers',
      core.keptHeaders(bytes('accept\nauthorization\nx-my-token\nx-plain'), bytes(''), bytes('')).join(),
      '1,0,0,2',
    ],
    ['a key over the normal form', text(core.generateIdempotencyKey(bytes(request), new Uint8Array(3))), digest],
  ]
  queue.free()
  const wrong = expected.filter(([, got, want]) => got !== want)
  if (wrong.length > 0)
    throw new StepError(wrong.map(([what, got, want]) => `${what}: expected ${want}, got ${got}`).join('\n'))
}

function timed(work) {
  const started = performance.now()
  const count = work()
  return ((performance.now() - started) * 1e6) / count
}

/** Nanoseconds per failed attempt that is put off (10,000 tasks), per key of a 1 KB body, per KB of canonical JSON. */
function pace(core) {
  const tasks = 10_000
  const attempt = timed(() => {
    const queue = new core.CoreQueue(0xffffffff, 0xffffffff, tasks, 1e9, 1n)
    const policy = queue.policy(new Float64Array([0, 11]))
    const lane = queue.lane()
    for (let task = 0; task < tasks; task++) {
      queue.admit(0, lane, policy, 0, 0, 3, 0, Infinity, Infinity, false, 0xffffffff)
    }
    let attempts = 0
    for (let now = 0; now < Infinity; now = Math.max(now, queue.wakeAt())) {
      let count
      do {
        count = queue.poll(now)
        const pairs = new Uint32Array(core.memory.buffer, queue.actionsPtr(), count * 2)
        for (const slot of Uint32Array.from(pairs.filter((_, index) => index % 2 === 0))) {
          queue.settle(now, slot, policy, 0, 503, NaN, 5)
        }
        attempts += count
      } while (count === 256)
    }
    queue.free()
    if (attempts !== tasks * 11) throw new StepError(`${attempts} attempts instead of ${tasks * 11}`)
    return attempts
  })
  const fields = new TextEncoder().encode('POST\0https://a.test/orders\0application/json\0\0')
  const body = new Uint8Array(1024).fill(97)
  const key = timed(() => {
    for (let round = 0; round < 2_000; round++) core.generateIdempotencyKey(fields, body)
    return 2_000
  })
  const rows = Array.from({ length: 100 }, (_, id) => ({
    name: `row ${id}`,
    id,
    tags: ['a', 'b'],
    at: { y: id * 7, x: true },
  }))
  const text = new TextEncoder().encode(JSON.stringify(rows))
  const json = timed(() => {
    for (let round = 0; round < 100; round++) core.canonicalJson(text)
    return (100 * text.length) / 1024
  })
  return { attempt, key, json }
}

async function measure(cargo, recipe, { check = false, speed = false } = {}) {
  await compile(cargo, recipe)
  await bind()
  const wasm = await optimise(recipe.wasmOpt === undefined ? '-O3' : recipe.wasmOpt)
  const { shipped, glue } = await chunk(wasm)
  const row = {
    wasm,
    raw: wasm.length,
    gzip: gzip(wasm).length,
    glue: gzip(glue).length,
    shipped: gzip(shipped).length,
  }
  if (!check && !speed) return row
  mkdirSync(loadable, { recursive: true })
  const file = join(loadable, `${performance.now()}.mjs`)
  writeFileSync(file, shipped)
  const core = await (await import(pathToFileURL(file).href)).load()
  if (check) smoke(core)
  return { ...row, core }
}

const number = (value, width) => Math.round(value).toLocaleString('en').padStart(width)
function print(name, row, against, what) {
  const delta = against
    ? `${against.shipped >= row.shipped ? '' : '+'}${(row.shipped - against.shipped).toLocaleString('en')}`
    : ''
  console.log(
    `${name.padEnd(14)}${number(row.raw, 8)}${number(row.gzip, 8)}${number(row.glue, 7)}${number(row.shipped, 9)}${delta.padStart(9)}  ${what}`,
  )
}

/** All in turn, then all again: what else the machine does meanwhile falls on every row alike. */
function race(cores) {
  const rounds = Array.from({ length: 12 }, () => cores.map(({ core }) => pace(core))).slice(1)
  const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1]
  console.log('\nns, medians  attempt    key 1 KB  JSON 1 KB')
  for (const [at, { name }] of cores.entries()) {
    const of = (what) => number(median(rounds.map((round) => round[at][what])), 11)
    console.log(`${name.padEnd(10)}${of('attempt')}${of('key')}${of('json')}`)
  }
}

await main(async () => {
  const asked = process.argv.slice(2)
  for (const name of asked.filter((name) => name.includes('+'))) {
    choices[name] = { what: 'as asked', features: name.split('+') }
  }
  const unknown = asked.filter((name) => !(name in parts) && !(name in choices))
  if (unknown.length > 0)
    throw new StepError(
      `no row named ${unknown.join(', ')}; there are ${[...whole, ...Object.keys(choices)].join(', ')}`,
    )
  const wanted = (name) => asked.length === 0 || asked.includes(name)
  const cargo = await wasmCargo()

  console.log('bytes              raw    gzip   glue  shipped    delta')
  const all = await measure(cargo, { features: whole }, { check: true })
  print('whole', all, undefined, 'every part')
  const racers = [{ name: 'whole', core: all.core }]
  const row = async (name, label, recipe, what) => {
    const speed = racing.includes(name)
    const found = await measure(cargo, recipe, { speed })
    if (speed) racers.push({ name: label, core: found.core })
    print(label, found, all, what)
  }
  if (asked.length === 0)
    print(
      'face',
      await measure(cargo, { features: [] }),
      all,
      'the wasm-bindgen class alone: runtime, allocator, panic text',
    )
  console.log('without')
  for (const name of whole.filter(wanted)) {
    const rest = whole.filter((part) => part !== name && !(name === 'queue' && part === 'gates'))
    await row(name, `- ${name}`, { features: rest }, parts[name])
  }
  console.log('otherwise')
  for (const [name, recipe] of Object.entries(choices).filter(([name]) => wanted(name))) {
    await row(name, name, recipe, recipe.what)
  }
  const text = (bytes) => gzip(Buffer.from(bytes.toString('base64'))).length
  console.log(
    `\nthe module inline, gzipped: as base64 of its gzip ${number(text(gzip(all.wasm)), 1)}, as base64 ${number(text(all.wasm), 1)}`,
  )
  race(racers)
  const verdict =
    all.shipped <= aim
      ? 'inside the aim'
      : all.shipped <= budget
        ? 'inside the budget, above the aim'
        : 'OVER the budget'
  console.log(
    `\nas shipped ${number(all.shipped, 1)} of ${number(budget, 1)} bytes (aim ${number(aim, 1)}): ${verdict}`,
  )
})
