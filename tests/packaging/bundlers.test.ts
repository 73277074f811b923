// Each bundler with the settings it has when nobody has set any, its output loaded in a real browser.

import { join } from 'node:path'
import { expect } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { duringTests } from '../during.ts'
import { freePort } from '../servers/free-port.ts'
import { SIZE } from '../size.ts'
import { aroundTheFirstCall, type PageRun, runPage } from './browser.ts'
import { esbuilt, rolled, viteBuilt, webpacked } from './builds.ts'
import { started } from './children.ts'
import { type Consumer, consumer, expected, inPage, pageOf, program, versioned } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { root } from './pack.ts'
import { tries } from './tries.ts'
import { type Budget, weighPage } from './weigh.ts'

/** What every page may load: the entry with its call, then the core's chunk. A bundler adds some hundred bytes of its own. */
const SPLIT: Budget = { before: 10_850, after: 112_500 }
/** Where the bundler makes one file of all, with what a page without a principal never loads. */
const WHOLE: Budget = { before: 197_300, after: 197_300 }

const browser = duringTests(() => launch())

/** Loads the page from `origin` and holds it to what every consumer must do. */
async function works(pageUrl: string, api: string): Promise<PageRun> {
  const run = await runPage(browser, `${pageUrl}?api=${encodeURIComponent(api)}`)
  expect(run.answer).toEqual(expected)
  expect(run.errors).toEqual([])
  expect(run.requests.filter((path) => path.endsWith('.wasm'))).toEqual([])
  return run
}

const page = { 'index.html': pageOf('/main.js'), 'main.js': inPage, 'queue.js': program }
const dist = { 'dist/index.html': pageOf('/main.js'), 'main.js': inPage, 'queue.js': program }
const src = { 'src/index.js': inPage, 'src/queue.js': program }

type Row = readonly [
  title: string,
  what: string,
  files: Readonly<Record<string, string>>,
  build: (project: Consumer) => Promise<unknown>,
  budget: Budget,
]
const rows: readonly Row[] = [
  ['Vite', 'build', page, viteBuilt, SPLIT],
  ['webpack', 'page', src, webpacked, SPLIT],
  ['esbuild', 'page, one file', dist, (project) => esbuilt(project, { splitting: false }), WHOLE],
  ['esbuild', 'page, --splitting', dist, (project) => esbuilt(project, { minify: true }), SPLIT],
  ['Rollup', 'page, with plugin-node-resolve', dist, rolled, SPLIT],
]

for (const [title, what, files, build, budget] of SIZE === 'quick' ? rows.slice(0, 1) : rows) {
  tries(versioned(title, title.toLowerCase()), what, async () => {
    using project = consumer(files)
    await build(project)
    await using server = await flakyServer(join(project.folder, 'dist'))
    const run = await works(server.origin, `${server.origin}/api/page`)
    expect(server.hits('/api/page')).toBe(2)
    return weighPage(project, 'dist', aroundTheFirstCall(run), budget)
  })
}

if (SIZE !== 'quick') {
  tries(versioned('Vite', 'vite'), 'dev', async () => {
    using project = consumer(page)
    await using server = await flakyServer()
    const port = await freePort()
    const vite = [join(root, 'node_modules', 'vite', 'bin', 'vite.js'), '--host', '127.0.0.1', '--port', `${port}`]
    await using _ = await started(project, 'http://', [...vite, '--strictPort'])
    await works(`http://127.0.0.1:${port}/`, `${server.origin}/api/vite-dev`)
    expect(server.hits('/api/vite-dev')).toBe(2)
  })
}
