/** `npm run sim`: as many seeds as asked for, a line of progress, and of what failed the steps, shrunk and kept. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Kind, scenarioOf } from './generate.ts'
import { runScenario } from './run.ts'
import type { Scenario, StoreKind } from './scenario.ts'
import { type Failure, runSeeds, type Tally } from './seeds.ts'
import { shrink } from './shrink.ts'

const STORES: readonly StoreKind[] = ['memory', 'sqlite', 'redis', 'tabs', 'indexeddb']
const USAGE = `npm run sim -- [--seeds N] [--first S] [--store memory|sqlite|both|redis|tabs|indexeddb] [--no-hints] [--replay SEED] [--verbose]`
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '500' },
    first: { type: 'string', default: '1' },
    store: { type: 'string', default: 'both' },
    'no-hints': { type: 'boolean', default: false },
    replay: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const print = (line: string) => process.stdout.write(`${line}\n`)

function number(name: 'seeds' | 'first' | 'replay'): number {
  const value = Number(values[name])
  if (!Number.isInteger(value) || value < 0)
    throw new RangeError(`--${name}: expected a whole number, got ${values[name]}`)
  return value
}

function kinds(): readonly Kind[] {
  const hints = !values['no-hints']
  const { store } = values
  if (store === 'both') return (['memory', 'sqlite'] as const).map((each) => ({ store: each, hints }))
  const kind = STORES.find((each) => each === store)
  if (kind) return [{ store: kind, hints }]
  throw new RangeError(`--store: expected ${STORES.join(', ')} or both, got ${store}`)
}

const nameOf = ({ store, hints }: Kind) => `${store}${hints ? '' : ', no hints'}`

async function simulate(kind: Kind): Promise<number> {
  const startedAt = performance.now()
  const seeds = number('seeds')
  const line = ({ seeds: done, events, requests, crashes, failures }: Tally) => {
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    const counts = `${events} events, ${requests} requests, ${crashes} crashes`
    return `${nameOf(kind)}: ${done} of ${seeds} seeds, ${counts}, ${failures.length} failed, ${seconds} s`
  }
  const every = Math.max(1, Math.ceil(seeds / 10))
  const progress = (tally: Tally) => {
    if (tally.seeds % every === 0 && tally.seeds < seeds) print(line(tally))
  }
  const tally = await runSeeds({ ...kind, first: number('first'), seeds, progress })
  print(line(tally))
  for (const failure of tally.failures) await report(failure)
  return tally.failures.length
}

async function report({ scenario, violation }: Failure): Promise<void> {
  print(`\nseed ${scenario.seed} (${nameOf(scenario)}): ${violation.id} ${violation.what}`)
  const small = await shrink(scenario, violation.id)
  print(`${small.steps.length} of its ${scenario.steps.length} steps fail the same way:`)
  for (const step of small.steps) print(`  ${JSON.stringify(step)}`)
  const name = `${violation.id.toLowerCase()}-${scenario.seed}`
  const file = new URL(`kept/${name}.json`, import.meta.url)
  mkdirSync(new URL('.', file), { recursive: true })
  writeFileSync(file, `${JSON.stringify({ broke: violation, scenario: small })}\n`)
  print(
    `kept as tests/sim/kept/${name}.json, for biome to format; again: npm run sim -- --replay ${scenario.seed} --store ${scenario.store} --verbose`,
  )
}

async function replay(scenario: Scenario): Promise<number> {
  const { violation, events, trace } = await runScenario(scenario, { traced: values.verbose })
  for (const line of trace) print(line)
  const outcome = violation ? `${violation.id} ${violation.what}` : 'nothing broke'
  print(`seed ${scenario.seed} (${nameOf(scenario)}): ${events} events, ${outcome}`)
  return violation ? 1 : 0
}

let failed = 0
if (values.help) print(USAGE)
else {
  for (const kind of kinds()) {
    failed += values.replay === undefined ? await simulate(kind) : await replay(scenarioOf(number('replay'), kind))
  }
}
if (failed > 0) process.exitCode = 1
