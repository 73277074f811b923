// A service that keeps failed requests in a file, in the framework that is named. Its words: the framework, the folder, the port, and whether
// its database is 'away' or 'back'. It writes its port, then each order that it has saved.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { RetryQueue } from '../../../js/index.ts'
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { skins } from './servers.ts'

const [name, folder = '', port = '0', database] = process.argv.slice(2)
const skin = skins.find((each) => each.name === name)
if (!skin) throw new Error(`no framework is called ${name}`)

const server = createServer()
await new Promise<void>((resolve) => server.listen(Number(port), '127.0.0.1', resolve))
const own = (server.address() as AddressInfo).port
const queue = new RetryQueue({
  store: sqliteStore({ path: join(folder, 'tasks.db') }),
  policy: { initialDelayMs: 20, maxDelayMs: 200, maxAttempts: 100 },
  warn: false,
})
await queue.ready
const listener = await skin.mount({
  queue,
  inbound: { origin: `http://127.0.0.1:${own}`, secret: 'a secret of this service' },
  handler: ({ target }) => {
    if (database === 'away') throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    process.stdout.write(`saved ${target}\n`)
  },
})
server.on('request', listener)
process.stdout.write(`${own}\n`)
