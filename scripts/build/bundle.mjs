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
  testing: 'js/testing.ts',
}

/** What the bundler says about its output: which file imports which, and how. Read by the size check. */
export const metafile = at('target', 'pkg-meta.json')

/** Workers take the module as a file beside the code, by a static import; all chunks lie in one folder. */
const wasmBesideTheCode = {
  name: 'wasm-beside-the-code',
  setup(build) {
    build.onResolve({ filter: /\.wasm$/ }, () => ({ path: './redrive.wasm', external: true }))
  },
}

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
    target: 'es2022',
    minify: true,
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
