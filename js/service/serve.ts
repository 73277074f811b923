/**
 * The program `redrive serve`: opens what its settings name, says what it found, answers until it is asked to stop, and then lets
 * everything that was promised be kept. Whatever is wrong is said before anything is opened.
 */

import { type FSWatcher, readFileSync, watch } from 'node:fs'
import { isIP } from 'node:net'
import { basename, dirname, resolve } from 'node:path'
import process from 'node:process'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { systemClock } from 'redrive/internal'
import { isLoopback } from './addresses.ts'
import { pathOf } from './api/path.ts'
import { newRequestId, Problem, problemResponse } from './api/problem.ts'
import type { BodyStore } from './bodies/body-store.ts'
import { openBodies } from './bodies/open-bodies.ts'
import { CommandError, reasonOf, UsageError } from './cli/io.ts'
import type { ServeHost } from './cli/serving.ts'
import type { Settings } from './cli/settings.ts'
import { readInspector } from './inspector-files.ts'
import { type Answer, type Listener, listen, type Tls } from './listeners.ts'
import { makeLog } from './log.ts'
import { openStore } from './open-store.ts'
import { adminPaths, type PathFilter, servesPath, workerPaths } from './paths.ts'
import { createService } from './service.ts'
import type { ReloadableOptions, Service, ServiceLogEntry, ServiceOptions } from './service-options.ts'
import { factsOf, textOf } from './start-lines.ts'

/** A store of a later version: no other exit has this code, so that a deployment can tell. */
const NEWER_EXIT = 3
/** Answers under way have this long once nothing new is taken, before their connections are cut. */
const ANSWER_MS = 5_000
/** Files are often written in several steps. */
const SETTLE_MS = 100

type Log = (entry: ServiceLogEntry) => void

/** Runs until a signal ends it. Resolves with the exit code. */
export async function serve(settings: Settings, { io, reread, uiFolder }: ServeHost): Promise<number> {
  const isDev = settings.tokens === undefined
  assertSafe(settings, isDev)
  const hangups = new Hangups()
  const tls = tlsOf(settings, io.cwd)
  const ui = uiOf(settings, uiFolder)
  const log = makeLog({
    level: settings.logLevel,
    format: settings.logFormat,
    write: (line) => io.stdout.write(line),
    now: () => systemClock.now(),
  })
  const bodies = await bodiesOf(settings, io.cwd)
  const opened = await openStore(settings.store, settings.name, settings.partitions).catch((error) => {
    throw new CommandError(reasonOf(error))
  })
  const options: ServiceOptions = {
    ...reloadable(settings, isDev),
    store: opened.stores,
    partitionBy: settings.partitionBy,
    role: settings.role,
    allowLoopback: isDev,
    hostNames: hostNamesOf(settings),
    corsOrigins: settings.corsOrigin ?? [],
    ...ui,
    ...(bodies && { bodies }),
    inlineBodyBytes: settings.inlineBody,
    maxUploadBytes: settings.maxUpload,
    uploadTtlMs: settings.uploadTtl,
    ...(settings.rate !== undefined && { rate: { perSecond: settings.rate } }),
    metricsOpen: settings.metricsOpen,
    policiesLocked: settings.policiesLocked,
    urlSecrets: settings.urlSecrets,
    maxBodyBytes: settings.maxBody,
    concurrency: settings.concurrency,
    concurrencyPerOrigin: settings.concurrencyPerOrigin,
    ...givenOf(settings, 'concurrencyPerTenant', 'tenantCapacity', 'tenantCapacityBytes'),
    attemptTimeoutMs: settings.attemptTimeout,
    connectTimeoutMs: settings.connectTimeout,
    ...(settings.egressProxy !== undefined && { egressProxy: settings.egressProxy }),
    ...(settings.dnsServers && { dnsServers: settings.dnsServers }),
    leaseMs: settings.lease,
    capacity: settings.capacity,
    capacityBytes: settings.capacityBytes,
    retention: {
      terminalMs: settings.retainEnded,
      deadLetterMs: settings.retainDead,
      maxDeadLetters: settings.maxDead,
    },
    version: io.version ?? 'unknown',
    log,
  }
  const service = await created(options, async () => {
    await bodies?.close()
    await opened.close()
  })
  const listeners: Listener[] = []
  try {
    await service.ready
    listeners.push(...(await listenOn(service, settings, tls)))
  } catch (error) {
    for (const listener of listeners) listener.cut()
    await service.close({ drainMs: 0 })
    await opened.close()
    throw refusal(error, opened.shown, settings.adminPort)
  }
  const ports = listeners.map(({ port }) => port)
  const watching = new WatchedFiles(io.cwd, () => reload())
  const reload = reloader({ service, reread, listeners, watching, log, cwd: io.cwd, isDev })
  // a script may tell it to stop as soon as it hears that it is ready
  const stopping = stopSignal()
  hangups.heed(reload)
  for (const fact of factsOf(settings, {
    isDev,
    ports,
    store: opened.shown,
    durability: opened.stores[0].durability,
    bodies: bodies?.shown,
  })) {
    if (settings.logFormat === 'text') io.stdout.write(`${textOf(fact, io)}\n`)
    else log({ level: 'info', ...fact.fields })
  }
  watching.watch(settings.files)
  const signal = await stopping
  watching.end()
  log({ level: 'info', event: 'stopping', signal, drainMs: settings.drain })
  await stop(service, listeners, settings)
  await opened.close()
  log({ level: 'info', event: 'stopped' })
  return 0
}

async function bodiesOf({ bodies }: Settings, cwd: string): Promise<BodyStore | undefined> {
  try {
    return bodies === undefined ? undefined : await openBodies(bodies, { clock: systemClock, cwd })
  } catch (error) {
    throw new UsageError(`--bodies: ${reasonOf(error)}`)
  }
}

/** Settings may be right each by itself, and wrong for the rules that they make: a target may be an address that no rule opens. */
async function created(options: ServiceOptions, close: () => Promise<void>): Promise<Service> {
  try {
    return createService(options)
  } catch (error) {
    await close()
    throw error instanceof TypeError || error instanceof RangeError ? new UsageError(reasonOf(error)) : error
  }
}

/** Refuses what would let strangers in, or out, by default. */
function assertSafe({ host, targets, allowAnyPublicTarget, role }: Settings, isDev: boolean): void {
  if (isLocal(host)) return
  if (isDev) {
    throw new UsageError(
      `--host ${host}: without tokens the service listens on loopback only; make one with \`redrive token\` and name its file with --tokens`,
    )
  }
  if (targets === undefined && !allowAnyPublicTarget && role !== 'api') {
    throw new UsageError(
      `--host ${host}: say where requests may go, by --targets https://api.example.com, or --allow-any-public-target for any public address`,
    )
  }
}

/** Those of the settings that were given. */
function givenOf<Key extends keyof Settings>(settings: Settings, ...keys: readonly Key[]) {
  return Object.fromEntries(keys.filter((key) => settings[key] !== undefined).map((key) => [key, settings[key]])) as {
    readonly [key in Key]?: NonNullable<Settings[Key]>
  }
}

const isLocal = (host: string): boolean => host === 'localhost' || (isIP(host) !== 0 && isLoopback(host))

function hostNamesOf({ host, hostNames }: Settings): readonly string[] {
  if (hostNames) return hostNames.map((name) => name.toLowerCase())
  const bound = isIP(host) === 6 ? `[${host}]` : host.toLowerCase()
  return [...new Set(['localhost', '127.0.0.1', '[::1]', bound])]
}

function reloadable(settings: Settings, isDev: boolean): ReloadableOptions {
  const { tokens, policies, defaultPolicy, credentials, signing, limits, tenants, bodySources } = settings
  const { allowHttp, allowPrivate, targets } = settings
  return {
    tokens: isDev ? undefined : tokens,
    policies,
    defaultPolicy,
    credentials,
    signing,
    limits,
    tenants,
    bodySources,
    allowHttp,
    allowPrivate,
    targets,
  }
}

/** Throws a UsageError that names the flag and the file. */
function tlsOf({ tlsCert, tlsKey, tlsClientCa }: Settings, cwd: string): Tls | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined
  const read = (flag: string, path: string): string => {
    try {
      return readFileSync(resolve(cwd, path), 'utf8')
    } catch (error) {
      throw new UsageError(`${flag}: ${path} cannot be read (${reasonOf(error)})`)
    }
  }
  const fits = (flags: string, given: SecureContextOptions): void => {
    try {
      createSecureContext(given)
    } catch (error) {
      throw new UsageError(`${flags}: no PEM of such, or not a pair (${reasonOf(error)})`)
    }
  }
  const ca = tlsClientCa === undefined ? undefined : read('--tls-client-ca', tlsClientCa)
  const [cert, key] = [read('--tls-cert', tlsCert), read('--tls-key', tlsKey)]
  fits(`--tls-cert ${tlsCert}, --tls-key ${tlsKey}`, { cert, key })
  if (ca !== undefined) fits(`--tls-client-ca ${tlsClientCa}`, { ca })
  return { cert, key, ca }
}

/** Throws a CommandError where the inspector is asked for and the package lacks a part of it. */
function uiOf({ ui }: Settings, uiFolder: string | undefined): Pick<ServiceOptions, 'ui' | 'uiFolder'> {
  try {
    if (ui) readInspector(uiFolder)
  } catch (error) {
    throw new CommandError(`--${reasonOf(error)}`)
  }
  return { ui, ...(uiFolder !== undefined && { uiFolder }) }
}

/** One listener, or two: what only operators and probes ask is on the second then. */
async function listenOn(service: Service, settings: Settings, tls: Tls | undefined): Promise<Listener[]> {
  const { host, port, adminPort, role, ui } = settings
  const answer =
    (may: PathFilter): Answer =>
    async (request, peer) =>
      may(pathOf(request)) ? service.fetch(request, peer) : notHere()
  const isWorker = role === 'worker'
  const own: PathFilter = (path) =>
    (!isWorker || servesPath(workerPaths, path)) && (adminPort === undefined || !servesPath(adminPaths, path))
  const uploads = settings.bodies !== undefined
  const first = await listen(answer(own), { host, port, tls, uploads })
  if (adminPort === undefined) return [first]
  // the inspector asks for tasks, too, and asks where it comes from
  const second = await listen(
    answer((path) => ui || servesPath(adminPaths, path)),
    { host, port: adminPort, tls },
  ).catch((error) => {
    first.cut()
    void first.close()
    throw error
  })
  return [first, second]
}

function notHere(): Response {
  const detail = 'this is answered on another port, or by another process: see --admin-port and --role'
  return problemResponse(new Problem('not-found', detail), newRequestId())
}

function refusal(error: unknown, store: string, adminPort?: number): CommandError {
  const { code, message, port } = error as { readonly code?: string; readonly message: string; readonly port?: number }
  const why =
    code === 'EADDRINUSE'
      ? `port ${port} is taken: another process listens on it; name another with ${port === adminPort ? '--admin-port' : '--port'}`
      : code?.startsWith('E')
        ? reasonOf(error)
        : `${store}: ${message}`
  return new CommandError(why, code === 'STORAGE_NEWER' ? NEWER_EXIT : 1)
}

interface Reloads {
  readonly service: Service
  readonly reread: ServeHost['reread']
  readonly listeners: readonly Listener[]
  readonly watching: WatchedFiles
  readonly log: Log
  readonly cwd: string
  readonly isDev: boolean
}

/** Reads tokens, policies, targets and certificates again. What is wrong changes nothing, and is said. */
function reloader({ service, reread, listeners, watching, log, cwd, isDev }: Reloads): () => void {
  let reloading: Promise<void> = Promise.resolve()
  const again = async (): Promise<void> => {
    try {
      const settings = await reread()
      // it may name others, and one that is wrong is put right there
      watching.watch(settings.files)
      if ((settings.tokens === undefined) !== isDev) {
        throw new UsageError(
          'tokens: a service with tokens cannot go on without any, nor the other way round; restart it',
        )
      }
      assertSafe(settings, isDev)
      const tls = tlsOf(settings, cwd)
      await service.reload(reloadable(settings, isDev))
      if (tls) for (const listener of listeners) listener.setTls(tls)
      log({ level: 'info', event: 'reloaded' })
    } catch (error) {
      log({ level: 'error', event: 'reload_refused', message: `${reasonOf(error)}: nothing was changed` })
    }
  }
  return () => {
    reloading = reloading.then(again)
  }
}

/** Tells of changes of files, once they have settled. */
class WatchedFiles {
  readonly #cwd: string
  readonly #changed: () => void
  #disarm = (): void => {}
  #watchers: readonly FSWatcher[] = []

  constructor(cwd: string, changed: () => void) {
    this.#cwd = cwd
    this.#changed = changed
  }

  /** These and no others from now on. A change of one before that has not settled yet still counts. */
  watch(files: readonly string[]): void {
    const before = this.#watchers
    this.#watchers = files.flatMap((path) => {
      try {
        // an editor puts another file in its place, and a secret that is mounted is a link to a folder that is exchanged
        const file = resolve(this.#cwd, path)
        const inFolder = (_: string, name: string | null): void => {
          if (name === basename(file) || name === '..data') this.#soon()
        }
        return [watch(file, { persistent: false }, this.#soon), watch(dirname(file), { persistent: false }, inFolder)]
      } catch {
        return [] // it was read a moment ago; SIGHUP is left
      }
    })
    for (const watcher of this.#watchers) watcher.on('error', () => watcher.close())
    for (const watcher of before) watcher.close()
  }

  end(): void {
    this.#disarm()
    this.watch([])
  }

  readonly #soon = (): void => {
    this.#disarm()
    this.#disarm = systemClock.after(SETTLE_MS, this.#changed, true)
  }
}

/** One that comes during the start is heeded after it: the settings have been read by then. */
class Hangups {
  #heed = (): void => {
    this.#hasCome = true
  }
  #hasCome = false

  constructor() {
    process.on('SIGHUP', () => this.#heed())
  }

  heed(reload: () => void): void {
    this.#heed = reload
    if (this.#hasCome) reload()
  }
}

/** Resolves with the first signal to stop. The second one ends the process at once. */
function stopSignal(): Promise<string> {
  return new Promise((stopped) => {
    let isStopping = false
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (isStopping) process.exit(1)
        isStopping = true
        stopped(signal)
      })
    }
  })
}

/** First says that it leaves, then takes nothing new, then lets what runs end. */
async function stop(service: Service, listeners: readonly Listener[], { drain, drainDelay }: Settings): Promise<void> {
  service.leave()
  await later(drainDelay)
  await Promise.all(listeners.map((listener) => listener.whenTaken()))
  // a client that is told to go elsewhere finds no listener here any more; reads go on until what was asked is answered, which needs the store
  const answered = Promise.all(listeners.map((listener) => listener.close()))
  service.drain()
  await Promise.race([answered, later(Math.min(ANSWER_MS, Math.max(drain, 1)))])
  await service.close({ drainMs: drain })
  for (const listener of listeners) listener.cut()
  await answered
}

const later = (ms: number): Promise<void> =>
  ms === 0 ? Promise.resolve() : new Promise((done) => systemClock.after(ms, done, true))
