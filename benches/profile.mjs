// Where the time of an attempt goes and what it allocates, by function: the scheduling bench under V8's sampling profilers.
//
//   npm run bench -- profile [--tasks 10000] [--rounds 10] [--top 25] [--only enqueue]
import { Session } from 'node:inspector/promises'
import { parseArgs } from 'node:util'
import { median } from './lib/measure.mjs'
import { figure, note, table } from './lib/table.mjs'
import { unminifiedContestants } from './lib/unminified.mjs'

const ATTEMPTS = 2
const WARM_UP = 4
const { values } = parseArgs({
  options: {
    tasks: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '10' },
    top: { type: 'string', default: '25' },
    only: { type: 'string', default: '' },
    smoke: { type: 'boolean', default: false },
  },
})
const tasks = values.smoke ? 200 : Number(values.tasks)
const rounds = values.smoke ? 1 : Number(values.rounds)
const top = Number(values.top)
for (const [name, value] of Object.entries({ tasks, rounds, top })) {
  if (!(value >= 1)) throw new Error(`--${name}: expected a number of at least 1, got '${values[name]}'`)
}
const attempts = tasks * ATTEMPTS * rounds

const { contestants, placeOf } = await unminifiedContestants()
const names = ['redrive, its scheduler', 'redrive, enqueue()'].filter((name) => name.includes(values.only))
const session = new Session()
session.connect()

/** @returns {Promise<number>} us per attempt, the median of the rounds */
async function runAll(make, { collect = false } = {}) {
  const micros = []
  for (let round = 0; round < rounds; round++) {
    const run = make(tasks)
    if (collect) globalThis.gc?.()
    const start = performance.now()
    await run()
    micros.push(((performance.now() - start) * 1_000) / (tasks * ATTEMPTS))
  }
  return median(micros)
}

/** One sum for each function, however many places it is called from. */
class ByFunction {
  sums = new Map()
  add({ functionName, url, lineNumber, columnNumber }, amount) {
    if (amount === 0) return
    const where = url ? placeOf(url, lineNumber, columnNumber) : ''
    const name = `${functionName || '(anonymous)'}${where && `  ${where}`}`
    this.sums.set(name, (this.sums.get(name) ?? 0) + amount)
  }
  of(name) {
    return this.sums.get(name) ?? 0
  }
  get total() {
    return [...this.sums.values()].reduce((sum, each) => sum + each, 0)
  }
  print(heads, cellsOf) {
    const largest = [...this.sums].sort(([, a], [, b]) => b - a).slice(0, top)
    table(
      heads,
      largest.map(([name, sum]) => [name, ...cellsOf(sum)]),
    )
  }
}

async function timeByFunction(make) {
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 250 })
  await session.post('Profiler.start')
  await runAll(make)
  const { profile } = await session.post('Profiler.stop')
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]))
  const found = new ByFunction()
  profile.samples.forEach((id, i) => {
    const frame = frames.get(id)
    if (frame.functionName !== '(idle)') found.add(frame, profile.timeDeltas[i + 1] ?? 0)
  })
  return found
}

async function bytesByFunction(make) {
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: 8_192,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  })
  await runAll(make)
  const { profile } = await session.post('HeapProfiler.stopSampling')
  const found = new ByFunction()
  const visit = ({ callFrame, selfSize, children }) => {
    found.add(callFrame, selfSize)
    children.forEach(visit)
  }
  visit(profile.head)
  return found
}

for (const name of names) {
  const { make } = contestants[name]
  for (let i = 0; i < WARM_UP; i++) await make(tasks)()
  const undisturbed = await runAll(make, { collect: true })
  const time = await timeByFunction(make)
  const bytes = await bytesByFunction(make)
  const percent = (sum) => `${((sum / time.total) * 100).toFixed(1)} %`
  console.log(`### ${name}\n`)
  console.log(
    `${figure(undisturbed)} us per attempt, unobserved (${figure(time.total / attempts)} with the profiler); ` +
      `${percent(time.of('(garbage collector)'))} in the garbage collector; ` +
      `${figure(bytes.total / attempts)} bytes allocated per attempt\n`,
  )
  time.print(['self time', 'share', 'us per attempt'], (sum) => [percent(sum), (sum / attempts).toFixed(3)])
  console.log()
  bytes.print(['allocated', 'share', 'bytes per attempt'], (sum) => [
    `${((sum / bytes.total) * 100).toFixed(1)} %`,
    figure(sum / attempts),
  ])
  console.log()
}
note(`${tasks} tasks, ${rounds} rounds; each task is a failed attempt and a successful one, six at a time.`)
note(
  'A bundle of the sources that is not minified; calls that V8 has inlined count for the function they are inlined in.',
)
session.disconnect()
