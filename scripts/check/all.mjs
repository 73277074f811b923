// Judges everything that can be judged without running the product, with one line a check. Cargo's checks need nothing but Rust
// and run beside the build; the others come after it.
import { at, packageBin, root, wasmTarget, wasmTargetDir } from '../lib/paths.mjs'
import { run, StepError, step, tell } from '../lib/steps.mjs'
import { wasmCargo } from '../setup.mjs'
import { checkDocuments } from './documents.mjs'
import { checkExports } from './exports.mjs'
import { checkLengths, checkLocks, checkMachinePaths, checkReadme, checkRoot } from './files.mjs'
import { checkFloats } from './floats.mjs'
import { checkHouse } from './house.mjs'
import { checkLayers } from './layers.mjs'
import { checkLicences } from './licences.mjs'
import { checkOptions } from './options.mjs'
import { checkReproducible } from './reproducible.mjs'
import { checkRetired } from './retired.mjs'
import { checkServicePages } from './service-pages.mjs'

const cargo = (...args) => run('cargo', args, { cwd: root })
const program = (name, file, ...args) => run(process.execPath, [packageBin(name, file), ...args], { cwd: root })

/** The boundary is compiled for wasm only, so native clippy never sees it. */
async function clippyForWasm() {
  const modules = [
    ['--lib', '--features', 'queue-module,keys-module'],
    ['--package', 'sim', '--lib', '--features', 'lab-module'],
  ].map((words) => [...words, '--target', wasmTarget])
  const words = await wasmCargo()
  const env = { CARGO_TARGET_DIR: wasmTargetDir }
  const has = await run(words[0], [...words.slice(1), 'clippy', '--version'], { cwd: root, allowFailure: true })
  if (has.code !== 0) {
    const flags = { ...env, CARGO_ENCODED_RUSTFLAGS: '-Dwarnings' }
    for (const module of modules) {
      await run(words[0], [...words.slice(1), 'check', ...module], { cwd: root, env: flags })
    }
    return `rustc's own lints only: ${words.join(' ')} has no clippy`
  }
  for (const module of modules) {
    await run(words[0], [...words.slice(1), 'clippy', ...module, '--', '-Dwarnings'], { cwd: root, env })
  }
}

/** Does everything of a publication but the upload; a warning on the way is a failure. */
async function publishable() {
  const { output } = await run('cargo', ['publish', '--dry-run', '--allow-dirty'], { cwd: root })
  const warnings = output.split('\n').filter((line) => /^warning/.test(line) && !line.includes('due to dry run'))
  if (warnings.length > 0) throw new StepError(warnings.join('\n'))
  return /Packaged .*/.exec(output)?.[0].toLowerCase()
}

let sizes = ''

/** The folders that the build makes. */
const packages = ['pkg', 'pkg-service', 'pkg-ui']

const ofCargo = [
  ['rustfmt', () => cargo('fmt', '--all', '--check')],
  ['clippy', () => cargo('clippy', '--workspace', '--all-targets', '--', '-Dwarnings')],
  ['rustdoc', () => run('cargo', ['doc', '--no-deps', '--lib'], { cwd: root, env: { RUSTDOCFLAGS: '-Dwarnings' } })],
  ['crate can be published', publishable],
]

const ofTheBuilt = [
  ['clippy, wasm', clippyForWasm],
  ['tsc', () => program('typescript', 'bin/tsc', '--project', 'tsconfig.json')],
  ['tsc, published code', () => program('typescript', 'bin/tsc', '--project', 'tsconfig.build.json', '--noEmit')],
  ['tsc, for Node', () => program('typescript', 'bin/tsc', '--project', 'tsconfig.build-node.json', '--noEmit')],
  [
    'biome',
    () =>
      program(
        '@biomejs/biome',
        'bin/biome',
        'check',
        '--error-on-warnings',
        '--diagnostic-level=warn',
        '--max-diagnostics=50',
      ),
  ],
  ['imports flow one way', checkLayers],
  ['exported names are used', checkExports],
  ['picture of the house', checkHouse],
  ['options are as the comments have them', checkOptions],
  ['tables of the service pages', checkServicePages],
  ['documents name what is there', checkDocuments],
  ['retired names', checkRetired],
  [
    'regular expressions on hostile text',
    async () => (await import('./regexps.mjs')).checkRegexps(), // needs a parser of TypeScript, so the set-up first
  ],
  [
    'time and timers come from the clock',
    async () => (await import('./time.mjs')).checkTime(), // needs a parser of TypeScript, so the set-up first
  ],
  ['file lengths', checkLengths],
  ['length of the README', checkReadme],
  ['files of the root', checkRoot],
  ['lock files', checkLocks],
  ['no float code in the wasm', checkFloats],
  ['no machine paths', checkMachinePaths],
  ['licences of what is linked', checkLicences],
  [
    'sizes',
    async () => {
      const { checkSizes } = await import('./sizes.mjs') // needs esbuild, so the set-up first
      sizes = await checkSizes()
    },
  ],
  [
    'publint',
    async () => {
      for (const name of packages) await program('publint', 'src/cli.js', at(name), '--strict', '--pack', 'npm')
    },
  ],
  [
    'attw',
    async () => {
      // one declaration for both forms of an entry: TypeScript lets CommonJS require an ES module, as Node does
      const options = ['--profile', 'esm-only', '--ignore-rules', 'false-esm', '--no-color']
      for (const name of packages)
        await program('@arethetypeswrong/cli', 'dist/index.js', '--pack', at(name), ...options)
    },
  ],
]
if (process.argv.includes('--reproducible')) ofTheBuilt.push(['the same core from another folder', checkReproducible])

const failures = []
const failed = (title) => (error) => void failures.push({ title, error })

async function judge(checks) {
  for (const [title, work] of checks) {
    await step(title, async () => {
      const note = await work()
      return typeof note === 'string' ? note : undefined
    }).catch(failed(title))
  }
}

export const checkRust = () => judge(ofCargo)

/** Judges what `built` brings; that the build succeeds is a check like the others. */
export async function checkBuilt(built) {
  await built.catch(failed('build'))
  await judge(ofTheBuilt)
}

/** Prints what failed in full, then one line for all checks; returns false where one failed. */
export function reportChecks() {
  if (sizes) tell(`\n${sizes}`)
  const words = (error) => (error instanceof StepError ? error.message : (error.stack ?? String(error)))
  for (const { title, error } of failures) tell(`\n--- ${title}\n${words(error).trimEnd()}`)
  const total = ofCargo.length + 1 + ofTheBuilt.length
  const names = failures.map(({ title }) => title).join(', ')
  tell(`\ncheck: ${total - failures.length} passed, ${failures.length} failed${names && `: ${names}`}`)
  return failures.length === 0
}
