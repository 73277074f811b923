/**
 * The retry service as a library: one store, one queue that sends for everyone, and the REST API in front of both. It opens no socket
 * of its own; `fetch` answers requests, wherever they come from.
 */

import { type Clock, RetryQueue } from 'redrive'
import {
  hostDraw,
  limitFor,
  limitsIn,
  loadCore,
  random128,
  type Sanitizer,
  sanitizerOf,
  sendForAll,
  systemClock,
} from 'redrive/internal'
import type { Turn } from 'redrive/store'
import { type Api, makeApi } from './api/api.ts'
import type { ApiQueue, ApiSettings, ApiStore } from './api/context.ts'
import { Operations } from './api/operations.ts'
import { applyPolicies, operatorsPolicy, Policies } from './api/policies.ts'
import { newRequestId, Problem, problemResponse } from './api/problem.ts'
import { BodySources } from './bodies/body-sources.ts'
import { sweeperOf } from './bodies/sweeper.ts'
import { TaskBodies } from './bodies/task-bodies.ts'
import { Callbacks, callbackPolicy } from './callbacks.ts'
import { type Credentials, makeCredentials, type ReportFailure } from './credentials.ts'
import { queuedEvent, tellEvents } from './feed/events.ts'
import { Feed } from './feed/feed.ts'
import { fullnessOf } from './fullness.ts'
import { type Guard, makeGuard } from './guard.ts'
import { readInspector } from './inspector-files.ts'
import { type ShareOptions, sharesOf } from './limits.ts'
import { oncePerMinute } from './log.ts'
import { ServiceMetrics } from './metrics.ts'
import { openNames } from './name-servers.ts'
import { agreeOnPartitions, assertPartitionBy, noteAgain, oneQueue, oneStore, shareOf, storesOf } from './partitions.ts'
import { Secrets } from './secrets.ts'
import { sendingOf } from './sending.ts'
import {
  bodyLimitsOf,
  checkOptions,
  checkReload,
  type ReloadableOptions,
  type Service,
  type ServiceLogEntry,
  type ServiceOptions,
  type TargetOptions,
} from './service-options.ts'
import { makeSigning, type Signing } from './signing.ts'
import { makeTransport, type TransportOptions } from './transport.ts'
import { type StoreWatch, watchedStore } from './watched-store.ts'

const DAY_MS = 86_400_000
const MOST = 1_000_000
const FULL_MS = 10_000
const CAPACITY_BYTES = 4 * 2 ** 30

/** Assembles a service, and begins to open its store. Throws a TypeError or RangeError that names the option. */
export function createService(options: ServiceOptions): Service {
  checkOptions(options)
  const { clock = systemClock, role = 'all', version = 'unknown', log = () => {} } = options
  const metrics = new ServiceMetrics(version)
  const inspector = options.ui === true ? readInspector(options.uiFolder) : undefined
  const { partitionBy = 'tenant' } = options
  assertPartitionBy(partitionBy)
  const given = storesOf(options.store)
  let shares = sharesOf(options, given.length, partitionBy)
  let callbacks: Callbacks | undefined
  /** Until when `/readyz` says that the store is full, unless a task is stored before. Then one is let in again, to find out. */
  let fullUntil = 0
  const fullTold = oncePerMinute(clock, (_, message) => log({ level: 'warn', event: 'store_full', message }))
  /** By partition: the lanes that its last turn has shown, and until when those of them that are held are. */
  const holds: { readonly of: Turn['lanes']; readonly until: ReadonlyMap<string, number> }[] = []
  const watchOf = (n: number): StoreWatch => ({
    storeCalled(call, ms, code) {
      metrics.storeCalled(call, ms, code)
      if (code === 'STORAGE_FULL') {
        fullUntil = clock.monotonic() + FULL_MS
        fullTold('', 'the store has no more room, on its disk or by its maxmemory: new tasks are refused')
      } else if (call === 'enqueue' && code === undefined) fullUntil = 0
    },
    claimed: (late) => metrics.claimed(late),
    untold(count) {
      metrics.untold(n, count)
      if (count > 0) callbacks?.look()
    },
    shown(lanes) {
      if (holds[n]?.of === lanes) return
      const held = lanes.filter(({ heldForMs }) => heldForMs > 0)
      holds[n] = { of: lanes, until: new Map(held.map(({ lane, heldForMs }) => [lane, clock.now() + heldForMs])) }
    },
  })
  // nothing is sent or deleted by one share of the limits where the store is divided in another way
  let agreeing = (_: Promise<void>): void => {}
  const agreed = new Promise<void>((resolve) => {
    agreeing = resolve
  })
  agreed.catch(() => {}) // told by `ready`
  const stores = given.map((each, n) =>
    watchedStore(each, watchOf(n), clock, { mayTurn: agreed, shares: () => shares }),
  )
  const first = stores[0] as ApiStore
  const store = stores.length === 1 ? first : oneStore(stores, partitionBy)
  let current: ServiceOptions = options
  let settings = settingsOf(options)
  const { names, close: closeNames } = openNames({ ...options, clock })
  const targetsBy = (given: TargetOptions) => ({ ...targetsOf(given, metrics), names })
  let guardOf = guardsOf(options, targetsBy)
  const transport = makeTransport({ ...targetsBy(options), guard: (tenant) => guardOf(tenant), clock })
  const secrets = new Secrets({ clock })
  const named = namedOf({ secrets, clock, log })
  let { credentials, signing } = named(options)
  const away = oncePerMinute(clock, (place, message) =>
    log({ level: 'warn', event: 'bodies_failed', bodies: place, message }),
  )
  const bodies =
    options.bodies &&
    new TaskBodies(options.bodies, bodyLimitsOf(options), clock, ({ message, detail }) =>
      away(options.bodies?.shown ?? '', detail === undefined ? message : `${message} (${detail})`),
    )
  const bodySources = new BodySources(options.bodySources ?? {}, {
    clock,
    maxBytes: bodyLimitsOf(options).maxUploadBytes,
    failed: ({ message, detail }, bucket) => away(bucket, detail === undefined ? message : `${message} (${detail})`),
  })
  const refused = oncePerMinute(clock, (_, message) => log({ level: 'warn', event: 'parked', message }))
  const sending = {
    send: transport.send,
    credentials: () => credentials,
    signing: () => signing,
    bodies,
    sources: bodySources,
    refused: (why: string) => refused('', why),
  }
  const queues = stores.map((own, n) => queueOver(own, options, clock, { n, of: stores.length }))
  for (const each of queues) {
    sendForAll(each, {
      leaseMs: options.leaseMs ?? 30_000,
      sendingOf: (record) => sendingOf(record, sending),
      unparkedBy: 'POST /retry-tasks/{taskId}/due, or a reload of the settings',
    })
    each.on('degraded', ({ principal: tenant, ...told }) => {
      log({ level: 'warn', event: 'degraded', ...told, ...(tenant !== undefined && { tenant }) })
      if (told.code === 'storage_evicted') void settleAgain()
    })
    each.on('alert', (told) => log({ level: 'warn', event: 'alert', ...told }))
    each.on('circuit', (told) => log({ level: 'info', event: 'circuit', ...told }))
    each.on('exhausted', ({ task, reason }) => {
      log({ level: 'warn', event: 'exhausted', taskId: task.taskId, tenant: task.principal, reason })
    })
  }
  metrics.watch(queues)
  const feed = new Feed({
    clock,
    process: random128(hostDraw()),
    source: (emit) => tellEvents(queues, emit),
    // nothing is stored before the core is there
    queued: (task) => queuedEvent(task, clock.now(), { sanitizer: sanitizerOf(own) as Sanitizer }),
    broadcast: first.broadcast,
  })
  const own = queues[0] as RetryQueue
  const queue: ApiQueue = queues.length === 1 ? own : oneQueue(queues)
  const pause = (): void => {
    for (const each of queues) each.pause()
  }
  // what an 'api' takes in, others send
  if (role === 'api') pause()

  const sweeper = options.bodies && sweeperOf(options.bodies, bodyLimitsOf(options), clock, log)
  const state = { isReady: false, isLeaving: false, isDraining: false }
  const isStoreWell = () =>
    queue.stats({ allPrincipals: true }).storeFailingSinceAt === undefined && clock.monotonic() >= fullUntil
  let operations: Operations | undefined

  /** Writes what the service keeps in a store, after that was emptied. */
  const settleAgain = async (): Promise<void> => {
    try {
      await noteAgain(first, stores.length, partitionBy)
      await applyPolicies(store.registry, current.policies)
    } catch (error) {
      log({ level: 'warn', event: 'policies_not_applied', message: (error as Error).message })
    }
  }
  const fullness = fullnessOf({
    ...{ stores, clock, log },
    tasks: shareOf(options.capacity ?? MOST, stores.length),
    bodyBytes: shareOf(options.capacityBytes ?? CAPACITY_BYTES, stores.length),
    filled: (n, filling) => metrics.filled(n, filling),
  })

  const open = async (): Promise<Api> => {
    // of a store that cannot be opened this says why
    agreeing(store.counts().then(() => agreeOnPartitions(first, stores.length, partitionBy)))
    await agreed
    await applyPolicies(store.registry, current.policies)
    const [core] = await Promise.all([loadCore(), ...queues.map(({ ready }) => ready)])
    const sanitizer = sanitizerOf(own)
    if (!sanitizer) throw new TypeError('the core could not be loaded: see the log')
    const quotaOf = (tenant: string | null) => shares.wholeQuotaOf?.(tenant)
    const common = { store, clock, bodies, sanitizer, quotaOf, log: logOperation }
    const ends = new Callbacks({
      ...common,
      policy: callbackPolicy(new Policies(store.registry, clock, () => settings)),
      told: (outcome) => metrics.told(outcome),
      left: (count) => metrics.leftUntold(count),
      enqueue: (tasks) => feed.enqueue(store, tasks),
    })
    callbacks = ends
    const tellEnds = (taskIds: readonly string[]) => ends.tell(taskIds)
    operations = new Operations({ ...common, tellEnds, owner: random128(hostDraw()) })
    if (role !== 'api') {
      operations.start()
      callbacks.start()
    }
    sweeper?.start()
    fullness.start()
    const api = makeApi({
      ...{ ...common, events: feed, queue, core, version, inspector, tellEnds },
      checkTarget: (url, tenant) => {
        const refusal = guardOf(tenant).check(url)
        return refusal && { rule: refusal.rule, text: refusal.message }
      },
      bodySources,
      isLimited: (origin) => limitFor(limitsIn(shares.claim.limits), origin) !== undefined,
      heldUntil(lane) {
        const until = Math.max(0, ...holds.flatMap((each) => each.until.get(lane) ?? []))
        return until > clock.now() ? until : null
      },
      refuseCredential: (name, ...asked) => refusalIn(credentials.giverOf(name, ...asked), name),
      refuseSigning: (name, tenant) => refusalIn(signing.signerOf(name, tenant, ''), name),
      settings: () => settings,
      tokens: () => current.tokens,
      state: {
        isReady: () => state.isReady,
        isStoreWell,
        isLeaving: () => state.isLeaving,
        isDraining: () => state.isDraining,
      },
      onRequest: (request) => metrics.answered(request),
      metrics: () => metrics.text(),
    })
    state.isReady = true
    // once its readiness has been heard of
    if (role !== 'api') setImmediate(() => void transport.warm())
    return api
  }
  const logOperation: ConstructorParameters<typeof Operations>[0]['log'] = (entry) =>
    log({ level: entry.event === 'error' ? 'error' : 'info', ...entry })
  let reloading: Promise<void> = Promise.resolve()
  const change = async (next: ServiceOptions): Promise<void> => {
    const nextGuard = guardsOf(next, targetsBy)
    const nextShares = sharesOf(next, stores.length, partitionBy)
    const nextSettings = settingsOf(next)
    const nextNamed = named(next)
    const setSources = bodySources.changed(next.bodySources ?? {})
    await applyPolicies(store.registry, next.policies)
    current = next
    guardOf = nextGuard
    shares = nextShares
    setSources()
    ;({ credentials, signing } = nextNamed)
    secrets.forget()
    settings = nextSettings
    // what was parked for want of its credential may have it now
    await store.unpark?.({}).catch(() => log({ level: 'warn', event: 'unpark_failed' }))
  }
  const opening = open()
  opening.catch(() => {}) // its callers hear of it by `ready`

  return {
    ready: opening.then(() => {}),
    fetch: (request, peer) => opening.then((api) => api.fetch(request, peer), cannotOpen),
    async reload(given) {
      checkReload(given)
      // each goes on from what the one before has changed
      const done = reloading.then(() => change({ ...current, ...given }))
      reloading = done.catch(() => {}) // its caller hears of it
      return done
    },
    leave() {
      state.isLeaving = true
    },
    drain() {
      state.isLeaving = true
      state.isDraining = true
      pause()
      feed.close()
    },
    async close({ drainMs = 10_000 } = {}) {
      state.isLeaving = true
      state.isDraining = true
      feed.close()
      await opening.catch(() => {}) // told by `ready`
      await Promise.all([operations?.stop(), callbacks?.stop(), fullness.stop()])
      await Promise.all(queues.map((each) => each.close({ drainMs })))
      await transport.close()
      closeNames()
      await sweeper?.stop()
      await bodySources.close()
      await options.bodies?.close()
    },
  }
}

/** The queue that sends for all tenants what is in one store, the n-th of so many. */
function queueOver(
  store: ApiStore,
  options: ServiceOptions,
  clock: Clock,
  { n, of }: { readonly n: number; readonly of: number },
): RetryQueue {
  const { concurrency = 200, concurrencyPerOrigin = 20, capacity = MOST, capacityBytes = CAPACITY_BYTES } = options
  const {
    terminalMs = DAY_MS,
    maxTerminal = MOST,
    deadLetterMs = 30 * DAY_MS,
    maxDeadLetters = 100_000,
  } = options.retention ?? {}
  return new RetryQueue({
    ...{ name: of === 1 ? 'service' : `service.${n}`, store, clock },
    ...{ principal: null, warn: false, preload: 'eager' },
    concurrency: shareOf(concurrency, of),
    concurrencyPerOrigin: shareOf(concurrencyPerOrigin, of),
    capacity: shareOf(capacity, of),
    capacityBytes: shareOf(capacityBytes, of),
    retention: {
      terminalMs,
      maxTerminal: shareOf(maxTerminal, of),
      deadLetterMs,
      maxDeadLetters: shareOf(maxDeadLetters, of),
    },
  })
}

function settingsOf(options: ServiceOptions): ApiSettings {
  const { urlSecrets = 'refuse', policies = [], corsOrigins = [], rate, maxBodyBytes = 2 ** 20 } = options
  return {
    limits: { maxBodyBytes },
    ...(urlSecrets === 'keep' && { urlSecrets }),
    defaultPolicy: options.defaultPolicy ?? { policyId: 'default' },
    attemptTimeoutMs: options.attemptTimeoutMs ?? 30_000,
    policiesLocked: options.policiesLocked === true,
    filePolicies: new Set(policies.map((policy) => operatorsPolicy(policy).policyId)),
    metricsOpen: options.metricsOpen === true,
    ...(rate && { rate }),
    hostNames: options.hostNames ?? ['localhost', '127.0.0.1', '[::1]'],
    corsOrigins,
  }
}

/** The guard of each tenant: that of the service, and its own targets among what that lets through. */
function guardsOf(
  options: TargetOptions & Pick<ShareOptions, 'tenants'>,
  targetsBy: (given: TargetOptions) => TransportOptions,
): (tenant: string | null) => Guard {
  const all = makeGuard(targetsBy(options))
  const own = new Map<string, Guard>()
  for (const [tenant, { targets }] of Object.entries(options.tenants ?? {})) {
    if (targets) own.set(tenant, within(all, makeGuard(targetsBy({ ...options, targets }))))
  }
  return (tenant) => (tenant === null ? all : (own.get(tenant) ?? all))
}

/** A guard that lets through what both do. Addresses are judged alike. */
const within = (all: Guard, own: Guard): Guard => ({
  check: (url) => all.check(url) ?? own.check(url),
  resolve: (hostname, asking) => own.resolve(hostname, asking),
  refuseAddress: (hostname, address) => own.refuseAddress(hostname, address),
})

function targetsOf(options: TargetOptions, metrics: ServiceMetrics): TransportOptions {
  const { allowHttp, allowPrivate, allowLoopback, targets, connectTimeoutMs, egressProxy, ca } = options
  const all = { allowHttp, allowPrivate, allowLoopback, targets, connectTimeoutMs, egressProxy, ca }
  const given = Object.entries(all).filter(([, value]) => value !== undefined)
  return { ...Object.fromEntries(given), onRefused: (rule) => metrics.refused(rule) }
}

/** The refusal for who has sent the name, without it: it may be the credential itself, sent in the place of its name. */
const refusalIn = (given: unknown, name: string): string | undefined =>
  typeof given === 'string' ? given.replace(` '${name}'`, ' of this name') : undefined

/** Makes what tasks name of the options, with what all of them share. Throws a TypeError that names an option. */
function namedOf({ secrets, clock, log }: { secrets: Secrets; clock: Clock; log: (entry: ServiceLogEntry) => void }) {
  const reportOf = (event: string): ReportFailure =>
    oncePerMinute(clock, (name, message) => log({ level: 'warn', event, name, message }))
  const [credentialFailed, signingFailed] = [reportOf('credential_failed'), reportOf('signing_failed')]
  return ({ credentials = {}, signing = {} }: ReloadableOptions): { credentials: Credentials; signing: Signing } => ({
    credentials: makeCredentials(credentials, secrets, credentialFailed),
    signing: makeSigning(signing, { secrets, clock, report: signingFailed }),
  })
}

function cannotOpen(): Response {
  const problem = new Problem('store-unavailable', 'the store could not be opened: the log of the service says why')
  return problemResponse(problem, newRequestId())
}
