// The hosts in Go and Java, where this machine has Go and Java: both run the module that the build has made. What is missing is said, and is
// no failure: work on the npm package needs neither.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { at } from '../lib/paths.mjs'
import { run } from '../lib/steps.mjs'

const has = (program, ...words) =>
  run(program, words, { allowFailure: true }).then(
    ({ code }) => code === 0,
    () => false,
  )

const lastLine = (text) => text.trim().split('\n').at(-1)

/** A line of `go test -json` for each event of a test. */
async function go(size) {
  if (!(await has('go', 'version')))
    return { summary: ['Go: not run, since there is no `go` here; hosts/go needs 1.25 or later'] }
  const fetched = await run('go', ['mod', 'download'], { cwd: at('hosts', 'go'), allowFailure: true })
  if (fetched.code !== 0)
    return { summary: [`Go: not run, since its modules cannot be had: ${lastLine(fetched.output)}`] }
  const words = ['test', '-json', ...(size === 'quick' ? ['-short'] : []), './...']
  const { code, output } = await run('go', words, { cwd: at('hosts', 'go'), allowFailure: true })
  const events = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
  const ended = (action) => events.filter((event) => event.Action === action && event.Test).map(({ Test }) => Test)
  const failures = ended('fail').map((test) => `Go: ${test}`)
  if (code !== 0 && failures.length === 0) failures.push(`Go: the runner ended with exit code ${code}`)
  const text = events.map(({ Output = '' }) => Output).join('')
  const [passed, skipped] = [ended('pass').length, ended('skip').length]
  const summary = [`Go: ${passed} passed, ${failures.length} failed, ${skipped} skipped`]
  return {
    passed,
    skipped,
    failures,
    summary,
    output:
      failures.length > 0
        ? `${text}\n${output
            .split('\n')
            .filter((line) => !line.startsWith('{'))
            .join('\n')}`
        : '',
  }
}

const modules = ['redrive-core', 'redrive-spring-boot-starter'].map((name) => at('hosts', 'java', name))

/** The tests of quick: others are about real servers, and the starter brings Spring along. */
const IN_VIRTUAL_TIME = ['CoreTraceTest', 'VectorTest', 'OptionsTest', 'RetryQueueTest']

/** The reports of Surefire, which Maven leaves beside each module. */
async function java(size) {
  if (!(await has('mvn', '--version'))) {
    return { summary: ['Java: not run, since there is no `mvn` here; hosts/java needs Java 17 or later and Maven'] }
  }
  const folders = modules.map((module) => join(module, 'target', 'surefire-reports'))
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  const some = size === 'quick' ? ['--projects', 'redrive-core', `-Dtest=${IN_VIRTUAL_TIME.join()}`] : []
  const { code, output } = await run('mvn', ['--batch-mode', '--no-transfer-progress', '-q', 'test', ...some], {
    cwd: at('hosts', 'java'),
    allowFailure: true,
  })
  const missing = /^.*(?:Could not (?:resolve|transfer|find artifact)|Non-resolvable).*$/m.exec(output)?.[0]
  if (missing) return { summary: [`Java: not run, since its libraries cannot be had: ${missing.slice(0, 300)}`] }
  const reports = folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.endsWith('.xml'))
        .map((name) => join(folder, name)),
    )
  const suites = reports.map((report) => {
    const [head = ''] = /<testsuite [^>]*>/s.exec(readFileSync(report, 'utf8')) ?? []
    const number = (name) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0)
    const [name = report] = /(?<=\bname=")[^"]*/.exec(head) ?? []
    return { name, tests: number('tests'), failed: number('failures') + number('errors'), skipped: number('skipped') }
  })
  const total = (key) => suites.reduce((sum, suite) => sum + suite[key], 0)
  const failures = suites
    .filter(({ failed }) => failed > 0)
    .map(({ name, failed }) => `Java: ${name}: ${failed} failed`)
  if (code !== 0 && failures.length === 0) failures.push(`Java: Maven ended with exit code ${code}`)
  const passed = total('tests') - total('failed') - total('skipped')
  const summary = [`Java: ${passed} passed, ${failures.length} failed, ${total('skipped')} skipped`]
  return { passed, skipped: total('skipped'), failures, summary, output: failures.length > 0 ? output : '' }
}

/**
 * @param {readonly string[]} args 'go' or 'java': one of them
 * @param {import('./suites.mjs').Size} size
 * @returns {Promise<import('./suites.mjs').Result>}
 */
export async function hosts(args, size) {
  const results = []
  for (const [name, test] of Object.entries({ go, java })) {
    if (args.length === 0 || args.includes(name)) results.push(await test(size))
  }
  const sum = (key) => results.reduce((total, result) => total + (result[key] ?? 0), 0)
  const failures = results.flatMap(({ failures = [] }) => failures)
  const output = results.map(({ output = '' }) => output).join('\n')
  const summary = results.flatMap(({ summary }) => summary)
  return {
    passed: sum('passed'),
    failed: failures.length,
    skipped: sum('skipped'),
    ok: failures.length === 0,
    output,
    summary,
    failures,
  }
}
