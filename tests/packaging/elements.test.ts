// redrive/ui as pages get it: through each bundler with its own settings, the lab computes, in its Worker where the bundler brings the file along and on
// the page where it does not; and a server that renders a page may import it.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as esbuild from 'esbuild'
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { runPage } from './browser.ts'
import { type Consumer, consumer, pageOf, versioned } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { root } from './pack.ts'
import { tries } from './tries.ts'

/** Waits for the crowd's table, and says what is in it, and whether a Worker had a part in it. */
const main = `
import { RedriveCurve } from 'redrive/ui'

let inWorker = false
globalThis.Worker = class extends Worker {
  constructor(...args) {
    super(...args)
    this.addEventListener('message', () => { inWorker = true })
  }
}
const lab = document.createElement('redrive-curve')
lab.view = 'crowd'
document.body.append(lab)
const look = () => {
  const rows = lab.shadowRoot?.querySelectorAll('#table tbody tr').length
  const failure = lab.shadowRoot?.querySelector('[role=alert]')?.textContent
  const title = lab.shadowRoot?.querySelector('h2')?.textContent
  if (failure || (title?.startsWith('100 jobs') && rows > 0)) globalThis.answer = { isOurs: lab instanceof RedriveCurve, title, rows, failure, inWorker }
  else requestAnimationFrame(look)
}
look()
`
const expected = { isOurs: true, title: '100 jobs that fail together', rows: 4 }

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())
afterEach(() => {
  vi.unstubAllEnvs()
})

/** Runs the output in `dist/`. */
async function computes(project: Consumer, { inWorker }: { readonly inWorker: boolean }): Promise<void> {
  await using server = await flakyServer(join(project.folder, 'dist'))
  const run = await runPage(browser, `${server.origin}/`)
  expect(run.answer).toEqual({ ...expected, inWorker })
  expect(run.errors).toEqual([])
  expect(run.requests.filter((path) => path.endsWith('.wasm'))).toEqual([])
}

const page = { 'index.html': pageOf('/main.js'), 'main.js': main }

tries(versioned('Vite', 'vite'), 'redrive/ui', async () => {
  using project = consumer(page)
  await project.run(process.execPath, join(root, 'node_modules', 'vite', 'bin', 'vite.js'), 'build')
  await computes(project, { inWorker: true })
  return undefined
})

tries(versioned('webpack', 'webpack'), 'redrive/ui', async () => {
  using project = consumer({ 'src/index.js': main })
  const { default: webpack } = await import('webpack')
  const stats = await new Promise<import('webpack').Stats | undefined>((resolve, reject) => {
    const compiler = webpack({
      context: project.folder,
      mode: 'production',
      output: { path: join(project.folder, 'dist') },
    })
    if (compiler === null) return reject(new Error('webpack made no compiler'))
    compiler.run((error, result) => compiler.close(() => (error ? reject(error) : resolve(result))))
  })
  expect(stats?.toJson({ all: false, errors: true }).errors).toEqual([])
  writeFileSync(join(project.folder, 'dist', 'index.html'), pageOf('/main.js'))
  await computes(project, { inWorker: true })
  return undefined
})

tries(versioned('esbuild', 'esbuild'), 'redrive/ui', async () => {
  using project = consumer({ 'dist/index.html': pageOf('/main.js'), 'main.js': main })
  const result = await esbuild.build({
    absWorkingDir: project.folder,
    entryPoints: ['main.js'],
    outdir: 'dist',
    bundle: true,
    splitting: true,
    format: 'esm',
    logLevel: 'silent',
  })
  expect(result.warnings).toEqual([])
  await computes(project, { inWorker: false })
  return undefined
})

tries(versioned('Rollup', 'rollup'), 'redrive/ui', async () => {
  using project = consumer({ 'dist/index.html': pageOf('/main.js'), 'main.js': main })
  const { rollup } = await import('rollup')
  const { nodeResolve } = await import('@rollup/plugin-node-resolve')
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
  await computes(project, { inWorker: false })
  return undefined
})

test('a server that renders gets the same names, and defines nothing', async () => {
  using project = consumer({
    'main.mjs':
      "import * as ui from 'redrive/ui'\nconsole.log(JSON.stringify({ names: Object.keys(ui), registry: typeof customElements }))",
  })
  using inBrowser = consumer({ 'main.js': "import * as ui from 'redrive/ui'\nexport const names = Object.keys(ui)" })
  const { names, registry } = (await project.node('main.mjs')) as { names: string[]; registry: string }
  const built = await esbuild.build({
    absWorkingDir: inBrowser.folder,
    entryPoints: ['node_modules/redrive/ui.js'],
    bundle: true,
    splitting: true,
    outdir: 'dist',
    format: 'esm',
    metafile: true,
    logLevel: 'silent',
  })
  expect(registry).toBe('undefined')
  expect(names.sort()).toEqual(built.metafile.outputs['dist/ui.js']?.exports.sort())
})
