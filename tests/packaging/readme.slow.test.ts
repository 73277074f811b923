// Every snippet of the README and of docs/recipes.md is run as it stands: against the packed package, with its server's address in
// place of the example's. Those for pages: readme-page.test.ts.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startServer } from '../redis/servers.ts'
import { consumer, link } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { root } from './pack.ts'
import { blocksOf, snippet, snippets } from './snippets.ts'
import { workerd, workerModules } from './worker-bundle.ts'

test('there is no snippet that no test runs', () => {
  expect(snippets).toHaveLength(7)
})

const each = (words: RegExp) => expect.stringMatching(words)

test.each<[string, word: string, path: string, lines: readonly unknown[]]>([
  ['fetch', 'wrapFetch(new RetryQueue())', '/orders/1', ['200']],
  ['Axios', 'attachToAxios(', '/orders', ['attempt 2']],
  ['one queue for many machines', 'redisStore({', '/orders', ['relaxed', 'SUCCEEDED']],
  [
    'one after another',
    'presets',
    '/invoices',
    [each(/^queued:/), each(/^attempt:/), each(/^retry:/), each(/^attempt:/), 'succeeded: 200; delivered'],
  ],
])('the recipe of %s', async (_, word, path, lines) => {
  await using server = await flakyServer()
  await using redis = word.startsWith('redis') ? await startServer({ appendonly: true }) : undefined
  using project = consumer({ 'main.mjs': snippet(word, `${server.origin}/api`) })
  for (const peer of ['axios', 'redis']) link(project, peer)
  const env = { PATH: process.env.PATH ?? '', ...(redis && { REDIS_URL: redis.url }) }
  const { stdout } = await promisify(execFile)(process.execPath, ['main.mjs'], { cwd: project.folder, env })
  expect(stdout.trim().split('\n')).toEqual(lines)
  expect(server.hits(`/api${path}`)).toBe(2)
})

test('the Workers recipe', async () => {
  await using server = await flakyServer()
  using project = consumer({ 'worker.js': snippet('withRetry', `${server.origin}/api/worker`) })
  // as its lines for wrangler.jsonc say
  const [config = ''] = blocksOf(readFileSync(join(root, 'docs/workers.md'), 'utf8'), 'jsonc')
  const { durable_objects, migrations } = JSON.parse(config.replace(/^\/\/.*$/m, ''))
  const [{ name, class_name: className }] = durable_objects.bindings
  expect(migrations[0].new_sqlite_classes).toEqual([className])
  const objects = { durableObjects: { [name]: { className, useSQLite: true } } }
  await using miniflare = workerd(await workerModules(project.folder), objects)
  const response = await miniflare.dispatchFetch('http://worker/', { method: 'POST', body: 'A-1' })
  expect([response.status, await response.text()]).toEqual([200, 'attempt 2'])
  expect(server.hits('/api/worker/orders')).toBe(2)
})

test('the commands it names are there', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const named = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/\bnpm (?:run ([\w:]+)|(test))/g)]
  expect(named.length).toBeGreaterThan(0)
  for (const [, run, bare] of named) expect(Object.keys(scripts)).toContain(run ?? bare)
})
