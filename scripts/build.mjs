// Makes pkg/, pkg-service/ and pkg-ui/, the npm packages, ready to publish, and pkg-maps/, the source maps of the first.
import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { entries, serviceEntries, uiEntries } from './build/entries.mjs'
import { manifest, repository } from './build/manifest.mjs'
import { declarations, emitDeclarations, moduleDeclarations } from './build/types.mjs'
import { buildHostsStep, buildWasmStep, compileEarly } from './build-wasm.mjs'
import { fingerprint, unlessFresh } from './lib/inputs.mjs'
import { at, generated } from './lib/paths.mjs'
import { isEntry, main, step, yieldingToOthers } from './lib/steps.mjs'
import { beginSetup } from './setup.mjs'

const papers = ['LICENSE-MIT', 'LICENSE-APACHE']

/** The sources of the packages; the generated part of js/ carries the core. */
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
  at('README.md'),
  ...papers.map((name) => at(name)),
]

const maps = 'pkg-maps'

/** Folder -> what makes it. */
const makers = { pkg: makeQueue, 'pkg-service': makeService, 'pkg-ui': makeUi }

async function makeQueue(folder) {
  // Imported here and not above: esbuild is installed only after the set-up.
  const { bundle } = await import('./build/bundle.mjs')
  const { edgeLight } = await import('./build/edge-light.mjs')
  const { takeSourceMaps } = await import('./build/source-maps.mjs')
  await bundle(folder)
  takeSourceMaps(folder, at('target', maps))
  edgeLight(folder)
  declarations(folder, Object.values(entries))
  moduleDeclarations(folder)
  cpSync(join(generated, 'queue', 'queue.wasm'), join(folder, 'redrive.wasm'))
  cpSync(join(generated, 'keys', 'keys.wasm'), join(folder, 'redrive-keys.wasm'))
  cpSync(at('README.md'), join(folder, 'README.md'))
  await finish(folder, 'redrive', 'redrive.wasm, redrive-keys.wasm and the code that carries them')
}

async function makeService(folder) {
  const { bundleService } = await import('./build/service.mjs')
  const { bundleUi } = await import('./build/ui.mjs')
  await bundleService(folder)
  const bundled = await bundleUi(join(folder, 'ui'), true)
  declarations(folder, [serviceEntries.service])
  await finish(folder, 'service', 'The files in ui/, which the service shows in a browser,', bundled)
}

async function makeUi(folder) {
  const { bundleUi } = await import('./build/ui.mjs')
  const bundled = await bundleUi(folder)
  declarations(folder, [uiEntries.ui, uiEntries['ui-sources']])
  await finish(
    folder,
    'ui',
    'The module of the lab and the code that carries it, and the style sheet of the charts,',
    bundled,
  )
}

async function finish(folder, name, holding, bundled) {
  const { notices } = await import('./build/notices.mjs')
  for (const paper of papers) cpSync(at(paper), join(folder, paper))
  if (name !== 'redrive') {
    cpSync(at('pkg-template', name, 'README.md'), join(folder, 'README.md'))
    // where it lies it finds the queue that was built with it; npm packs no such folder
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(at('pkg'), join(folder, 'node_modules', 'redrive'), 'junction')
  }
  writeFileSync(join(folder, 'THIRD_PARTY_NOTICES'), await notices(holding, bundled))
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(name), undefined, 2)}\n`)
}

function buildPackages() {
  const folders = Object.keys(makers)
  const stamp = {
    stampFile: at('target', 'pkg.stamp'),
    print: fingerprint(sources, [repository()]),
    outputs: folders.map((name) => at(name, 'package.json')),
  }
  return unlessFresh(stamp, async () => {
    await emitDeclarations()
    rmSync(at('target', maps), { recursive: true, force: true })
    for (const [name, make] of Object.entries(makers)) {
      // Made beside and moved at the end: a build that fails leaves the packages as they were.
      const next = at('target', name)
      rmSync(next, { recursive: true, force: true })
      mkdirSync(next, { recursive: true })
      await make(next)
    }
    for (const name of [...folders, maps]) {
      rmSync(at(name), { recursive: true, force: true })
      renameSync(at('target', name), at(name))
    }
  })
}

/** Builds the wasm core, then the packages; each only if one of its sources has changed. */
export async function build() {
  await buildWasmStep()
  await step('packages', async () => ((await buildPackages()) ? undefined : 'unchanged'))
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

if (isEntry(import.meta.url)) {
  await main(async () => {
    await setUpAndBuild()
    await buildHostsStep()
  })
}
