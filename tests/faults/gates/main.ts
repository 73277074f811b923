/** `npm run sim:gates -- --http`: the first row of the gates' table over real HTTP, with and without gates side by side. */

import { parseArgs } from 'node:util'
import { type Outcome, percentile, run } from './random.ts'

const CALLS = 200
const CALLERS = 10
/** Callers who fail more than without gates, and how much longer the slowest hundredth may take. */
const MORE_FAILED = 0.01
const SLOWER = 1.5

const { values } = parseArgs({
  options: {
    http: { type: 'boolean', default: true },
    seeds: { type: 'string', default: '3' },
    shares: { type: 'string', default: '10,20,30,40,60' },
  },
})

const print = (line: string) => process.stdout.write(`${line}\n`)
const seconds = (ms: number) => (ms / 1_000).toFixed(2).padStart(6)

async function world(perMille: number, gated: boolean): Promise<Outcome> {
  const seeds = Array.from({ length: Number(values.seeds) }, (_, i) => i + 1)
  const outcomes: Outcome[] = []
  for (const seed of seeds) outcomes.push(await run({ perMille, seed, calls: CALLS, callers: CALLERS, gated }))
  const sum = (of: (outcome: Outcome) => number) => outcomes.reduce((all, each) => all + of(each), 0)
  return {
    failed: sum(({ failed }) => failed),
    requests: sum(({ requests }) => requests),
    openings: sum(({ openings }) => openings),
    tookMs: outcomes.flatMap(({ tookMs }) => tookMs),
  }
}

const all = Number(values.seeds) * CALLS
print(`${CALLS} awaited calls, ${CALLERS} at a time, ${values.seeds} seeds; default policy, real time`)
print('fails |  without gates: failed  p50 s   p99 s requests | with gates: failed  p50 s   p99 s requests openings |')
let isGood = true
const rows = values.shares.split(',').map(async (share) => {
  const [without, gated] = await Promise.all([world(Number(share) * 10, false), world(Number(share) * 10, true)])
  const p99 = [percentile(without.tookMs, 99), percentile(gated.tookMs, 99)] as const
  const ok = gated.failed <= without.failed + all * MORE_FAILED && p99[1] <= p99[0] * SLOWER
  const cells = ({ failed, tookMs, requests }: Outcome) =>
    `${String(failed).padStart(6)} ${seconds(percentile(tookMs, 50))}  ${seconds(percentile(tookMs, 99))} ${String(requests).padStart(8)}`
  return {
    ok,
    line: `${share.padStart(3)} % |                 ${cells(without)} |            ${cells(gated)} ${String(gated.openings).padStart(8)} | ${ok ? 'ok' : 'FAILS'}`,
  }
})
for (const row of rows) {
  const { ok, line } = await row
  isGood &&= ok
  print(line)
}
process.exitCode = isGood ? 0 : 1
