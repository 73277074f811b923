// A process that puts tasks into a file for as long as it lives, and says of each that it was acknowledged.
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { taskOf } from './words.ts'

const store = sqliteStore({ path: process.argv[2] ?? '' })
for (let n = 0; ; n++) {
  const [answer] = await store.enqueue([taskOf(n, { body: new Uint8Array(1_000).fill(n) })])
  process.stdout.write(`${answer?.outcome} ${answer?.taskId}\n`)
}
