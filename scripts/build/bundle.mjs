// js/ -> the modules of the package. One esbuild run with splitting for all entries, so that a
// class is one class whichever entry it came through.
import { build } from 'esbuild'
import { at } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'

/** Name in the package -> source. `*.workerd` is what the `workerd` condition picks. */
export const entries = {
  index: 'js/index.ts',
  'index.workerd': 'js/index.workerd.ts',
  core: 'js/core.ts',
  'core.workerd': 'js/core.workerd.ts',
  fetch: 'js/adapters/fetch.ts',
  axios: 'js/adapters/axios.ts',
  prometheus: 'js/adapters/prometheus.ts',
  opentelemetry: 'js/adapters/opentelemetry.ts',
  testing: 'js/testing.ts',
  memory: 'js/stores/memory.ts',
  indexeddb: 'js/stores/indexeddb.ts',
  sqlite: 'js/stores/sqlite.ts',
  node: 'js/node.ts',
  'background-sync': 'js/background-sync.ts',
  'service-worker': 'js/service-worker.ts',
  cloudflare: 'js/cloudflare.ts',
}

/** What the bundler says about its output: which file imports which, and how. Read by the size check. */
export const metafile = at('target', 'pkg-meta.json')

/** Workers take the modules as files beside the code, by a static import; all chunks lie in one folder. */
const wasmBesideTheCode = {
  name: 'wasm-beside-the-code',
  setup(build) {
    build.onResolve({ filter: /queue\.wasm$/ }, () => ({ path: './redrive.wasm', external: true }))
    build.onResolve({ filter: /keys\.wasm$/ }, () => ({ path: './redrive-keys.wasm', external: true }))
  },
}

/**
 * Properties that only our own modules see. Shortened, they save a hundred bytes of what every page loads; a test holds
 * them apart from every name that users can see. What a chunk exports keeps its name, so none of them may be an export
 * that is reached by way of the module's object, as `import()` gives it.
 */
export const inward =
  'addedCrossOrigin admission afterFailure allowed also answer beforeSending begin controller deliver draw durable each expected ' +
  'failure final finished hasBody inside isFinal isReplay keyed made makeKey network observeUntracked offline opened ' +
  'originMissing overlay plain redirectRefused replayable runner sendable sent settings starting stopped timeoutMs ' +
  'transport words'

/** Gives what belongs in `metafile` once the package is whole. */
export async function bundle(outdir) {
  const result = await build({
    absWorkingDir: at(),
    entryPoints: entries,
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'neutral',
    external: ['node:*', 'cloudflare:*', '@opentelemetry/api'],
    target: 'es2022',
    minify: true,
    mangleProps: new RegExp(`^(${inward.replaceAll(' ', '|')})$`),
    legalComments: 'none',
    chunkNames: '[name]-[hash]',
    metafile: true,
    logLevel: 'silent',
    plugins: [wasmBesideTheCode],
  }).catch((error) => {
    throw new StepError(error.message) // its stack is the bundler's own
  })
  return result.metafile
}
