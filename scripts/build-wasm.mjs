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
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
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

/** The flags by which no module carries a folder of this machine. */
async function remapped(cargo, sysrootPath) {
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
  return remap.map((pair) => `--remap-path-prefix=${pair.join('=')}`)
}

/** Links a crate as a module. A cdylib alone: with rlib beside it, as Cargo.toml says for Rust users, cargo leaves lto out without a word. */
const link = (cargo, crate, words, flags, env) =>
  run(
    cargo[0],
    [...cargo.slice(1), 'rustc', '--release', '--package', crate, '--lib', '--crate-type', 'cdylib', ...words].concat(
      '--target',
      wasmTarget,
    ),
    // Encoded, so that folders with spaces in their names survive. Replaces any RUSTFLAGS of the caller's.
    { cwd: root, env: { CARGO_TARGET_DIR: wasmTargetDir, CARGO_ENCODED_RUSTFLAGS: flags.join('\x1f'), ...env } },
  )

async function compile(cargo, sysrootPath) {
  const flags = ['-Ctarget-feature=+simd128', ...(await remapped(cargo, sysrootPath))]
  for (const name of wasmModules) {
    const crate = moduleCrates[name]
    await link(cargo, crate, ['--features', `${name}-module`], flags, speed[name])
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

async function optimise(input, output, ...words) {
  const wasmOpt = packageBin('binaryen', 'bin/wasm-opt')
  await run(process.execPath, [
    wasmOpt,
    input,
    '-o',
    output,
    '-O3',
    '--converge',
    ...words,
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

const hostsCrate = at('hosts', 'core')
const hostsModule = 'redrive-core.wasm'
const javaPackage = (kind) => at('hosts', 'java', 'redrive-core', 'src', 'main', kind, 'dev', 'redrive')
const hostsModules = [at('hosts', 'go', hostsModule), join(javaPackage('resources'), hostsModule)]
const hostsCodes = [at('hosts', 'go', 'codes.go'), join(javaPackage('java'), 'Codes.java')]

/** The core's module for hosts without JavaScript (docs/hosts.md), and the numbers they share with it. After the core. */
export async function buildHosts() {
  const stamp = {
    stampFile: at('target', 'hosts.stamp'),
    print: fingerprint([
      at('Cargo.toml'),
      at('Cargo.lock'),
      at('src'),
      hostsCrate,
      at('xtask'),
      fileURLToPath(import.meta.url),
    ]),
    outputs: [...hostsModules, ...hostsCodes],
  }
  return unlessFresh(stamp, async () => {
    const cargo = await wasmCargo()
    const flags = await remapped(cargo, sysroot(rustcOf(cargo)))
    // no host's runtime has to know of vectors
    await Promise.all([link(cargo, 'redrive-core', [], flags, {}), buildGenerator()])
    const optimised = at('target', hostsModule)
    // a JVM compiles no method beyond 64 KB of bytecode, and none beyond 8,000 bytes in the end
    const apart = '--one-caller-inline-max-function-size=20'
    await optimise(join(wasmTargetDir, wasmTarget, 'release', 'redrive_core.wasm'), optimised, apart)
    const wasm = readFileSync(optimised)
    const { module, instance } = await WebAssembly.instantiate(wasm)
    const imports = WebAssembly.Module.imports(module)
    if (imports.length > 0) throw new StepError(`${hostsModule} imports ${imports.map(({ name }) => name).join(', ')}`)
    if (instance.exports.rd_abi() !== 1) throw new StepError(`${hostsModule} does not answer as it should`)
    for (const file of hostsModules) {
      mkdirSync(dirname(file), { recursive: true })
      copyFileSync(optimised, file)
    }
    await xtask('codes', ...hostsCodes)
  })
}

export const buildHostsStep = () =>
  step('module of the hosts', async () => ((await buildHosts()) ? undefined : 'unchanged'))

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
