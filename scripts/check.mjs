// `npm run check`: everything that can be judged without running the product. All checks run, with one line each; failures
// are shown in full at the end.
import { build } from './build.mjs'
import { checkDocuments } from './check/documents.mjs'
import { checkLengths, checkLocks, checkMachinePaths } from './check/files.mjs'
import { checkFloats } from './check/floats.mjs'
import { checkHouse } from './check/house.mjs'
import { checkLayers } from './check/layers.mjs'
import { checkReproducible } from './check/reproducible.mjs'
import { checkRetired } from './check/retired.mjs'
import { at, packageBin, root, wasmTarget, wasmTargetDir } from './lib/paths.mjs'
import { main, run, StepError, step } from './lib/steps.mjs'
import { setup, wasmCargo } from './setup.mjs'

const cargo = (...args) => run('cargo', args, { cwd: root })
const program = (name, file, ...args) => run(process.execPath, [packageBin(name, file), ...args], { cwd: root })

/** The boundary is compiled for wasm only, so native clippy never sees it. */
async function clippyForWasm() {
  const words = await wasmCargo()
  const env = { CARGO_TARGET_DIR: wasmTargetDir }
  const has = await run(words[0], [...words.slice(1), 'clippy', '--version'], { cwd: root, allowFailure: true })
  if (has.code !== 0) {
    const flags = { ...env, CARGO_ENCODED_RUSTFLAGS: '-Dwarnings' }
    await run(
      words[0],
      [...words.slice(1), 'check', '--lib', '--features', 'queue-module,keys-module', '--target', wasmTarget],
      { cwd: root, env: flags },
    )
    return `rustc's own lints only: ${words.join(' ')} has no clippy`
  }
  const asModules = ['--features', 'queue-module,keys-module', '--target', wasmTarget]
  await run(words[0], [...words.slice(1), 'clippy', '--lib', ...asModules, '--', '-Dwarnings'], { cwd: root, env })
}

/** Does everything of a publication but the upload; a warning on the way is a failure. */
async function publishable() {
  const { output } = await run('cargo', ['publish', '--dry-run', '--allow-dirty'], { cwd: root })
  const warnings = output.split('\n').filter((line) => /^warning/.test(line) && !line.includes('due to dry run'))
  if (warnings.length > 0) throw new StepError(warnings.join('\n'))
  return /Packaged .*/.exec(output)?.[0].toLowerCase()
}

let sizes = ''
const checks = [
  ['rustfmt', () => cargo('fmt', '--all', '--check')],
  ['clippy', () => cargo('clippy', '--workspace', '--all-targets', '--', '-Dwarnings')],
  ['clippy, wasm', clippyForWasm],
  ['rustdoc', () => run('cargo', ['doc', '--no-deps', '--lib'], { cwd: root, env: { RUSTDOCFLAGS: '-Dwarnings' } })],
  ['crate can be published', publishable],
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
  ['picture of the house', checkHouse],
  ['documents name what is there', checkDocuments],
  ['retired names', checkRetired],
  ['file lengths', checkLengths],
  ['lock files', checkLocks],
  ['no float code in the wasm', checkFloats],
  ['no machine paths', checkMachinePaths],
  [
    'sizes',
    async () => {
      const { checkSizes } = await import('./check/sizes.mjs') // needs esbuild, so the set-up first
      sizes = await checkSizes()
    },
  ],
  ['publint', () => program('publint', 'src/cli.js', at('pkg'), '--strict', '--pack', 'npm')],
  [
    'attw',
    () => program('@arethetypeswrong/cli', 'dist/index.js', '--pack', at('pkg'), '--profile', 'esm-only', '--no-color'),
  ],
]
if (process.argv.includes('--reproducible')) checks.push(['the same core from another folder', checkReproducible])

await main(async () => {
  await setup()
  const failures = []
  await build().catch((error) => failures.push({ title: 'build', error }))
  for (const [title, work] of checks) {
    await step(title, async () => {
      const note = await work()
      return typeof note === 'string' ? note : undefined
    }).catch((error) => failures.push({ title, error }))
  }
  if (sizes) process.stdout.write(`\n${sizes}\n`)
  process.stdout.write(`\ncheck: ${checks.length + 1 - failures.length} passed, ${failures.length} failed\n`)
  if (failures.length === 0) return
  const words = (error) => (error instanceof StepError ? error.message : (error.stack ?? String(error)))
  throw new StepError(failures.map(({ title, error }) => `--- ${title}\n${words(error)}`).join('\n\n'))
})
