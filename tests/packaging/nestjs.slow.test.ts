// The example for NestJS as its reader has it: built by its own tsconfig, started, stopped by a signal, and started again.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../js/eventually.ts'
import { freePort } from '../servers/free-port.ts'
import { copyOf, start, startWith } from './example.ts'
import { flakyServer } from './flaky-server.ts'
import { root } from './pack.ts'

const PEERS = ['@nestjs/common', '@nestjs/core', '@nestjs/platform-express', 'reflect-metadata', 'rxjs', '@types/node']

/** The example's folder, built. */
async function built(): Promise<string> {
  const folder = copyOf('nestjs', [...PEERS, 'undici-types'])
  const tsc = start(folder, join(root, 'node_modules', 'typescript', 'bin', 'tsc'))
  tsc.stdout?.pipe(process.stderr)
  expect((await once(tsc, 'close'))[0]).toBe(0)
  return folder
}

/** The application, once it answers. */
async function running(folder: string, upstream: string) {
  const port = await freePort()
  const child = startWith({ PORT: String(port), UPSTREAM: upstream }, folder, 'dist/main.js')
  const url = `http://127.0.0.1:${port}/orders`
  const answers = () =>
    fetch(`${url}/none`).then(
      ({ status }) => status,
      () => 0,
    )
  await eventually(answers).toBe(404)
  return {
    child,
    post: async (key: string) => {
      const headers = { 'content-type': 'application/json', 'idempotency-key': key }
      const answer = await fetch(url, { method: 'POST', headers, body: '{"sku":"A-1"}' })
      return { status: answer.status, ...((await answer.json()) as { readonly taskId: string }) }
    },
    get: async (id: string) => (await (await fetch(`${url}/${id}`)).json()) as { readonly status: string },
  }
}

test('an order that is handed over is sent by the queue, once for each key', async () => {
  const folder = await built()
  await using server = await flakyServer()
  const app = await running(folder, `${server.origin}/api`)
  const [first, again] = [await app.post('order-1'), await app.post('order-1')]
  expect(first.status).toBe(202)
  expect(again).toEqual(first)
  await eventually(() => app.get(first.taskId)).toEqual({ status: 'SUCCEEDED', attempts: 2 })
  expect(server.hits('/api/orders')).toBe(2)
})

test('S1 a signal closes the queue, and the next start sends what waits', async () => {
  const folder = await built()
  const upstream = await freePort()
  const before = await running(folder, `http://127.0.0.1:${upstream}`)
  const { taskId } = await before.post('order-2')
  // an attempt has been made, and nothing listens there
  await eventually(async () => JSON.stringify(await before.get(taskId))).toMatch(/PENDING.*[1-9]/)
  before.child.kill('SIGTERM')
  expect(await once(before.child, 'close')).toEqual([null, 'SIGTERM'])
  const keys: unknown[] = []
  const server = createServer((request, response) => {
    keys.push(request.headers['idempotency-key'])
    response.end()
  })
  await once(server.listen(upstream, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const after = await running(folder, 'http://127.0.0.1:9')
  await eventually(async () => (await after.get(taskId)).status).toBe('SUCCEEDED')
  expect(keys).toEqual(['order-2'])
})
