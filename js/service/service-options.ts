/** How a service is made as a library, and what it is then: the signatures of `createService`. */

import type { Clock, RetentionOptions, TaskStore } from 'redrive'
import type { RetryPolicy } from 'redrive/core'
import {
  check,
  DAY_MS,
  flag,
  fn,
  follow,
  int,
  kind,
  list,
  ms,
  object,
  oneOf,
  options,
  or,
  pattern,
  type Rule,
  type Rules,
  text,
} from 'redrive/internal'
import type { ApiToken, RateSettings, Scope } from './api/context.ts'
import type { BodySourcesOptions } from './bodies/body-sources.ts'
import type { BodyStore } from './bodies/body-store.ts'
import type { BodyLimits } from './bodies/task-bodies.ts'
import type { CredentialsOptions } from './credentials.ts'
import type { ShareOptions } from './limits.ts'
import type { PartitionBy } from './partitions.ts'
import { TENANT_SHAPE, TENANT_WORDS } from './shapes.ts'
import type { SigningsOptions } from './signing.ts'
import type { TransportOptions } from './transport.ts'

/** Where requests may go. A service sends what others ask it to send, so all that is not allowed is refused. */
export type TargetOptions = Pick<
  TransportOptions,
  | 'allowHttp'
  | 'allowPrivate'
  | 'allowLoopback'
  | 'targets'
  | 'connectTimeoutMs'
  | 'egressProxy'
  | 'lookup'
  | 'dnsServers'
  | 'ca'
>

/** The part of the options that `reload` may change while the service runs. */
export interface ReloadableOptions
  extends Pick<TargetOptions, 'allowHttp' | 'allowPrivate' | 'targets'>,
    Pick<ShareOptions, 'limits' | 'tenants'> {
  /** Tokens of those who may ask; each belongs to a tenant, whose tasks it sees. undefined: there are no tokens, and everyone may do everything. */
  readonly tokens?: readonly ApiToken[] | undefined
  /** Policies that the API can name and not change. They win over those of the store. @default none */
  readonly policies?: readonly RetryPolicy[]
  /** The policy of tasks that name none, laid over the defaults of the background. @default `{ policyId: 'default' }` */
  readonly defaultPolicy?: RetryPolicy
  /** Headers that may not be stored, which tasks name. They are read for each attempt. @default none */
  readonly credentials?: CredentialsOptions
  /** Keys that sign attempts, which tasks name. They are read for each attempt. @default none */
  readonly signing?: SigningsOptions
  /** Buckets in which tasks may name bodies of their callers' own. @default none */
  readonly bodySources?: BodySourcesOptions
}

export interface ServiceOptions extends ReloadableOptions, TargetOptions, ShareOptions {
  /**
   * Made with `everyone: true`, by `memoryStore`, `sqliteStore` or `redisStore`. The service closes it. A list of up to 64 of them are
   * partitions, always the same in the same order: a task lies in one of them. Each keeps to its share of every limit, and keys,
   * orders and circuits are each partition's own.
   */
  readonly store: TaskStore | readonly TaskStore[]
  /** The part of a task that its partition goes by. It cannot be changed later, and nor can the number of partitions. @default 'tenant' */
  readonly partitionBy?: PartitionBy
  /** 'api' takes tasks and sends none, 'worker' sends and is asked for its health and metrics alone. @default 'all' */
  readonly role?: 'all' | 'api' | 'worker'
  /** Names that the service is called by, without a port. @default localhost, 127.0.0.1, [::1] */
  readonly hostNames?: readonly string[]
  /** Origins of pages that may ask. @default none */
  readonly corsOrigins?: readonly string[]
  /** Paces each token, in this process. @default no pace */
  readonly rate?: RateSettings
  /** `/metrics` asks for no token. @default false */
  readonly metricsOpen?: boolean
  /** No policy is changed over the API. @default false */
  readonly policiesLocked?: boolean
  /** A task whose URL carries a secret is refused, or stored with it. @default 'refuse' */
  readonly urlSecrets?: 'refuse' | 'keep'
  /** Largest request, in bytes. @default 1 MiB */
  readonly maxBodyBytes?: number
  /** Where larger bodies lie, and those that are uploaded: made by `openBodies`. The service closes it. @default with their tasks */
  readonly bodies?: BodyStore
  /** With `bodies`: those up to so many bytes stay with their tasks. @default 64 KiB */
  readonly inlineBodyBytes?: number
  /** The largest body that may be uploaded, or named in a bucket. @default 1 GiB */
  readonly maxUploadBytes?: number
  /** With `bodies`: how long one that was uploaded may be named by tasks, and how long a folder keeps any, in milliseconds. @default 35 days */
  readonly uploadTtlMs?: number
  /** Most attempts in flight over all processes. 1 to 10,000. @default 200 */
  readonly concurrency?: number
  /** Most of them to one origin for one tenant, over all processes, and to one origin for all tenants from one process. 1 to 10,000. @default 20 */
  readonly concurrencyPerOrigin?: number
  /** The time limit of an attempt whose policy has none, in milliseconds. @default 30_000 */
  readonly attemptTimeoutMs?: number
  /** How long a process that died keeps its tasks from the others, in milliseconds. 1,000 to 3,600,000. @default 30_000 */
  readonly leaseMs?: number
  /** Tasks pending, in flight or dead letters. 1 to 1,000,000. @default 1_000_000 */
  readonly capacity?: number
  /** Their bodies, in bytes. @default 4 GiB */
  readonly capacityBytes?: number
  /** @default 1 day for what has ended, up to 1,000,000; 30 days for dead letters, up to 100,000 */
  readonly retention?: RetentionOptions
  /** Shows the inspector at `/ui`: a page that asks this API, with the token that its user types in. @default false */
  readonly ui?: boolean
  /** The folder of `ui.js` and the files beside it: for a bundle, which has left them behind. @default the folder ui of the package */
  readonly uiFolder?: string
  /** Shown by `GET /` and in metrics. @default 'unknown' */
  readonly version?: string
  /** A line of the log. It never holds a query, a header or a body (S12). @default nothing is logged */
  readonly log?: (entry: ServiceLogEntry) => void
  readonly clock?: Clock
}

/** One line of the log. `level`: 'warn' and 'error' are for people, 'info' for each request and state. */
export interface ServiceLogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly event: string
  readonly [field: string]: unknown
}

export interface Service {
  /** The store is open, and tasks that were there are taken up. Rejects where the store cannot be opened. */
  readonly ready: Promise<void>
  /** Answers one request. Never rejects. */
  fetch(request: Request, peer?: { readonly remoteAddress?: string }): Promise<Response>
  /**
   * Takes effect with the next request. Options that are left out stay as they are; one that is undefined has its default again. Rejects, and
   * changes nothing, where an option is wrong.
   */
  reload(options: ReloadableOptions): Promise<void>
  /** `/readyz` says 503 from now on. */
  leave(): void
  /** Writes get 503 `draining` from now on, and no attempt begins. */
  drain(): void
  /** Lets attempts in flight end, or gives them back after `drainMs`, and closes the store. @default 10_000 */
  close(options?: { readonly drainMs?: number }): Promise<void>
}

/** By what reads it, which says more. */
const ELSEWHERE: Rule = { expected: 'what its part of the service reads' }
const above0: Rule = { ...kind('number', 'a number above 0'), ok: (given: number) => given > 0 && given < Infinity }
const bytes = int(0, Number.MAX_SAFE_INTEGER)
const SCOPES: readonly Scope[] = ['tasks:read', 'tasks:write', 'policies:write', 'metrics', 'admin']
/** An object that has these. */
const having = <T extends object>(inside: Rules<T>, ...keys: readonly (keyof T & string)[]): Rule => ({
  ...options(inside),
  expected: `an object with ${keys.join(', ')}`,
  ok: (given: T) => keys.every((key) => given[key] !== undefined),
})

const TOKEN: Rules<ApiToken> = {
  name: text,
  // it may be the token itself
  sha256: { ...pattern('64 hex digits, the SHA-256 of the token', /^[\da-f]{64}$/i), isMute: true },
  tenant: or(null, pattern(TENANT_WORDS, TENANT_SHAPE)),
  scopes: list(oneOf(...SCOPES)),
  expiresAt: above0,
}

const RELOADABLE: Rules<ReloadableOptions> = {
  tokens: list(having(TOKEN, 'sha256', 'tenant', 'scopes')),
  policies: list(object),
  defaultPolicy: object,
  credentials: ELSEWHERE,
  signing: ELSEWHERE,
  bodySources: ELSEWHERE,
  limits: ELSEWHERE,
  tenants: ELSEWHERE,
  allowHttp: flag,
  allowPrivate: list(text),
  targets: list(text),
}

const OPTIONS: Rules<ServiceOptions> = {
  ...RELOADABLE,
  store: {
    expected: 'a store, or a list of them',
    ok: (given: unknown) => typeof given === 'object' && given !== null,
  },
  partitionBy: ELSEWHERE,
  role: oneOf('all', 'api', 'worker'),
  hostNames: list(text),
  corsOrigins: list(text),
  rate: having<RateSettings>({ perSecond: above0, burst: above0 }, 'perSecond'),
  metricsOpen: flag,
  policiesLocked: flag,
  urlSecrets: oneOf('refuse', 'keep'),
  maxBodyBytes: bytes,
  bodies: object,
  inlineBodyBytes: bytes,
  maxUploadBytes: bytes,
  uploadTtlMs: ms(),
  concurrency: int(1, 10_000),
  concurrencyPerOrigin: int(1, 10_000),
  concurrencyPerTenant: ELSEWHERE,
  tenantCapacity: ELSEWHERE,
  tenantCapacityBytes: ELSEWHERE,
  attemptTimeoutMs: ms(),
  leaseMs: int(1_000, 3_600_000),
  capacity: int(1, 1_000_000),
  capacityBytes: bytes,
  retention: object,
  allowLoopback: flag,
  connectTimeoutMs: ms(),
  egressProxy: ELSEWHERE,
  lookup: fn,
  dnsServers: list(text),
  ca: text,
  ui: flag,
  uiFolder: text,
  version: text,
  log: fn,
  clock: object,
}

/** Throws a TypeError or RangeError that names the option. */
export function checkOptions(given: ServiceOptions): void {
  check('createService', given, OPTIONS)
  follow('createService.store', given.store, OPTIONS.store)
}

/** Likewise. */
export const checkReload = (given: ReloadableOptions): void => check('reload', given, RELOADABLE)

export function bodyLimitsOf({ inlineBodyBytes, maxUploadBytes, uploadTtlMs }: ServiceOptions): BodyLimits {
  return {
    inlineBytes: inlineBodyBytes ?? 64 * 1024,
    maxUploadBytes: maxUploadBytes ?? 2 ** 30,
    uploadTtlMs: uploadTtlMs ?? 35 * DAY_MS,
  }
}
