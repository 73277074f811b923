// Users' tests of code that retries, as their own test runners and mocks run it: the snippets of docs/testing-your-code.md as they stand, and
// the same test in other ways of setting it up.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { chromiumPath, quiet } from '../../browser/chromium.ts'
import { freePort } from '../../servers/free-port.ts'
import { type Consumer, consumer, link } from '../consumer.ts'
import { root } from '../pack.ts'
import { tries } from '../tries.ts'
import { consumersFolder, installed, modules, program } from './installed.ts'

type Files = Readonly<Record<string, string>>

const page = readFileSync(join(root, 'docs', 'testing-your-code.md'), 'utf8')

/** The blocks of a text that begin with their names. */
const filesOf = (text: string): Files =>
  Object.fromEntries(
    [...text.matchAll(/^```\w+\n(?:\/\/|<!--) (\S+\.\w+)(?: -->)?\n(.*?)^```$/gms)].map(([, name = '', code = '']) => [
      name,
      code,
    ]),
  )

const [intro = '', ...parts] = page.split(/^##+ /m)
const { 'orders.js': orders = '' } = filesOf(intro)
const sections = new Map(parts.map((text) => [text.slice(0, text.indexOf('\n')), filesOf(text)]))

const snippet = (heading: string, name = 'orders.test.js'): string => {
  const code = sections.get(heading)?.[name]
  if (code === undefined) throw new Error(`${heading} has no ${name}`)
  return code
}

const ESM = '{ "type": "module" }'
const esm = (heading: string): Files => ({ 'package.json': ESM, 'orders.js': orders, ...sections.get(heading) })
/** As the page says it: the test of Vitest without its import, and with `jest` for `vi`. */
const jestTest = snippet('Vitest')
  .replace(/^import .*'vitest'\n/m, '')
  .replaceAll('vi', 'jest')

/** `node_modules/.bin` of a consumer, which `npx` looks into. */
const node = (file: string, ...args: readonly string[]) => [process.execPath, file, ...args] as const
const vitest = (...args: readonly string[]) =>
  node(join(modules, 'vitest', 'vitest.mjs'), 'run', '--no-color', '--reporter=verbose', ...args)
const jest = (...args: readonly string[]) =>
  node(join(modules, 'jest', 'bin', 'jest.js'), '--colors=false', '--ci', ...args)

const PASSED = /Tests +1 passed \(1\)/
/** Jest says it on stderr, with the results. */
const JEST_PASSED = /Tests: +1 passed, 1 total/

interface Row {
  readonly tool: string
  readonly what: string
  readonly files: Files
  readonly words: readonly string[]
  readonly says?: RegExp
  /** Packages that it does not find in a folder above. */
  readonly linked?: readonly string[]
}

const vitestRow = (tool: string, what: string, files: Files, ...args: readonly string[]): Row => ({
  ...{ tool, what, files, says: PASSED },
  words: vitest(...args),
})
const jestRow = (what: string, files: Files, ...args: readonly string[]): Row => ({
  ...{ tool: installed('Jest', 'jest'), what, files, says: JEST_PASSED },
  words: jest(...args),
})

const required = (code: string): string => code.replace(/^import (.*) from (.*)$/gm, 'const $1 = require($2)')
const plainJest: Files = {
  'package.json': '{}',
  'orders.js': required(orders)
    .replace('export const queue', 'const queue')
    .replace('export async function order', 'exports.order = async function order'),
  'orders.test.js': required(jestTest),
}
const typed: Files = {
  'package.json': '{}',
  'tsconfig.json':
    '{ "compilerOptions": { "target": "es2022", "module": "esnext", "moduleResolution": "bundler", "strict": true, "types": ["jest", "node"] } }',
  'jest.config.js': "module.exports = { preset: 'ts-jest' }",
  'orders.ts': orders.replace('order(id)', 'order(id: number)'),
  'orders.test.ts': jestTest.replace('./orders.js', './orders'),
}
/** jsdom has no fetch and no Response: what a user of it writes by hand. */
const byHand: Files = {
  ...plainJest,
  'orders.test.js': `
    const { order } = require('./orders')
    test('an order is asked for again', async () => {
      globalThis.fetch = jest.fn()
        .mockResolvedValueOnce({ ok: false, status: 503 })
        .mockResolvedValueOnce({ ok: true, status: 200, json: async () => ({ sku: 'A-1' }) })
      expect(await order(1)).toEqual({ sku: 'A-1' })
      expect(fetch).toHaveBeenCalledTimes(2)
    })`,
}
const byAxios: Files = {
  ...plainJest,
  'orders.test.js': required(
    snippet('axios-mock-adapter')
      .replace(/^.*'vitest'\n/m, '')
      .replace('import axios', 'import { default: axios }'),
  ),
}
/** A call that waits for the network, in a page whose events and signals are of two kinds. */
const offline: Files = {
  ...plainJest,
  'orders.test.js': `
    const { order } = require('./orders')
    test('an order is asked for once the network is back', async () => {
      let isOnline = false
      Object.defineProperty(navigator, 'onLine', { get: () => isOnline })
      const lost = new Promise((resolve) => {
        globalThis.fetch = async () => {
          if (isOnline) return Response.json({ sku: 'A-1' })
          resolve()
          throw new TypeError('fetch failed')
        }
      })
      const waiting = order(1)
      await lost
      isOnline = true
      window.dispatchEvent(new Event('online'))
      expect(await waiting).toEqual({ sku: 'A-1' })
    })`,
}
const stubbed = snippet('Vitest')
  .replace(".spyOn(globalThis, 'fetch')", '.fn()')
  .replace('  expect(await order', "  vi.stubGlobal('fetch', fetch)\n  expect(await order")
const moxios = `
import axios from 'axios'
import moxios from 'moxios'
import { RetryQueue } from 'redrive'
import { attachToAxios } from 'redrive/axios'
import { expect, test } from 'vitest'

const api = axios.create({ baseURL: 'https://api.example.com' })
attachToAxios(api, new RetryQueue())

test('an order is asked for again', async () => {
  moxios.install(api)
  moxios.stubOnce('GET', '/orders/1', { status: 503 })
  const answer = api.get('/orders/1')
  await new Promise((resolve) => moxios.wait(resolve))
  moxios.stubs.reset()
  moxios.stubRequest('/orders/1', { status: 200, response: { sku: 'A-1' } })
  expect((await answer).data).toEqual({ sku: 'A-1' })
})
`
const tool = {
  vitest: installed('Vitest', 'vitest'),
  msw: installed('MSW', 'msw'),
  nock: installed('nock', 'nock'),
  undici: installed('MockAgent of undici', 'undici'),
  adapter: installed('axios-mock-adapter', 'axios-mock-adapter'),
  happy: installed('happy-dom', 'happy-dom'),
}
const vitestFiles = esm('Vitest')

const rows: readonly Row[] = [
  vitestRow(tool.vitest, 'vi.spyOn', vitestFiles),
  vitestRow(tool.vitest, 'vi.stubGlobal', { ...vitestFiles, 'orders.test.js': stubbed }),
  vitestRow(tool.vitest, 'redrive/testing', esm('Fake time and a fake server')),
  vitestRow(installed('jsdom', 'jsdom'), 'vi.spyOn', vitestFiles, '--environment=jsdom'),
  vitestRow(tool.happy, 'vi.spyOn', vitestFiles, '--environment=happy-dom'),
  // happy-dom's own fetch asks by OPTIONS first, and MSW has no answer to that
  ...['node', 'jsdom'].map((name) => vitestRow(tool.msw, `in ${name}`, esm('MSW'), `--environment=${name}`)),
  ...['node', 'jsdom', 'happy-dom'].map((name) =>
    vitestRow(tool.adapter, `in ${name}`, esm('axios-mock-adapter'), `--environment=${name}`),
  ),
  vitestRow(installed('MSW', 'msw-2'), 'in node', {
    ...esm('MSW'),
    'orders.test.js': snippet('MSW').replaceAll("from 'msw", "from 'msw-2"),
  }),
  vitestRow(tool.nock, 'in node', esm('nock')),
  vitestRow(tool.undici, 'in node', esm('MockAgent')),
  vitestRow(installed('moxios', 'moxios'), 'in node', { ...esm('nock'), 'orders.test.js': moxios }),
  jestRow('default settings', plainJest),
  jestRow('babel-jest', {
    ...{ 'package.json': '{}', 'orders.js': orders, 'orders.test.js': jestTest },
    ...sections.get('Jest'),
  }),
  jestRow('ts-jest', typed),
  jestRow('jest-environment-jsdom', byHand, '--env=jsdom'),
  jestRow('jest-environment-jsdom, axios-mock-adapter', byAxios, '--env=jsdom'),
  jestRow('jest-fixed-jsdom', plainJest, '--env=jest-fixed-jsdom'),
  jestRow('jest-fixed-jsdom, offline', offline, '--env=jest-fixed-jsdom'),
  {
    ...{ tool: `Node ${process.versions.node}`, what: 'node --test', files: esm('node:test'), says: /pass 1\b/ },
    words: node('--test', '--test-reporter=tap'),
  },
  {
    ...{ tool: installed('Deno', 'deno'), what: 'deno test', says: /1 passed \| 0 failed/, linked: ['@types/node'] },
    files: { ...esm('node:test'), 'package.json': '{ "type": "module", "devDependencies": { "@types/node": "*" } }' },
    words: [program('@deno', 'deno', 'DENO_PATH'), 'test', '--no-remote', '--allow-all'],
  },
  {
    ...{ tool: installed('Bun', 'bun'), what: 'bun test', files: vitestFiles, says: /1 pass\b/ },
    words: [program('@oven', 'bin/bun', 'BUN_PATH'), 'test'],
  },
  {
    ...{
      tool: installed('Vitest plugin for Workers', '@cloudflare/vitest-plugin'),
      what: 'vitest run',
      says: PASSED,
    },
    files: { ...vitestFiles, ...sections.get('Workers') },
    words: node(join(modules, 'vitest', 'vitest.mjs'), 'run', '--no-color'),
  },
]

/** Both outputs of a row's program: Jest, Bun and Deno tell their results on stderr. */
async function outputOf(project: Consumer, [file = '', ...args]: readonly string[]): Promise<string> {
  return project.run('/bin/sh', '-c', '"$0" "$@" 2>&1', file, ...args)
}

for (const { tool, what, files, words, says = /./, linked = [] } of rows) {
  tries(tool, what, async () => {
    using project = consumer(files, consumersFolder)
    for (const name of linked) link(project, name, modules)
    const output = await outputOf(project, words)
    expect(output).toMatch(says)
    // what keeps a process alive
    expect(output).not.toMatch(/did not exit|degraded|core_unreachable/)
  })
}

tries(installed('Playwright', '@playwright/test'), 'playwright test', async () => {
  const port = await freePort()
  const html = `<!doctype html><script type="module">
    import { order } from './orders.js'
    document.body.textContent = (await order(1)).sku
  </script>`
  const url = `http://127.0.0.1:${port}`
  const vite = `node ${join(root, 'node_modules', 'vite', 'bin', 'vite.js')} --host 127.0.0.1 --port ${port} --strictPort`
  const settings = {
    use: { baseURL: url, launchOptions: { executablePath: chromiumPath(), args: quiet } },
    webServer: { command: vite, url },
  }
  const config = `export default ${JSON.stringify(settings)}`
  using project = consumer(
    { ...esm('Playwright'), 'index.html': html, 'playwright.config.js': config },
    consumersFolder,
  )
  const cli = join(modules, '@playwright', 'test', 'cli.js')
  expect(await outputOf(project, node(cli, 'test', '--reporter=line'))).toMatch(/1 passed/)
})

test('each section of the page with a test of its own is run', () => {
  const ran = new Set(rows.flatMap(({ files }) => Object.values(files)))
  const own = [...sections].filter(([heading]) => heading !== 'Playwright')
  const left = own.flatMap(([heading, files]) =>
    Object.entries(files)
      .filter(([, code]) => !ran.has(code))
      .map(([name]) => `${heading}: ${name}`),
  )
  expect(left).toEqual([])
})
