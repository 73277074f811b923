// `npm run fuzz -- rows [rows]`: rows of stores that other code has written, 20,000 unless said otherwise (tests/README.md).
// `npm run fuzz -- [target] [seconds] [--keep]`: feeds the core random bytes, target after target, 60 s each unless said
// otherwise. fuzz/src/ says what must hold of them.
// Finds go to fuzz/work/; `--keep` replaces fuzz/corpus/<target>.bin, which `cargo test` runs, by the fewest of
// them that cover as much. An input that fails is left in fuzz/artifacts/ and named.
import { mkdirSync, rmSync } from 'node:fs'
import { pack, targets, unpack } from '../fuzz/corpus.mjs'
import { at, root } from './lib/paths.mjs'
import { main, run, StepError, step } from './lib/steps.mjs'
import { rustStep } from './setup/rust.mjs'

/** A target is at fault too if an input takes five seconds, or half a gigabyte. */
const limits = ['-timeout=5', '-rss_limit_mb=512', '-max_len=65536']
/** The core forbids unsafe code, so there is nothing for a sanitizer of addresses to find. */
const build = ['--sanitizer', 'none']
// cargo-fuzz assumes a nightly toolchain; this lets the stable one accept its flags.
const env = { RUSTC_BOOTSTRAP: '1' }

const fuzz = (command, args, options = {}) =>
  run('cargo', ['fuzz', command, ...build, ...args], { cwd: root, env, ...options })
const folder = (...parts) => {
  const path = at('fuzz', ...parts)
  mkdirSync(path, { recursive: true })
  return path
}

function askedFor(words) {
  const names = words.filter((word) => !/^\d+$/.test(word) && word !== '--keep')
  const unknown = names.filter((name) => !targets.includes(name))
  if (unknown.length > 0) throw new StepError(`no target '${unknown[0]}': ${targets.join(', ')}, or none for all`)
  const seconds = Number(words.find((word) => /^\d+$/.test(word)) ?? 60)
  return { names: names.length > 0 ? names : targets, seconds, keep: words.includes('--keep') }
}

async function tools() {
  const fuzzer = await run('cargo', ['fuzz', '--version'], { cwd: root, allowFailure: true })
  if (fuzzer.code !== 0) throw new StepError('cargo-fuzz is missing: cargo install cargo-fuzz --locked, then again.')
  await run('c++', ['--version']).catch((cause) => {
    throw new StepError('A C++ compiler is missing, libFuzzer is C++. On Debian: apt-get install g++.', { cause })
  })
  return fuzzer.stdout.trim()
}

/** Runs inputs of a megabyte, each once: quadratic time would take more than five seconds. */
async function endure(target) {
  const { code, output } = await fuzz(
    'run',
    [target, folder('work', 'long', target), '--', ...limits, '-max_len=2000000', '-runs=0'],
    {
      allowFailure: true,
    },
  )
  if (code !== 0) throw new StepError(`${target} fails on a long input.\n${output.slice(-4000)}`)
}

/** New finds come first, since libFuzzer writes into the first folder; then what is kept, then the seeds. */
function inputs(target) {
  unpack(target, at('fuzz', 'work', 'packed', target))
  return ['corpus', 'packed', 'seeds'].map((name) => folder('work', name, target))
}

/** Runs one target; the row of figures that libFuzzer prints. */
async function feed(target, seconds) {
  const flags = [...limits, `-max_total_time=${seconds}`, '-print_final_stats=1']
  const { code, output } = await fuzz('run', [target, ...inputs(target), '--', ...flags], { allowFailure: true })
  const last = [...output.matchAll(/ cov: (\d+) ft: (\d+) corp: (\d+)\/(\S+)/g)].at(-1)
  const executed = Number(/number_of_executed_units: (\d+)/.exec(output)?.[1] ?? 0)
  if (code !== 0 || !last || executed === 0) {
    const told = output.split('\n').slice(-60).join('\n').trim()
    throw new StepError(`${target} failed. A test first, then the mending.\n${told}`)
  }
  const [, coverage, features, found] = last.map(Number)
  return { target, executed, coverage, features, inputs: found, bytes: last[4] }
}

async function keep(target) {
  const kept = folder('work', 'kept', target)
  rmSync(kept, { recursive: true })
  mkdirSync(kept)
  // Merging into an empty folder takes what reaches a new place, the shortest first. How often a place is
  // reached does not count here: that keeps a thousand inputs where hundreds do.
  await fuzz('run', [target, kept, ...inputs(target), '--', '-merge=1', '-use_counters=0', ...limits])
  return `${pack(target, kept)} inputs`
}

/** Needs no Rust but the core as it was built last. */
async function fuzzRows(count) {
  const env = { REDRIVE_FUZZ_ROWS: String(count) }
  const vitest = at('node_modules', 'vitest', 'vitest.mjs')
  await run(process.execPath, [vitest, 'run', 'tests/js/stored-rows.isolated.slow.test.ts'], { cwd: root, env })
}

await main(async () => {
  const [first, count = 20_000] = process.argv.slice(2)
  if (first === 'rows') {
    await step(`${count} rows of each store`, () => fuzzRows(count).then(() => undefined))
    return
  }
  const asked = askedFor(process.argv.slice(2))
  await rustStep()
  await step('cargo-fuzz', tools)
  await step('seeds from the vectors', () => run(process.execPath, [at('fuzz', 'seed.mjs')]).then(() => undefined))
  await step('fuzz targets', () => fuzz('build', []).then(() => undefined))
  const rows = []
  for (const target of asked.names) {
    await step(`${target}, long inputs`, () => endure(target))
    await step(`${target}, ${asked.seconds} s`, async () => {
      rows.push(await feed(target, asked.seconds))
    })
    if (asked.keep) await step(`${target}, corpus`, () => keep(target))
  }
  process.stdout.write(
    '\n| target | executions | edges | features | inputs | their bytes |\n|---|---:|---:|---:|---:|---:|\n',
  )
  for (const row of rows) process.stdout.write(`| ${Object.values(row).join(' | ')} |\n`)
})
