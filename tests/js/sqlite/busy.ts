// A process that puts tasks into a file and claims whatever it finds there, until all are done. One line for each claim.
import { setTimeout } from 'node:timers/promises'
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { claimOf, succeeded, taskOf } from './words.ts'

const [path = '', from = '', count = '', all = ''] = process.argv.slice(2)
const store = sqliteStore({ path })
const owner = `from-${from}`
let settle: ReturnType<typeof succeeded>[] = []
for (let n = Number(from); n < Number(from) + Number(count); n++) {
  await store.enqueue([taskOf(n)])
  await step()
}
while ((await store.counts()).succeeded < Number(all)) {
  await step()
  if (settle.length === 0) await setTimeout(5) // the other's turn: who asks without a pause holds the file all the time
}
await store.close()

async function step(): Promise<void> {
  const { claimed } = await store.turn({ owner, settle, renew: [], claim: claimOf(2) })
  for (const { task } of claimed) process.stdout.write(`${task.taskId}\n`)
  settle = claimed.map(({ lease }) => succeeded(lease))
}
