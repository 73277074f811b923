// Every snippet of docs/index.md and docs/guide/ is run as it stands, against the packed package and a server whose first answer is a 503.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { newContext } from '../browser/contexts.ts'
import { duringTests } from '../during.ts'
import { eventually } from '../js/eventually.ts'
import { served } from './browser.ts'
import { consumer } from './consumer.ts'
import { type FlakyServer, flakyServer } from './flaky-server.ts'
import { root } from './pack.ts'
import { blocksOf, docs, eachOnce, toServer } from './snippets.ts'

const guides = readdirSync(join(root, 'docs', 'guide')).filter((name) => name.endsWith('.md'))
const pages = ['index.md', ...guides.map((name) => `guide/${name}`)]
const snippets = eachOnce(pages.flatMap((name) => blocksOf(docs(name), 'js')))

/** The one snippet of a page that has `word`. */
const snippet = (name: string, word: string): string => snippets.take(word, blocksOf(docs(name), 'js'))

/** What a snippet prints in Node, to a server of its own. */
async function printed(code: string, api: FlakyServer): Promise<string> {
  using project = consumer({ 'main.mjs': toServer(code, api.origin) })
  return await project.run(process.execPath, 'main.mjs')
}

test('the first retry prints what is shown', async () => {
  await using api = await flakyServer()
  const [shown = ''] = blocksOf(docs('guide/first-retry.md'), 'text')
  expect(await printed(snippet('guide/first-retry.md', "queue.on('retry'"), api)).toBe(shown)
  expect(api.hits('/orders')).toBe(2)
})

test('the reason why a call was given up is the one that is shown', async () => {
  await using api = await flakyServer()
  const [, shown = ''] = blocksOf(docs('guide/first-retry.md'), 'text')
  expect(await printed(snippet('guide/first-retry.md', 'redriveOf(response)'), api)).toBe(shown)
})

test('handed over, with what was done and why', async () => {
  await using api = await flakyServer()
  const lines = (await printed(snippet('guide/first-retry.md', 'queue.explain(taskId)'), api)).trim().split('\n')
  const kinds = lines.map((line) => line.split(':')[0])
  expect(kinds).toEqual(['queued', 'attempt', 'retry', 'attempt', 'succeeded', 'SUCCEEDED'])
})

test('Node: an order of a process that is gone is delivered by another', async () => {
  await using api = await flakyServer()
  const files = ['order.mjs', 'deliver.mjs'].map((name): [string, string] => [
    name,
    toServer(snippet('guide/node.md', `// ${name}`), api.origin),
  ])
  using project = consumer(Object.fromEntries(files))
  expect(await project.run(process.execPath, 'order.mjs')).toBe('strict\n')
  expect(await project.run(process.execPath, 'deliver.mjs')).toBe('delivered POST /orders\n')
})

const html = `<!doctype html><meta charset="utf-8"><title>t</title><link rel="icon" href="data:,"><body>
<form><input name="place"><button>Send</button></form><script type="module" src="/main.js"></script>`

const browser = duringTests(() => launch())

/** A site whose page is one snippet, and a browser to open it in. */
async function siteOf(code: string): Promise<{
  readonly site: FlakyServer
  readonly context: BrowserContext
  open(): Promise<Page>
}> {
  const site = await served(consumer({ 'dist/index.html': html, 'main.js': code }))
  const context = await newContext(browser)
  const open = async (): Promise<Page> => {
    const tab = await context.newPage()
    await tab.goto(site.origin)
    return tab
  }
  return { site, context, open }
}

test('the code of the home page', async () => {
  const { site, open } = await siteOf(snippet('index.md', 'new RetryQueue'))
  const tab = await open()
  await tab.waitForFunction(() => document.title === 'SUCCEEDED')
  expect(site.hits('/api/orders')).toBe(2)
})

test('offline: a report is kept without a network, and delivered once there is one', async () => {
  const { site, context, open } = await siteOf(snippet('guide/offline.md', "addEventListener('submit'"))
  const tab = await open()
  await tab.waitForFunction(() => document.title === '0 waiting')
  await context.setOffline(true)
  await tab.click('button')
  await tab.waitForSelector('form[data-kept="strict"]')
  await tab.waitForFunction(() => document.title === '1 waiting')
  expect(site.hits('/api/reports')).toBe(0)
  await context.setOffline(false)
  await tab.waitForFunction(() => document.title === '0 waiting')
  expect(site.hits('/api/reports')).toBe(2)
})

test('many tabs: one order, whichever tab hands it over and sends it', async () => {
  const { site, open } = await siteOf(snippet('guide/many-tabs.md', 'idempotencyKey'))
  const tabs = [await open(), await open(), await open()]
  for (const tab of tabs) await tab.waitForFunction(() => document.title === 'SUCCEEDED')
  const first = await Promise.all(tabs.map((tab) => tab.evaluate(() => document.body.dataset.first)))
  expect(first.filter((word) => word === 'true')).toHaveLength(1)
  await eventually(() => site.hits('/api/orders')).toBe(2)
})

test('there is no snippet that no test has run', () => {
  expect(snippets.left()).toEqual([])
})
