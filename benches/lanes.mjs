// Whether many origins cost anything: as many tasks in one lane, in a thousand and in ten thousand, delivered from each kind of
// store, and how long timers have to wait meanwhile.
import { durableObjectStore } from '../js/stores/durable-object.ts'
import { inProfile, newProfile } from './lib/indexeddb/profile.mjs'
import { objectStorage } from './lib/lanes/object-storage.mjs'
import { deliver } from './lib/lanes/run.mjs'
import { median } from './lib/measure.mjs'
import { RetryQueue } from './lib/package.mjs'
import { bundle, servePage } from './lib/page.mjs'
import { orLess } from './lib/smoke.mjs'
import { openMemory, openSqlite } from './lib/stores.mjs'
import { aim, figure, note, table, times } from './lib/table.mjs'
import { ROOM } from './lib/tasks.mjs'

const TASKS = orLess(10_000, 200)
const LANES = [1, orLess(1_000, 10), TASKS]
const ROUNDS = orLess(3)

const server = await servePage(await bundle("import './lanes/page.mjs'"))
await inProfile(newProfile(), async (open) => {
  const page = await open(server.url)
  let databases = 0
  const here = (store) => (given) => deliver(RetryQueue, store(), given)
  const kinds = {
    'in memory': { count: orLess(5_000, 20), run: here(() => 'memory') },
    SQLite: { count: orLess(500, 20), run: here(openSqlite) },
    'Durable Object, its storage over node:sqlite': {
      count: orLess(500, 20),
      run: here(() => durableObjectStore({ storage: objectStorage(), ...ROOM })),
    },
    'IndexedDB in Chromium': {
      count: orLess(200, 20),
      run: (given) => page.evaluate(([name, given]) => bench.deliver(name, given), [`lanes-${++databases}`, given]),
    },
    // the reference: naive, and shown for that
    MemoryStore: { count: orLess(50, 10), run: here(openMemory), rounds: 1 },
  }
  const rows = []
  for (const [name, { count, run, rounds = ROUNDS }] of Object.entries(kinds)) {
    const found = LANES.map(() => ({ rate: [], p99: [] }))
    for (let round = 0; round < rounds; round++) {
      for (const [i, lanes] of LANES.entries()) {
        globalThis.gc?.()
        const { rate, p99 } = await run({ lanes, tasks: TASKS, count })
        found[i].rate.push(rate)
        found[i].p99.push(p99)
      }
    }
    const rates = found.map(({ rate }) => median(rate))
    const late = found.map(({ p99 }) => median(p99))
    const ratio = rates.at(-1) / rates[0]
    rows.push([name, ...rates.map(figure), times(ratio), ...late.map(figure)])
    if (name === 'MemoryStore') continue
    aim(`${name}: at 10,000 lanes at least half of one`, ratio >= 0.5, times(ratio))
    aim(`${name}: a timer at most 20 ms late at 10,000 lanes, p99`, late.at(-1) < 20, `${figure(late.at(-1))} ms`)
  }
  console.log()
  table(
    [
      `tasks a second, of ${TASKS.toLocaleString('en-US')}`,
      '1 lane',
      '1,000',
      '10,000',
      'of 1',
      'late p99 ms, 1',
      '1,000',
      '10,000',
    ],
    rows,
  )
  note(`medians of ${ROUNDS}; six at a time, each answered by way of the event loop.`)
})
server.close()
