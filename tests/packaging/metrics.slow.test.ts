// The recipes of docs/observability.md, as they stand, against the packed package.
import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { consumer } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { root } from './pack.ts'
import { workerd, workerModules } from './worker-bundle.ts'

const [, chapter = ''] = readFileSync(join(root, 'docs', 'observability.md'), 'utf8').split(/^## (?=Prometheus)/m)
const snippets = [...chapter.replace(/^## .*/ms, '').matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code ?? '')

test('there is no recipe that no test runs', () => {
  expect(snippets).toHaveLength(2)
})

test('the recipe for prom-client', async () => {
  const asks = `
    await new Promise((resolve) => server.once('listening', resolve))
    const response = await fetch('http://127.0.0.1:' + server.address().port + '/metrics')
    console.log(JSON.stringify([response.headers.get('content-type'), await response.text()]))
    server.close()
    server.closeAllConnections()`
  using project = consumer({ 'main.mjs': `${(snippets[0] ?? '').replace('9464', '0')}${asks}` })
  for (const name of ['prom-client', 'tdigest', 'bintrees', '@opentelemetry']) {
    symlinkSync(join(root, 'node_modules', name), join(project.folder, 'node_modules', name))
  }
  const { stdout } = await promisify(execFile)(process.execPath, ['main.mjs'], { cwd: project.folder })
  const [type, text] = JSON.parse(stdout)
  expect(type).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(text).toContain('retry_queue_capacity 10000\n')
})

test('the recipe for the edge, in workerd', async () => {
  await using server = await flakyServer()
  const worker = (snippets[1] ?? '').replace('https://api.example.com', `${server.origin}/api`)
  using project = consumer({ 'worker.js': worker })
  await using miniflare = workerd(await workerModules(project.folder))
  const answer = await miniflare.dispatchFetch('http://worker/')
  expect(await answer.text()).toBe('attempt 2')
  const metrics = await miniflare.dispatchFetch('http://worker/metrics')
  expect(metrics.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  const text = await metrics.text()
  for (const outcome of ['success', 'server_error']) {
    expect(text).toContain(`retry_attempts_total{queue="default",outcome="${outcome}",policy="default"} 1\n`)
  }
  expect(text).toContain('retry_retries_total{queue="default",outcome="success",policy="default"} 1\n')
})
