// A program that uses every entry, and the ways in which a compiler is asked to read it: with all declarations of the package
// checked too (`skipLibCheck: false`), by the libraries that a user may have chosen.
import { join } from 'node:path'
import { type Consumer, consumer, install, link } from './consumer.ts'
import { type PackageName, root } from './pack.ts'

const program = `
import axios from 'axios'
import { presets, type RedriveMark, redriveOf, type RetryTask, RetryQueue, type TaskStore } from 'redrive'
import { attachToAxios, isAccepted } from 'redrive/axios'
import { registerBackgroundSync } from 'redrive/background-sync'
import { BackgroundSyncPlugin, Queue, type QueueEntry, type QueueOptions } from 'redrive/compat/workbox'
import { loadCore } from 'redrive/core'
import { wrapFetch } from 'redrive/fetch'
import { indexedDbStore } from 'redrive/indexeddb'
import { closeOnSignals } from 'redrive/node'
import { metricsOf, type QueueMetrics } from 'redrive/prometheus'
import { attachOpenTelemetry, type OpenTelemetryOptions } from 'redrive/opentelemetry'
import { redisStore, type RedisPort } from 'redrive/redis'
import { sqliteStore } from 'redrive/sqlite'
import { laneName, type Claim, type Lease, type NewTask, type Settlement, type StoredTask, type Turn } from 'redrive/store'
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
export const modules: readonly object[] = [wasm, keys]
export const stopAsking: (() => void) | false = registerBackgroundSync(queue)
export const stopAnswering: (() => void) | false = worker.registerBackgroundSync(new worker.RetryQueue(), { drainMs: 60_000 })
export const entries = (reports: Queue): Promise<QueueEntry[]> => reports.getAll()
export const plugin = (options: QueueOptions): Queue => new BackgroundSyncPlugin('reports', options).queue
export const undo: () => void = closeOnSignals(queue, { signals: ['SIGHUP'] })
export const metrics: QueueMetrics = metricsOf([queue], { maxOrigins: 5 })
export const stored: Promise<number> = sqliteStore({ path: 'tasks.db' }).flush()
declare const port: RedisPort
export const shared: TaskStore = redisStore({ client: port, name: 'orders', fsync: true, replicas: 1 })
export const heard: Promise<() => Promise<void>> | undefined = port.subscribe?.('hints', (message) => message.byteLength)
export const store: TaskStore = memoryStore({ capacity: 5 })
export const links: OpenTelemetryOptions = { replay: 'link', propagateTo: ['https://api.test'] }
export const untrace: () => void = attachOpenTelemetry(queue, links)
export const pages: TaskStore = indexedDbStore({ name: 'tasks' })
export const detach: () => void = attachToAxios(axios, queue)
interface Order { readonly id: number }
const placed = await axios.post<Order>('/orders', {}, { redrive: { waitMs: 1 } })
export const id: number = placed.data.id
export const given: RedriveMark | undefined = placed.redrive
const deferred = await axios.post<Order>('/orders', {}, { redrive: { mode: 'defer' } })
export const kept: string | number = isAccepted(deferred) ? deferred.data.taskId : deferred.data.id
// @ts-expect-error it may be the 202 that says that the task is kept
deferred.data.id
declare const options: { readonly redrive: { readonly mode: 'await' | 'defer' } }
const either = await axios.post('/orders', {}, options)
export const said: string = isAccepted(either) ? either.data.taskId : either.statusText
const named = await axios.post<Order>('/orders', {}, options)
export const found: string | number = isAccepted(named) ? named.status : named.data.id
axios.delete('/orders').catch((error: unknown) => axios.isAxiosError(error) && error.redrive?.reason)
const answer = await wrapFetch(queue)('https://api.test', { redrive: { mode: 'defer' } })
export const why: string | undefined = answer.redrive?.reason
export const gone: string | undefined = await queue.fetch('https://api.test').then(({ redrive }) => redrive?.taskId, (error: unknown) => redriveOf(error)?.taskId)
queue.on('degraded', ({ code }) => code === 'storage_full')
export { testing }
export const lane: NewTask['lane'] = laneName(null, 'https://api.test')
export type Contract = [Claim, Lease, NewTask, Settlement, StoredTask, Turn]
// @ts-expect-error the inside of a store is no matter of who uses one
export type { Lease as Inside } from 'redrive'
// @ts-expect-error a typo in an option is an error
new RetryQueue({ concurency: 2 })
`

const workers = `
import { RetryQueue } from 'redrive'
import { objectName, RedriveObject, withRetry, workerFetch } from 'redrive/cloudflare'
import { wrapFetch } from 'redrive/fetch'

export const send: typeof fetch = wrapFetch(new RetryQueue())
export class Outbox extends RedriveObject {
  options = { credentials: { 'https://api.test': () => ({ authorization: this.env.API_TOKEN }) } }
}
export default withRetry({
  async fetch(request, env, ctx, fetch) {
    ctx.waitUntil(workerFetch({ queue: env.REDRIVE, ctx })(request.url))
    return fetch(objectName(null, env.API_TOKEN), { method: 'POST', body: await request.text() })
  },
  async scheduled({ cron }, env, ctx, fetch) {
    await fetch(cron)
  },
}) satisfies ExportedHandler<Env>

interface Env {
  readonly API_TOKEN: string
  readonly REDRIVE: DurableObjectNamespace<Outbox>
}
declare global {
  namespace Cloudflare {
    interface Env {
      readonly API_TOKEN: string
      readonly REDRIVE: DurableObjectNamespace<Outbox>
    }
  }
}
`

/** With axios-retry's interface. */
const facade = `
import axios from 'axios'
import { RetryQueue } from 'redrive'
import axiosRetry, { type AxiosRetryOptions, exponentialDelay, type IAxiosRetryConfig, isNetworkError } from 'redrive/compat/axios-retry'

const queue: RetryQueue = new RetryQueue()
const retries: IAxiosRetryConfig = { retries: 2, retryDelay: exponentialDelay, retryCondition: (error) => isNetworkError(error) }
export const ids: readonly number[] = Object.values(axiosRetry(axios.create(), { ...retries, queue } satisfies AxiosRetryOptions))
export const retried: Promise<number | undefined> = axios
  .get('/', { 'axios-retry': { retries: 1, onRetry: (count, { response }, { url }) => console.log(count, response?.status, url) } })
  .then(({ config }) => config['axios-retry']?.retryCount)
// @ts-expect-error a typo in an option is an error
axiosRetry(axios, { retry: 1 })
`

/** Of a CommonJS project, to whose compiler the types of axios are others. */
const commonJs = `
import axios, { type AxiosResponse } from 'axios'
import { type RedriveMark, redriveOf, RetryQueue } from 'redrive'
import { attachToAxios, isAccepted } from 'redrive/axios'
import axiosRetry, { isNetworkError } from 'redrive/compat/axios-retry'

const api = axios.create()
export const detach: () => void = attachToAxios(api, new RetryQueue(), { waitMs: 1 })
export async function order(): Promise<string> {
  const placed: AxiosResponse<{ readonly id: string }> = await api.post('/orders', {}, { redrive: { waitMs: 1 } })
  const given: RedriveMark | undefined = placed.redrive
  const deferred = await api.post<{ readonly id: string }>('/orders', {}, { redrive: { mode: 'defer' } })
  const kept: string = isAccepted(deferred) ? deferred.data.taskId : deferred.data.id
  return kept + (given ?? redriveOf(new Error()))?.reason
}
axiosRetry(api, { retries: 2, retryCondition: (error) => isNetworkError(error), onRetry: (count, { response }) => console.log(count, response?.status) })
api.get('/', { 'axios-retry': { retries: 1 } })
// @ts-expect-error a typo in an option is an error
api.get('/', { redrive: { retries: 1 } })
`

/** Of services: the middleware, with the types of the frameworks. */
const middleware = `
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import fastify from 'fastify'
import { RetryQueue } from 'redrive'
import * as forExpress from 'redrive/express'
import * as forFastify from 'redrive/fastify'
import { sqliteStore } from 'redrive/sqlite'

const queue = new RetryQueue({ store: sqliteStore({ path: 'tasks.db' }) })
const match = (error: unknown, { method, target, headers, id }: forExpress.InboundRequest): boolean =>
  error instanceof forExpress.DeferredError || method + target + headers.get('x') + id === ''
const options: forExpress.InboundOptions = { origin: 'https://a.test', match, secret: 'a'.repeat(16), dropHeaders: [], taskUrl: (id) => id }
const fetchOrDefer: forExpress.FetchOrDefer = forExpress.orDefer(queue, { tags: ['a'] })
export const status: number = (await fetchOrDefer('https://b.test', { redrive: { priority: 1 } })).status

const capture: RequestHandler = forExpress.captureBody({ maxBodyBytes: 1 })
const errors: ErrorRequestHandler = forExpress.inboundErrors(queue, { ...options, authenticated: (request) => request.ip === '::1' })
export const app = express().use(capture, express.json({ verify: forExpress.keepBody }), errors, forExpress.deferredErrors())

const server = fastify()
await server.register(forFastify.inboundErrors, { queue, ...options, authenticated: ({ ip }) => ip === '::1', maxBodyBytes: 1 })
await server.register(forFastify.deferredErrors, { taskUrl: (id) => '/tasks/' + id, prefix: '/a' })
// @ts-expect-error an origin has to be given
server.register(forFastify.inboundErrors, { queue })
`

/** Of services on Hono, whose own types need TypeScript 5.7. */
const ofHono = `
import { Hono, type MiddlewareHandler } from 'hono'
import { RetryQueue } from 'redrive'
import * as forHono from 'redrive/hono'
import { sqliteStore } from 'redrive/sqlite'

const queue = new RetryQueue({ store: sqliteStore({ path: 'tasks.db' }) })
const match = (error: unknown, { id }: forHono.InboundRequest): boolean => error instanceof forHono.DeferredError || id === ''
const handler: MiddlewareHandler = forHono.inboundErrors(queue, { origin: 'https://a.test', match, authenticated: ({ req }) => req.path === '/', maxBodyBytes: 1 })
export const hono = new Hono().use(handler).use(forHono.deferredErrors())
// @ts-expect-error a typo in an option is an error
forHono.inboundErrors(queue, { orign: 'https://a.test' })
`

/** Of a page: the elements, without the libraries that they are made with. */
const elements = `
import { RetryQueue } from 'redrive'
import { mountInspector, RedriveCurve, THEME, type CurveView, type InspectorSource, type RedriveCurveElement, type RedriveInspectorElement } from '@redrive/ui'
import { queueSource, serviceSource } from '@redrive/ui/sources'

const queue = new RetryQueue()
const lab: RedriveCurveElement = new RedriveCurve()
lab.policy = { strategy: 'spread', maxAttempts: 8 }
const view: CurveView = lab.view
const inspector: RedriveInspectorElement = document.createElement('redrive-inspector')
inspector.queue = queue
const source: InspectorSource = queueSource(queue, { allPrincipals: true })
inspector.source = source.name === '' ? serviceSource({ url: '/', tenant: 'acme' }) : source
document.querySelector('redrive-curve')?.addEventListener('change', (event) => console.log((event as CustomEvent).detail, view))
export const close: () => void = mountInspector(queue, { readonly: true }).close
export const names: string[] = Object.keys(THEME)
// @ts-expect-error a typo in a policy is an error
lab.policy = { strategy: 'spred' }
`

/** Of a server of one's own around the service. */
const service = `
import { memoryStore } from 'redrive/memory'
import { createService, type Service } from '@redrive/service'

const service: Service = createService({ store: memoryStore({ everyone: true }), tokens: [] })
export const answer: Promise<Response> = service.fetch(new Request('http://a.test/'))
// @ts-expect-error a typo in an option is an error
createService({ store: memoryStore(), toknes: [] })
`

export interface Library {
  readonly lib: readonly string[]
  /** Packages whose declarations are global. */
  readonly types: readonly string[]
  readonly program: string
  /** Packages that the program imports beyond those of every user. */
  readonly packages?: readonly string[]
  /** Another package of ours that it imports. */
  readonly ours?: PackageName
  /** @default 'module' */
  readonly type?: 'commonjs'
}

const dom = ['dom', 'dom.iterable']

/** Its name among the libraries. */
export const HONO = 'ES2023, DOM and Node, Hono'

/** The libraries of browsers and of Node, from the oldest on. */
export const libraries: Readonly<Record<string, Library>> = {
  'ES2022 and DOM': { lib: ['es2022', ...dom], types: [], program },
  'ES2022 and DOM, axios-retry’s interface': { lib: ['es2022', ...dom], types: [], program: facade },
  'ES2022 and DOM, the elements': { lib: ['es2022', ...dom], types: [], program: elements, ours: '@redrive/ui' },
  'ES2023 and DOM': { lib: ['es2023', ...dom], types: [], program },
  'ESNext and DOM': { lib: ['esnext', ...dom], types: [], program },
  'ESNext, DOM and Node': { lib: ['esnext', ...dom], types: ['node'], program },
  'ES2023, DOM and Node, the middleware': {
    lib: ['es2023', ...dom],
    types: ['node'],
    program: middleware,
    packages: ['express', '@types/express', 'fastify'],
  },
  'ES2023, DOM and Node, the service': {
    lib: ['es2023', ...dom],
    types: ['node'],
    program: service,
    ours: '@redrive/service',
  },
  [HONO]: { lib: ['es2023', ...dom], types: ['node'], program: ofHono, packages: ['hono'] },
  'ES2022 and Node': { lib: ['es2022'], types: ['node'], program },
  'ESNext and Node': { lib: ['esnext'], types: ['node'], program },
}

/**
 * A program that uses `redrive/axios` and axios-retry's interface. To compilers before 5.8 with `moduleResolution: 'bundler'` the types of axios in
 * one of them are those of CommonJS: they keep what a declaration of the other kind was resolved to.
 */
export const bothOfAxios: Library = {
  ...{ lib: ['es2022', ...dom], types: [] },
  program: `${facade}
import { attachToAxios } from 'redrive/axios'
export const detach: () => void = attachToAxios(axios, queue)
axios.get('/', { redrive: { waitMs: 1 }, 'axios-retry': { retries: 1 } })
`,
}

/** Read with `nodenext`, as a CommonJS project that calls modules of the other kind is. */
export const required: Library = { lib: ['es2022'], types: ['node'], program: commonJs, type: 'commonjs' }

/** Those of Workers, as `@cloudflare/workers-types` has them. */
export const workerLibraries: Readonly<Record<string, Library>> = {
  'ES2022 and Workers': { lib: ['es2022'], types: ['@cloudflare/workers-types'], program: workers },
  'ESNext and Workers': { lib: ['esnext'], types: ['@cloudflare/workers-types'], program: workers },
}

/** Compiles nothing but says what is wrong, by rejecting. `modules`: further packages, by the folder that has them. */
export async function judge(
  tsc: string,
  { lib, types, program, packages = [], ours, type }: Library,
  moduleResolution: 'nodenext' | 'bundler',
  modules?: string,
): Promise<void> {
  const compilerOptions = {
    target: 'es2022',
    lib,
    module: moduleResolution === 'nodenext' ? 'nodenext' : 'esnext',
    moduleResolution,
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    types,
  }
  using project: Consumer = consumer({
    'package.json': JSON.stringify({ type: type ?? 'module' }),
    'tsconfig.json': JSON.stringify({ compilerOptions, files: ['main.ts'] }),
    'main.ts': program,
  })
  if (ours) install(project, ours)
  for (const name of ['@opentelemetry/api', '@types/node', 'undici-types', 'axios', ...packages]) link(project, name)
  if (modules !== undefined) link(project, '@cloudflare/workers-types', modules)
  await project.run(process.execPath, join(tsc, 'bin', 'tsc'), '-p', project.folder)
}

/** The compiler that this repository is built with. */
export const ownCompiler: string = join(root, 'node_modules', 'typescript')
