/**
 * Makes a record of a call, and a call of a record. This is the one place where a request gets a form that is stored, so
 * it is the place where it is sanitized: no adapter and no store can forget it (S12).
 */

import { laneName, type NewTask, PLAIN_SCHEMA, type StoredTask } from '../api/store.ts'
import type { RetryTask } from '../api/task.ts'
import type { Call } from '../call/call.ts'
import { repeatableOf } from '../call/fetch-repeat.ts'
import { FetchTransport } from '../call/fetch-transport.ts'
import { isCrossOrigin, putKey } from '../call/key.ts'
import { bare } from '../call/read-fetch.ts'
import { REDACTED, type Sanitizer } from '../core/sanitizer.ts'
import { handedOver } from '../options/background.ts'
import { ATTEMPT_MS, bodyMs } from '../options/first-policy.ts'
import type { ResolvedPolicy } from '../options/policy.ts'
import { policyOf } from '../options/policy-rules.ts'
import type { Settings } from '../options/queue-options.ts'
import { FOREVER } from '../platform/clock.ts'
import { utf8 } from '../platform/utf8.ts'
import { type Deadline, deadlineOf, mayRepeat } from '../stores/engine/rules.ts'
import { labelsIn } from '../tasks/task.ts'
import { homeByNeeds, keyFormOf, needsOf } from './needs.ts'

/** The parts of a call that may be stored. */
export type Content = Pick<
  NewTask,
  'method' | 'targetUrl' | 'headers' | 'withheldHeaders' | 'requestInit' | 'body' | 'idempotent' | 'needs'
> & { readonly policy: ResolvedPolicy }

/** The reason why a call is not stored. */
export interface Unstorable {
  readonly code: 'headers_withheld' | 'url_secret'
  /** The call, as it may be shown. */
  readonly what: string
  /** The thing in the way, and what to do. */
  readonly why: string
}

/** The parts of a call that are looked at before it is stored, as they may be; none of its body. */
export interface Head {
  readonly headers: Record<string, string>
  readonly targetUrl: string
  readonly requestInit: NewTask['requestInit']
  readonly withheldHeaders: readonly string[]
}

/** Gives the head of a call, or why it may not be stored. `whose`: the options meant, where a message would leave that open. */
export function headOf(call: Call, sanitizer: Sanitizer, settings: Settings, whose = ''): Head | Unstorable {
  const { method, url, key } = call
  const unstorable = (code: Unstorable['code'], why: string): Unstorable => {
    return { code, what: `${method} ${bare(sanitizer.url(url))}`, why }
  }
  const { headers, withheld, unknown } = sanitizer.headers(call.headers)
  const keyHeader = settings.idempotency.header.toLowerCase()
  const lost = unknown.filter((name) => name !== keyHeader)
  if (lost.length > 0) {
    const why = `${lost.join(', ')} is on no list of headers that may be stored; ${remedyFor(lost, whose)}`
    return unstorable('headers_withheld', why)
  }
  const targetUrl = settings.sanitize?.urlSecrets === 'strip' ? sanitizer.strip(url) : url
  const shown = sanitizer.url(targetUrl)
  if (shown !== targetUrl) return unstorable('url_secret', whyHidden(shown))
  const { init, withheld: added } = repeatableOf(call).asFetch()
  return {
    headers: withoutKey(headers, keyHeader, key),
    targetUrl,
    requestInit: initOf(init),
    withheldHeaders: [...new Set([...withheld, ...added])].sort(),
  }
}

/** Gives the parts of a call that may be stored, or why none may. */
export async function contentOf(
  call: Call,
  sanitizer: Sanitizer,
  settings: Settings,
  whose?: string,
): Promise<Content | Unstorable> {
  const head = headOf(call, sanitizer, settings, whose)
  if ('code' in head) return head
  const { method, replayable } = call
  const background = handedOver(call)
  const sent = await repeatableOf(call).body()
  const body = typeof sent === 'string' ? utf8(sent) : sent
  const needs = needsOf(call, settings)
  return {
    method,
    ...head,
    ...(body ? { body } : {}),
    ...(call.options.idempotent ? { idempotent: true } : {}),
    ...(needs.length > 0 ? { needs } : {}),
    // a call that must not be repeated has one attempt, even if its outcome is unknown
    policy: replayable ? background : Object.freeze({ ...background, maxAttempts: 1 }),
  }
}

/** A stored timestamp would be too old, and the id of a webhook is its key. */
function remedyFor(lost: readonly string[], whose: string): string {
  const [, library] = /^(webhook|svix)-(id|timestamp)$/m.exec(lost.join('\n')) ?? []
  if (library === undefined) {
    return `list it in sanitize.persistHeaders${whose}, or in denyHeaders and give it by credentials`
  }
  return `set idempotency: { header: '${library}-id' } and give the id as redrive.idempotencyKey; \`sign\` makes the rest for each attempt`
}

/** Names the part of a URL that is not shown, and what to do about it. */
function whyHidden(shown: string): string {
  const { pathname, searchParams } = new URL(shown)
  if (pathname.includes(REDACTED)) {
    return "a part of its path looks like a secret, and a path cannot go without it: set sanitize.urlSecrets: 'keep' to store it"
  }
  const hidden = new Set([...searchParams].flatMap(([name, value]) => (value.includes(REDACTED) ? [`'${name}'`] : [])))
  const what = hidden.size > 0 ? `${[...hidden].join(', ')} in its URL` : 'a part of its URL'
  return `${what} looks like a secret; send it in a header, or set sanitize.urlSecrets to 'strip' or 'keep'`
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
  call: Call,
  { now, createdAt, expiresAt }: Timing,
): Pick<NewTask, 'deadlineInMs'> & Pick<Deadline, 'deadlineReason'> {
  const keyAt = call.key === null ? FOREVER : createdAt
  const { deadlineAt, deadlineReason } = deadlineOf(handedOver(call), { budgetAt: createdAt, keyAt, expiresAt })
  return { deadlineInMs: deadlineAt - now, deadlineReason }
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
    home: ids.home ?? homeByNeeds(content.needs),
    ...content,
    ...deadlineInMsOf(call, timing),
    idempotencyKey: call.key,
    lane: laneName(ids.principal, call.origin),
    policy,
    ageMs: Math.max(0, timing.now - timing.createdAt),
    ...(timing.expiresAt < FOREVER && { expiresAfterMs: timing.expiresAt - timing.createdAt }),
    dueInMs: timing.dueInMs,
    attemptNumber: 0,
    phase: -1,
    previousDelayMs: 0,
    priority,
    ...(orderKey === undefined ? {} : { orderKey }),
    ...labelsIn(call.options),
    schema: PLAIN_SCHEMA,
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
  if (key !== null) putKey(headers, key, keyFormOf(record))
  const policy = policyOf(record.policy)
  const own = settings.sendingOf?.(record)
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
    addedCrossOrigin: key !== null && isCrossOrigin(new URL(url).origin),
    principal: record.principal,
    replayable: mayRepeat(record),
    options: labelsIn(record),
    isChecked: true,
    policy,
    given: policy,
    timeoutMs: policy.attemptTimeoutMs ?? ATTEMPT_MS + bodyMs(record.bodyBytes),
    waitMs: FOREVER,
    leaveMs: FOREVER,
    signal: null,
    transport: new FetchTransport({ fetch: own?.fetch ?? settings.fetch, url, init }),
    plain: null,
    rebuilt: true,
    own,
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
    ...labelsIn(record),
  }
}
