// One suite each: run it, keep what it printed, and count from what the runner itself reports.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { stripVTControlCharacters as plain } from 'node:util'
import { at, packageBin, root } from '../lib/paths.mjs'
import { run } from '../lib/steps.mjs'

/** @typedef {{ passed: number, failed: number, skipped: number, ok: boolean, output: string, summary: string[] }} Result */

const sum = (numbers) => numbers.reduce((total, next) => total + next, 0)

/** A runner that ends badly without naming a failed test (it did not compile, say) has failed once. */
function result({ code, output, passed, failed, skipped, summary }) {
  const counted = code !== 0 && failed === 0 ? 1 : failed
  return {
    passed,
    failed: counted,
    skipped,
    ok: code === 0 && counted === 0 && passed > 0,
    output: plain(output),
    summary,
  }
}

/** @returns {Promise<Result>} */
export async function cargoTests(args = []) {
  const { code, output } = await run('cargo', ['test', '--no-fail-fast', ...args], { cwd: root, allowFailure: true })
  const lines = plain(output)
    .split('\n')
    .filter((line) => line.startsWith('test result:'))
  const count = (word) => sum(lines.map((line) => Number(new RegExp(`(\\d+) ${word}`).exec(line)?.[1] ?? 0)))
  return result({
    code,
    output,
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('ignored'),
    summary: lines,
  })
}

/** @returns {Promise<Result>} */
export async function vitest(project, args = []) {
  const report = at('target', 'test', `${project}.json`)
  mkdirSync(at('target', 'test'), { recursive: true })
  rmSync(report, { force: true }) // an old report must not speak for a run that died
  const options = ['run', '--project', project, '--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const program = packageBin('vitest', 'vitest.mjs')
  const { code, output } = await run(process.execPath, [program, ...options, ...args], {
    cwd: root,
    allowFailure: true,
  })
  const counts = read(report)
  const summary = plain(output)
    .split('\n')
    .filter((line) => /^\s+(Test Files|Tests|Errors)\s/.test(line))
  return result({
    code,
    output,
    passed: counts.numPassedTests,
    failed: counts.numFailedTests,
    skipped: counts.numPendingTests + counts.numTodoTests,
    summary,
  })
}

const processRuns = at('tests', 'faults', 'run.ts')
const browserRuns = at('tests', 'faults', 'browser', 'run.ts')
const workersRuns = at('tests', 'faults', 'workers', 'run.ts')

const others = { browser: browserRuns, workers: workersRuns }

/**
 * Processes, browsers and Workers killed while they work. With arguments only one of them is run: browsers where the first
 * is `browser`, Workers where it is `workers`, which is left out.
 * @returns {Promise<Result>}
 */
export async function killRuns(args = []) {
  const [first, ...rest] = args
  const runs =
    first === undefined
      ? [[processRuns], [browserRuns], [browserRuns, '--browser', 'firefox'], [workersRuns]]
      : [others[first] ? [others[first], ...rest] : [processRuns, ...args]]
  const results = []
  for (const run of runs) results.push(await killRun(run))
  const total = (key) => sum(results.map((each) => each[key]))
  return {
    passed: total('passed'),
    failed: total('failed'),
    skipped: 0,
    ok: results.every(({ ok }) => ok),
    output: 'said above',
    summary: results.flatMap(({ summary }) => summary),
  }
}

/** Minutes by hand, so what is said is shown as it is said. */
async function killRun(words) {
  const child = spawn(process.execPath, words, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  process.stdout.write('\n')
  child.stdout.on('data', (chunk) => {
    output += chunk
    process.stdout.write(chunk)
  })
  const [code] = await once(child, 'close')
  const count = (mark) => output.split('\n').filter((line) => line.startsWith(mark)).length
  const summary = output.trimEnd().split('\n').slice(-1)
  return result({ code, output, passed: count('✓ '), failed: count('✗ '), skipped: 0, summary })
}

function read(report) {
  try {
    return JSON.parse(readFileSync(report, 'utf8'))
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 }
  }
}
