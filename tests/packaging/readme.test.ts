// Every snippet of the README and of docs/recipes.md is run as it stands: against the packed package, with its server's address in
// place of the example's. Those for pages: readme-page.test.ts.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startServer } from '../redis/servers.ts'
import { type Consumer, consumer, link } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { root } from './pack.ts'
import { blocks, snippet, snippets } from './snippets.ts'
import { workerd, workerModules } from './worker-bundle.ts'

async function printed(project: Consumer, script: string, variables: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const env = { PATH: process.env.PATH ?? '', ...variables }
  const { stdout } = await promisify(execFile)(process.execPath, [script], { cwd: project.folder, env })
  return stdout.trim().split('\n')
}

test('there is no snippet that no test runs', () => {
  expect(snippets).toHaveLength(12)
})

test('the fetch recipe', async () => {
  await using server = await flakyServer()
  using project = consumer({ 'main.mjs': snippet('wrapFetch(queue)', `${server.origin}/api/fetch`) })
  expect(await printed(project, 'main.mjs')).toEqual(['200'])
  expect(server.hits('/api/fetch/orders')).toBe(2)
})

test('the Axios recipe', async () => {
  await using server = await flakyServer()
  using project = consumer({ 'main.mjs': snippet('attachToAxios(api, queue)', `${server.origin}/api/axios`) })
  link(project, 'axios')
  expect(await printed(project, 'main.mjs')).toEqual(['attempt 2', expect.stringMatching(/^waits as [\w-]{36}$/)])
  expect([server.hits('/api/axios/orders'), server.hits('/api/axios/reports')]).toEqual([2, 2])
})

test('the Workers recipe', async () => {
  await using server = await flakyServer()
  using project = consumer({ 'worker.js': snippet('withRetry', `${server.origin}/api/worker`) })
  // as its lines for wrangler.jsonc say
  const [config = ''] = blocks('jsonc')
  const { durable_objects, migrations } = JSON.parse(`{${config.replace(/^\/\/.*$/m, '')}}`)
  const [{ name, class_name: className }] = durable_objects.bindings
  expect(migrations[0].new_sqlite_classes).toEqual([className])
  const objects = { durableObjects: { [name]: { className, useSQLite: true } } }
  const miniflare = workerd(await workerModules(project.folder), objects)
  try {
    const response = await miniflare.dispatchFetch('http://worker/', { method: 'POST', body: 'A-1' })
    expect([response.status, await response.text()]).toEqual([200, 'attempt 2'])
    expect(server.hits('/api/worker/orders')).toBe(2)
  } finally {
    await miniflare.dispose()
  }
})

test('requests that survive a crash of Node', async () => {
  await using server = await flakyServer()
  using project = consumer({ 'main.mjs': snippet("path: 'orders.db' }),", `${server.origin}/api/stored`) })
  expect(await printed(project, 'main.mjs')).toEqual(['strict', 'SUCCEEDED'])
  expect(server.hits('/api/stored/orders')).toBe(2)
})

test('one queue for many machines', async () => {
  await using server = await flakyServer()
  await using redis = await startServer({ appendonly: true })
  using project = consumer({ 'main.mjs': snippet('redisStore({', `${server.origin}/api/shared`) })
  link(project, 'redis')
  expect(await printed(project, 'main.mjs', { REDIS_URL: redis.url })).toEqual(['relaxed', 'SUCCEEDED'])
  expect(server.hits('/api/shared/orders')).toBe(2)
})

test('hand over, go on, look later', async () => {
  await using server = await flakyServer()
  using project = consumer({ 'main.mjs': snippet('deadLetters', `${server.origin}/api/beyond`) })
  expect(await printed(project, 'main.mjs')).toEqual(['SUCCEEDED 200', '202 memory'])
  expect(server.hits('/api/beyond/events')).toBe(2)
})

test('one after another', async () => {
  await using server = await flakyServer()
  using project = consumer({ 'main.mjs': snippet('presets', `${server.origin}/api/explained`) })
  const lines = await printed(project, 'main.mjs')
  expect(lines.map((line) => line.split(':')[0])).toEqual(['queued', 'attempt', 'retry', 'attempt', 'succeeded'])
  expect(lines.at(-1)).toBe('succeeded: 200; delivered')
  expect(server.hits('/api/explained/invoices')).toBe(2)
})

test('the commands it names are there', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const named = blocks('sh').flatMap((block) => [...block.matchAll(/^npm (?:run (\S+)|(test))/gm)])
  expect(named.length).toBeGreaterThan(1)
  for (const [, run, bare] of named) expect(Object.keys(scripts)).toContain(run ?? bare)
})
