// A process that may read a file and not write it, until it may. Root may write everything, so it becomes another user first.
import { chmodSync, chownSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { RetryQueue } from '../../../js/index.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { taskOf } from './words.ts'

const NOBODY = 65_534
const [path = ''] = process.argv.slice(2)
const say = (line: string): boolean => process.stdout.write(`${line}\n`)
const POST = { method: 'POST', body: 'tea' }

// the other user may not be allowed to read the folder of the project: what a queue loads is loaded before
const first = new RetryQueue({ store: memoryStore(), principal: null })
await first.ready
await first.close()

const maker = sqliteStore({ path })
await maker.enqueue([taskOf(1)])
await maker.close()
const folder = dirname(path)
const files = readdirSync(folder).map((name) => join(folder, name))
if (process.getuid?.() === 0) {
  for (const file of [folder, ...files]) chownSync(file, NOBODY, NOBODY)
  process.setuid?.(NOBODY)
}
// SQLite opens it all the same, and for reading alone
for (const file of files) chmodSync(file, 0o400)

const store = sqliteStore({ path })
const fetch = async () => new Promise<Response>(() => {})
const queue = new RetryQueue({ store, principal: null, fetch })
const reports: string[] = []
queue.on('degraded', ({ code }) => reports.push(code))
const enqueued = () =>
  queue.enqueue('https://api.test/orders', POST).then(
    ({ durability }) => durability,
    ({ code }) => code,
  )
let durability = await enqueued()
say(durability)
say(reports[0] ?? '')
say(
  await store.enqueue([taskOf(2)]).then(
    () => 'stored',
    (error) => error.code,
  ),
)

for (const file of files) chmodSync(file, 0o600)
for (let tries = 0; durability !== 'strict' && tries < 100; tries++) {
  await setTimeout(100)
  durability = await enqueued()
}
say(durability)
say((await store.enqueue([taskOf(2)]))[0]?.outcome ?? '')
await queue.close({ drainMs: 0 })
process.exit(0)
