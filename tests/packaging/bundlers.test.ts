// Each bundler with the settings it has when nobody has set any, its output loaded in a real browser.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import * as esbuild from 'esbuild'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { runPage } from './browser.ts'
import { type Consumer, consumer, expected, program } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { root } from './pack.ts'

const main = `
import { main } from './queue.js'
const api = new URLSearchParams(location.search).get('api')
main(api).then((answer) => { globalThis.answer = answer }, (error) => { globalThis.failure = String(error?.stack ?? error) })
`
const page = (script: string) =>
  `<!doctype html><meta charset="utf-8"><title>t</title><script type="module" src="${script}"></script>`

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

/** Loads the page from `origin` and holds it to what every consumer must do. */
async function works(pageUrl: string, api: string) {
  const { answer, errors, requests } = await runPage(browser, `${pageUrl}?api=${encodeURIComponent(api)}`)
  expect(answer).toEqual(expected)
  expect(errors).toEqual([])
  expect(requests.filter((path) => path.endsWith('.wasm'))).toEqual([])
}

const wasmFiles = (project: Consumer, folder: string) => project.files(folder).filter((name) => name.endsWith('.wasm'))
const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')

/** Runs a program of the repository in the project, with no environment but the one every shell has. */
function start(project: Consumer, ...args: readonly string[]): ChildProcess {
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' }
  return spawn(process.execPath, args, { cwd: project.folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
}

test('vite build', async () => {
  using project = consumer({ 'index.html': page('/main.js'), 'main.js': main, 'queue.js': program })
  const child = start(project, vite, 'build')
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      output += chunk
    })
  const [code] = await once(child, 'close')
  expect(code, output).toBe(0)
  expect(wasmFiles(project, 'dist')).toEqual([])
  await using server = await flakyServer(join(project.folder, 'dist'))
  await works(server.origin, `${server.origin}/api/vite-build`)
  expect(server.hits('/api/vite-build')).toBe(2)
})

test('vite dev', async () => {
  using project = consumer({ 'index.html': page('/main.js'), 'main.js': main, 'queue.js': program })
  await using server = await flakyServer()
  const port = await freePort()
  const child = start(project, vite, '--host', '127.0.0.1', '--port', String(port), '--strictPort')
  try {
    await listening(child)
    await works(`http://127.0.0.1:${port}/`, `${server.origin}/api/vite-dev`)
    expect(server.hits('/api/vite-dev')).toBe(2)
  } finally {
    child.kill()
    await once(child, 'close')
  }
})

test('webpack 5', async () => {
  using project = consumer({ 'src/index.js': main, 'src/queue.js': program })
  const { default: webpack } = await import('webpack')
  const stats = await new Promise<import('webpack').Stats | undefined>((resolve, reject) => {
    const output = { path: join(project.folder, 'dist') } // what its command line does
    const compiler = webpack({ context: project.folder, mode: 'production', output })
    if (compiler === null) return reject(new Error('webpack made no compiler'))
    compiler.run((error, result) => compiler.close(() => (error ? reject(error) : resolve(result))))
  })
  expect(stats?.toJson({ all: false, errors: true, warnings: true })).toMatchObject({ errors: [], warnings: [] })
  expect(wasmFiles(project, 'dist')).toEqual([])
  await using server = await flakyServer(join(project.folder, 'dist'))
  writeFileSync(join(project.folder, 'dist', 'index.html'), page('/main.js'))
  await works(server.origin, `${server.origin}/api/webpack`)
  expect(server.hits('/api/webpack')).toBe(2)
})

test('esbuild', async () => {
  using project = consumer({ 'dist/index.html': page('/main.js'), 'main.js': main, 'queue.js': program })
  const result = await esbuild.build({
    absWorkingDir: project.folder,
    entryPoints: ['main.js'],
    bundle: true,
    format: 'esm',
    outdir: 'dist',
    logLevel: 'silent',
  })
  expect(result.warnings).toEqual([])
  expect(wasmFiles(project, 'dist')).toEqual([])
  await using server = await flakyServer(join(project.folder, 'dist'))
  await works(server.origin, `${server.origin}/api/esbuild`)
  expect(server.hits('/api/esbuild')).toBe(2)
})

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}

/** Resolves when the dev server says where it listens; rejects with what it said instead. */
function listening(child: ChildProcess): Promise<void> {
  let output = ''
  return new Promise((resolve, reject) => {
    const hear = (chunk: unknown) => {
      output += String(chunk)
      if (output.includes('http://')) resolve()
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
    child.on('close', () => reject(new Error(`vite ended: ${output}`)))
  })
}
