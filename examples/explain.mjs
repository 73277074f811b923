// Prints explain() of a task that lives through an outage and through the end of the process that was sending it: on virtual
// time, in a real SQLite file. Needs `npm run build`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RetryQueue } from '../pkg/index.js'
import { sqliteStore } from '../pkg/sqlite.js'
import { fakeClock, scriptedServer } from '../pkg/testing.js'

const folder = mkdtempSync(join(tmpdir(), 'redrive-explain-'))
const path = join(folder, 'tasks.db')
const clock = fakeClock()
const server = scriptedServer({ clock })

/** A process of its own, as far as its queue can tell. Once it is dead, nothing of it reaches the store. */
async function start() {
  const store = sqliteStore({ path, clock })
  const life = { isOver: false }
  const turn = (step) => (life.isOver ? new Promise(() => {}) : store.turn(step))
  const policy = { initialDelayMs: 1_000, maxAttempts: 6 }
  const given = { store: { ...store, turn }, principal: null, policy, clock, fetch: server.fetch, seed: 3n }
  const queue = new RetryQueue(given)
  await queue.ready
  return { queue, life }
}

const first = await start()
server.reply(503, { 'retry-after': '20' })
const { taskId } = await first.queue.enqueue('https://api.example.com/invoices?customer=7', {
  method: 'POST',
  body: '{}',
})
await clock.settle()
server.hang()
await clock.advance(21_000)
first.life.isOver = true // in the middle of its second attempt

const { queue } = await start()
server.reply(502).reply(502)
await clock.advance(32_000)
await clock.advance(2_000)

const decisions = await queue.explain(taskId)
for (const { at, kind, text } of decisions) console.log(`${new Date(at).toISOString().slice(11, 19)} ${kind}: ${text}`)
console.log(decisions[2])

const closed = queue.close({ drainMs: 0 })
await clock.advance(1)
await closed
rmSync(folder, { recursive: true })
process.exit()
