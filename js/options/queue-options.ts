/** The options of a queue, their defaults and their checks, all made at construction, before anything runs. */

import type { Credentials } from '../api/credentials.ts'
import type { RetryPolicy } from '../api/policy.ts'
import type { TaskStore } from '../api/store.ts'
import type { AttemptContext, RetryTask } from '../api/task.ts'
import { type Clock, systemClock } from '../platform/clock.ts'
import {
  check,
  flag,
  fn,
  follow,
  int,
  isWellFormed,
  kind,
  list,
  ms,
  object,
  oneOf,
  options,
  or,
  origin,
  pattern,
  type Rule,
  type Rules,
  text,
} from './check.ts'
import { CREDENTIALS, type CredentialsByOrigin, credentialsByOrigin } from './credentials.ts'
import { BREAKER_RULES, type BreakerOptions, BUDGET_RULES, type RetryBudgetOptions } from './gate-options.ts'
import { policyDefaults, type ResolvedPolicy, resolvePolicy } from './policy.ts'

export interface RetryQueueOptions {
  /** Names the queue, in errors too; with a durable store: same name, same tasks after a reload. @default 'default' */
  readonly name?: string
  /**
   * The user on whose behalf the requests are made: an opaque id, or `null` where there is no user. In a page it makes the
   * queue durable; without it the tasks of a page end with the page. Shown in tasks. A task is sent only while the principal
   * it was made under is the current one, since it could go out with the next user's cookies: see `setPrincipal`.
   */
  readonly principal?: string | null
  /**
   * Where tasks are kept. A `TaskStore` keeps them after the page or the process has ended; those it has already are
   * taken up. 'memory': they end with it. 'auto': the browser's IndexedDB in a page with a `principal`, else 'memory'.
   * @default 'auto'
   */
  readonly store?: 'auto' | 'memory' | TaskStore
  /**
   * With a `TaskStore`: 'on-failure' stores a task when its first attempt fails; 'before-send' stores it before that, so
   * that it also survives a kill during the first. @default 'on-failure'
   */
  readonly persist?: 'on-failure' | 'before-send'
  /** Methods whose tasks are stored, with a `TaskStore`; those of others stay in memory, but for calls with an `orderKey`. @default POST PUT PATCH DELETE */
  readonly persistMethods?: readonly string[]
  /**
   * Attempts that the queue itself may have in flight: retries and enqueued tasks. A caller's own first attempt is never held
   * back by it. 1..=10_000. @default 3
   */
  readonly concurrency?: number
  /** Attempts that the queue itself may have in flight to one origin. 1..=10_000. @default = concurrency */
  readonly concurrencyPerOrigin?: number
  /**
   * Longest time for which a server's answer to one request (`Retry-After` of a 429 or 503, a `RateLimit` with nothing left)
   * holds back the retries and enqueued tasks of others to that origin, counted from the first such answer; they then have
   * their turn before the next. The request that was answered waits in full. 0: it holds no other. @default 60_000
   */
  readonly maxLaneHoldMs?: number
  /** Callers' own first attempts wait with them, as tasks. Otherwise they are sent, as they are without a queue. @default false */
  readonly holdFirstAttempts?: boolean
  /**
   * Tasks waiting, in flight, or dead letters; a full queue refuses new ones (`QueueFullError`) and drops none. In memory a dead
   * letter whose caller has had the failure does not count. 1..=1_000_000. @default 10_000
   */
  readonly capacity?: number
  /** Their bodies, in bytes. @default 50 MiB */
  readonly capacityBytes?: number
  /** A larger body is sent once and not retried. @default 8 MiB */
  readonly maxBodyBytes?: number
  /** The policy 'default'. */
  readonly policy?: Partial<RetryPolicy>
  /** Further policies, chosen per call by `policyId`. */
  readonly policies?: readonly RetryPolicy[]
  readonly retention?: RetentionOptions
  /**
   * One per origin: keeps retries from a server that fails anyway; see docs/gates.md. It hears of every attempt.
   * false: none, and no ramp either. @default `{}`, but in browsers a ramp without a breaker: thousands of tabs would each
   * probe for themselves
   */
  readonly breaker?: BreakerOptions | false
  /** One per origin: how much retries may add to the load; see docs/gates.md. @default `{}` */
  readonly retryBudget?: RetryBudgetOptions | false
  /** Rules for what may be shown and stored of a request: see docs/headers.md. */
  readonly sanitize?: SanitizeOptions
  /** How unsafe methods get their idempotency key; false: they get none, and POST and PATCH are not retried. */
  readonly idempotency?: IdempotencyOptions | false
  /**
   * Headers that may not be stored, given by origin: `{ 'https://api.example.com': (request) => ({ authorization: '...' }) }`. A key is an
   * origin as `new URL(...).origin` writes it, or, in a page or service worker, `self` for its own; it is read at
   * construction. The entry of the target's origin is asked before every retry and every attempt of an enqueued task, 5 s at
   * most, and its headers are laid over those of the request; they are never stored or logged. Without an entry a task gets no
   * credential: it is sent with what may be stored of its headers, or is parked where some are missing (`degraded`
   * 'credentials_missing'), and a 401 ends it. When it throws, the attempt is given back and tried again later (`degraded`
   * 'credentials_failed'). @default none
   */
  readonly credentials?: Credentials
  /**
   * Last look before a retry, 5 s at most: false ends the task as 'vetoed'. When it throws or takes longer, the attempt
   * is made, and `degraded` 'hook_threw' says so.
   */
  readonly beforeAttempt?: (task: RetryTask, context: AttemptContext) => boolean | Promise<boolean>
  /** When the core's chunk is fetched: it must be here before the network goes. @default 'idle' */
  readonly preload?: 'idle' | 'eager' | 'never'
  /** The WebAssembly module, its bytes, a Response with them, a promise or a function giving one, where the built-in loading does not fit. */
  readonly wasm?: WebAssembly.Module | BufferSource | Response | Promise<unknown> | (() => unknown)
  /** @default the fetch that was global at construction */
  readonly fetch?: typeof fetch
  /** For tests: see `redrive/testing`. */
  readonly clock?: Clock
  /** For tests: makes jitter and ids repeatable. */
  readonly seed?: bigint
}

export interface RetentionOptions {
  /** How long an ended task can be asked for. @default 86_400_000 (1 day) */
  readonly terminalMs?: number
  /** The most of them; beyond it the oldest are forgotten. A key is known again for as long as its task is. @default 10_000 */
  readonly maxTerminal?: number
  /** How long a dead letter is kept; then it is purged, and `degraded` 'dead_letters_trimmed' says so. @default 2_592_000_000 (30 days) */
  readonly deadLetterMs?: number
  /**
   * Beyond it the oldest is purged, which may be work that was accepted and not done; `degraded` 'dead_letters_trimmed' says so.
   * @default none: dead letters take room, and `capacity` refuses what is new instead
   */
  readonly maxDeadLetters?: number
}

export interface IdempotencyOptions {
  /**
   * 'intent': one random 128-bit key per call. 'content': SHA-256 of the request and its principal (`generateIdempotencyKey`
   * of `redrive/core`), so that equal requests of one user share a key within `windowMs`; an order placed twice on purpose is
   * then one order. Without a principal it asks for a `scope`; a call made while no user is signed in has a random key, then.
   * @default 'intent'
   */
  readonly mode?: 'intent' | 'content'
  /** 'content': how long equal requests share a key, from the first of them. 1 or more. @default 86_400_000, one day */
  readonly windowMs?: number
  /** 'content': mixed into the key beside the principal, so that equal requests of two tenants or installations have two keys. */
  readonly scope?: string
  /**
   * 'content': a secret that the key is an HMAC-SHA-256 under, so that no one else can try out what was in a body that is easily
   * guessed, such as a PIN. 16 or more characters or bytes, the same wherever the key is to be. Never stored, shown or sent.
   */
  readonly scopeKey?: string | Uint8Array
  /** @default 'Idempotency-Key' */
  readonly header?: string
  /** 'sf-string' puts the key in double quotes (RFC 8941 string). @default 'bare' */
  readonly format?: 'bare' | 'sf-string'
  /** Methods that get a key. @default POST PATCH PUT DELETE */
  readonly methods?: readonly string[]
  /**
   * Cross-origin targets that may get the header, each exactly as `new URL(url).origin` has it, without wildcards: it forces
   * a CORS preflight, and the server must allow it. An unsafe call to any other origin is plain fetch, and `degraded`
   * 'key_origin_missing' says so once per origin.
   * @default none in browsers, all elsewhere
   */
  readonly origins?: readonly string[]
}

export interface SanitizeOptions {
  /**
   * Header names to keep beyond the default list: `accept`, `accept-*`, `content-type`, `-language`, `-encoding`, `if-*`,
   * `prefer`, `range`, `idempotency-key`, `x-requested-with`, `x-request-id`, `x-correlation-id`, `traceparent`,
   * `tracestate`, `baggage`. Any case; `*` at an end. The deny-list wins, and so does a value that looks like a secret.
   */
  readonly persistHeaders?: readonly string[]
  /** Header names never to keep, beyond the built-in list of what carries credentials. Any case; `*` at an end. */
  readonly denyHeaders?: readonly string[]
  /**
   * Secrets in query parameters. 'memory': such a task is never stored, and what is shown of its URL has `REDACTED` in
   * their place. 'strip': it may be stored, without those parameters. 'keep': the URL is stored and shown as it is.
   * @default 'memory'
   */
  readonly urlSecrets?: 'memory' | 'strip' | 'keep'
}

const bytes = int(0, 2 ** 53 - 1)

export const PRINCIPAL: Rule = or(null, text)

export const token: Rule = pattern('an HTTP token', /^[!#-'*+.^-`|~\w-]+$/)

const RETENTION_RULES: Rules<RetentionOptions> = {
  terminalMs: ms(),
  maxTerminal: int(0, 1e6),
  deadLetterMs: ms(),
  maxDeadLetters: int(0, 1e6),
}

const headerNames = list(pattern('a header name, or * at its end', /^\*?[!#-'+.^-`|~\w-]+\*?$/))

export const SANITIZE_RULES: Rules<SanitizeOptions> = {
  persistHeaders: headerNames,
  denyHeaders: headerNames,
  urlSecrets: oneOf('string', 'memory', 'strip', 'keep'),
}

/** Its message tells the length of the secret alone. */
export const SCOPE_KEY: Rule = {
  type: 'any',
  expected: 'a secret of 16 characters or bytes or more',
  ok: (given: unknown) =>
    (typeof given === 'string' ? isWellFormed(given) : given instanceof Uint8Array) &&
    (given as { readonly length: number }).length >= 16,
  got: (given: { readonly length?: number } | null) => `${typeof given} of length ${given?.length}`,
}

const IDEMPOTENCY_RULES: Rules<IdempotencyOptions> = {
  mode: oneOf('string', 'intent', 'content'),
  windowMs: ms(1),
  scope: text,
  scopeKey: SCOPE_KEY,
  header: token,
  format: oneOf('string', 'bare', 'sf-string'),
  methods: list(token),
  origins: list(origin),
}

const QUEUE_RULES: Rules<RetryQueueOptions> = {
  name: text,
  principal: PRINCIPAL,
  store: {
    type: 'any',
    expected: "'auto', 'memory' or a TaskStore",
    ok: (store: unknown) => store === 'auto' || store === 'memory' || isStore(store as TaskStore | null),
  },
  persist: oneOf('string', 'on-failure', 'before-send'),
  persistMethods: list(token),
  breaker: or(false, options(BREAKER_RULES)),
  retryBudget: or(false, options(BUDGET_RULES)),
  concurrency: int(1, 1e4),
  concurrencyPerOrigin: int(1, 1e4),
  maxLaneHoldMs: ms(),
  holdFirstAttempts: flag,
  capacity: int(1, 1e6),
  capacityBytes: bytes,
  maxBodyBytes: bytes,
  policy: object,
  policies: list(object),
  retention: options(RETENTION_RULES),
  idempotency: or(false, options(IDEMPOTENCY_RULES)),
  sanitize: options(SANITIZE_RULES),
  credentials: CREDENTIALS,
  beforeAttempt: fn,
  preload: oneOf('string', 'idle', 'eager', 'never'),
  wasm: { type: 'any', expected: '', ok: () => true },
  fetch: fn,
  clock: object,
  seed: kind('bigint'),
}

function isStore(given: TaskStore | null): boolean {
  return typeof given?.turn === 'function' && typeof given.enqueue === 'function'
}

/** Their repeat may do the work twice: what gets a key, and what is stored, unless told otherwise. */
export const UNSAFE_METHODS: readonly string[] = ['POST', 'PUT', 'PATCH', 'DELETE']

/** The options of a queue, checked; what only tasks are measured by gets its defaults in `limits.ts`. */
export interface Settings extends Omit<RetryQueueOptions, 'policy' | 'policies' | 'idempotency' | 'credentials'> {
  readonly name: string
  readonly capacity: number
  readonly maxBodyBytes: number
  readonly policies: ReadonlyMap<string, ResolvedPolicy>
  readonly idempotency: IdempotencySettings
  readonly credentials: CredentialsByOrigin
  readonly preload: 'idle' | 'eager' | 'never'
  readonly fetch: typeof fetch
  readonly clock: Clock
  /** `store` is one that outlives the queue. */
  readonly durable: boolean
}

export interface IdempotencySettings extends Omit<IdempotencyOptions, 'scopeKey'> {
  /** A copy. */
  readonly scopeKey: string | Uint8Array | undefined
  readonly header: string
  /** Methods that get a key, in upper case; none where `idempotency` is false. */
  readonly keyed: ReadonlySet<string>
  /** null: every origin. */
  readonly allowed: ReadonlySet<string> | null
}

export function resolveOptions(given: RetryQueueOptions): Settings {
  check('options', given, QUEUE_RULES)
  const { clock, idempotency = {} } = given
  for (const part of ['now', 'monotonic', 'after'] as const) {
    if (clock) follow(`options.clock.${part}`, clock[part], fn)
  }
  const globalFetch = globalThis.fetch
  follow('options.fetch', given.fetch ?? globalFetch, fn)
  return {
    name: 'default',
    capacity: 10_000,
    maxBodyBytes: 8 * 2 ** 20,
    preload: 'idle',
    clock: systemClock,
    // browsers refuse a fetch that is called without its global
    fetch: globalFetch?.bind(globalThis),
    ...defined(given),
    policies: resolvePolicies(given),
    idempotency: resolveIdempotency(idempotency || { methods: [] }, given.principal),
    credentials: credentialsByOrigin(given.credentials),
    durable:
      typeof given.store === 'object' ||
      (given.store !== 'memory' && given.principal !== undefined && globalThis.location !== undefined),
  }
}

/** An option given as undefined is one that is not given. */
export function defined<T extends object>(given: T): T {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T
}

function resolvePolicies({ policy, policies = [] }: RetryQueueOptions): Map<string, ResolvedPolicy> {
  const resolved = new Map<string, ResolvedPolicy>()
  const add = (what: string, given: Partial<RetryPolicy>, id: string) => {
    follow(`${what}.policyId`, id, { ...text, expected: 'a new name', ok: () => !resolved.has(id) })
    resolved.set(id, resolvePolicy(given, policyDefaults, what))
  }
  // 'default' is always there; it may be given here or there, not both
  if (policy) add('options.policy', policy, 'default')
  policies.forEach((each, i) => {
    add(`options.policies[${i}]`, each, each.policyId)
  })
  if (!resolved.has('default')) resolved.set('default', resolvePolicy({}))
  return resolved
}

function resolveIdempotency(given: IdempotencyOptions, principal: string | null | undefined): IdempotencySettings {
  const { header = 'Idempotency-Key', methods = UNSAFE_METHODS, origins } = given
  const needed = "one, or a principal, with mode 'content': equal calls of two users would be one"
  if (given.mode === 'content' && principal == null) {
    follow('options.idempotency.scope', given.scope, { ...text, expected: needed })
  }
  return {
    ...given,
    // its owner may wipe the bytes
    scopeKey: given.scopeKey?.slice(),
    header,
    keyed: new Set(methods.map((method) => method.toUpperCase())),
    allowed: origins || globalThis.location ? new Set(origins) : null,
  }
}
