// Which suites a change touches: `npm test -- --changed`. A file that no row names touches them all.
import { root } from '../lib/paths.mjs'
import { run } from '../lib/steps.mjs'

const NATIVE = ['rust', 'sim']
const ALL = 'all'
const BUT_NATIVE = 'all but native'

/** The first row that fits a path says what it touches. */
const TOUCHES = [
  [/\.timed\.test\.ts$/, ['timed']],
  [/^tests\/(js|sim|servers|soak|tooling|fixtures)\/(?!store-contract)/, ['js']],
  [/^tests\/js\/store-contract/, ['js', 'browser', 'workers', 'webkit']],
  [/^tests\/(browser|webkit|workers|metrics|openapi|bodies|site|faults|packaging)\//, 'its own'],
  [/^tests\/redis\//, ['js', 'faults', 'browser', 'packaging']],
  [/^tests\/vectors\//, ['rust', 'sim', 'js', 'browser', 'hosts']],
  [/^hosts\/(go|java)\//, ['hosts']],
  [/^hosts\//, [...NATIVE, 'hosts']],
  [/^tests\/.*\.(rs|proptest-regressions)$|^fuzz\//, NATIVE],
  [/^tests\/(size|bundle)\.ts$/, BUT_NATIVE],
  [/^sim\//, ['sim', 'js', 'browser']],
  [/^benches\//, ['js', 'browser']],
  [/^findings\/|^tests\/wild\/|^\.github\/|^LICENSE|^SECURITY|^CONTRIBUTING|^\.gitignore$/, ['js']],
  [/^site\/|^docs\//, ['js', 'packaging', 'site', 'openapi', 'metrics']],
  [/^examples\/|^README/, ['js', 'packaging', 'workers', 'browser', 'site', 'metrics']],
  [/^js\/service\//, ['js', 'faults', 'browser', 'packaging', 'openapi', 'bodies', 'metrics', 'timed']],
  [/^js\/ui/, ['js', 'browser', 'packaging', 'site', 'timed']],
  [/^js\/(cloudflare|adapters\/(grpc|inbound|undici)|compat)/, ['js', 'workers', 'packaging']],
  [/^js\/stores\/(sqlite|redis)/, ['js', 'faults', 'packaging', 'openapi', 'timed']],
  [/^(js|pkg-template)\/|^package(-lock)?\.json$|^tsconfig|^vitest/, BUT_NATIVE],
]

/** @returns {readonly string[]} the suites of one file */
function suitesOf(file, names) {
  const touched = TOUCHES.find(([pattern]) => pattern.test(file))?.[1] ?? ALL
  if (touched === ALL) return names
  if (touched === BUT_NATIVE) return names.filter((name) => !NATIVE.includes(name))
  if (touched !== 'its own') return touched
  const own = file.split('/')[1]
  // other suites read the helpers of these
  return (
    { browser: ['browser', 'packaging', 'site'], packaging: ['packaging', 'workers'], faults: ['faults', 'js'] }[
      own
    ] ?? [own]
  )
}

/**
 * @param {readonly string[]} files paths from the root
 * @param {readonly string[]} names every suite, in order
 */
export function touchedSuites(files, names) {
  const touched = new Set(files.flatMap((file) => suitesOf(file, names)))
  return names.filter((name) => touched.has(name))
}

const git = async (...words) => (await run('git', words, { cwd: root })).stdout.trim()

/** The files that differ from `since`, uncommitted and untracked ones included; by default from where the branch left its upstream, or else from the commit before. */
export async function changedFiles(since) {
  const upstream = () => git('merge-base', 'HEAD', '@{upstream}').catch(() => 'HEAD~1')
  const base = since ?? (await upstream())
  const lines = [await git('diff', '--name-only', base), await git('ls-files', '--others', '--exclude-standard')]
  const files = lines.join('\n').split('\n').filter(Boolean)
  return { files: [...new Set(files)].sort(), since: base }
}
