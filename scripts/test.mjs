// `npm test`: sets up, builds, runs every suite in its quick form and counts the tests. `--full` and `--all` are the longer
// forms, `--changed` runs in full what a change touches, and `npm test -- js` runs one suite; further arguments go to its
// runner: `npm test -- js -t 'waits as long'`. A suite that ran no test has failed: a broken set-up would pass otherwise.
import { duration, main, StepError, tell } from './lib/steps.mjs'
import { begin, isIn, reportSuites, runSuites, SIZES, suites } from './test/all.mjs'
import { changedFiles, touchedSuites } from './test/changed.mjs'

/** @param {readonly string[]} words of the command line */
async function chosen(words) {
  const flags = SIZES.filter((size) => words.includes(`--${size}`))
  if (flags.length > 1) throw new StepError(`--${flags.join(' and --')} are two sizes: choose one`)
  const at = words.findIndex((word) => /^--changed(=|$)/.test(word))
  const rest = words.filter((word, index) => index !== at && !SIZES.some((size) => word === `--${size}`))
  if (at >= 0) {
    if (rest.length > 0) throw new StepError(`--changed finds the suites by itself: leave out ${rest.join(' ')}`)
    const { files, since } = await changedFiles(words[at].split('=')[1])
    const names = touchedSuites(files, Object.keys(suites))
    tell(`${files.length} files changed since ${since}: ${names.join(', ') || 'no suite runs them'}`)
    return { names, args: [], size: flags[0] ?? 'full' }
  }
  const [wanted, ...args] = rest
  if (wanted !== undefined && !(wanted in suites)) {
    throw new StepError(`no suite '${wanted}': ${Object.keys(suites).join(', ')}, or none for all`)
  }
  // one who names a test means it, slow or not
  const named = wanted !== undefined && (args.length > 0 || !isIn('quick', wanted))
  const size = flags[0] ?? (named ? 'full' : 'quick')
  return { names: wanted ? [wanted] : Object.keys(suites).filter((name) => isIn(size, name)), args, size }
}

await main(async () => {
  const started = performance.now()
  const { names, args, size } = await chosen(process.argv.slice(2))
  if (names.length === 0) return
  const results = await runSuites(names, { begun: await begin(names, size), args, size })
  if (!reportSuites(results)) process.exitCode = 1
  tell(`${size}, in ${duration(performance.now() - started)}`)
})
