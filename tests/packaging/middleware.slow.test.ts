// Every snippet of docs/middleware.md is run as it stands, but for its port: a service on a real socket, against the packed package.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freePort } from '../servers/free-port.ts'
import { type Running, started } from './children.ts'
import { type Consumer, consumer, link, versioned } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { blocksOf, docs, eachOnce } from './snippets.ts'
import { tries } from './tries.ts'

const page = docs('middleware.md')
const snippets = eachOnce(blocksOf(page, 'js'))
const queue = snippets.take('// queue.js')

/** The one snippet under a heading. */
function snippet(heading: string): string {
  const section = page.split(/^##+ /m).find((each) => each.startsWith(`${heading}\n`)) ?? ''
  return snippets.take('', blocksOf(section, 'js'))
}

/** Says when a server listens, and has it listen on loopback alone. */
const ready = `
import { Server } from 'node:net'
const { listen } = Server.prototype
Server.prototype.listen = function (...args) {
  if (typeof args[0] === 'number' && typeof args[1] !== 'string') args.splice(1, 0, '127.0.0.1')
  this.once('listening', () => console.log('listening'))
  return listen.apply(this, args)
}`

/** A database that is away for the first two calls. */
const orders = `
let calls = 0
export async function saveOrder(id, order) {
  calls += 1
  if (calls <= 2) throw Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' })
  console.log('saved', id, JSON.stringify(order), 'by call', calls)
}
const users = { 'Bearer hush': 'ada', 'Bearer of-the-service': 'the service' }
export const userOf = async (authorization) => users[authorization]`

async function service(project: Consumer, env: Readonly<Record<string, string>> = {}): Promise<Running> {
  for (const name of ['express', 'fastify', 'hono', '@hono/node-server']) link(project, name)
  return started(project, 'listening', ['--import', './ready.mjs', 'main.mjs'], env)
}

const json = { 'content-type': 'application/json' }

const FRAMEWORKS = ['Express', 'Fastify', 'Hono']

async function outbound(name: string): Promise<void> {
  await using api = await flakyServer()
  const port = await freePort()
  const code = snippet(`Outbound in ${name}`)
    .replaceAll('https://api.example.com', `${api.origin}/api`)
    .replace('3000', String(port))
  using project = consumer({ 'main.mjs': code, 'ready.mjs': ready, 'queue.js': queue })
  await using _ = await service(project)
  const order = () => fetch(`http://localhost:${port}/orders`, { method: 'POST', headers: json, body: '{"id":"A-1"}' })
  const kept = await order()
  const taskId = kept.headers.get('redrive-task-id')
  expect([kept.status, kept.headers.get('location')]).toEqual([202, `/tasks/${taskId}`])
  expect(await kept.json()).toMatchObject({ status: 'queued', taskId, durability: 'strict' })
  await expect.poll(() => api.hits('/api/invoices'), { timeout: 20_000 }).toBe(2)
  const through = await order()
  expect([through.status, await through.text()]).toEqual([200, 'attempt 3'])
}

async function inbound(name: string): Promise<void> {
  const port = await freePort()
  const code = snippet(`Inbound in ${name}`).replaceAll('3000', String(port))
  using project = consumer({ 'main.mjs': code, 'ready.mjs': ready, 'orders.js': orders, 'queue.js': queue })
  await using running = await service(project)
  const put = { method: 'PUT', headers: json, body: '{"total":3}' }
  const kept = await fetch(`http://localhost:${port}/orders/A-1`, put)
  expect(kept.status).toBe(202)
  await expect.poll(running.output, { timeout: 20_000 }).toContain('saved A-1 {"total":3} by call 3\n')
  expect((await fetch(`http://localhost:${port}/orders/A-2`, put)).status).toBe(204)
}

for (const name of FRAMEWORKS) {
  const framework = name.toLowerCase()
  tries(versioned(name, framework), `redrive/${framework}: a call that fails is kept`, () => outbound(name))
  tries(versioned(name, framework), `redrive/${framework}: a request whose handler fails is kept`, () => inbound(name))
}

test('sessions are not kept', async () => {
  const port = await freePort()
  const code = snippet('Sessions are not kept').replaceAll('3000', String(port))
  using project = consumer({ 'main.mjs': code, 'ready.mjs': ready, 'orders.js': orders })
  const env = { SERVICE_TOKEN: 'of-the-service', REPLAY_SECRET: 'the same in all processes' }
  await using running = await service(project, env)
  const headers = { ...json, authorization: 'Bearer hush', cookie: 'sid=hush', 'x-tenant': 'acme', 'x-beta': 'yes' }
  const stranger = { ...headers, authorization: 'Bearer made-up' }
  const refused = await fetch(`http://localhost:${port}/orders/A-2`, { method: 'PUT', headers: stranger, body: '{}' })
  expect(refused.status).toBe(500)
  const kept = await fetch(`http://localhost:${port}/orders/A-1`, { method: 'PUT', headers, body: '{"total":3}' })
  expect(kept.status).toBe(202)
  await expect.poll(running.output, { timeout: 20_000 }).toContain('saved A-1')
  const lines = running.output().trim().split('\n')
  const own = 'Bearer of-the-service acme'
  const seen = lines.filter((line) => line.startsWith('Bearer'))
  expect(seen).toEqual(['Bearer made-up acme', 'Bearer hush acme', own])
  const files = project.files('.').filter((file) => /^requests\.db(-wal|-shm|-reserve)?$/.test(file))
  expect(files.length).toBeGreaterThan(1)
  for (const file of files) expect(readFileSync(join(project.folder, file)).includes('hush'), file).toBe(false)
})

test('there is no snippet that no test has run', () => {
  expect(snippets.left()).toEqual([])
})
