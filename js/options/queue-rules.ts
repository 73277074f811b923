/** The checks of a queue's options, made at construction or, in a page's production bundle, before anything becomes a task. */

import type { RetryPolicy } from '../api/policy.ts'
import type { TaskStore } from '../api/store.ts'
import { isPage } from '../platform/page.ts'
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
  objectLike,
  oneOf,
  options,
  or,
  origin,
  type Rule,
  type Rules,
  text,
  token,
} from './check.ts'
import { BREAKER_RULES, BUDGET_RULES, RATE_RULES } from './gate-options.ts'
import { ownOrigin } from './givers.ts'
import type { IdempotencyOptions } from './idempotency.ts'
import { POLICY_RULES, resolvePolicy } from './policy-rules.ts'
import { type RetryQueueOptions, type Settings, settingsOf } from './queue-options.ts'
import { RETENTION_RULES } from './retention.ts'
import { SANITIZE_RULES } from './sanitize.ts'
import { TASK_RULES } from './task-rules.ts'

export const SCOPE_KEY: Rule = {
  isMute: true,
  expected: 'a secret of 16 characters or bytes or more',
  ok: (given: string | Uint8Array) =>
    (typeof given === 'string' ? isWellFormed(given) : given instanceof Uint8Array) && given.length >= 16,
}

const IDEMPOTENCY_RULES: Rules<IdempotencyOptions> = {
  mode: oneOf('intent', 'content'),
  windowMs: ms(1),
  scope: text,
  scopeKey: SCOPE_KEY,
  header: token,
  format: oneOf('bare', 'sf-string'),
  methods: list(token),
  origins: list(origin),
}

const CREDENTIALS: Rule = {
  ...object,
  isMute: true,
  expected: "{ 'https://api.example.com': (request) => headers }",
  // what is gone through, such as a Map, has no entries as properties
  ok: (given: object) => !(Symbol.iterator in given),
}

/** By mistake the credential itself may stand here. */
const GIVE: Rule = { ...fn, isMute: true }

const KEY: Rule = { ...origin, expected: `${origin.expected} as a key, or 'self' in a page` }

const bytes = int(0, 2 ** 53 - 1)

export const PRINCIPAL: Rule = or(null, { ...text, expected: `${text.expected} such as String(id)` })

/** The principal of a durable queue: '' is most likely an id that is not there yet. */
export const NAMED: Rule = or(null, {
  ...text,
  expected:
    'the id of the user whose requests are made, such as String(id): a stored one is sent only while that user is there',
  ok: (id: string) => id !== '' && isWellFormed(id),
})

const STORE: Rule = {
  ...object,
  expected:
    "sqliteStore({ path: 'orders.db' }) of 'redrive/sqlite' or a RedriveObject's store; a page needs none: durable: true uses IndexedDB",
  ok: isStore,
}

/** How many attempts may run at a time. */
export const AT_A_TIME: Rule = int(1, 1e4)

const QUEUE_RULES: Rules<RetryQueueOptions> = {
  name: text,
  durable: flag,
  principal: PRINCIPAL,
  store: STORE,
  persist: oneOf('on-failure', 'before-send'),
  persistMethods: list(token),
  allowMemory: flag,
  breaker: or(false, options(BREAKER_RULES)),
  retryBudget: or(false, options(BUDGET_RULES)),
  concurrency: AT_A_TIME,
  concurrencyPerOrigin: AT_A_TIME,
  maxLaneHoldMs: ms(),
  holdFirstAttempts: flag,
  limitFirstAttempts: flag,
  rate: options(RATE_RULES),
  capacity: int(1, 1e6),
  capacityBytes: bytes,
  maxBodyBytes: bytes,
  policy: {
    ...objectLike('{ maxAttempts: 5 } or presets.svix'),
    // all presets at once have no field of a policy
    ok: (given: object) => !('svix' in given),
    inside: POLICY_RULES,
  },
  policies: { ...list(object), expected: 'an array such as [presets.svix]' },
  retention: options(RETENTION_RULES),
  idempotency: or(false, options(IDEMPOTENCY_RULES)),
  sanitize: options(SANITIZE_RULES),
  credentials: CREDENTIALS,
  beforeAttempt: fn,
  shouldRetry: fn,
  delay: fn,
  sign: fn,
  warn: flag,
  preload: oneOf('idle', 'eager', 'never'),
  wasm: { expected: 'any' },
  fetch: fn,
  clock: object,
  seed: kind('bigint'),
}

function isStore({ turn, enqueue }: TaskStore): boolean {
  return typeof turn === 'function' && typeof enqueue === 'function'
}

/** The settings of checked options. */
export function resolveOptions(given: RetryQueueOptions): Settings {
  checkQueue(given)
  return settingsOf(given)
}

/** TypeError and RangeError name the option, what was expected and what came. */
export function checkQueue(given: RetryQueueOptions): void {
  check('options', given, QUEUE_RULES, objectLike("{ name: 'orders' }"), TASK_RULES)
  const { clock, rate, credentials = {}, idempotency, principal } = given
  for (const part of ['now', 'monotonic', 'after'] as const) {
    if (clock) follow(`options.clock.${part}`, clock[part], fn)
  }
  if (rate) follow('options.rate.perSecond', rate.perSecond, RATE_RULES.perSecond)
  for (const [key, give] of Object.entries(credentials)) {
    follow('options.credentials', ownOrigin(key), KEY)
    follow(`options.credentials['${key}']`, give, GIVE)
  }
  if (idempotency && idempotency.mode === 'content' && principal == null) {
    const needed = "one, or a principal, with mode 'content': equal calls of two users would be one"
    follow('options.idempotency.scope', idempotency.scope, { ...text, expected: needed })
  }
  checkPolicies(given)
  checkDurable(given)
}

function checkPolicies({ policy, policies = [] }: RetryQueueOptions): void {
  const ids = new Set<string>()
  const add = (what: string, each: Partial<RetryPolicy>, id: string) => {
    follow(`${what}.policyId`, id, { ...text, expected: 'a new name', ok: () => !ids.has(id) })
    ids.add(id)
    resolvePolicy(each, undefined, what)
  }
  if (policy) add('options.policy', policy, 'default')
  policies.forEach((each, i) => {
    add(`options.policies[${i}]`, each, each.policyId)
  })
}

function checkDurable({ store, durable, principal }: RetryQueueOptions): void {
  // outside pages there are no cookies of the next user: a store given there says enough
  if (durable || (isPage() && store && durable !== false)) follow('options.principal', principal, NAMED)
}
