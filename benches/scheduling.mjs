// What one attempt costs, and whether that grows with the number of tasks. Two attempts a task.
import { exponent, takeTurns } from './lib/measure.mjs'
import { contestants } from './lib/schedulers.mjs'
import { orLess } from './lib/smoke.mjs'
import { aim, figure, note, table, times } from './lib/table.mjs'

const full = process.argv.includes('--full')
const sizes = orLess([1_000, 10_000, 100_000, ...(full ? [1_000_000] : [])], [100, 200])
const ATTEMPTS = 2
const SCHEDULER = 'redrive, its scheduler'
const OURS = [SCHEDULER, 'redrive, enqueue()']

/** Few tasks go by too fast for one look at the clock: as many runs as make 20,000 tasks count as one. */
async function microsPerAttempt(make, n, tasksAtLeast) {
  const runs = Math.max(1, Math.floor(tasksAtLeast / n))
  let total = 0
  for (let i = 0; i < runs; i++) {
    const run = make(n)
    const start = performance.now()
    await run()
    total += performance.now() - start
  }
  return (total * 1_000) / (runs * n * ATTEMPTS)
}

const results = Object.fromEntries(Object.keys(contestants).map((name) => [name, new Map()]))

async function measure(names, n, { rounds, warmUp, tasksAtLeast = orLess(20_000) }) {
  const turn = (name) => [name, () => microsPerAttempt(contestants[name].make, n, tasksAtLeast)]
  const medians = await takeTurns(Object.fromEntries(names.map(turn)), { rounds, warmUp })
  for (const [name, us] of Object.entries(medians)) results[name].set(n, us)
}

const all = Object.keys(contestants)
const NAIVE = 'naive loop'
const NAIVE_AT = orLess(30_000, 300)
// its cost grows with the square of the tasks: once is enough, and 100,000 would take ten minutes
await measure([NAIVE], sizes[0], { rounds: 3, warmUp: 1, tasksAtLeast: orLess(3_000) })
await measure([NAIVE], sizes[1], { rounds: 1, warmUp: 0, tasksAtLeast: 0 })
await measure([NAIVE], NAIVE_AT, { rounds: 1, warmUp: 0, tasksAtLeast: 0 })
for (const n of sizes) {
  const names = all.filter((name) => name !== NAIVE)
  await measure(names, n, n < 100_000 ? { rounds: 7, warmUp: 2 } : { rounds: n < 1_000_000 ? 5 : 1, warmUp: 0 })
}
await measure(OURS, NAIVE_AT, { rounds: 3, warmUp: 1, tasksAtLeast: 0 })

const growth = (name) => exponent([...results[name]].filter(([n]) => sizes.includes(n)))
table(
  ['us per attempt, by tasks', ...sizes.map((n) => n.toLocaleString('en-US')), 'exponent'],
  all.map((name) => [name, ...sizes.map((n) => figure(results[name].get(n))), growth(name).toFixed(2)]),
)
console.log('\nWhat each does not do that redrive does:')
for (const name of all) note(`${name}: ${contestants[name].lacks}`)
console.log()

const at = (name, n) => results[name].get(n)
for (const name of OURS) {
  console.log(`${name}:`)
  const ahead = sizes.map((n) => at('p-queue + p-retry', n) / at(name, n))
  const goal = name === SCHEDULER ? 1.5 : 1
  aim(
    `at least ${times(goal)} of p-queue + p-retry's speed at each`,
    Math.min(...ahead) >= goal,
    ahead.map(times).join(', '),
  )
  aim('exponent at most .05', growth(name) <= 0.05, growth(name).toFixed(2))
  const naive = at('naive loop', NAIVE_AT) / at(name, NAIVE_AT)
  note(
    `ahead of the naive loop at ${NAIVE_AT.toLocaleString('en-US')}: ${times(naive)} (${figure(at('naive loop', NAIVE_AT))} us)`,
  )
}
note('exponent: slope of log cost per attempt over log tasks; 0 does not grow, 1 grows as the tasks do.')
