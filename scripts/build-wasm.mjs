// Rust -> js/core/generated/: the optimised module, the glue that calls it, and the module
// again as text for the entries that must not fetch a file of their own.
//
//   cargo (release, simd128)  ->  xtask (wasm-bindgen)  ->  wasm-opt  ->  gzip, base64
//
// Ends by loading and calling what it made: an optimiser that is too old for the module's
// features exits with 0 and writes a file that no engine loads.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { fingerprint, unlessFresh } from './lib/inputs.mjs'
import { cargoHome, machinePaths, sysroot } from './lib/machine-paths.mjs'
import { at, generated, packageBin, root, toolsTargetDir, wasmTarget, wasmTargetDir } from './lib/paths.mjs'
import { isEntry, main, run, StepError, step } from './lib/steps.mjs'
import { setup, wasmCargo } from './setup.mjs'

/** What the linked module uses; wasm-opt would take the section's word for it, but the section may be missing. */
const features = [
  'simd',
  'bulk-memory',
  'sign-ext',
  'nontrapping-float-to-int',
  'reference-types',
  'multivalue',
  'mutable-globals',
].map((name) => `--enable-${name}`)

const outputs = ['glue.js', 'glue.d.ts', 'redrive.wasm', 'redrive.wasm.d.ts', 'wasm-base64.js', 'wasm-base64.d.ts']

/** What cargo links, with its symbol names: the check for float code in the module reads these. */
export const linkedWasm = join(wasmTargetDir, wasmTarget, 'release', 'redrive.wasm')

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
  // A cdylib alone: with rlib beside it, as Cargo.toml says for Rust users, cargo leaves lto out without a word.
  await run(
    cargo[0],
    [...cargo.slice(1), 'rustc', '--release', '--lib', '--crate-type', 'cdylib', '--target', wasmTarget],
    {
      cwd: root,
      env: { CARGO_TARGET_DIR: wasmTargetDir, CARGO_ENCODED_RUSTFLAGS: flags },
    },
  )
}

/** The glue generator, an ordinary program of this machine's; nobody debugs it, so it is built without that. */
const buildGenerator = () =>
  run('cargo', ['build', '--package', 'xtask'], {
    cwd: root,
    env: { CARGO_TARGET_DIR: toolsTargetDir, CARGO_PROFILE_DEV_DEBUG: '0' },
  })

async function bind(directory) {
  await run(join(toolsTargetDir, 'debug', process.platform === 'win32' ? 'xtask.exe' : 'xtask'), [
    linkedWasm,
    directory,
  ])
  if (existsSync(join(directory, 'snippets'))) {
    throw new StepError(
      'a dependency brought a JavaScript snippet along; js/core/ loads one glue file and nothing beside it',
    )
  }
}

async function optimise(input, output) {
  const wasmOpt = packageBin('binaryen', 'bin/wasm-opt')
  await run(process.execPath, [wasmOpt, input, '-o', output, '-O3', ...features, '--strip-debug', '--strip-producers'])
}

const glueTypes = (types) => `${types.trimEnd()}

/** Hands the exports of the instantiated module to this glue; call \`__wbindgen_start\` of those exports right after. */
export function __wbg_set_wasm(exports: WebAssembly.Exports): void;
`

const wasmTypes = 'declare const module: WebAssembly.Module\nexport default module\n'
const base64Types = '/** The module, gzipped, in base64. */\ndeclare const base64: string\nexport default base64\n'

function write(bindings, wasm) {
  mkdirSync(generated, { recursive: true })
  const put = (name, content) => writeFileSync(join(generated, name), content)
  put('glue.js', readFileSync(join(bindings, 'redrive_bg.js')))
  put('glue.d.ts', glueTypes(readFileSync(join(bindings, 'redrive.d.ts'), 'utf8')))
  put('redrive.wasm', wasm)
  put('redrive.wasm.d.ts', wasmTypes)
  put('wasm-base64.js', `export default '${gzipSync(wasm, { level: 9 }).toString('base64')}'\n`)
  put('wasm-base64.d.ts', base64Types)
}

/** Instantiates the module with its glue, makes a queue, asks it something, frees it. */
async function callOnce(wasm, print) {
  const glue = await import(`${pathToFileURL(join(generated, 'glue.js'))}?${print}`)
  const { instance } = await WebAssembly.instantiate(wasm, { './redrive_bg.js': glue })
  glue.__wbg_set_wasm(instance.exports)
  instance.exports.__wbindgen_start()
  const queue = new glue.CoreQueue(1, 1, 8, 1024, 1n)
  const depth = queue.depth()
  queue.free()
  if (depth !== 0) throw new StepError(`a new queue of the optimised module says that it holds ${depth} tasks`)
}

/** Makes js/core/generated/ anew if anything it comes from has changed. True if it did. */
export async function buildWasm() {
  const cargo = await wasmCargo()
  const rustc = cargo.map((word) => word.replace(/cargo$/, 'rustc'))
  const { stdout: compiler } = await run(rustc[0], [...rustc.slice(1), '-vV'], { cwd: root })
  const binaryen = JSON.parse(readFileSync(packageBin('binaryen', 'package.json'), 'utf8')).version
  const print = fingerprint(
    [at('Cargo.toml'), at('Cargo.lock'), at('src'), at('xtask'), at('scripts', 'build-wasm.mjs')],
    [compiler, binaryen, ...features],
  )
  return unlessFresh(
    { stampFile: join(generated, '.stamp'), print, outputs: outputs.map((name) => join(generated, name)) },
    async () => {
      mkdirSync(at('target'), { recursive: true })
      const bindings = mkdtempSync(at('target', 'bindings-')) // its own, so that two builds at once do not mix
      const optimised = join(bindings, 'optimised.wasm')
      await Promise.all([compile(cargo, sysroot(rustc)), buildGenerator()])
      await bind(bindings)
      await optimise(join(bindings, 'redrive_bg.wasm'), optimised)
      const wasm = readFileSync(optimised)
      const found = machinePaths(wasm)
      if (found.length > 0) throw new StepError(`the module carries folders of this machine:\n${found.join('\n')}`)
      write(bindings, wasm)
      rmSync(bindings, { recursive: true })
      await callOnce(wasm, print)
    },
  )
}

export const buildWasmStep = () => step('wasm core', async () => ((await buildWasm()) ? undefined : 'unchanged'))

if (isEntry(import.meta.url)) {
  await main(async () => {
    await setup()
    await buildWasmStep()
  })
}
