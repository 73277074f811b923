// A process that starts on a file of stored tasks, and how long it takes to the first request.
import { openQueue, openSqlite } from './stores.mjs'

const store = openSqlite(process.argv[2])
const start = performance.now()
let first = true
const queue = openQueue(store, async () => {
  if (first) {
    console.log(performance.now() - start)
    setImmediate(() => queue.close({ drainMs: 0 }))
  }
  first = false
  return new Promise(() => {})
})
