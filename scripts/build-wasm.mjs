// Rust -> js/core/generated/, for each of the core's modules and the lab's: the optimised module, the glue that
// calls it, and the module again, zipped and as text, for the entries that must not fetch a file of their own. Beside
// them codes.ts: the numbers of the core's enums.
//
//   cargo (release, simd128)  ->  xtask (wasm-bindgen)  ->  wasm-opt  ->  zopfli
//   xtask (the core, natively)  ->  codes.ts
//
// Ends by loading and calling what it made: an optimiser that is too old for the module's
// features exits with 0 and writes a file that no engine loads.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { buildLuaStep } from './build/lua.mjs'
import { fingerprint, unlessFresh } from './lib/inputs.mjs'
import { cargoHome, machinePaths, sysroot } from './lib/machine-paths.mjs'
import {
  at,
  generated,
  moduleCrates,
  packageBin,
  root,
  toolsTargetDir,
  wasmModules,
  wasmTarget,
  wasmTargetDir,
} from './lib/paths.mjs'
import { isEntry, main, run, StepError, step } from './lib/steps.mjs'
import { setup, wasmCargo } from './setup.mjs'

/** The features that the linked module uses; wasm-opt would take the section's word for it, but the section may be missing. */
const features = [
  'simd',
  'bulk-memory',
  'sign-ext',
  'nontrapping-float-to-int',
  'reference-types',
  'multivalue',
  'mutable-globals',
].map((name) => `--enable-${name}`)

/** The numbers that Rust and TypeScript share. */
const codes = join(generated, 'codes.ts')

const outputs = [
  codes,
  ...wasmModules.flatMap((name) =>
    ['glue.js', 'glue.d.ts', `${name}.wasm`, `${name}.wasm.d.ts`, 'packed.js', 'packed.d.ts'].map((file) =>
      join(generated, name, file),
    ),
  ),
]

/** The module that cargo links, with its symbol names: the checks for float code and for what each part weighs read these. */
export const linkedWasm = (name) => join(wasmTargetDir, `${name}.linked.wasm`)

const fast = { CARGO_PROFILE_RELEASE_OPT_LEVEL: '3' }
/**
 * Pages load the modules of queue and keys, so they are small (docs/adr/0011, 0093); SHA-256 keeps its speed (Cargo.toml), and a user waits
 * for the lab.
 */
const speed = { queue: {}, keys: {}, lab: fast }

async function compile(cargo, sysrootPath) {
  // Fetched first: the crates must lie in their folders before these can be named below.
  await run(cargo[0], [...cargo.slice(1), 'fetch', '--target', wasmTarget], { cwd: root })
  const sources = join(cargoHome(), 'registry', 'src')
  const registries = existsSync(sources) ? readdirSync(sources).map((name) => join(sources, name)) : []
  const remap = [
    [sysrootPath, '/rust'],
    [cargoHome(), '/cargo'],
    ...registries.map((path) => [path, '/crates']),
    [root, '/redrive'],
  ]
  // Encoded, so that folders with spaces in their names survive. Replaces any RUSTFLAGS of the caller's.
  const flags = ['-Ctarget-feature=+simd128', ...remap.map((pair) => `--remap-path-prefix=${pair.join('=')}`)].join(
    '\x1f',
  )
  for (const name of wasmModules) {
    // A cdylib alone: with rlib beside it, as Cargo.toml says for Rust users, cargo leaves lto out without a word.
    const crate = moduleCrates[name]
    const library = ['--package', crate, '--lib', '--crate-type', 'cdylib', '--features', `${name}-module`]
    const build = ['rustc', '--release', ...library]
    await run(cargo[0], [...cargo.slice(1), ...build, '--target', wasmTarget], {
      cwd: root,
      env: { CARGO_TARGET_DIR: wasmTargetDir, CARGO_ENCODED_RUSTFLAGS: flags, ...speed[name] },
    })
    // those of one crate come out under one name
    copyFileSync(join(wasmTargetDir, wasmTarget, 'release', `${crate}.wasm`), linkedWasm(name))
  }
}

/** The generator of glue and codes, an ordinary program of this machine's, built as fast as may be: it runs for a second, and optimising it takes a minute. */
const buildGenerator = () =>
  run('cargo', ['build', '--package', 'xtask'], {
    cwd: root,
    env: { CARGO_TARGET_DIR: toolsTargetDir, CARGO_PROFILE_DEV_DEBUG: '0', CARGO_PROFILE_DEV_OPT_LEVEL: '0' },
  })

const xtask = (...args) =>
  run(join(toolsTargetDir, 'debug', process.platform === 'win32' ? 'xtask.exe' : 'xtask'), args)

async function bind(name, directory) {
  await xtask('glue', linkedWasm(name), directory, name)
  if (existsSync(join(directory, 'snippets'))) {
    throw new StepError(
      'a dependency brought a JavaScript snippet along; js/core/ loads one glue file and nothing beside it',
    )
  }
}

async function optimise(input, output) {
  const wasmOpt = packageBin('binaryen', 'bin/wasm-opt')
  await run(process.execPath, [
    wasmOpt,
    input,
    '-o',
    output,
    '-O3',
    '--converge',
    ...features,
    '--strip-debug',
    '--strip-producers',
  ])
}

const glueTypes = (types) => `${types.trimEnd()}

/** Hands the exports of the instantiated module to this glue; call \`__wbindgen_start\` of those exports right after. */
export function __wbg_set_wasm(exports: WebAssembly.Exports): void;
`

const wasmTypes = 'declare const module: WebAssembly.Module\nexport default module\n'
const packedTypes =
  "import type { Packed } from '../../unpack.ts'\n/** The module, for unpack.ts. */\ndeclare const packed: Packed\nexport default packed\n"
async function write(name, bindings, wasm) {
  const folder = join(generated, name)
  mkdirSync(folder, { recursive: true })
  const put = (file, content) => writeFileSync(join(folder, file), content)
  put('glue.js', readFileSync(join(bindings, `${name}_bg.js`)))
  put('glue.d.ts', glueTypes(readFileSync(join(bindings, `${name}.d.ts`), 'utf8')))
  put(`${name}.wasm`, wasm)
  put(`${name}.wasm.d.ts`, wasmTypes)
  const { default: zopfli } = await import('@gfx/zopfli') // once the packages of npm are there
  const zipped = await zopfli.gzipAsync(wasm, { numiterations: 15 })
  if (!wasm.equals(gunzipSync(zipped))) throw new StepError(`the module '${name}' does not unzip to what it was`)
  put('packed.js', `export default ${JSON.stringify([Buffer.from(zipped).toString('base64'), wasm.length])}\n`)
  put('packed.d.ts', packedTypes)
}

const hasScratch = (glue) => glue.scratch(8) !== 0
/** A question to each module, which it answers with true where it works. */
const questions = {
  queue: hasScratch,
  keys: hasScratch,
  lab: (glue) => new glue.LabFrontier(new Float64Array(), 1, 1).name(0) !== '',
}

/** Instantiates a module with its glue and asks it for something. */
async function callOnce(name, wasm, print) {
  const glue = await import(`${pathToFileURL(join(generated, name, 'glue.js'))}?${print}`)
  const { instance } = await WebAssembly.instantiate(wasm, { [`./${name}_bg.js`]: glue })
  glue.__wbg_set_wasm(instance.exports)
  instance.exports.__wbindgen_start?.()
  if (!questions[name](glue)) throw new StepError(`the optimised module '${name}' does not answer as it should`)
}

async function make(name, print) {
  mkdirSync(at('target'), { recursive: true })
  const bindings = mkdtempSync(at('target', 'bindings-')) // its own, so that two builds at once do not mix
  const optimised = join(bindings, 'optimised.wasm')
  await bind(name, bindings)
  await optimise(join(bindings, `${name}_bg.wasm`), optimised)
  const wasm = readFileSync(optimised)
  const found = machinePaths(wasm)
  if (found.length > 0)
    throw new StepError(`the module '${name}' carries folders of this machine:\n${found.join('\n')}`)
  await write(name, bindings, wasm)
  rmSync(bindings, { recursive: true })
  await callOnce(name, wasm, print)
}

const stampFile = join(generated, '.stamp')

async function compileAll() {
  const cargo = await wasmCargo()
  await Promise.all([compile(cargo, sysroot(rustcOf(cargo))), buildGenerator()])
}

let early
/** Where nothing was ever built: what needs Rust alone, while the packages of npm are still on their way. */
export function compileEarly() {
  if (existsSync(stampFile)) return
  early = compileAll()
  early.catch(() => {}) // the build awaits it
}

const rustcOf = (cargo) => cargo.map((word) => word.replace(/cargo$/, 'rustc'))

/** Makes js/core/generated/ anew if anything it comes from has changed. True if it did. */
export async function buildWasm() {
  const cargo = await wasmCargo()
  const rustc = rustcOf(cargo)
  const { stdout: compiler } = await run(rustc[0], [...rustc.slice(1), '-vV'], { cwd: root })
  const binaryen = JSON.parse(readFileSync(packageBin('binaryen', 'package.json'), 'utf8')).version
  const print = fingerprint(
    [
      at('Cargo.toml'),
      at('Cargo.lock'),
      at('src'),
      at('sim', 'Cargo.toml'),
      at('sim', 'src'),
      at('xtask'),
      at('scripts', 'build-wasm.mjs'),
    ],
    [compiler, binaryen, ...features],
  )
  return unlessFresh({ stampFile, print, outputs }, async () => {
    await (early ?? compileAll())
    early = undefined
    rmSync(generated, { recursive: true, force: true })
    await Promise.all(wasmModules.map((name) => make(name, print)))
    await xtask('codes', codes)
  })
}

/** Everything that is generated below js/: the core, and the scripts of Redis. */
export const buildWasmStep = async () => {
  await step('wasm core', async () => ((await buildWasm()) ? undefined : 'unchanged'))
  await buildLuaStep()
}

if (isEntry(import.meta.url)) {
  await main(async () => {
    await setup()
    await buildWasmStep()
  })
}
