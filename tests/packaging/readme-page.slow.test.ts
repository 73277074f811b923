// The recipes for pages of the README and of docs/recipes.md, each bundled as a user would, in a real browser, with one order. Those that name an API are
// run from a page of another origin than that API's, as most are.

import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { duringTests } from '../during.ts'
import { eventually } from '../js/eventually.ts'
import { esbuilt } from './builds.ts'
import { consumer, link } from './consumer.ts'
import { type FlakyServer, flakyServer } from './flaky-server.ts'
import { snippet } from './snippets.ts'

const page = `<!doctype html><meta charset="utf-8"><title>t</title><link rel="icon" href="data:,">
<script type="module" src="/main.js"></script>`

const browser = duringTests(() => launch())

interface Tab {
  readonly page: Page
  /** What the recipe and the package have written to the console. */
  readonly said: readonly string[]
  readonly site: FlakyServer
}

/** A page with the one recipe that holds `word`. `api`: the address in place of the example's. */
async function open(word: string, api?: string): Promise<Tab> {
  const project = consumer({ 'dist/index.html': page, 'main.js': snippet(word, api) })
  onTestFinished(() => project[Symbol.dispose]())
  link(project, 'axios')
  await esbuilt(project)
  const site = await flakyServer(join(project.folder, 'dist'))
  onTestFinished(() => site[Symbol.asyncDispose]())
  const tab = await browser.newPage()
  onTestFinished(() => tab.close())
  const said: string[] = []
  // a request that fails is told of by the browser itself
  tab.on(
    'console',
    (message) => void (message.text().startsWith('Failed to load resource') || said.push(message.text())),
  )
  tab.on('pageerror', (error) => said.push(String(error)))
  await tab.goto(site.origin)
  return { page: tab, said, site }
}

test.each([
  ['fetch', 'wrapFetch(new RetryQueue())', '/orders/1', ['200']],
  ['Axios', 'attachToAxios(', '/orders', ['attempt 2']],
  ['requests that survive the page', "principal: 'user-4711', // the user", '/reports', ['SUCCEEDED']],
])('the recipe of %s, from another origin than its API', async (_, word, path, answers) => {
  await using api = await flakyServer()
  // the recipes name no path of the API's own
  const { said } = await open(word, api.origin)
  await eventually(() => said).toEqual(answers)
  expect(api.hits(path)).toBe(2)
})
