/** An API over a store and a queue of its own, on virtual time, and the words to ask it. */

import { createHash } from 'node:crypto'
import { onTestFinished } from 'vitest'
import type { Quota } from '../../../../js/api/store.ts'
import { loadCore } from '../../../../js/core.ts'
import { RetryQueue } from '../../../../js/index.ts'
import { internalsOf } from '../../../../js/queue/internals.ts'
import { type Api, makeApi } from '../../../../js/service/api/api.ts'
import type {
  AnsweredRequest,
  ApiContext,
  ApiLogEntry,
  ApiSettings,
  ApiStore,
  ApiToken,
  InspectorFiles,
  Scope,
  TargetRefusal,
} from '../../../../js/service/api/context.ts'
import type { BodyStore } from '../../../../js/service/bodies/body-store.ts'
import { type BodyLimits, TaskBodies } from '../../../../js/service/bodies/task-bodies.ts'
import { queuedEvent, tellEvents } from '../../../../js/service/feed/events.ts'
import { Feed } from '../../../../js/service/feed/feed.ts'
import { listen } from '../../../../js/service/listeners.ts'
import { oneQueue, oneStore } from '../../../../js/service/partitions.ts'
import { memoryStore } from '../../../../js/stores/memory.ts'
import { sqliteStore } from '../../../../js/stores/sqlite.ts'
import { type FakeClock, fakeClock, type ScriptedServer, scriptedServer } from '../../../../js/testing.ts'
import { closeNow, NO_GATES } from '../../setup.ts'
import { freshPath } from '../../sqlite/setup.ts'

export const ORDERS = 'https://api.test/orders'

/** Where tasks are kept in these tests. 'partitions': in three stores, by the origins and tenants that they are of. */
export const STORES = ['memory', 'sqlite', 'partitions'] as const
export type StoreKind = (typeof STORES)[number]

export interface Asked {
  readonly body?: unknown
  /** Sent as they are, in place of `body`. */
  readonly raw?: string | Uint8Array<ArrayBuffer>
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
}

export interface World {
  readonly api: Api
  readonly context: ApiContext
  readonly store: ApiStore
  /** That one, or those that it is made of. */
  readonly stores: readonly ApiStore[]
  readonly clock: FakeClock
  readonly server: ScriptedServer
  readonly log: ApiLogEntry[]
  readonly requests: AnsweredRequest[]
  /** What a test may change while the API runs. */
  readonly now: {
    settings: ApiSettings
    tokens: readonly ApiToken[] | undefined
    refusal: TargetRefusal | undefined
    quota: Quota | undefined
    isReady: boolean
    isDraining: boolean
  }
  ask(method: string, path: string, asked?: Asked): Promise<Answered>
  create(more?: object, asked?: Asked): Promise<Answered>
  /** A task that was given up: its only attempt was answered with 500. */
  dead(more?: object, asked?: Asked): Promise<string>
}

export const SETTINGS: ApiSettings = {
  limits: { maxBodyBytes: 1_048_576 },
  defaultPolicy: { policyId: 'default', jitterType: 'NONE', initialDelayMs: 1_000, maxAttempts: 5 },
  hostNames: ['localhost'],
}

const BODY_LIMITS: BodyLimits = { inlineBytes: 1_024, maxUploadBytes: 1_048_576, uploadTtlMs: 86_400_000 }

export interface WorldOptions {
  readonly kind?: StoreKind
  readonly tokens?: readonly ApiToken[]
  readonly settings?: Partial<ApiSettings>
  readonly capacity?: number
  /** The files below `/ui`. @default there is no such path */
  readonly inspector?: InspectorFiles
  /** Keeps large bodies apart from tasks. @default none */
  readonly bodies?: BodyStore
  readonly bodyLimits?: Partial<BodyLimits>
  /** Tasks that are due are sent. @default true */
  readonly sends?: boolean
}

function openStore(kind: StoreKind, clock: FakeClock, options: { readonly capacity?: number }): ApiStore {
  if (kind !== 'sqlite') return memoryStore({ clock, everyone: true, ...options }) as ApiStore
  return sqliteStore({ path: freshPath(), clock, everyone: true, ...options }) as ApiStore
}

export async function setup(options: WorldOptions = {}): Promise<World> {
  const { kind = 'memory', capacity = 10_000, sends = true } = options
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const stores = Array.from({ length: kind === 'partitions' ? 3 : 1 }, () => openStore(kind, clock, { capacity }))
  const queues = stores.map((store) => {
    const given = { store, clock, fetch: server.fetch, seed: 1n, principal: null, warn: false, capacity, ...NO_GATES }
    const queue = new RetryQueue(given)
    if (!sends) queue.pause()
    onTestFinished(() => closeNow(queue, clock))
    return queue
  })
  const [store, queue] =
    stores.length === 1
      ? ([stores[0] as ApiStore, queues[0] as RetryQueue] as const)
      : ([oneStore(stores, 'lane'), oneQueue(queues)] as const)
  const [core] = await Promise.all([loadCore(), ...queues.map(({ ready }) => ready)])
  const { sanitizer } = internalsOf(queues[0] as RetryQueue).host
  if (!sanitizer) throw new Error('the core is not loaded')
  const log: ApiLogEntry[] = []
  const requests: AnsweredRequest[] = []
  const now: World['now'] = {
    settings: { ...SETTINGS, ...options.settings },
    tokens: options.tokens,
    refusal: undefined,
    quota: undefined,
    isReady: true,
    isDraining: false,
  }
  const events = new Feed({
    ...{ clock, process: 'one' },
    source: (emit) => tellEvents(queues, emit),
    queued: (task) => queuedEvent(task, clock.now(), { sanitizer }),
  })
  const context: ApiContext = {
    events,
    store,
    queue,
    core,
    clock,
    sanitizer,
    version: '0.0.0-test',
    inspector: options.inspector,
    checkTarget: () => now.refusal,
    quotaOf: () => now.quota,
    bodies: options.bodies && new TaskBodies(options.bodies, { ...BODY_LIMITS, ...options.bodyLimits }, clock),
    settings: () => now.settings,
    tokens: () => now.tokens,
    state: {
      isReady: () => now.isReady,
      isStoreWell: () => true,
      isLeaving: () => now.isDraining,
      isDraining: () => now.isDraining,
    },
    tellEnds: async (taskIds) => {
      const ends = await store.untold(taskIds.length, taskIds)
      await store.told(ends.map(({ task, endedAt }) => ({ taskId: task.taskId, endedAt })))
    },
    log: (entry) => void log.push(entry),
    onRequest: (request) => void requests.push(request),
    metrics: async () => '# HELP redrive_up it is\n',
  }
  const api = makeApi(context)
  const ask = askOf(api)
  const world: World = {
    ...{ api, context, store, stores, clock, server, log, requests, now, ask },
    create: (more = {}, asked = {}) => ask('POST', '/retry-tasks', { body: { targetUrl: ORDERS, ...more }, ...asked }),
    async dead(more = {}, asked = {}) {
      server.reply(500)
      const taskId = idOf(await world.create({ policy: { maxAttempts: 1 }, ...more }, asked))
      await clock.advance(100)
      return taskId
    },
  }
  return world
}

const askOf =
  (api: Api): World['ask'] =>
  async (method, path, { body, raw, token, headers = {}, signal } = {}) => {
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: {
        host: 'localhost',
        ...(sent !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(sent !== undefined && { body: sent }),
      ...(signal && { signal }),
    })
    const response = await api.fetch(request)
    // such an answer has no end
    const isStream = response.headers.get('content-type') === 'text/event-stream'
    if (isStream) await response.body?.cancel()
    const text = isStream ? '' : await response.text()
    const isJson = /[/+]json$/.test(response.headers.get('content-type') ?? '') && text !== ''
    return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : {} }
  }

/** The API on a loopback port, as the service listens; gives the port. */
export async function overHttp({ api }: World): Promise<number> {
  const listener = await listen(api.fetch, { host: '127.0.0.1', port: 0, tls: undefined })
  onTestFinished(async () => {
    listener.cut()
    await listener.close()
  })
  return listener.port
}

export const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')

/** The configured form of a token that says its own name. */
export const tokenFor = (text: string, tenant: string | null, ...scopes: Scope[]): ApiToken => ({
  name: `the token ${text}`,
  sha256: sha256(text),
  tenant,
  scopes,
})

export const typeOf = ({ json }: Answered): string => String(json.type).replace('urn:redrive:problem:', '')

/** The status and the type of a problem. */
export const refusalOf = (answer: Answered): readonly [number, string] => [answer.status, typeOf(answer)]

export const idOf = ({ json }: Answered): string => String(json.taskId)

/** The faults of a body, as `pointer: detail`. */
export const faultsOf = ({ json }: Answered): readonly string[] =>
  ((json.errors ?? []) as readonly { readonly pointer: string; readonly detail: string }[]).map(
    ({ pointer, detail }) => `${pointer}: ${detail}`,
  )
