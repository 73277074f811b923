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
 * Properties that only our own modules see. Shortening them saves a hundred bytes of the entry and 400 of a service worker; a
 * test makes sure that none is a name that users can see. None may be one of what is stored or posted either: another version
 * would not find it there. Exports of a chunk keep their names, so none of them may be read from the module object that
 * `import()` gives.
 */
export const inward =
  'addedCrossOrigin admission afterFailure allDead allowed also announced announcer answer answerDeferred ' +
  'applyLimits askAt asksToPersist assertStays beforeSending begin callers checks controller declaredAt deliver ' +
  'discard draw each early emit events expected failingSinceAt failure final finished flushOrders flushRows giveBack ' +
  'giveUp got guard hasBody hasErased hasLooked inside isAvailable isAway isChecked isClaiming isDurable isFinal isHome ' +
  'isLeader isMute isOptimistic isOwnLane isReplay isStolen isSuspended keepHome keepUnderWay keyed lastStatus leadership ' +
  'leave left lookAgain lookSoon loop made makeKey mustWait network observeUntracked observers offline opened ' +
  'orphanedLeases over overlay passing passOn plain putAside rebuilt recount redirectRefused registry releaseCause ' +
  'remember replayable reportOutage requestTurn restTerms resumeFromSuspend roomMade roomTaken rulings runner ' +
  'saveLane sendable sent sentOnce settings settling starting statusOf statusOfLane stopped suspect switchPrincipal ' +
  'switching taskOf tickSoon timedOut timeoutMs trackSlot transport waiter whole words workOffered'

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
    // the minifier knows the short form of the global alone: 1/0; and in the package all files lie in one folder
    define: {
      'Number.POSITIVE_INFINITY': 'Infinity',
      'Number.NaN': 'NaN',
      QUEUE_FILE: '"redrive.wasm"',
      KEYS_FILE: '"redrive-keys.wasm"',
    },
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
