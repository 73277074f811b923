/** examples/cloudflare-worker as a user has it: run by `wrangler dev`, and made ready by `wrangler deploy`. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { apiDuringTests } from './api.ts'
import { soon } from './harness/soon.ts'
import { exampleProject, wrangler, wranglerDev } from './wrangler.ts'

/** What the example may upload, compressed; a Worker of the free plan may have 3 MB. */
const MOST_GZIP_BYTES = 209_000

const api = apiDuringTests()

const order = (body: string) => ({ method: 'POST', body })

test('wrangler dev: an order that the API refuses for a while is accepted, and delivered later', async () => {
  using project = exampleProject()
  await using dev = await wranglerDev(project, { API: api.orders('tea'), API_TOKEN: 'any' })
  await api.fails(4)
  const answer = await fetch(`${dev.url}/orders`, order('{"tea":1}'))
  expect(answer.status).toBe(202)
  const { taskId } = (await answer.json()) as { taskId: string }
  const read = async () => (await (await fetch(`${dev.url}/orders/${taskId}`)).json()) as Record<string, unknown>
  await soon(async () => (await read()).status).toBe('SUCCEEDED')
  expect((await read()).attempts).toBe(5)
  expect(await api.saw('tea')).toMatchObject({ attempts: 5, effects: 1 })
  expect((await api.saw('tea'))?.keys).toHaveLength(1)
})

test('wrangler dev: an order that the API takes is answered by it, and one that was not placed is not there', async () => {
  using project = exampleProject()
  await using dev = await wranglerDev(project, { API: api.orders('coffee'), API_TOKEN: 'any' })
  const answer = await fetch(`${dev.url}/orders`, order('{"coffee":1}'))
  expect([answer.status, await answer.json()]).toEqual([200, { intent: 'coffee', effect: 1 }])
  expect((await fetch(`${dev.url}/orders/unknown`)).status).toBe(404)
  const asked = [fetch(`${dev.url}/orders`), fetch(`${dev.url}/orders/unknown`, { ...order('{}'), method: 'PUT' })]
  for (const unknown of await Promise.all(asked))
    expect([unknown.status, await unknown.text()]).toEqual([404, expect.stringContaining('GET /orders/:taskId')])
})

test('wrangler deploy --dry-run: the bundle has the WebAssembly as a module of its own, and is small', async () => {
  using project = exampleProject()
  const said = await wrangler(project, 'deploy', '--dry-run', '--outdir', 'dist')
  expect(said).toContain('env.REDRIVE (Outbox)')
  const uploaded = readdirSync(join(project.folder, 'dist')).filter((name) => /\.(js|wasm)$/.test(name))
  expect(uploaded.filter((name) => name.endsWith('redrive.wasm'))).toHaveLength(1)
  const bytes = uploaded.map((name) => gzipSync(readFileSync(join(project.folder, 'dist', name))).length)
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(MOST_GZIP_BYTES)
  const inline = readFileSync(join(project.folder, 'dist', 'index.js'), 'utf8')
  expect(inline, 'the inline module belongs to the other entry').not.toMatch(/[A-Za-z0-9+/]{2000}/)
})
