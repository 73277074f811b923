// Every suite, what it needs, and how they run side by side: those that compute beside those that mostly wait for servers,
// browsers and kills, which come first where both want the processor. What a suite came to is counted from its runner's report.
import { build } from '../build.mjs'
import { at } from '../lib/paths.mjs'
import { StepError, step, tell, yieldingToOthers } from '../lib/steps.mjs'
import { beginSetup } from '../setup.mjs'
import { packaging } from './packaging.mjs'
import { site } from './site.mjs'
import { cargoTests, killRuns, vitest } from './suites.mjs'

/** `busy`: keeps every core at work. `needs`: what `begin` gives. */
export const suites = {
  rust: { run: cargoTests, busy: true, needs: ['rust'] },
  sim: { run: (args, scale) => cargoTests(['--package', 'sim', ...args], scale), busy: true, needs: ['rust'] },
  js: { run: (args, scale) => vitest('js', args, scale), busy: true, needs: ['built', 'redis', 'valkey'] },
  faults: { run: killRuns, needs: ['tarball', 'chromium', 'firefox', 'redis'] },
  workers: { run: (args, scale) => vitest('workers', args, scale), needs: ['tarball'] },
  browser: { run: (args, scale) => vitest('browser', args, scale), needs: ['built', 'chromium', 'firefox', 'redis'] },
  packaging: { run: packaging, needs: ['tarball', 'chromium', 'redis', 'oldestNode', 'consumers'] },
  metrics: { run: (args, scale) => vitest('metrics', args, scale), needs: ['built', 'prometheus'] },
  webkit: { run: (args, scale) => vitest('webkit', args, scale), needs: ['built', 'webkit'] },
  openapi: { run: (args, scale) => vitest('openapi', args, scale), needs: ['built', 'openapi', 'redis'] },
  bodies: { run: (args, scale) => vitest('bodies', args, scale), needs: ['built', 's3'] },
  site: { run: site, needs: ['built', 'chromium', 'site'] },
}

const INSTALLED = [
  'chromium',
  'firefox',
  'webkit',
  'prometheus',
  'redis',
  'valkey',
  'openapi',
  's3',
  'oldestNode',
  'consumers',
  'site',
]

/**
 * Begins whatever these suites need, and says when each is there.
 * @param {readonly string[]} names
 * @param {{ consumers?: boolean }} [options] consumers: for all of the packaging suite
 */
export async function begin(names, { consumers = false } = {}) {
  const needs = new Set(names.flatMap((name) => suites[name].needs))
  if (!consumers) needs.delete('consumers')
  const begun = await beginSetup(INSTALLED.filter((name) => needs.has(name)))
  if (!needs.has('built') && !needs.has('tarball')) return begun
  const built = begun.tools.then(build)
  const tarball = needs.has('tarball') ? built.then(() => step('tarball', pack)) : undefined
  for (const each of [built, tarball]) each?.catch(() => {})
  return { ...begun, built, tarball }
}

/** Once, since suites that run side by side share it. */
async function pack() {
  const { setup } = await import(at('tests', 'packaging', 'pack.ts'))
  setup()
}

/** One suite, once what it needs is there. */
async function runSuite(name, { begun, args = [], scale }) {
  const { run, busy = false, needs } = suites[name]
  let result
  try {
    for (const need of needs) await begun[need]
    await step(`${name} tests`, async () => {
      result = await (busy ? yieldingToOthers(() => run(args, scale)) : run(args, scale))
      if (!result.ok) throw new StepError(`${name} tests failed`)
      return `${result.passed} passed`
    })
  } catch (error) {
    const output = error instanceof StepError ? error.message : (error?.stack ?? String(error))
    const notRun = [`not run: ${output.split('\n')[0]}`]
    result ??= { passed: 0, failed: 1, skipped: 0, ok: false, output, summary: notRun, failures: notRun }
  }
  return { name, ...result }
}

/** These suites, one after another where they are busy, two at a time where they are not. */
export async function runSuites(names, given) {
  const results = []
  const busy = names.filter((name) => suites[name].busy)
  const waiting = names.filter((name) => !suites[name].busy)
  const lane = async (next) => {
    for (let name = next(); name !== undefined; name = next()) results.push(await runSuite(name, given))
  }
  // the lane of busy suites, once it is done, takes waiting ones from the end of their list
  await Promise.all([lane(() => busy.shift() ?? waiting.pop()), lane(() => waiting.shift())])
  const order = Object.keys(suites)
  return results.sort((one, other) => order.indexOf(one.name) - order.indexOf(other.name))
}

/** Prints what failed, each runner's own summary, a line for each failure and one in all; returns false if a suite failed or was empty. */
export function reportSuites(results) {
  for (const { name, ok, output } of results) if (!ok) tell(`\n--- ${name}\n${output.trimEnd()}`)
  for (const { name, summary } of results) tell(`\n${name}\n${summary.join('\n')}`)
  const total = (key) => results.reduce((sum, result) => sum + result[key], 0)
  const skipped = total('skipped') > 0 ? `, ${total('skipped')} skipped` : ''
  const empty = results.filter(({ passed, failed }) => passed + failed === 0).map(({ name }) => name)
  if (empty.length > 0) tell(`\nno test ran in: ${empty.join(', ')}`)
  // once more, in short, where a long log ends
  const failures = results.flatMap((result) => result.failures.map((line) => `${result.name}  ${line}`))
  if (failures.length > 0) tell(`\n${failures.join('\n')}`)
  tell(`\n${total('passed')} passed, ${total('failed')} failed${skipped}`)
  return results.every(({ ok }) => ok)
}
