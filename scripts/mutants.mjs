// `npm run mutants -- [group]`: changes the core in thousands of small ways and counts the changes that no test
// notices. All groups take hours, one takes minutes. docs/testing.md has the results, and a reason for each that is left.
// Only the native tests of the group run: a change that only a test in JavaScript notices counts as missed.
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { at, root } from './lib/paths.mjs'
import { main, run, StepError, step } from './lib/steps.mjs'
import { rustStep } from './setup/rust.mjs'

/** For each group its files, its tests, and the seconds after which the tests of a mutant count as a loop. */
const groups = {
  backoff: {
    files: ['src/wait/backoff.rs', 'src/policy.rs', 'src/policy/*.rs', 'src/wait/schedule.rs'],
    tests: ['vectors', 'backoff_properties', 'schedule_vectors', 'queue_settles', 'queue_starts', 'queue_model'],
    seconds: 40,
  },
  retry_after: {
    files: ['retry_after', 'http_date', 'ratelimit', 'structured'].map((name) => `src/http/${name}.rs`),
    tests: ['server_vectors', 'server_properties', 'fuzz_corpus'],
    seconds: 30,
  },
  headers: {
    files: ['src/request/headers.rs', 'src/request/headers/*.rs', 'src/request/url_secrets.rs'],
    tests: ['headers_vectors', 'headers_properties', 'fuzz_corpus'],
    seconds: 20,
  },
  key: { files: ['src/request/key.rs'], tests: ['key_vectors', 'key_properties'], seconds: 15 },
  queue: {
    files: ['src/queue.rs', 'src/queue/*.rs'],
    tests: ['holds', 'keys', 'model', 'orders', 'settles', 'gate_status', 'starts'].map((name) => `queue_${name}`),
    seconds: 12,
  },
  gates: {
    files: ['src/gates.rs', 'src/gates/*.rs'],
    tests: ['breaker_model', 'budget', 'queue_breaker', 'queue_gates', 'queue_pays', 'queue_ramp', 'queue_storms'],
    seconds: 20,
  },
  url: {
    files: ['src/request/url.rs', 'src/request/url/*.rs'],
    tests: ['key_vectors', 'key_properties', 'fuzz_corpus'],
    seconds: 15,
  },
  json: {
    files: ['src/request/json.rs', 'src/request/json/*.rs'],
    tests: ['key_vectors', 'key_properties', 'fuzz_corpus'],
    seconds: 15,
  },
}
/** Cases of each property: most mutants that these do not catch survive ten thousand as well, and this is faster. */
const env = { PROPTEST_CASES: process.env.PROPTEST_CASES ?? '128' }

async function tool() {
  const answer = await run('cargo', ['mutants', '--version'], { cwd: root, allowFailure: true })
  if (answer.code !== 0)
    throw new StepError('cargo-mutants is missing: cargo install cargo-mutants --locked, then again.')
  return answer.stdout.trim()
}

async function group(name) {
  const { files, tests, seconds } = groups[name]
  const out = at('target', 'mutants', name)
  mkdirSync(out, { recursive: true })
  const chosen = files.flatMap((file) => ['--file', file])
  // the tests beside the code, and the modules of tests/core that are named
  const suites = ['--', '--lib', '--test=core', '--', '::tests::', ...tests.map((test) => `${test}::`)]
  const flags = ['-j', '2', '--output', out, '--minimum-test-timeout', String(seconds)]
  // 2: some were missed. 3: some looped. Both are results.
  const { code, output } = await run('cargo', ['mutants', ...flags, ...chosen, ...suites], {
    cwd: root,
    env,
    allowFailure: true,
  })
  if (![0, 2, 3].includes(code)) throw new StepError(output.trimEnd())
  const list = (kind) => {
    const file = `${out}/mutants.out/${kind}.txt`
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  }
  const [caught, looped, missed, unviable] = ['caught', 'timeout', 'missed', 'unviable'].map(list)
  return { name, caught: caught.length, looped: looped.length, missed, unviable: unviable.length }
}

await main(async () => {
  const wanted = process.argv.slice(2)
  const unknown = wanted.find((name) => !(name in groups))
  if (unknown !== undefined)
    throw new StepError(`no group '${unknown}': ${Object.keys(groups).join(', ')}, or none for all`)
  await rustStep()
  await step('cargo-mutants', tool)
  const rows = []
  for (const name of wanted.length > 0 ? wanted : Object.keys(groups)) {
    await step(`mutants of ${name}`, async () => {
      rows.push(await group(name))
      return `${rows.at(-1).missed.length} missed`
    })
  }
  process.stdout.write('\n| group | mutants | caught | by timeout | missed | unviable | share caught |\n')
  process.stdout.write('|---|---:|---:|---:|---:|---:|---:|\n')
  for (const { name, caught, looped, missed, unviable } of rows) {
    const all = caught + looped + missed.length
    const share = `${((100 * (caught + looped)) / Math.max(all, 1)).toFixed(1)} %`
    const cells = [name, all + unviable, caught + looped, looped, missed.length, unviable, share]
    process.stdout.write(`| ${cells.join(' | ')} |\n`)
  }
  for (const line of rows.flatMap(({ missed }) => missed)) process.stdout.write(`\nmissed: ${line}`)
  process.stdout.write('\n')
})
