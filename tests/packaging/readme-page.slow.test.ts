// The recipes for pages of the README and of docs/recipes.md, each bundled as a user would, in a real browser, with one order. Those that name an API are
// run from a page of another origin than that API's, as most are.

import { expect, test } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { duringTests } from '../during.ts'
import { eventually } from '../js/eventually.ts'
import { type Heard, heard, served } from './browser.ts'
import { consumer, link } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { snippet } from './snippets.ts'

const page = `<!doctype html><meta charset="utf-8"><title>t</title><link rel="icon" href="data:,">
<script type="module" src="/main.js"></script>`

const browser = duringTests(() => launch())

/** A page with the one recipe that holds `word`. `api`: the address in place of the example's. */
async function open(word: string, api?: string): Promise<Heard> {
  const project = consumer({ 'dist/index.html': page, 'main.js': snippet(word, api) })
  link(project, 'axios')
  return await heard(browser, await served(project))
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
