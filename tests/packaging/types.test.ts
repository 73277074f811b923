// Its types as a user's compiler reads them, every entry at once, libraries checked too. That of Workers needs their types: tests/workers.
import { join } from 'node:path'
import { consumer, link, versioned } from './consumer.ts'
import { root } from './pack.ts'
import { tries } from './tries.ts'

const main = `
import axios from 'axios'
import { presets, type RetryTask, RetryQueue, type TaskStore } from 'redrive'
import { attachToAxios } from 'redrive/axios'
import { registerBackgroundSync } from 'redrive/background-sync'
import { loadCore } from 'redrive/core'
import { wrapFetch } from 'redrive/fetch'
import { indexedDbStore } from 'redrive/indexeddb'
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
export const pages: TaskStore = indexedDbStore({ name: 'tasks' })
export const detach: () => void = attachToAxios(axios, queue)
export const placed: Promise<unknown> = axios.post('/orders', {}, { redrive: { waitMs: 1 } })
export { testing }
// @ts-expect-error a typo in an option is an error
new RetryQueue({ concurency: 2 })
`

for (const moduleResolution of ['nodenext', 'bundler']) {
  tries(versioned('TypeScript', 'typescript'), `moduleResolution ${moduleResolution}`, async () => {
    const compilerOptions = {
      target: 'es2022',
      lib: ['es2023', 'esnext.disposable', 'dom', 'dom.iterable'],
      module: moduleResolution === 'nodenext' ? 'nodenext' : 'esnext',
      moduleResolution,
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      types: [],
    }
    using project = consumer({
      'package.json': '{ "type": "module" }',
      'tsconfig.json': JSON.stringify({ compilerOptions, files: ['main.ts'] }),
      'main.ts': main,
    })
    link(project, '@opentelemetry/api')
    link(project, 'axios')
    await project.run(process.execPath, join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', project.folder)
    return undefined
  })
}
