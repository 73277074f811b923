import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { consumer, link } from './consumer.ts'
import { root, tarball, unpacked } from './pack.ts'

const manifest = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8'))

test('the tarball holds code, types and papers, and nothing else', () => {
  const files = readdirSync(unpacked, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name)
  const strangers = files.filter(
    (name) => !/\.(js|d\.ts|wasm)$|^(package\.json|README\.md|CHANGELOG\.md|LICENSE-(MIT|APACHE))$/.test(name),
  )
  expect(strangers).toEqual([])
  expect(files.filter((name) => name.endsWith('.wasm')).sort()).toEqual(['redrive-keys.wasm', 'redrive.wasm'])
  // the service worker's entry holds all the rest once more: it may not import() anything
  expect(statSync(tarball()).size).toBeLessThan(300_000)
})

test('it needs no other package at run time', () => {
  expect(manifest.dependencies).toBeUndefined()
  const peers = ['@opentelemetry/api', 'axios', 'prom-client']
  expect(Object.keys(manifest.peerDependencies)).toEqual(peers)
  expect(manifest.peerDependenciesMeta).toEqual(Object.fromEntries(peers.map((name) => [name, { optional: true }])))
})

test('its version is the one of Cargo.toml', () => {
  expect(readFileSync(join(root, 'Cargo.toml'), 'utf8')).toContain(`version = "${manifest.version}"`)
})

test('the conditions of an entry are types, workerd, default, in this order', () => {
  for (const entry of ['.', './core']) {
    expect(Object.keys(manifest.exports[entry])).toEqual(['types', 'workerd', 'default'])
  }
})

test.for(['nodenext', 'bundler'])(
  'its types hold under moduleResolution %s, libraries checked too',
  async (resolution) => {
    const module = resolution === 'nodenext' ? 'nodenext' : 'esnext'
    const compilerOptions = {
      target: 'es2022',
      lib: ['es2023', 'esnext.disposable', 'dom', 'dom.iterable'],
      module,
      moduleResolution: resolution,
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      types: [],
    }
    using project = consumer({
      'package.json': '{ "type": "module" }',
      'tsconfig.json': JSON.stringify({ compilerOptions, files: ['main.ts'] }),
      'main.ts': `
      import { presets, type RetryTask, RetryQueue, type TaskStore } from 'redrive'
      import { registerBackgroundSync } from 'redrive/background-sync'
      import { loadCore } from 'redrive/core'
      import { wrapFetch } from 'redrive/fetch'
      import { closeOnSignals } from 'redrive/node'
      import { metricsOf, type QueueMetrics } from 'redrive/prometheus'
      import { attachOpenTelemetry, type OpenTelemetryOptions } from 'redrive/opentelemetry'
      import { sqliteStore } from 'redrive/sqlite'
      import { memoryStore } from 'redrive/memory'
      import * as worker from 'redrive/service-worker'
      import * as testing from 'redrive/testing'
      import wasm from 'redrive/redrive.wasm'
      import keys from 'redrive/redrive-keys.wasm'

      export const queue: RetryQueue = new RetryQueue({ concurrency: 2 })
      export const send: typeof fetch = wrapFetch(queue)
      export const task: Promise<RetryTask | undefined> = queue.get('id')
      export const delay: Promise<number> = loadCore().then((core) => core.calculateBackoffDelay({}, 1))
      export const key: Promise<string> = loadCore().then((core) => core.generateIdempotencyKey({ method: 'GET', url: '' }))
      export const days: number | undefined = presets.zizq.keyTtlMs
      export const modules: readonly WebAssembly.Module[] = [wasm, keys]
      export const stopAsking: (() => void) | false = registerBackgroundSync(queue)
      export const stopAnswering: (() => void) | false = worker.registerBackgroundSync(new worker.RetryQueue(), { drainMs: 60_000 })
      export const undo: () => void = closeOnSignals(queue, { signals: ['SIGHUP'] })
      export const metrics: QueueMetrics = metricsOf([queue], { maxOrigins: 5 })
      export const stored: Promise<number> = sqliteStore({ path: 'tasks.db' }).flush()
      export const store: TaskStore = memoryStore({ capacity: 5 })
      export const links: OpenTelemetryOptions = { replay: 'link', propagateTo: ['https://api.test'] }
      export const untrace: () => void = attachOpenTelemetry(queue, links)
      export { testing }
      // @ts-expect-error a typo in an option is an error
      new RetryQueue({ concurency: 2 })
    `,
    })
    link(project, '@opentelemetry/api')
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const { stdout } = await promisify(execFile)(process.execPath, [tsc, '-p', project.folder]).catch((error) => error)
    expect(stdout).toBe('')
  },
)
