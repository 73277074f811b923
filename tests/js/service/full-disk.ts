// A service whose folder becomes a small disk, which another program fills. One line says what it answered. It has to be run where it may mount.
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { createService, type ServiceLogEntry } from '../../../js/service.ts'
import { sqliteStore } from '../../../js/stores/sqlite.ts'

const MIB = 2 ** 20
const [folder = ''] = process.argv.slice(2)
execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', folder])

/** Another program takes so much, or all that there is. */
function fill(name: string, bytes: number): void {
  const file = openSync(join(folder, name), 'a')
  const block = Buffer.alloc(4_096, 1)
  try {
    for (let taken = 0; taken < bytes; taken += block.length) writeSync(file, block)
  } catch {
    // that was the last of it
  } finally {
    closeSync(file)
  }
}

let arrived = 0
// tasks that have ended would give way to new ones
const target = createServer((request, response) => {
  request.resume()
  response.writeHead(arrived++ === 0 ? 200 : 503).end()
}).listen(0, '127.0.0.1')
await new Promise((resolve) => target.once('listening', resolve))
const targetUrl = `http://127.0.0.1:${(target.address() as AddressInfo).port}/orders`

const log: ServiceLogEntry[] = []
const start = async () => {
  const store = sqliteStore({ path: join(folder, 'tasks.db'), everyone: true })
  const service = createService({ store, allowLoopback: true, log: (entry) => log.push(entry) })
  await service.ready
  return service
}
const first = await start()
await first.close({ drainMs: 0 })
fill('most', 28 * MIB)
const service = await start()
const ask = (path: string, init?: RequestInit) => service.fetch(new Request(`http://localhost${path}`, init))
const create = async () => {
  const body = JSON.stringify({ targetUrl, method: 'POST', body: 'tea '.repeat(500) })
  const headers = { 'content-type': 'application/json' }
  const answer = await ask('/retry-tasks', { method: 'POST', headers, body })
  return [answer.status, ((await answer.json()) as { type?: string }).type]
}
const ready = async () => (await ask('/readyz')).status
const until = async (holds: () => boolean | Promise<boolean>) => {
  for (let n = 0; n < 1_000 && !(await holds()); n++) await pass(20)
}

const before = [await create(), await ready()]
await until(() => arrived > 0)
await until(() => log.some(({ event }) => event === 'store_filling'))
fill('rest', Number.POSITIVE_INFINITY)
// the log has room for some
let refused = await create()
await until(async () => {
  if (refused[0] === 201) refused = await create()
  return refused[0] !== 201
})
const whileFull = [refused, await ready()]
rmSync(join(folder, 'most'))
rmSync(join(folder, 'rest'))
await until(async () => (await create())[0] === 201)
const after = [await create(), await ready()]
const warned = log.filter(({ level }) => level === 'warn').map(({ event, resource }) => [event, resource])
await service.close({ drainMs: 100 })
process.stdout.write(`${JSON.stringify({ before, whileFull, after, warned })}\n`)
process.exit(0)
