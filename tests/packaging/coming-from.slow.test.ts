// Every snippet of docs/coming-from.md is run, before and after, against a server whose first answer is a 503.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { newContext } from '../browser/contexts.ts'
import { duringTests } from '../during.ts'
import { onLoopback } from '../loopback.ts'
import { heard, served } from './browser.ts'
import { esbuilt } from './builds.ts'
import { consumer, link } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { blocksOf, docs } from './snippets.ts'

const text = docs('coming-from.md')

const under = (heading: string): readonly string[] =>
  blocksOf(text.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? '', 'js')

/** The snippets under a heading: before, and after. */
function snippets(heading: string): readonly [string, string] {
  const found = under(heading)
  expect(found, `snippets under ${heading}`).toHaveLength(2)
  return found as [string, string]
}

/** The one snippet that is left of a section whose code was another page's before, or differed by an import. */
function only([code = '', ...others]: readonly string[]): string {
  expect(others).toEqual([])
  return code
}

const before = (code: string): string => code.replace(/'[^']+' \/\/ was: ('[^']+')/, '$1')
const serwists = only(under('Serwist'))

const inNode: readonly (readonly [string, readonly string[], string])[] = [
  ['axios-retry', ['axios', 'axios-retry', 'is-retry-allowed'], 'attempt 2'],
  ['ky', ['ky'], 'attempt 2'],
  ['p-retry', ['p-retry', 'is-network-error'], 'attempt 2'],
  ['p-queue', ['p-queue', 'p-retry', 'is-network-error'], 'attempt 2,attempt 2,attempt 2'],
]

test('there is no snippet that no test runs', () => {
  expect(text.match(/```js\n/g)).toHaveLength(2 * inNode.length + 2)
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

const browser = duringTests(() => launch())

const html = '<!doctype html><meta charset="utf-8"><title>t</title><script type="module" src="/main.js"></script>'
const registered = `${html}<script type="module">await navigator.serviceWorker.register('/sw.js')</script>`

test('a service worker of Workbox: a request without an answer waits in its database', async () => {
  const project = consumer({
    'dist/index.html': registered,
    'dist/main.js': '',
    'sw.js': before(blocksOf(docs('compat-workbox.md'), 'js')[0] ?? ''),
  })
  for (const name of ['workbox-background-sync', 'workbox-core', 'idb']) link(project, name)
  const define = { 'process.env.NODE_ENV': '"production"' }
  const site = await served(project, { entryPoints: ['sw.js'], splitting: false, format: 'iife', define })
  const { page: tab } = await heard(browser, site)
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
  const project = consumer({ 'dist/index.html': html, 'main.js': only(under('Workbox background sync')) })
  const server = await served(project)
  const { page: tab } = await heard(browser, server)
  await tab.waitForFunction(() => document.title === '202')
  await expect.poll(() => server.hits('/api/reports'), { timeout: 20_000 }).toBe(2)
})

/** A page under a service worker that is one of the snippets, and a server that can go away. */
async function serwist(code: string) {
  using project = consumer({ 'sw.js': code, 'dist/none': '' })
  for (const name of ['serwist', '@serwist/utils', 'idb']) link(project, name)
  const define = { 'process.env.NODE_ENV': '"production"' }
  await esbuilt(project, { entryPoints: ['sw.js'], splitting: false, format: 'iife', define })
  const script = readFileSync(join(project.folder, 'dist', 'sw.js'))
  const site = { isAway: false, keys: [] as (string | undefined)[] }
  const origin = await onLoopback((request, response) => {
    if (request.url === '/sw.js') return response.writeHead(200, { 'content-type': 'text/javascript' }).end(script)
    if (request.method === 'GET') return response.writeHead(200, { 'content-type': 'text/html' }).end(html)
    if (site.isAway) return request.socket.destroy()
    site.keys.push(request.headers['idempotency-key'] as string | undefined)
    return response.end()
  })
  const tab = await (await newContext(browser)).newPage()
  await tab.goto(origin)
  await tab.evaluate(() =>
    navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready.then(() => {})),
  )
  await tab.reload()
  site.isAway = true
  const post = () => fetch('/api/reports', { method: 'POST', body: 'all is well' }).then(String, () => 'no answer')
  expect(await tab.evaluate(post)).toBe('no answer')
  site.isAway = false
  const waiting = () =>
    tab.evaluate(async () => {
      const names = (await indexedDB.databases()).map(({ name }) => name)
      if (!names.includes('serwist-background-sync')) return 0
      return new Promise<number>((resolve) => {
        const opening = indexedDB.open('serwist-background-sync')
        opening.onsuccess = () => {
          const counting = opening.result.transaction('requests').objectStore('requests').count()
          counting.onsuccess = () => resolve(counting.result)
        }
      })
    })
  return { site, waiting }
}

test('Serwist, before: a request without an answer waits in its database, or is sent without a key', async () => {
  const { site, waiting } = await serwist(before(serwists))
  await expect.poll(async () => (await waiting()) + site.keys.length, { timeout: 20_000 }).toBe(1)
  expect(site.keys.filter((key) => key !== undefined)).toEqual([])
})

test('Serwist, after: redrive sends it, under a key, and Serwist has nothing of it', async () => {
  const { site, waiting } = await serwist(serwists)
  await expect.poll(() => site.keys, { timeout: 40_000 }).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)])
  expect(await waiting()).toBe(0)
})
