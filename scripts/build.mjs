// Makes pkg/, the npm package, ready to publish.
import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { manifest, repository } from './build/manifest.mjs'
import { buildWasmStep, compileEarly } from './build-wasm.mjs'
import { fingerprint, unlessFresh } from './lib/inputs.mjs'
import { at, generated } from './lib/paths.mjs'
import { isEntry, main, step, yieldingToOthers } from './lib/steps.mjs'
import { beginSetup } from './setup.mjs'

const papers = ['README.md', 'CHANGELOG.md', 'LICENSE-MIT', 'LICENSE-APACHE']

/** The sources of the package; the generated part of js/ carries the core. */
const sources = [
  at('js'),
  at('pkg-template'),
  at('Cargo.toml'),
  at('Cargo.lock'),
  at('package-lock.json'),
  at('tsconfig.json'),
  at('tsconfig.build.json'),
  at('tsconfig.build-node.json'),
  at('scripts', 'build'),
  at('scripts', 'build.mjs'),
  ...papers.map((name) => at(name)),
]

async function makePackage(folder) {
  // Imported here and not above: esbuild is installed only after the set-up.
  const { bundle } = await import('./build/bundle.mjs')
  const { declarations } = await import('./build/types.mjs')
  const { edgeLight } = await import('./build/edge-light.mjs')
  const { tidySourceMaps } = await import('./build/source-maps.mjs')
  const { notices } = await import('./build/notices.mjs')
  const { bundleService } = await import('./build/service.mjs')
  const { bundleUi } = await import('./build/ui.mjs')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await bundle(folder)
  tidySourceMaps(folder)
  edgeLight(folder)
  const bundled = [...(await bundleService(folder)), ...(await bundleUi(folder))]
  await declarations(folder)
  cpSync(join(generated, 'queue', 'queue.wasm'), join(folder, 'redrive.wasm'))
  cpSync(join(generated, 'keys', 'keys.wasm'), join(folder, 'redrive-keys.wasm'))
  for (const name of papers) cpSync(at(name), join(folder, name))
  writeFileSync(join(folder, 'THIRD_PARTY_NOTICES'), await notices(bundled))
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(), undefined, 2)}\n`)
}

function buildPackage() {
  const pkg = at('pkg')
  const stamp = {
    stampFile: at('target', 'pkg.stamp'),
    print: fingerprint(sources, [repository()]),
    outputs: [join(pkg, 'package.json')],
  }
  return unlessFresh(stamp, async () => {
    // Made beside pkg/ and moved at the end: a build that fails leaves the package as it was.
    const next = at('target', 'pkg')
    await makePackage(next)
    rmSync(pkg, { recursive: true, force: true })
    renameSync(next, pkg)
  })
}

/** Builds the wasm core, then pkg/; each only if one of its sources has changed. */
export async function build() {
  await buildWasmStep()
  await step('package', async () => ((await buildPackage()) ? undefined : 'unchanged'))
}

/**
 * Builds on a machine whose set-up is under way: what needs Rust alone is compiled while npm's packages are still on their way.
 * @param {{ rust: Promise<unknown>, tools: Promise<unknown> }} begun
 */
export function buildAfter({ rust, tools }) {
  rust.then(() => yieldingToOthers(compileEarly)).catch(() => {}) // `tools` tells of it
  return tools.then(build)
}

export const setUpAndBuild = async () => buildAfter(await beginSetup())

if (isEntry(import.meta.url)) await main(setUpAndBuild)
