// Bundles js/ into the modules of the package. One esbuild run makes all of them, so that a class is the same class in each
// entry, and a property that is shortened has the same name everywhere.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { at } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'
import { writeChunks } from './chunks.mjs'
import { entries, required, uncut } from './entries.mjs'

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
  'applyLimits askAt asksToPersist assertStays beforeSending begin callerLeft callers cancelRequested checks ' +
  'controller declaredAt deliver discard draw each early emit endWait events failingSinceAt failure final ' +
  'finished flushOrders flushRows giveBack giveUp got guard hasBody hasErased hasLooked inside isAvailable ' +
  'isAway isChecked isClaiming isClosing isCurrent isDirty isDurable isFinal isGone isGuarding isHandedOver isHome ' +
  'isLeader isLeft isMute isOptimistic isOver isOwnLane isPatient isReplay isStolen isStores isSuspended isTrapped isUnsigned ' +
  'isUnsure isUsedUp joined keepHome keepUnderWay keyed lastStatus leadership leave leaveMs left lookAgain lookSoon loop ' +
  'made makeKey maySend mustWait network observeUntracked observers obstacle offline onTask opened orphaned ' +
  'orphanedLeases over overlay passOn passing plain putAside rateLimitMs rebuilt recount redirectRefused refunded ' +
  'releaseCause remember replayable reportOutage requestTurn restTerms resumeFromSuspend roomMade ' +
  'roomTaken rulings runner saveLane sendable sending sent sentOnce settings settling signed starting statusOf ' +
  'statusOfLane stopped suspect switchPrincipal switching taskOf tickSoon timedOut timeoutMs trackSlot transport ' +
  'underWay unlink verdict waiter watched whole words workOffered'

const external = ['node:*', 'cloudflare:*', '@opentelemetry/api']

/**
 * All of js/, the modules of the core and what loads them first. esbuild has the imports of a file in the order in which it is given the modules, and what
 * lies beside what decides how well an entry compresses that holds everything: a service worker's by 3,400 bytes.
 */
function modules() {
  const all = readdirSync(at('js'), { recursive: true }).map((path) => join('js', path).replaceAll('\\', '/'))
  const ours = all.filter((path) => /\.[jt]s$/.test(path) && !path.endsWith('.d.ts') && !isApart(path)).sort()
  const isPacked = (path) => /generated|inline|file/.test(path)
  const others = ours.filter((path) => !isPacked(path)).reverse()
  // last: what no other module imports must not change the order of what everything holds
  const isOnTop = (path) => path.startsWith('js/compat') || isNodes(path)
  return [...ours.filter(isPacked), ...others.filter((path) => !isOnTop(path)), ...others.filter(isOnTop)]
}

/** Adapters for libraries of Node, which no other entry loads: last, so that they move nothing in the files of the others. */
const isNodes = (path) => /^js\/adapters\/(grpc|undici)(\/|\.ts$)/.test(path)

/** Bundled by themselves, with what they alone use: see service.mjs and ui.mjs. */
const isApart = (path) =>
  /^js\/(service|cli|display|ui|ui\.server|ui-sources|ui-worker|core\/lab)(\/|\.ts$)|^js\/core\/generated\/lab\//.test(
    path,
  )

/** Writes the modules to `outdir`. */
export async function bundle(outdir) {
  const made = await build({
    absWorkingDir: at(),
    // each an entry, so that each stays a file of its own, from which `writeChunks` makes those of the package
    entryPoints: modules(),
    outdir,
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'neutral',
    external,
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
    sourcemap: 'external',
    sourcesContent: true,
    chunkNames: '[name]-[hash]',
    logLevel: 'silent',
    plugins: [wasmBesideTheCode],
  }).catch((error) => {
    throw new StepError(error.message) // its stack is the bundler's own
  })
  await writeChunks(made, { entries, required, uncut }, outdir, /\.wasm$|^(node|cloudflare):|^@opentelemetry/)
}
