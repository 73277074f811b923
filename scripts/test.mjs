// `npm test`: sets up, builds, runs every suite and counts the tests. `npm test -- js` runs one suite, and hands further
// arguments to its runner: `npm test -- js -t 'waits as long'`. A suite that ran no test has failed: a broken set-up
// would pass otherwise.
import { build } from './build.mjs'
import { main, StepError, step } from './lib/steps.mjs'
import { setup } from './setup.mjs'
import { packaging } from './test/packaging.mjs'
import { cargoTests, killRuns, vitest } from './test/suites.mjs'

const suites = {
  rust: { run: cargoTests },
  sim: { run: (args) => cargoTests(['--package', 'sim', ...args]) },
  js: { run: (args) => vitest('js', args), needsBuild: true },
  faults: { run: killRuns, needsBuild: true, chromium: true, firefox: true },
  browser: { run: (args) => vitest('browser', args), needsBuild: true, chromium: true, firefox: true },
  webkit: { run: (args) => vitest('webkit', args), needsBuild: true, webkit: true },
  metrics: { run: (args) => vitest('metrics', args), needsBuild: true, prometheus: true },
  workers: { run: (args) => vitest('workers', args), needsBuild: true },
  packaging: { run: packaging, needsBuild: true, chromium: true },
}

await main(async () => {
  const [wanted, ...args] = process.argv.slice(2)
  if (wanted !== undefined && !(wanted in suites)) {
    throw new StepError(`no suite '${wanted}': ${Object.keys(suites).join(', ')}, or none for all`)
  }
  const names = wanted === undefined ? Object.keys(suites) : [wanted]
  const need = (program) => names.some((name) => suites[name][program])
  const programs = ['chromium', 'firefox', 'webkit', 'prometheus']
  const consumers = wanted === 'packaging' && args.includes('--all')
  await setup({ ...Object.fromEntries(programs.map((program) => [program, need(program)])), consumers })
  if (names.some((name) => suites[name].needsBuild)) await build()

  const results = []
  for (const name of names) {
    let result
    await step(`${name} tests`, async () => {
      result = await suites[name].run(args)
      results.push({ name, ...result })
      if (!result.ok) throw new StepError(`${name} tests failed`)
      return `${result.passed} passed`
    }).catch((error) => {
      if (result === undefined) throw error
    })
  }

  for (const { name, ok, output } of results) if (!ok) process.stdout.write(`\n--- ${name}\n${output.trimEnd()}\n`)
  for (const { name, summary } of results) process.stdout.write(`\n${name}\n${summary.join('\n')}\n`)
  const total = (key) => results.reduce((sum, result) => sum + result[key], 0)
  const skipped = total('skipped') > 0 ? `, ${total('skipped')} skipped` : ''
  const empty = results.filter(({ passed, failed }) => passed + failed === 0).map(({ name }) => name)
  if (empty.length > 0) process.stdout.write(`\nno test ran in: ${empty.join(', ')}\n`)
  process.stdout.write(`\n${total('passed')} passed, ${total('failed')} failed${skipped}\n`)
  if (results.some(({ ok }) => !ok)) process.exitCode = 1
})
