// `npm run mutants -- [group] [k/n]`: changes the core, or the stores' engine, in thousands of small ways and counts the changes that no
// test notices. All groups take hours, one takes minutes to hours: `queue 0/8` makes every eighth mutant of it. tests/README.md has the results.
// Only the tests of the group run: a change of the core that only a test in JavaScript notices counts as missed.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { setUpAndBuild } from './build.mjs'
import { at, root } from './lib/paths.mjs'
import { main, run, StepError, step } from './lib/steps.mjs'
import { npm } from './setup/npm.mjs'
import { rustStep } from './setup/rust.mjs'

/** For each group its files, its tests, and the seconds after which the tests of a mutant count as a loop. */
const groups = {
  backoff: {
    files: ['src/wait/backoff.rs', 'src/policy.rs', 'src/policy/*.rs', 'src/wait/schedule.rs'],
    tests: ['vectors', 'backoff_properties', 'schedule_vectors', 'queue_settles', 'queue_starts', 'queue_model'],
    seconds: 40,
  },
  retry_after: {
    files: ['asked', 'retry_after', 'reset', 'http_date', 'ratelimit', 'structured'].map(
      (name) => `src/http/${name}.rs`,
    ),
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
    tests: ['holds', 'keys', 'model', 'next', 'orders', 'settles', 'gate_status', 'starts'].map(
      (name) => `queue_${name}`,
    ),
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

/** Packages that nothing else needs, pinned here; installed with the first run. */
const STRYKER = ['@stryker-mutator/core@10.1.1', '@stryker-mutator/vitest-runner@10.1.1']
const strykerHome = at('.tools', 'stryker')

/**
 * The engine that every store stands on, in TypeScript, by the quick tests of the stores in memory and in SQLite.
 * `npm run mutants -- engine claim.ts places.ts` changes these files alone.
 */
async function engine(files) {
  if (!existsSync(`${strykerHome}/node_modules/@stryker-mutator/vitest-runner`)) {
    mkdirSync(strykerHome, { recursive: true })
    writeFileSync(`${strykerHome}/package.json`, '{ "private": true }\n')
    await npm(['install', '--no-audit', '--no-fund', '--loglevel=error', ...STRYKER], { cwd: strykerHome })
  }
  const report = at('target', 'mutants', 'engine.json')
  const config = at('target', 'mutants', 'stryker.json')
  mkdirSync(at('target', 'mutants'), { recursive: true })
  const mutate = files.length > 0 ? files.map((file) => `js/stores/engine/${file}`) : ['js/stores/engine/**/*.ts']
  const ignored = [
    '/target',
    '/.tools',
    '/pkg',
    '/pkg-service',
    '/pkg-ui',
    '/pkg-maps',
    '/docs',
    '/site',
    '/benches',
    '/examples',
    '/fuzz',
    '/src',
    '/sim',
    '/findings',
  ]
  const settings = {
    plugins: [`${strykerHome}/node_modules/@stryker-mutator/vitest-runner/dist/src/index.js`],
    testRunner: 'vitest',
    vitest: { configFile: 'tests/mutants.config.ts', related: false },
    mutate,
    ignorePatterns: ignored,
    reporters: ['json', 'clear-text'],
    jsonReporter: { fileName: report },
    coverageAnalysis: 'perTest',
    concurrency: 2,
    tempDirName: 'target/stryker',
    // it would be rewritten by an API that TypeScript 7 does not have, and nothing here reads it
    tsconfigFile: 'none.json',
    disableTypeChecks: false,
  }
  writeFileSync(config, JSON.stringify(settings, undefined, 2))
  const program = `${strykerHome}/node_modules/@stryker-mutator/core/bin/stryker.js`
  await run(process.execPath, [program, 'run', config], { cwd: root, env: { REDRIVE_SIZE: 'quick' } })
  const all = Object.entries(JSON.parse(readFileSync(report, 'utf8')).files).flatMap(([file, { mutants }]) =>
    mutants.map((mutant) => ({ ...mutant, file })),
  )
  const of = (...kinds) => all.filter(({ status }) => kinds.includes(status))
  const missed = of('Survived', 'NoCoverage').map(
    ({ file, location, mutatorName, replacement }) =>
      `${file}:${location.start.line}:${location.start.column} ${mutatorName} ${replacement ?? ''}`,
  )
  const unviable = of('CompileError', 'RuntimeError', 'Ignored').length
  return { name: 'engine', caught: of('Killed').length, looped: of('Timeout').length, missed, unviable }
}

async function group(name, shard) {
  const { files, tests, seconds } = groups[name]
  const out = at('target', 'mutants', name)
  mkdirSync(out, { recursive: true })
  const chosen = files.flatMap((file) => ['--file', file])
  // the tests beside the code, and the modules of tests/core that are named
  const suites = ['--', '--lib', '--test=core', '--', '::tests::', ...tests.map((test) => `${test}::`)]
  const part = shard === undefined ? [] : ['--sharding', 'round-robin', '--shard', shard]
  const flags = ['-j', '2', '--output', out, '--minimum-test-timeout', String(seconds), ...part]
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
  const given = process.argv.slice(2)
  const shard = given.find((each) => /^\d+\/\d+$/.test(each))
  const [first, ...rest] = given.filter((each) => each !== shard)
  const wanted = first === 'engine' ? ['engine'] : first === undefined ? [] : [first, ...rest]
  const known = [...Object.keys(groups), 'engine']
  const unknown = wanted.find((name) => !known.includes(name))
  if (unknown !== undefined) throw new StepError(`no group '${unknown}': ${known.join(', ')}, or none for all`)
  const chosen = wanted.length > 0 ? wanted : known
  if (chosen.some((name) => name in groups)) {
    await rustStep()
    await step('cargo-mutants', tool)
  }
  if (chosen.includes('engine')) await setUpAndBuild()
  const rows = []
  for (const name of chosen) {
    await step(`mutants of ${name}`, async () => {
      rows.push(await (name === 'engine' ? engine(rest) : group(name, shard)))
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
