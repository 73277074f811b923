// One suite each: run it, keep what it printed, and count from what the runner itself reports.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { relative } from 'node:path'
import { stripVTControlCharacters as plain } from 'node:util'
import { at, packageBin, root } from '../lib/paths.mjs'
import { run } from '../lib/steps.mjs'

/**
 * `failures`: a line for each failed test, its name and what went wrong.
 * @typedef {{ passed: number, failed: number, skipped: number, ok: boolean, output: string, summary: string[], failures: string[] }} Result
 */

const sum = (numbers) => numbers.reduce((total, next) => total + next, 0)

/** A runner that ends badly without naming a failed test (it did not compile, say) has failed once. */
function result({ code, output, passed, failed, skipped, summary, failures }) {
  const counted = code !== 0 && failed === 0 ? 1 : failed
  return {
    passed,
    failed: counted,
    skipped,
    ok: code === 0 && counted === 0 && passed > 0,
    output: plain(output),
    summary,
    failures: code !== 0 && failures.length === 0 ? [`the runner ended with exit code ${code}`] : failures,
  }
}

/** @typedef {'quick' | 'full' | 'all'} Size */

/** Cases of each property in Rust, where PROPTEST_CASES does not say; and random commands of each store beside the reference. */
const CASES = { quick: '64', full: '2000', all: '20000' }
const RUNS = { all: '1000' }

/**
 * @param {readonly string[]} args
 * @param {Size} size
 * @returns {Promise<Result>}
 */
export async function cargoTests(args = [], size) {
  const { PROPTEST_CASES = CASES[size], PROPTEST_RNG_SEED = size === 'all' ? undefined : '20261128' } = process.env
  const env = { REDRIVE_SIZE: size, PROPTEST_CASES, PROPTEST_RNG_SEED }
  const { code, output } = await run('cargo', ['test', '--no-fail-fast', ...args], {
    cwd: root,
    env,
    allowFailure: true,
  })
  const lines = plain(output)
    .split('\n')
    .filter((line) => line.startsWith('test result:'))
  const count = (word) => sum(lines.map((line) => Number(new RegExp(`(\\d+) ${word}`).exec(line)?.[1] ?? 0)))
  const failures = plain(output)
    .split('\n')
    .filter((line) => /^test .* FAILED$/.test(line))
  return result({
    code,
    output,
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('ignored'),
    summary: lines,
    failures,
  })
}

/**
 * @param {readonly string[]} projects of vitest.config.ts
 * @param {readonly string[]} args
 * @param {Size} size
 * @returns {Promise<Result>}
 */
export async function vitest(projects, args, size) {
  const report = at('target', 'test', `${projects[0]}.json`)
  mkdirSync(at('target', 'test'), { recursive: true })
  rmSync(report, { force: true }) // an old report must not speak for a run that died
  const isMeasured = size === 'quick' && projects.includes('js') && args.length === 0
  if (isMeasured) rmSync(fileTimes, { force: true })
  const named = projects.flatMap((project) => ['--project', project])
  const options = ['run', ...named, '--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const program = packageBin('vitest', 'vitest.mjs')
  const env = { REDRIVE_SIZE: size, REDRIVE_RUNS: process.env.REDRIVE_RUNS ?? RUNS[size] }
  const { code, output } = await run(process.execPath, [program, ...options, ...args], {
    cwd: root,
    env,
    allowFailure: true,
  })
  const counts = read(report)
  const summary = plain(output)
    .split('\n')
    .filter((line) => /^\s+(Test Files|Tests|Errors)\s/.test(line))
  const slow = isMeasured ? slowFiles() : []
  return result({
    code: code === 0 && slow.length > 0 ? 1 : code,
    output: [output, ...slow].join('\n'),
    passed: counts.numPassedTests,
    failed: counts.numFailedTests + slow.length,
    skipped: counts.numPendingTests + counts.numTodoTests,
    summary,
    failures: [...failuresOf(counts.testResults), ...slow],
  })
}

const fileTimes = at('target', 'test', 'file-times.ndjson')
/**
 * The processor time that a quick file may take, as a part of what all take: on a busy or slow machine all take longer. More may one that
 * walks a whole contract or many worlds. What takes less than `SMALL_MS` is never too much.
 */
const [MOST, WALK, SMALL_MS] = [0.03, 0.16, 5_000]
const WALKS = ['store-memory', 'store-sqlite', 'redis/contract', 'crash-points', 'sim', 'canary'].map((name) =>
  at('tests', 'js', `${name}.test.ts`),
)
const mostOf = (path) => (WALKS.includes(path) ? WALK : MOST)

/** A line for each file of the quick run that took more; tests/each-file.ts measured them. */
function slowFiles() {
  const lines = existsSync(fileTimes) ? readFileSync(fileTimes, 'utf8').trim().split('\n') : []
  const times = lines.map((line) => JSON.parse(line))
  const whole = sum(times.map(([, ms]) => ms))
  const percent = (part) => `${(part * 100).toFixed(1)} %`
  return times
    .filter(([path, ms]) => ms > SMALL_MS && ms / whole > mostOf(path))
    .map(([path, ms]) => {
      const file = relative(root, path)
      const slow = file.replace(/\.test\.ts$/, '.slow.test.ts')
      return `${file}: ${percent(ms / whole)} of the suite's processor time, this one may take ${percent(mostOf(path))}: move what is slow into ${slow}`
    })
}

const processRuns = at('tests', 'faults', 'run.ts')
const browserRuns = at('tests', 'faults', 'browser', 'run.ts')
const workersRuns = at('tests', 'faults', 'workers', 'run.ts')
const redisRuns = at('tests', 'faults', 'redis', 'run.ts')

const others = { browser: browserRuns, workers: workersRuns, redis: redisRuns }

/** Another seed each night, so that the long runs see other faults; each says which it had. */
const tonight = String(Math.floor(Date.now() / 86_400_000))

/** Which runs are made where no arguments say. */
const KILL_RUNS = {
  quick: [[processRuns, '--tasks', '60', '--kills', '4', '--takeovers', '0']],
  full: [[processRuns], [browserRuns], [browserRuns, '--browser', 'firefox'], [workersRuns], [redisRuns]],
  all: [
    [processRuns, '--tasks', '5000', '--kills', '300', '--takeovers', '60'],
    [browserRuns, '--tasks', '2000', '--kills', '50', '--tabs', '8', '--minutes', '4', '--takeovers', '40'],
    [browserRuns, '--browser', 'firefox', '--tasks', '400', '--kills', '12', '--tabs', '4', '--minutes', '2'],
    [workersRuns, '--tasks', '1500', '--kills', '30'],
    [redisRuns, '--tasks', '2500', '--kills', '250', '--redis-kills', '30', '--fsync', 'everysec'],
    [redisRuns, '--tasks', '2500', '--kills', '250', '--redis-kills', '30', '--fsync', 'always'],
  ].map((words) => [...words, '--seed', tonight]),
}

/**
 * Processes, browsers and Workers killed while they work. With arguments only one of them is run: browsers where the first
 * is `browser`, Workers where it is `workers`, processes on a Redis where it is `redis`, which is left out.
 * @param {readonly string[]} args
 * @param {Size} size
 * @returns {Promise<Result>}
 */
export async function killRuns(args, size) {
  const [first, ...rest] = args
  const byHand = first !== undefined
  const runs = byHand ? [others[first] ? [others[first], ...rest] : [processRuns, ...args]] : KILL_RUNS[size]
  const results = []
  for (const words of runs) results.push(await killRun(words, byHand))
  const total = (key) => sum(results.map((each) => each[key]))
  return {
    passed: total('passed'),
    failed: total('failed'),
    skipped: 0,
    ok: results.every(({ ok }) => ok),
    output: results.flatMap(({ ok, output }) => (ok ? [] : [output.trim()])).join('\n\n'),
    summary: results.flatMap(({ summary }) => summary),
    failures: results.flatMap(({ failures }) => failures),
  }
}

/** `live`: minutes by hand, so what is said is shown as it is said. */
async function killRun(words, live) {
  const child = spawn(process.execPath, words, { cwd: root, stdio: ['ignore', 'pipe', live ? 'inherit' : 'pipe'] })
  let output = ''
  const hear = (chunk) => {
    output += chunk
    if (live) process.stdout.write(chunk)
  }
  if (live) process.stdout.write('\n')
  child.stdout.on('data', hear)
  child.stderr?.on('data', hear)
  const [code] = await once(child, 'close')
  const summary = output.trimEnd().split('\n').slice(-1)
  const passed = output.match(/^✓ /gm)?.length ?? 0
  // each broken law with the lines below it, which say what broke it
  const failures = output.match(/^✗ .*(?:\n {4}.*)*/gm) ?? []
  return result({ code, output, passed, failed: failures.length, skipped: 0, summary, failures })
}

const figures = at('target', 'test', 'timed.txt')

/** Laws about real time, one after another: each with its figures and with the load of the machine, in the summary. */
export async function timed(args, size) {
  rmSync(figures, { force: true })
  const result = await vitest(['timed'], args, size)
  const lines = existsSync(figures) ? readFileSync(figures, 'utf8').trimEnd().split('\n') : []
  return { ...result, summary: [...result.summary, ...lines] }
}

/** A line for each failed test in Vitest's report. A file that could not be loaded has no tests, but a message. */
function failuresOf(files) {
  const firstLine = (message = '') => plain(message).split('\n')[0].slice(0, 300)
  return files.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(root, name)
    const failed = assertionResults.filter((test) => test.status === 'failed')
    if (failed.length === 0) return status === 'failed' ? [`${file}: ${firstLine(message)}`] : []
    return failed.map((test) => `${file}: ${test.fullName}: ${firstLine(test.failureMessages[0])}`)
  })
}

function read(report) {
  try {
    return JSON.parse(readFileSync(report, 'utf8'))
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [] }
  }
}
