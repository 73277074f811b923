// Bundles js/ into the modules of the package. One esbuild run with splitting makes all entries, so that a class is the same
// class in each of them.
import { build } from 'esbuild'
import { at } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'
import { entries } from './entries.mjs'

/** The bundler's report on its output: which file imports which, and how. The size check reads it. */
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
 * Properties that only our own modules see. Shortening them saves a hundred bytes of the entry; a test makes sure that none
 * is a name that users can see. Exports of a chunk keep their names, so none of them may be read from the module object that
 * `import()` gives.
 */
export const inward =
  'addedCrossOrigin admission afterFailure allowed also announcer answer answerDeferred beforeSending begin ' +
  'controller declaredAt deliver draw durable each expected failure final finished giveUp hasBody inside ' +
  'isClaiming isFinal isReplay isSuspended keyed lastStatus made makeKey mustWait network observeUntracked offline ' +
  'opened overlay plain redirectRefused releaseCause replayable roomMade rulings runner sendable sent settings switching isMute ' +
  'starting statusOf statusOfLane stopped tickSoon timeoutMs trackSlot transport words'

/** @returns the content of `metafile`, to be written once the package is complete */
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
    // with the sources inside: a debugger shows them, and the package has no other copy
    sourcemap: 'linked',
    sourcesContent: true,
    sourceRoot: 'redrive:///',
    chunkNames: '[name]-[hash]',
    metafile: true,
    logLevel: 'silent',
    plugins: [wasmBesideTheCode],
  }).catch((error) => {
    throw new StepError(error.message) // its stack is the bundler's own
  })
  return result.metafile
}
