// What the gates add to an attempt where they keep nothing back. In `scheduling` all first attempts fail in a row, which
// starts the ramp, and its pauses are no cost of an attempt: here every second task fails once.
import { takeTurns } from './lib/measure.mjs'
import { redriveSchedulerWithoutRows } from './lib/schedulers.mjs'
import { orLess } from './lib/smoke.mjs'
import { aim, figure, table, times } from './lib/table.mjs'

const ATTEMPTS = 1.5
/** A third of the attempts fail, and nothing is to be kept back for it. */
const NEVER = 1_000_000
const gates = {
  breaker: { afterMs: 86_400_000 },
  retryBudget: { capacity: NEVER, perSuccess: 1, perSecond: NEVER },
}
const ways = { 'no gates': undefined, breaker: { breaker: gates.breaker }, 'breaker and budget': gates }

async function microsPerAttempt(given, n) {
  const runs = Math.max(1, Math.floor(orLess(20_000) / n))
  let total = 0
  for (let i = 0; i < runs; i++) {
    const run = redriveSchedulerWithoutRows(n, given ? { gates: given } : {})
    const start = performance.now()
    await run()
    total += performance.now() - start
  }
  return (total * 1_000) / (runs * n * ATTEMPTS)
}

const sizes = orLess([1_000, 10_000, 100_000], [100])
const rows = Object.fromEntries(Object.keys(ways).map((name) => [name, []]))
for (const n of sizes) {
  const turns = Object.entries(ways).map(([name, given]) => [name, () => microsPerAttempt(given, n)])
  const medians = await takeTurns(Object.fromEntries(turns), { rounds: 11, warmUp: 2 })
  for (const [name, us] of Object.entries(medians)) rows[name].push(us)
}

table(
  ['us per attempt, by tasks', ...sizes.map((n) => n.toLocaleString('en-US'))],
  Object.entries(rows).map(([name, us]) => [name, ...us.map(figure)]),
)
for (const [i, n] of sizes.entries()) {
  const ratio = rows['breaker and budget'][i] / rows['no gates'][i]
  aim(`at most 1.1x of an attempt without gates, ${n.toLocaleString('en-US')} tasks`, ratio <= 1.1, times(ratio))
}
