// Its types as a user's compiler reads them, every entry at once, libraries checked too.
import { join } from 'node:path'
import { consumer, link, versioned } from './consumer.ts'
import { root } from './pack.ts'
import { tries } from './tries.ts'

const main = `
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
    await project.run(process.execPath, join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', project.folder)
    return undefined
  })
}

const wranglerConfig = {
  name: 'consumer',
  main: 'worker.ts',
  compatibility_date: '2026-07-01',
  durable_objects: { bindings: [{ name: 'REDRIVE', class_name: 'Outbox' }] },
  migrations: [{ tag: 'v1', new_sqlite_classes: ['Outbox'] }],
  vars: { API_TOKEN: '' },
}

const edge = `
import { objectName, RedriveObject, type RedriveObjectOptions, withRetry, workerFetch } from 'redrive/cloudflare'

export class Outbox extends RedriveObject<Env> {
  override options: RedriveObjectOptions = { credentials: () => ({ authorization: this.env.API_TOKEN }), attemptsPerRun: 20 }
}

export default withRetry({
  async fetch(request: Request, env: Env, ctx: ExecutionContext, fetch): Promise<Response> {
    const outbox = env.REDRIVE.get(env.REDRIVE.idFromName(objectName(null, request.url)))
    const depth: number = (await outbox.stats()).depth
    const { taskId } = await workerFetch({ queue: env.REDRIVE, ctx }).enqueue(request, { redrive: { orderKey: 'a' } })
    const status = (await outbox.get(taskId))?.status
    return status === 'PENDING' && depth > 0 ? fetch(request) : new Response()
  },
  async scheduled(event: ScheduledController, env: Env, ctx: ExecutionContext, fetch) {
    await fetch('https://api.test/', { method: 'POST', body: String(event.scheduledTime) })
  },
})
// @ts-expect-error a typo in an option is an error
withRetry({ fetch: () => new Response() }, { inlineMS: 5 })
`

tries(
  versioned('TypeScript', 'typescript'),
  'a Worker with a Durable Object, by the types that wrangler makes',
  async () => {
    const compilerOptions = {
      target: 'es2022',
      lib: ['es2023', 'esnext.disposable'],
      module: 'esnext',
      moduleResolution: 'bundler',
      strict: true,
      noEmit: true,
      types: [],
    }
    using project = consumer({
      'package.json': '{ "type": "module" }',
      'wrangler.json': JSON.stringify(wranglerConfig),
      'tsconfig.json': JSON.stringify({ compilerOptions, files: ['worker.ts', 'worker-configuration.d.ts'] }),
      'worker.ts': edge,
    })
    await project.run(process.execPath, join(root, 'node_modules', 'wrangler', 'bin', 'wrangler.js'), 'types')
    await project.run(process.execPath, join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', project.folder)
    return undefined
  },
)
