// `npm test`: sets up, builds, runs every suite and counts the tests. `npm test -- js` runs one suite, and hands further
// arguments to its runner: `npm test -- js -t 'waits as long'`. `npm run test:all`, which is `--all`: every suite in its long
// form. A suite that ran no test has failed: a broken set-up would pass otherwise.
import { main, StepError } from './lib/steps.mjs'
import { begin, reportSuites, runSuites, suites } from './test/all.mjs'

await main(async () => {
  const [wanted, ...args] = process.argv.slice(2)
  const all = wanted === '--all'
  if (wanted !== undefined && !all && !(wanted in suites)) {
    throw new StepError(`no suite '${wanted}': ${Object.keys(suites).join(', ')}, or none for all`)
  }
  const names = wanted === undefined || all ? Object.keys(suites) : [wanted]
  const consumers = all || (wanted === 'packaging' && args.includes('--all'))
  const begun = await begin(names, { consumers })
  const scale = all ? 'long' : names.length > 1 ? 'short' : 'alone'
  const results = await runSuites(names, { begun, args, scale })
  if (!reportSuites(results)) process.exitCode = 1
})
