// Each bundler with the settings it has when nobody has set any, its output loaded in a real browser.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as esbuild from 'esbuild'
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { freePort } from '../servers/free-port.ts'
import { aroundTheFirstCall, type PageRun, runPage } from './browser.ts'
import { started } from './children.ts'
import { type Consumer, consumer, expected, inPage, pageOf, program, versioned } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { root } from './pack.ts'
import { tries } from './tries.ts'
import { type Budget, type Weight, weighPage } from './weigh.ts'

/** What every page may load: the entry with its call, then the core's chunk. A bundler adds some hundred bytes of its own. */
const SPLIT: Budget = { before: 9_800, after: 101_000 }
/** Where the bundler makes one file of all, with what a page without a principal never loads. */
const WHOLE: Budget = { before: 183_000, after: 183_000 }

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())
afterEach(() => {
  vi.unstubAllEnvs()
})

/** Loads the page from `origin` and holds it to what every consumer must do. */
async function works(pageUrl: string, api: string): Promise<PageRun> {
  const run = await runPage(browser, `${pageUrl}?api=${encodeURIComponent(api)}`)
  expect(run.answer).toEqual(expected)
  expect(run.errors).toEqual([])
  expect(run.requests.filter((path) => path.endsWith('.wasm'))).toEqual([])
  return run
}

/** The output in `dist/` as a page of its own, which is run and weighed. */
async function served(project: Consumer, budget: Budget): Promise<Weight> {
  await using server = await flakyServer(join(project.folder, 'dist'))
  const run = await works(server.origin, `${server.origin}/api/page`)
  expect(server.hits('/api/page')).toBe(2)
  return weighPage(project, 'dist', aroundTheFirstCall(run), budget)
}

const page = { 'index.html': pageOf('/main.js'), 'main.js': inPage, 'queue.js': program }
const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')

tries(versioned('Vite', 'vite'), 'build', async () => {
  using project = consumer(page)
  await project.run(process.execPath, vite, 'build')
  return await served(project, SPLIT)
})

tries(versioned('Vite', 'vite'), 'dev', async () => {
  using project = consumer(page)
  await using server = await flakyServer()
  const port = await freePort()
  await using _ = await started(project, 'http://', [vite, '--host', '127.0.0.1', '--port', `${port}`, '--strictPort'])
  await works(`http://127.0.0.1:${port}/`, `${server.origin}/api/vite-dev`)
  expect(server.hits('/api/vite-dev')).toBe(2)
  return undefined
})

tries(versioned('webpack', 'webpack'), 'page', async () => {
  using project = consumer({ 'src/index.js': inPage, 'src/queue.js': program })
  const { default: webpack } = await import('webpack')
  const stats = await new Promise<import('webpack').Stats | undefined>((resolve, reject) => {
    const output = { path: join(project.folder, 'dist') } // what its command line does
    const compiler = webpack({ context: project.folder, mode: 'production', output })
    if (compiler === null) return reject(new Error('webpack made no compiler'))
    compiler.run((error, result) => compiler.close(() => (error ? reject(error) : resolve(result))))
  })
  expect(stats?.toJson({ all: false, errors: true, warnings: true })).toMatchObject({ errors: [], warnings: [] })
  writeFileSync(join(project.folder, 'dist', 'index.html'), pageOf('/main.js'))
  return await served(project, SPLIT)
})

const dist = { 'dist/index.html': pageOf('/main.js'), 'main.js': inPage, 'queue.js': program }

async function esbuilt(project: Consumer, options: esbuild.BuildOptions): Promise<void> {
  const given = { absWorkingDir: project.folder, entryPoints: ['main.js'], outdir: 'dist' }
  const result = await esbuild.build({ ...given, bundle: true, format: 'esm', logLevel: 'silent', ...options })
  expect(result.warnings).toEqual([])
}

tries(versioned('esbuild', 'esbuild'), 'page, one file', async () => {
  using project = consumer(dist)
  await esbuilt(project, {})
  return await served(project, WHOLE)
})

tries(versioned('esbuild', 'esbuild'), 'page, --splitting', async () => {
  using project = consumer(dist)
  await esbuilt(project, { splitting: true, minify: true })
  return await served(project, SPLIT)
})

tries(versioned('Rollup', 'rollup'), 'page, with plugin-node-resolve', async () => {
  using project = consumer(dist)
  const { rollup } = await import('rollup')
  const { nodeResolve } = await import('@rollup/plugin-node-resolve')
  // the test runner's own would mean a build for development
  vi.stubEnv('NODE_ENV', undefined)
  const warnings: string[] = []
  const bundle = await rollup({
    input: join(project.folder, 'main.js'),
    plugins: [nodeResolve()],
    onwarn: ({ message }) => warnings.push(message),
  })
  await bundle.write({ dir: join(project.folder, 'dist') })
  await bundle.close()
  expect(warnings).toEqual([])
  return await served(project, SPLIT)
})
