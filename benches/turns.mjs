// What goes before a single task of a tenant, in a store for everyone, while 50 others have tasks due at thousands of origins each.
import { sqliteStore } from './lib/package.mjs'
import { orLess } from './lib/smoke.mjs'
import { newFile } from './lib/stores.mjs'
import { aim, figure, note, table } from './lib/table.mjs'
import { claimOf, fill, ROOM, taskOf } from './lib/tasks.mjs'

const TENANTS = orLess(50, 5)
const SINGLES = orLess(30, 3)
const PLACES = 200
const AT_ONCE = 20
/** Of the store, after which a single task has not come: so many go before it that it does not matter how many more. */
const MOST_TURNS = 200

const ended = ({ task: { taskId }, lease }) => ({
  ...{ lease, next: { kind: 'succeeded' } },
  log: { taskId, attemptNumber: 1, startedAt: 0, durationMs: 1, responseStatus: 200, errorMessage: null, decision: '' },
})

/** `isFull`: attempts end only once all places are taken that may be. */
async function measured(origins, isFull) {
  const store = sqliteStore({ path: newFile(), everyone: true, ...ROOM })
  await fill(store, TENANTS * origins, (n) =>
    taskOf(`https://o${Math.floor(n / TENANTS)}.test`, { principal: `t${n % TENANTS}` }),
  )
  const claim = claimOf({ limit: AT_ONCE, total: PLACES, perLane: AT_ONCE, perFree: 4 })
  const running = []
  const before = []
  let attempts = 0
  const turn = async () => {
    const settle = running.splice(0, isFull && running.length < PLACES - AT_ONCE ? 0 : AT_ONCE).map(ended)
    const { claimed } = await store.turn({ owner: 'bench', settle, renew: [], claim })
    running.push(...claimed)
    attempts += claimed.length
    return claimed
  }
  // until the line has gone round once
  for (let turns = 0; turns < 10; turns++) await turn()
  attempts = 0
  const from = process.cpuUsage()
  for (let n = 0; n < SINGLES; n++) {
    const single = taskOf('https://single.test', { principal: 'single' })
    await store.enqueue([single])
    let gone = 0
    for (let turns = 0, isHere = false; turns < MOST_TURNS && !isHere; turns++) {
      const claimed = await turn()
      const at = claimed.findIndex(({ task }) => task.taskId === single.taskId)
      isHere = at >= 0
      gone += isHere ? at : claimed.length
    }
    before.push(gone)
    for (let turns = 0; turns < 10; turns++) await turn()
  }
  const { user, system } = process.cpuUsage(from)
  await store.close()
  return { most: Math.max(...before), each: (user + system) / attempts }
}

const rows = []
for (const [origins, isFull] of [
  [orLess(300, 20), false],
  [orLess(300, 20), true],
  [orLess(3_000, 40), false],
]) {
  const { most, each } = await measured(origins, isFull)
  const name = `${origins} origins each${isFull ? ', all places taken' : ''}`
  rows.push([name, most, figure(each)])
  aim(`beside ${TENANTS} tenants with ${name} a single task comes first`, most === 0, most)
}
console.log()
table([`SQLite, ${TENANTS} tenants`, 'most attempts before a single task', 'CPU of an attempt, us'], rows)
note(`${SINGLES} single tasks, one after another; ${PLACES} places, ${AT_ONCE} attempts end and begin with each turn.`)
