// The snippet of docs/compat-axios-retry.md as it stands, and with a queue, by `import`, by `require` and in a page, against a server whose
// first answer is a 503.
import { expect, test } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { duringTests } from '../during.ts'
import { heard, served } from './browser.ts'
import { consumer, link, versioned } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { blocksOf, docs, toServer } from './snippets.ts'
import { tries } from './tries.ts'

const page = docs('compat-axios-retry.md')
const snippets = blocksOf(page, 'js')
const [first = ''] = snippets
/** As the page says it. */
const withQueue = `import { RetryQueue } from 'redrive'\n${first}`.replace(
  'axiosRetry(api, {',
  'axiosRetry(api, { queue: new RetryQueue(),',
)

/** What a program prints that calls a server at `origin`. */
async function printed(name: string, code: string): Promise<string> {
  using project = consumer({ [name]: code })
  link(project, 'axios')
  return (await project.run(process.execPath, name)).trim()
}

const required = (code: string): string =>
  code
    .replace(/^import axiosRetry from (.*)$/m, 'const { default: axiosRetry } = require($1)')
    .replace(/^import (.*) from (.*)$/gm, 'const $1 = require($2)')
    .replace(/(const api = .*)/s, ';(async () => {\n$1\n})()')

test('there is one snippet, and the page shows how it is required and given a queue', () => {
  expect(snippets).toHaveLength(1)
  expect(page).toContain('`axiosRetry(api, { queue })`')
  expect(page).toContain("const { default: axiosRetry } = require('redrive/compat/axios-retry')")
})

const axios = versioned('Axios', 'axios')
const ways = [
  ['imported', 'main.mjs', first],
  ['with a queue, imported', 'main.mjs', withQueue],
  ['required', 'main.cjs', required(first)],
  ['with a queue, required', 'main.cjs', required(withQueue)],
] as const

for (const [way, name, code] of ways) {
  tries(axios, `redrive/compat/axios-retry: ${way}`, async () => {
    await using server = await flakyServer()
    expect(await printed(name, toServer(code, `${server.origin}/api`))).toBe('attempt 2')
    expect(server.hits('/api/orders/1')).toBe(2)
  })
}

const browser = duringTests(() => launch())

tries(axios, 'redrive/compat/axios-retry: in a page, bundled by esbuild', async () => {
  const html = '<!doctype html><meta charset="utf-8"><title>t</title><script type="module" src="/main.js"></script>'
  const code = first.replace('https://api.example.com', '/api').replace('console.log(data)', 'document.title = data')
  const project = consumer({ 'dist/index.html': html, 'main.js': code })
  link(project, 'axios')
  const server = await served(project)
  const { page: tab } = await heard(browser, server)
  await tab.waitForFunction(() => document.title === 'attempt 2')
  expect(server.hits('/api/orders/1')).toBe(2)
})
