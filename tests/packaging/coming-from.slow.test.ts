// Every snippet of docs/coming-from.md is run as it stands, before and after, against a server whose first answer is a 503.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { esbuilt } from './builds.ts'
import { consumer, link } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { root } from './pack.ts'

const text = readFileSync(join(root, 'docs', 'coming-from.md'), 'utf8')

/** The snippets under a heading: before, and after. */
function snippets(heading: string): readonly [string, string] {
  const section = text.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? ''
  const found = [...section.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code ?? '')
  expect(found, `snippets under ${heading}`).toHaveLength(2)
  return found as [string, string]
}

const inNode: readonly (readonly [string, readonly string[], string])[] = [
  ['axios-retry', ['axios', 'axios-retry', 'is-retry-allowed'], 'attempt 2'],
  ['ky', ['ky'], 'attempt 2'],
  ['p-retry', ['p-retry', 'is-network-error'], 'attempt 2'],
  ['p-queue', ['p-queue', 'p-retry', 'is-network-error'], 'attempt 2,attempt 2,attempt 2'],
]

test('there is no snippet that no test runs', () => {
  expect(text.match(/```js\n/g)).toHaveLength(2 * (inNode.length + 1))
})

for (const [heading, modules, answer] of inNode) {
  test.for([0, 1] as const)(`${heading}, %i`, async (which) => {
    await using server = await flakyServer()
    const code = snippets(heading)[which].replaceAll('https://api.example.com', `${server.origin}/api`)
    using project = consumer({ 'main.mjs': code })
    for (const name of modules) link(project, name)
    expect((await project.run(process.execPath, 'main.mjs')).trim()).toBe(answer)
    expect(server.hits('/api/orders/1')).toBe(2)
  })
}

const html = '<!doctype html><meta charset="utf-8"><title>t</title><script type="module" src="/main.js"></script>'
const registered = `${html}<script type="module">await navigator.serviceWorker.register('/sw.js')</script>`

test('Workbox background sync, before: a request without an answer waits in its database', async () => {
  using project = consumer({
    'dist/index.html': registered,
    'dist/main.js': '',
    'sw.js': snippets('Workbox background sync')[0],
  })
  for (const name of ['workbox-background-sync', 'workbox-core', 'idb']) link(project, name)
  const define = { 'process.env.NODE_ENV': '"production"' }
  await esbuilt(project, { entryPoints: ['sw.js'], splitting: false, format: 'iife', define })
  await using server = await flakyServer(join(project.folder, 'dist'))
  await using browser = await launch()
  await using tab = await browser.newPage()
  await tab.goto(server.origin)
  await tab.evaluate(() => navigator.serviceWorker.ready.then(() => {}))
  await tab.reload()
  // a port on which nothing listens: no answer at all
  const status = await tab.evaluate(() =>
    fetch('http://127.0.0.1:9/reports', { method: 'POST', mode: 'no-cors' }).then((answer) => answer.status),
  )
  expect(status).toBe(202)
  // a 503 is an answer to Workbox, and the caller's affair
  expect(await tab.evaluate(() => fetch('/api/reports', { method: 'POST' }).then((answer) => answer.status))).toBe(503)
})

test('Workbox background sync, after: in a page', async () => {
  using project = consumer({ 'dist/index.html': html, 'main.js': snippets('Workbox background sync')[1] })
  await esbuilt(project)
  await using server = await flakyServer(join(project.folder, 'dist'))
  await using browser = await launch()
  await using tab = await browser.newPage()
  await tab.goto(server.origin)
  await tab.waitForFunction(() => document.title === '202')
  await expect.poll(() => server.hits('/api/reports'), { timeout: 20_000 }).toBe(2)
})
