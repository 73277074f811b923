/**
 * Makes a record of a call, and a call of a record. This is the one place where a request gets a form that is stored, so
 * it is the place where it is sanitized: no adapter and no store can forget it (S12).
 */

import type { DegradedCode } from '../api/events.ts'
import { laneName, type NewTask, RECORD_SCHEMA, type StoredTask } from '../api/store.ts'
import type { RetryTask } from '../api/task.ts'
import type { Call } from '../call/call.ts'
import { repeatableOf } from '../call/fetch-repeat.ts'
import { FetchTransport } from '../call/fetch-transport.ts'
import { putKey } from '../call/key.ts'
import { bare } from '../call/read-fetch.ts'
import type { Sanitizer } from '../core/sanitizer.ts'
import { type ResolvedPolicy, resolvePolicy } from '../options/policy.ts'
import type { Settings } from '../options/queue-options.ts'
import { FOREVER } from '../platform/clock.ts'
import { type Deadline, deadlineOf, mayRepeat } from '../stores/engine/rules.ts'

/** The parts of a call that may be stored. */
export type Content = Pick<
  NewTask,
  'method' | 'targetUrl' | 'headers' | 'withheldHeaders' | 'requestInit' | 'body' | 'idempotent'
> & { readonly policy: ResolvedPolicy }

/** The reason why a call is not stored. */
export interface Unstorable {
  readonly code: DegradedCode
  /** The call, as it may be shown. */
  readonly what: string
  /** The thing in the way, and what to do. */
  readonly why: string
  /** Names what one report is enough for. */
  readonly once: string
}

/** Gives the parts of a call that may be stored, or why none may. */
export async function contentOf(call: Call, sanitizer: Sanitizer, settings: Settings): Promise<Content | Unstorable> {
  const { method, policy, replayable, key } = call
  const unstorable = (code: DegradedCode, why: string, once: string): Unstorable => {
    return { code, what: `${method} ${bare(sanitizer.url(call.url))}`, why, once }
  }
  const { headers, withheld, unknown } = sanitizer.headers(call.headers)
  const keyHeader = (settings.idempotency?.header ?? 'Idempotency-Key').toLowerCase()
  const lost = unknown.filter((name) => name !== keyHeader)
  if (lost.length > 0) {
    const remedy = 'list it in sanitize.persistHeaders, or in denyHeaders and give it by credentials'
    const why = `${lost.join(', ')} is on no list of headers that may be stored; ${remedy}`
    return unstorable('headers_withheld', why, lost.join())
  }
  const targetUrl = settings.sanitize?.urlSecrets === 'strip' ? sanitizer.strip(call.url) : call.url
  if (sanitizer.url(targetUrl) !== targetUrl) {
    const remedy = "send the secret in a header, or set sanitize.urlSecrets to 'strip' or 'keep'"
    return unstorable('url_secret', `its URL holds a secret; ${remedy}`, call.origin)
  }
  const request = repeatableOf(call)
  const sent = await request.body()
  const body = typeof sent === 'string' ? new TextEncoder().encode(sent) : sent
  const { init, withheld: added } = request.asFetch()
  return {
    method,
    targetUrl,
    headers: withoutKey(headers, keyHeader, key),
    withheldHeaders: [...new Set([...withheld, ...added])].sort(),
    requestInit: initOf(init),
    ...(body ? { body } : {}),
    ...(call.options.idempotent ? { idempotent: true } : {}),
    // a call that must not be repeated has one attempt, even if its outcome is unknown
    policy: replayable ? policy : Object.freeze({ ...policy, maxAttempts: 1 }),
  }
}

/** Leaves out the key's header: the key is a field of its own, and the header is made of it again. */
function withoutKey(headers: Record<string, string>, name: string, key: string | null): Record<string, string> {
  if (key === null) return headers
  const { [name]: _, ...rest } = headers
  return rest
}

function initOf(init: RequestInit): NewTask['requestInit'] {
  const names = ['credentials', 'mode', 'cache', 'redirect', 'referrerPolicy', 'integrity'] as const
  return Object.fromEntries(names.flatMap((name) => (init[name] ? [[name, `${init[name]}`]] : [])))
}

/** The times of a task, from its call on. */
export interface Timing {
  readonly now: number
  readonly createdAt: number
  readonly expiresAt: number
  readonly dueInMs: number
}

/** When the task has to have ended, from now, and why. */
function deadlineInMsOf(
  { policy, key }: Call,
  { now, createdAt, expiresAt }: Timing,
): Pick<NewTask, 'deadlineInMs'> & Pick<Deadline, 'deadlineReason'> {
  const keyAt = key === null ? FOREVER : createdAt
  const { deadlineAt, deadlineReason } = deadlineOf(policy, { budgetAt: createdAt, keyAt, expiresAt })
  return { deadlineInMs: Math.max(0, deadlineAt - now), deadlineReason }
}

/** Makes the record of a new task. */
export function recordOf(
  ids: Pick<NewTask, 'taskId' | 'fingerprint' | 'principal' | 'home'>,
  call: Call,
  { policy, ...content }: Content,
  timing: Timing,
): NewTask {
  const { orderKey, priority = 0 } = call.options
  return {
    ...ids,
    ...content,
    ...deadlineInMsOf(call, timing),
    idempotencyKey: call.key,
    lane: laneName(ids.principal, call.origin),
    policy,
    ageMs: Math.max(0, timing.now - timing.createdAt),
    dueInMs: timing.dueInMs,
    attemptNumber: 0,
    phase: -1,
    previousDelayMs: 0,
    priority,
    ...(orderKey === undefined ? {} : { orderKey }),
    schema: RECORD_SCHEMA,
  }
}

/** The new task as its store will show it. */
export function asStored(record: NewTask, now: number): StoredTask {
  const { body, dueInMs, deadlineInMs, ageMs = 0, deadlineReason = 'total_budget', marks = 0, ...rest } = record
  return {
    ...rest,
    marks,
    deadlineReason,
    status: 'PENDING',
    createdAt: now - ageMs,
    dueAt: now + dueInMs,
    deadlineAt: now + deadlineInMs,
    refunds: 0,
    parked: false,
    bodyBytes: body?.byteLength ?? 0,
  }
}

/** Makes the call that sends a stored task. Its policy was checked when it was stored; a record that does not pass any more throws. */
export function callOf(record: StoredTask, body: Uint8Array | undefined, settings: Settings): Call {
  const { method, targetUrl: url, idempotencyKey: key, requestInit } = record
  const headers = new Headers(record.headers)
  if (key !== null) putKey(headers, key, settings.idempotency)
  const policy = resolvePolicy(record.policy)
  const init = { ...(requestInit as RequestInit), method, headers, body: (body as BodyInit | undefined) ?? null }
  return {
    method,
    url,
    origin: new URL(url).origin,
    headers,
    hasBody: record.bodyBytes > 0,
    bytes: record.bodyBytes,
    key,
    made: false,
    fingerprint: record.fingerprint,
    addedCrossOrigin: false,
    principal: record.principal,
    replayable: mayRepeat(record),
    options: {},
    policy,
    timeoutMs: policy.attemptTimeoutMs,
    signal: null,
    transport: new FetchTransport({ fetch: settings.fetch, url, init }),
    plain: null,
    rebuilt: true,
  }
}

/** A stored task as people see it. */
export function showRecord(record: StoredTask, sanitizer: Sanitizer): RetryTask {
  return {
    taskId: record.taskId,
    idempotencyKey: record.idempotencyKey,
    targetUrl: sanitizer.url(record.targetUrl),
    method: record.method,
    // other code may have put a credential among them
    headers: sanitizer.mayBeStored(record.headers) ? record.headers : {},
    withheldHeaders: record.withheldHeaders,
    ...(record.bodyBytes > 0 ? { bodyRef: 'inline' } : {}),
    policyId: record.policy.policyId,
    principal: record.principal,
    attemptNumber: record.attemptNumber,
    nextAttemptAt: record.dueAt,
    createdAt: record.createdAt,
    status: record.status,
    ...(record.reason ? { reason: record.reason } : {}),
  }
}
