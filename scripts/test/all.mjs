// Every suite, what it needs, and how they run side by side: those that compute beside those that mostly wait for servers,
// browsers and kills, which come first where both want the processor. What a suite came to is counted from its runner's report.
import { buildAfter } from '../build.mjs'
import { buildHostsStep } from '../build-wasm.mjs'
import { at } from '../lib/paths.mjs'
import { StepError, step, tell, yieldingToOthers } from '../lib/steps.mjs'
import { beginSetup } from '../setup.mjs'
import { hosts } from './hosts.mjs'
import { packaging } from './packaging.mjs'
import { beginProgress } from './progress.mjs'
import { site } from './site.mjs'
import { cargoTests, killRuns, timed, vitest } from './suites.mjs'

/** How much of a suite runs: with every change, before a larger one lands, each night. */
export const SIZES = ['quick', 'full', 'all']

/** The simulation, and the door to the core for hosts without JavaScript, which replays its trace. */
const SIMULATED = ['--package', 'sim', '--package', 'redrive-core']

/**
 * `lane`: what runs after what; suites without one wait for servers and browsers. `needs`: what `begin` gives, by the size from which on it is needed. `seconds`: what the suite
 * took by itself on two cores, where this machine has not run it yet; without `quick` it is no part of that size.
 */
export const suites = {
  rust: { run: cargoTests, lane: 'native', needs: { quick: ['rust'] }, seconds: { quick: 60, full: 300 } },
  sim: {
    // the sound core in quick; wrong cores, storms and crowds, each a program to link, in full
    run: (args, size) =>
      cargoTests(
        [...SIMULATED, ...(size === 'quick' ? ['--lib', '--test', 'core', '--test', 'protocol'] : []), ...args],
        size,
      ),
    lane: 'native',
    needs: { quick: ['rust'] },
    seconds: { quick: 60, full: 120 },
  },
  js: ofVitest(['js', 'isolated'], {
    lane: 'busy',
    needs: { quick: ['built', 'redis'], full: ['valkey'] },
    seconds: { quick: 230, full: 2_400 },
  }),
  faults: {
    run: killRuns,
    // how soon work gets into other hands is a law about real time
    lane: 'alone',
    needs: { quick: ['built'], full: ['tarball', 'chromium', 'firefox', 'redis'] },
    seconds: { quick: 10, full: 600 },
  },
  workers: ofVitest(['workers'], { needs: { quick: ['tarball'] }, seconds: { quick: 30, full: 120 } }),
  browser: ofVitest(['browser'], {
    needs: { quick: ['built', 'chromium'], full: ['firefox', 'redis'] },
    seconds: { quick: 60, full: 1_400 },
  }),
  packaging: {
    run: packaging,
    needs: { quick: ['tarball', 'chromium'], full: ['redis', 'oldestNode'], all: ['consumers'] },
    seconds: { quick: 40, full: 400 },
  },
  hosts: { run: hosts, needs: { quick: ['hosts'] }, seconds: { quick: 60, full: 200 } },
  metrics: ofVitest(['metrics'], { needs: { full: ['built', 'prometheus'] }, seconds: { full: 30 } }),
  webkit: ofVitest(['webkit'], { needs: { full: ['built', 'webkit'] }, seconds: { full: 30 } }),
  openapi: ofVitest(['openapi'], { needs: { full: ['built', 'openapi', 'redis'] }, seconds: { full: 200 } }),
  bodies: ofVitest(['bodies'], { needs: { full: ['built', 's3'] }, seconds: { full: 120 } }),
  site: { run: site, needs: { full: ['built', 'chromium', 'site'] }, seconds: { full: 300 } },
  timed: {
    run: timed,
    lane: 'alone',
    needs: { full: ['built', 'tarball', 'chromium', 'firefox', 'redis'] },
    seconds: { full: 120 },
  },
}

function ofVitest(projects, suite) {
  return { run: (args, size) => vitest(projects, args, size), ...suite }
}

const upTo = (size) => SIZES.slice(0, SIZES.indexOf(size) + 1)
const needsOf = (name, size) => upTo(size).flatMap((each) => suites[name].needs[each] ?? [])
/** Whether this size has anything of the suite. */
export const isIn = (size, name) => upTo(size).some((each) => each in suites[name].seconds)

/** Failures of a suite that are shown when it ends; all are listed at the end. */
const SHOWN = 10

const INSTALLED = [
  'redis',
  'chromium',
  'valkey',
  'firefox',
  'webkit',
  'prometheus',
  'openapi',
  's3',
  'oldestNode',
  'consumers',
  'site',
]

/**
 * Begins whatever these suites need at this size, and says when each is there.
 * @param {readonly string[]} names
 * @param {'quick' | 'full' | 'all'} size
 */
export async function begin(names, size) {
  const needs = new Set(names.flatMap((name) => needsOf(name, size)))
  const begun = await beginSetup(INSTALLED.filter((name) => needs.has(name)))
  if (!['built', 'tarball', 'hosts'].some((need) => needs.has(need))) return begun
  const built = buildAfter(begun)
  const hosts = needs.has('hosts') ? built.then(buildHostsStep) : undefined
  const tarball = needs.has('tarball') ? built.then(() => step('tarball', pack)) : undefined
  // each suite awaits what it needs, and says why it could not run
  for (const each of [built, hosts, tarball]) each?.catch(() => {})
  return { ...begun, built, hosts, tarball }
}

/** Once, since suites that run side by side share it. */
async function pack() {
  const { setup } = await import(at('tests', 'packaging', 'pack.ts'))
  setup()
}

/** One suite, once what it needs is there. */
async function runSuite(name, { begun, args = [], size, progress }) {
  const { run, lane } = suites[name]
  let result
  try {
    for (const need of needsOf(name, size)) await begun[need]
    progress.began(name)
    await step(`${name} tests`, async () => {
      // in quick nothing lives in real time, so none goes first: on a busy machine it would not get far
      const yields = size !== 'quick' && (lane === 'native' || lane === 'busy')
      result = await (yields ? yieldingToOthers(() => run(args, size)) : run(args, size))
      progress.ended(name, result.ok && args.length === 0)
      if (!result.ok) throw new StepError(`${name} tests failed`)
      return `${result.passed} passed; ${progress.words()}`
    })
  } catch (error) {
    progress.ended(name, false)
    const output = error instanceof StepError ? error.message : (error?.stack ?? String(error))
    const notRun = [`not run: ${output.split('\n')[0]}`]
    result ??= { passed: 0, failed: 1, skipped: 0, ok: false, output, summary: notRun, failures: notRun }
    // at once: others may go on for half an hour
    for (const line of result.failures.slice(0, SHOWN)) tell(`  ${line}`)
  }
  return { name, ...result }
}

/**
 * These suites: the native ones and those of the package one after another, beside them the others, and those that measure at the end.
 * What computes gives way to what lives in real time, where there is any.
 */
export async function runSuites(names, given) {
  const results = []
  const of = (kind) => names.filter((name) => suites[name].lane === kind)
  const [native, busy, waiting, alone] = ['native', 'busy', undefined, 'alone'].map(of)
  const progress = beginProgress(names, given.size, (name) => suites[name].seconds)
  const lane = async (next) => {
    for (let name = next(); name !== undefined; name = next()) {
      results.push(await runSuite(name, { ...given, progress }))
    }
  }
  await Promise.all([
    lane(() => native.shift()),
    // once it is done, it takes waiting ones from the end of their list
    lane(() => busy.shift() ?? waiting.pop()),
    lane(() => waiting.shift()),
  ])
  await lane(() => alone.shift())
  progress.close()
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
