/** The core's pure functions, for people who want the decisions without the queue. All arguments are checked here. */

import type { RetryPolicy } from '../api/policy.ts'
import type { CircuitState, RetryDecision } from '../api/task.ts'
import { absolute, bare } from '../call/read-fetch.ts'
import {
  check,
  follow,
  int,
  kind,
  list,
  MAX_MS,
  ms,
  num,
  object,
  oneOf,
  or,
  type Rule,
  type Rules,
  show,
  text,
  token,
} from '../options/check.ts'
import { policyDefaults } from '../options/policy.ts'
import { resolvePolicy } from '../options/policy-rules.ts'
import { PRINCIPAL, SCOPE_KEY } from '../options/queue-rules.ts'
import { SANITIZE_RULES, type SanitizeOptions } from '../options/sanitize.ts'
import { systemClock } from '../platform/clock.ts'
import type { HeadersLike } from '../platform/web.ts'
import { CIRCUITS, RETRY_DECISIONS } from './codes.ts'
import type { Engine } from './engine.ts'
import type { Keys } from './keys.ts'
import { policyFields } from './policy-row.ts'
import { type Sanitized, Sanitizer } from './sanitizer.ts'

export interface Core {
  /**
   * Whether a failed call is worth keeping. `statusCode` 0: no response came. An open circuit answers CIRCUIT_OPEN
   * whatever the status. `retryCount` counts retries already made. @param retryableStatusCodes default [408, 429, 502, 503, 504]
   */
  evaluateRetryStatus(
    statusCode: number,
    circuitState: CircuitState,
    retryCount: number,
    maxRetries: number,
    retryableStatusCodes?: readonly number[],
  ): RetryDecision
  /**
   * Whole milliseconds before retry `attempt` (from 1). `random` in [0, 1) replaces the core's own draw. With
   * `retryAfter`: the longer of the curve's delay and the header's, without the queue's spread.
   */
  calculateBackoffDelay(policy: Partial<RetryPolicy>, attempt: number, context?: BackoffContext): number
  /**
   * Lower, mean and upper delay and running sums for retries 1..maxAttempts-1, in ms. Lower and upper are the delays
   * that can really come out; the mean is that of the formula before it is rounded down.
   */
  backoffSchedule(policy: Partial<RetryPolicy>): readonly BackoffStep[]
  /**
   * Milliseconds to wait from `now`, epoch ms; null: unusable. Delay-seconds and the three dates of HTTP (RFC 9110,
   * sections 10.2.3 and 5.6.7); of several values the largest that can be read.
   */
  parseRetryAfter(header: string, now: number): number | null
  /**
   * The numbers of a `RateLimit` field (draft-ietf-httpapi-ratelimit-headers): of several limits the one with the least
   * remaining; null: malformed. `partitioned`: it is one partition's (`pk`). `now`, epoch ms, is for forms that name an instant;
   * today's all name a duration.
   */
  parseRateLimit(
    header: string,
    now?: number,
  ): { readonly remaining: number; readonly resetMs: number | null; readonly partitioned: boolean } | null
  /**
   * SHA-256 over the length-prefixed method, normalized URL (origin and query included), content-type class, canonical
   * body, principal, scope and nonce, with a `scopeKey` HMAC-SHA-256 under it: 64 hex digits. A body of a JSON type counts
   * as its canonical form where that loses nothing, any other byte by byte; an object is sent as JSON would be.
   */
  generateIdempotencyKey(request: KeyedRequest): string
  /**
   * Which of the headers may be stored and shown, lower case. `withheld`: names of those that carry, or may carry, a
   * credential; `unknown`: names on no list. Hop-by-hop headers and those that only the platform sets are left out.
   * TypeError: a name or value that HTTP does not allow.
   */
  sanitizeHeaders(headers: HeadersLike, options?: SanitizeOptions): Sanitized
  /** RFC 8785 (JCS): one text for equal JSON. SyntaxError: not I-JSON; the message says where. */
  canonicalJson(text: string): string
  /** '1500', '250ms', '12.5s', '3m', '1h', '2d' -> whole ms; RangeError otherwise. */
  parseDuration(text: string): number
}

export interface BackoffStep {
  /** The retry, from 1. */
  readonly attempt: number
  readonly minMs: number
  readonly meanMs: number
  readonly maxMs: number
  readonly totalMeanMs: number
  readonly totalMaxMs: number
}

export interface KeyedRequest {
  readonly method: string
  /** Absolute, http(s); relative in a page. */
  readonly url: string
  /** Text, bytes, URLSearchParams, or an object, which is sent as JSON. */
  readonly body?: unknown
  /** @default what fetch would send with such a body; 'application/json' with an object */
  readonly contentType?: string
  /** The user: equal requests of two have two keys. null: none, who is another than `''`. @default null */
  readonly principal?: string | null
  /** A tenant, an installation: equal requests of two scopes have two keys. @default '' */
  readonly scope?: string
  /** Anything that tells two intended repetitions apart, such as the number of a time window. */
  readonly nonce?: string
  /** A secret of 16 characters or bytes at least: see `IdempotencyOptions`. */
  readonly scopeKey?: string | Uint8Array
}

export interface BackoffContext {
  readonly retryAfter?: string | null
  /** Epoch ms, for a `retryAfter` that is a date. @default the present */
  readonly now?: number
  /** DECORRELATED: the wait before this one. @default initialDelayMs */
  readonly previousDelayMs?: number
  /** spread: the task's place in each window, in [0, 1). Given without `random`: no fresh jitter. @default random */
  readonly phase?: number
  /** In [0, 1). @default drawn */
  readonly random?: number
}

const U32: Rule = int(0, 2 ** 32 - 1)
const TIME: Rule = num(-MAX_MS, MAX_MS)
const UNIT: Rule = num(0, 1 - 2 ** -53)
/** Text of others, which is read whatever it is. */
const anyText: Rule = kind('string')
const CONTEXT_RULES: Rules<BackoffContext> = {
  retryAfter: or(null, anyText),
  now: TIME,
  previousDelayMs: ms(),
  phase: UNIT,
  random: UNIT,
}
const KEY_RULES: Rules<KeyedRequest> = {
  method: token,
  url: anyText,
  body: { expected: 'any' },
  contentType: anyText,
  principal: PRINCIPAL,
  scope: text,
  nonce: text,
  scopeKey: SCOPE_KEY,
}

/** Lone surrogates, which TextEncoder would silently replace. */
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

/** @internal */
export function makeCore(engine: Engine, keys: Keys): Core {
  const { glue, scratch } = engine
  const parseRetryAfter = (header: string, now: number): number | null => {
    follow('header', header, anyText)
    follow('now', now, TIME)
    // a line feed is as unusable as any other control character, and would end the line
    const length = scratch.text(`retry-after:${header.replaceAll('\n', '\0')}`)
    const [delay = -1] = glue.said(length, 0, true, now)
    return delay >= 0 ? delay : null
  }
  return {
    evaluateRetryStatus(statusCode, circuitState, retryCount, maxRetries, codes = policyDefaults.retryableStatusCodes) {
      follow('statusCode', statusCode, or(0, int(100, 599)))
      follow('circuitState', circuitState, oneOf(...CIRCUITS))
      follow('retryCount', retryCount, U32)
      follow('maxRetries', maxRetries, U32)
      follow('retryableStatusCodes', codes, list(int(100, 599)))
      const circuit = CIRCUITS.indexOf(circuitState)
      const listed = Uint16Array.from(codes)
      const decision = keys.ask(({ glue }) =>
        glue.evaluate_retry_status(statusCode, circuit, retryCount, maxRetries, listed),
      )
      return RETRY_DECISIONS[decision] ?? 'FAIL_FAST'
    },
    calculateBackoffDelay(policy, attempt, context = {}) {
      follow('attempt', attempt, int(1, 2 ** 32 - 1))
      check('context', context, CONTEXT_RULES)
      const { retryAfter, now = systemClock.now(), previousDelayMs = Number.NaN, random, phase } = context
      const u32 = (share: number) => Math.floor(share * 2 ** 32)
      // half-way is no fresh jitter at all
      const fresh = random ?? (phase === undefined ? undefined : 0.5)
      const r32 = fresh === undefined ? glue.random_u32() : u32(fresh)
      const where = phase ?? random
      const place = where === undefined ? glue.random_u32() : u32(where)
      const fields = policyFields(resolvePolicy(policy))
      const delay = glue.calculate_backoff_delay(fields, attempt, r32, place, previousDelayMs)
      return retryAfter ? Math.max(delay, parseRetryAfter(retryAfter, now) ?? 0) : delay
    },
    backoffSchedule(policy) {
      const rows = glue.backoff_schedule(policyFields(resolvePolicy(policy)))
      return Array.from({ length: rows.length / 5 }, (_, i) => {
        const [minMs = 0, meanMs = 0, maxMs = 0, totalMeanMs = 0, totalMaxMs = 0] = rows.subarray(i * 5)
        return { attempt: i + 1, minMs, meanMs, maxMs, totalMeanMs, totalMaxMs }
      })
    },
    parseRetryAfter,
    parseRateLimit(header, now = 0) {
      follow('header', header, anyText)
      follow('now', now, TIME)
      const [remaining, resetMs = Number.NaN, partitioned] = glue.parse_rate_limit(scratch.text(header))
      if (remaining === undefined) return null
      return { remaining, resetMs: Number.isNaN(resetMs) ? null : resetMs, partitioned: partitioned === 1 }
    },
    generateIdempotencyKey(request) {
      check('request', request, KEY_RULES)
      const { method, url, principal = null, scope = '', nonce = '', scopeKey } = request
      // neither may be absent
      follow('request.method', method, token)
      follow('request.url', url, anyText)
      const body = keyBody(request.body)
      const contentType = request.contentType ?? body.contentType
      const material = { method, url: httpUrl(url), contentType, body: body.content }
      return keys.contentKey(material, { principal, scope, nonce, scopeKey })
    },
    sanitizeHeaders(headers, options = {}) {
      check('options', options, SANITIZE_RULES)
      const sanitizer = new Sanitizer(engine, options)
      try {
        return sanitizer.headers(pairs(headers))
      } finally {
        sanitizer.free()
      }
    },
    canonicalJson(json) {
      follow('text', json, anyText)
      const wellFormed = (json as { isWellFormed?(): boolean }).isWellFormed?.() ?? !LONE.test(json)
      if (!wellFormed) throw new SyntaxError('text: a surrogate stands alone in it')
      return keys.answer(({ glue, scratch }) => glue.canonical_json(scratch.text(json)))
    },
    parseDuration(duration) {
      follow('text', duration, anyText)
      const parsed = keys.ask(({ glue, scratch }) => glue.parse_duration(scratch.text(duration)))
      if (Number.isNaN(parsed)) {
        throw new RangeError(`text: expected a duration such as 250ms, 12.5s, 3m, 1h or 2d, got ${show(duration)}`)
      }
      return parsed
    },
  }
}

function httpUrl(url: string): string {
  try {
    const href = absolute(url)
    if (/^https?:/.test(href)) return href
  } catch {
    // the message below says it
  }
  throw new TypeError(`request.url: expected an absolute http(s) URL, got '${bare(url)}'`)
}

/** Headers as fetch takes them: a record, or pairs. */
function pairs(headers: HeadersLike): [string, string][] {
  if (!Array.isArray(headers)) follow('headers', headers, object)
  const given: unknown[] = Symbol.iterator in headers ? [...(headers as Iterable<unknown>)] : Object.entries(headers)
  return given.map((pair) => {
    if (Array.isArray(pair) && pair.length === 2) return [String(pair[0]), String(pair[1])]
    throw new TypeError('headers: expected Headers, a record, or pairs of name and value')
  })
}

/** A body as bytes or text, with the type that fetch would give it. */
function keyBody(body: unknown): { readonly content: string | Uint8Array; readonly contentType: string } {
  if (body === undefined || body === null) return { content: '', contentType: '' }
  if (typeof body === 'string') return { content: body, contentType: 'text/plain' }
  // by its name: another realm has classes of its own
  const kind = Object.prototype.toString.call(body)
  if (kind === '[object ArrayBuffer]') return { content: new Uint8Array(body as ArrayBuffer), contentType: '' }
  if (ArrayBuffer.isView(body)) {
    return { content: new Uint8Array(body.buffer, body.byteOffset, body.byteLength), contentType: '' }
  }
  if (kind === '[object URLSearchParams]') {
    return { content: String(body), contentType: 'application/x-www-form-urlencoded' }
  }
  const known = typeof body === 'object' && (Array.isArray(body) || isPlain(body))
  if (known) return { content: jsonOf(body), contentType: 'application/json' }
  const got = typeof body === 'object' ? body.constructor?.name : typeof body
  throw new TypeError(
    `request.body: expected text, bytes, URLSearchParams or a plain object, got ${got}; read it first`,
  )
}

function jsonOf(body: object): string {
  let json: unknown
  let why = 'it has no JSON'
  try {
    json = JSON.stringify(body)
  } catch (error) {
    // a cycle, a bigint: the platform's words name members, never values
    why = String((error as Error).message).split('\n', 1)[0] ?? why
  }
  if (typeof json !== 'string') throw new TypeError(`request.body: expected what JSON can hold (${why})`)
  return json
}

function isPlain(body: object): boolean {
  const prototype = Object.getPrototypeOf(body)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
