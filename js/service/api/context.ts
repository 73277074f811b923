/**
 * The parts of a service that its REST API works with, as ports: the API reads no file, opens no socket and starts no runner. Who assembles a
 * service gives them, and so does a test.
 */

import type { Clock, QueueStats, RetryQueue, SanitizeOptions, ScopeOptions, TaskStore } from 'redrive'
import type { Core, RetryPolicy } from 'redrive/core'
import type { Sanitizer } from 'redrive/internal'
import type { Quota } from 'redrive/store'
import type { BodySources } from '../bodies/body-sources.ts'
import type { TaskBodies } from '../bodies/task-bodies.ts'
import type { Listening } from '../feed/types.ts'

/** A store that a service can stand on. It is made with `everyone: true`. */
export type ApiStore = TaskStore & Required<Pick<TaskStore, 'due' | 'registry' | 'pauses' | 'untold' | 'told'>>

/** The questions and orders for which the queue is asked, since it also knows what runs in this process. Always with `allPrincipals`. */
export interface ApiQueue extends Pick<RetryQueue, 'attempts' | 'cancel' | 'explain' | 'flush'> {
  stats(scope: ScopeOptions): Pick<QueueStats, 'capacity' | 'origins' | 'storeFailingSinceAt'>
}

/** The rights of a token. `admin` includes all others. */
export type Scope = 'tasks:read' | 'tasks:write' | 'policies:write' | 'metrics' | 'admin'

/** A token as the configuration holds it: never the token itself. */
export interface ApiToken {
  /** Shown in logs. */
  readonly name: string
  /** SHA-256 of the token's text, 64 hex digits of either case. */
  readonly sha256: string
  /** The principal of its tasks. null with `admin`: it sees all, and acts for one with `Redrive-Tenant`. */
  readonly tenant: string | null
  readonly scopes: readonly Scope[]
  /** Epoch ms. From then on the token is refused. @default never */
  readonly expiresAt?: number
}

/** Requests of one token, counted in this process alone. */
export interface RateSettings {
  /** Above 0; fractions are allowed. */
  readonly perSecond: number
  /** Requests that may come at once after a rest. @default twice `perSecond`, at least 1 */
  readonly burst?: number
}

/** Sizes beyond which a request is refused. */
export interface ApiLimits {
  /** Bytes of a request's body, and of each task in a batch. */
  readonly maxBodyBytes: number
  /** Bytes of a batch. @default 8 MiB, or `maxBodyBytes` where that is more */
  readonly maxBatchBytes?: number
  /** Headers of a task. @default 64 */
  readonly maxHeaders?: number
  /** Their names and values together. @default 16_384 */
  readonly maxHeaderBytes?: number
  /** Objects and arrays within each other. @default 32 */
  readonly maxDepth?: number
  /** Characters of a target. @default 8_192 */
  readonly maxUrlLength?: number
  /** The farthest that a task may be put off, in milliseconds. @default 90 days */
  readonly maxDelayMs?: number
}

export interface ApiSettings {
  readonly limits: ApiLimits
  /** Like `sanitize.urlSecrets` of a queue; a task with a secret in its URL is refused by default, since none is kept in memory. */
  readonly urlSecrets?: SanitizeOptions['urlSecrets']
  /** The policy of a task that names none. Its `policyId` is `default`, or the name of the preset or registered policy that it is. */
  readonly defaultPolicy: RetryPolicy
  /** The time limit of an attempt whose policy has none, in milliseconds. @default that of the package, 10 s and the time for the body */
  readonly attemptTimeoutMs?: number
  /** No policy is changed over the API. @default false */
  readonly policiesLocked?: boolean
  /** Names of policies that the operator's file gives: the API cannot change them. @default none */
  readonly filePolicies?: ReadonlySet<string>
  /** `/metrics` asks for no token. @default false */
  readonly metricsOpen?: boolean
  /** Paces each token. Absent: none is. */
  readonly rate?: RateSettings
  /** Names that the server answers to, without a port, in lower case: `localhost`, `[::1]`. */
  readonly hostNames: readonly string[]
  /** Origins of pages that may ask, exactly as browsers send them. @default none */
  readonly corsOrigins?: readonly string[]
}

/** Why a request may not go to a target. */
export interface TargetRefusal {
  /** The rule, in a word: a label of metrics. */
  readonly rule: string
  /** The fault and the remedy. It names no address that was found. */
  readonly text: string
}

/** One line of the log. It holds ids, names, numbers: never a query, a header, a body. */
export interface ApiLogEntry {
  readonly event: 'request' | 'error' | 'operation'
  readonly [field: string]: string | number | boolean | null | undefined
}

/** A request that was answered, for metrics. */
export interface AnsweredRequest {
  /** The path as the table has it, such as `/retry-tasks/{taskId}`; '' where there is none. */
  readonly route: string
  readonly method: string
  readonly status: number
  readonly ms: number
}

/** A file of the inspector, in memory. */
export interface InspectorFile {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly contentType: string
  readonly etag: string
  /** Its name changes with its content. */
  readonly isHashed: boolean
}

/** By name; the page itself is ''. */
export type InspectorFiles = ReadonlyMap<string, InspectorFile>

export interface ApiContext {
  /** The live view. */
  readonly events: Listening
  readonly store: ApiStore
  readonly queue: ApiQueue
  /** The part of the guard that needs no connection. undefined: it may be tried. */
  checkTarget(url: URL, tenant: string | null): TargetRefusal | undefined
  /** The quota of a tenant. undefined: it has none. */
  quotaOf?(tenant: string | null): Quota | undefined
  /** Whether attempts at an origin are bounded by a limit of its own. */
  isLimited?(origin: string): boolean
  /** The end of the hold of a lane, as a turn has seen it; null: it has none. */
  heldUntil?(lane: string): number | null
  /** Why tasks of a tenant to an origin may not name this credential. undefined: they may. Absent: there are none. */
  refuseCredential?(name: string, tenant: string | null, origin: string): string | undefined
  /** Likewise of the keys that sign. */
  refuseSigning?(name: string, tenant: string | null): string | undefined
  /** Bodies that lie apart from their tasks. Absent: there are none. */
  readonly bodies?:
    | Pick<TaskBodies, 'limits' | 'upload' | 'keptUntil' | 'find' | 'keep' | 'open' | 'dropBody'>
    | undefined
  /** Buckets in which tasks may name bodies. Absent: there are none. */
  readonly bodySources?: Pick<BodySources, 'maxBytes' | 'find' | 'refuse' | 'open'> | undefined
  /** Stores the callbacks of the ends of these tasks that are to be reported, as far as there is room. */
  tellEnds(taskIds: readonly string[]): Promise<void>
  readonly sanitizer: Sanitizer
  readonly core: Pick<Core, 'canonicalJson' | 'backoffSchedule'>
  readonly clock: Clock
  /** Asked for each request, so that a reload takes effect at once. */
  settings(): ApiSettings
  /** Asked for each request. undefined: none are configured, and everything is allowed (dev mode). An empty list allows nothing. */
  tokens(): readonly ApiToken[] | undefined
  /**
   * `isStoreWell`: the queue's own calls of the store succeed, and it was not full a moment ago. `isLeaving`: it is to be asked no more,
   * `isDraining`: it takes nothing more.
   */
  readonly state: { isReady(): boolean; isStoreWell(): boolean; isLeaving(): boolean; isDraining(): boolean }
  readonly version: string
  /** The files below `/ui`. Absent: there is no such path. */
  readonly inspector?: InspectorFiles | undefined
  log(entry: ApiLogEntry): void
  onRequest?(request: AnsweredRequest): void
  /** A task was refused for its target. */
  onTargetRefused?(rule: string): void
  /** Prometheus' text format 0.0.4. */
  metrics(): Promise<string>
}
