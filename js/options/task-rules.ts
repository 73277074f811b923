/** The checks of one call's options, and of what stands beside them. */

import { RedriveError } from '../api/errors.ts'
import { utf8 } from '../platform/utf8.ts'
import {
  check,
  flag,
  fn,
  follow,
  int,
  list,
  ms,
  object,
  objectLike,
  oneOf,
  pattern,
  type Rule,
  type Rules,
  show,
  text,
} from './check.ts'
import type { PolicyPair } from './policy.ts'
import { POLICY_RULES, resolvePolicy } from './policy-rules.ts'
import type { RetryQueueOptions } from './queue-options.ts'
import type { TaskOptions } from './task-options.ts'

/** Longest JSON text of a `meta`, in bytes of UTF-8. */
export const META_BYTES = 4_096
export const MOST_TAGS = 16
/** Characters of a tag. */
export const TAG_LENGTH = 64

const tag: Rule = pattern(`a tag of 1 to ${TAG_LENGTH} characters`, /^[^\0\p{Surrogate}]{1,64}$/u)
export const tags: Rule = {
  ...list(tag),
  expected: `an array of at most ${MOST_TAGS} tags`,
  ok: (given: readonly unknown[]) => given.length <= MOST_TAGS,
}

export const TASK_RULES: Rules<TaskOptions> = {
  policyId: text,
  policy: { ...objectLike('{ maxAttempts: 5 }'), inside: POLICY_RULES },
  idempotencyKey: pattern('1 to 255 visible ASCII characters', /^[\x21-\x7e]{1,255}$/),
  mode: oneOf('await', 'defer'),
  waitMs: ms(),
  priority: int(-(2 ** 31), 2 ** 31 - 1),
  orderKey: text,
  detach: flag,
  credentials: oneOf('on-401'),
  idempotent: flag,
  sensitive: flag,
  allowMemory: flag,
  expiresAt: ms(),
  meta: object,
  tags,
  shouldRetry: fn,
  delay: fn,
  onRetry: fn,
}

const WHOLE = objectLike('{ waitMs: 60_000 }, or false')

/**
 * Checks the options of one call. `policies`: those of the queue by their names; absent for a part of the options, such as an adapter's
 * defaults, whose policy may be sound only with the rest.
 */
export function checkTask(given: TaskOptions, policies?: ReadonlyMap<string, PolicyPair>): void {
  check('redrive', given, TASK_RULES, WHOLE)
  const { policyId = 'default', policy, meta } = given
  if (meta) checkMeta(meta)
  if (!policies) return
  const base = policies.get(policyId)
  if (!base) follow('redrive.policyId', policyId, oneOf(...policies.keys()))
  if (policy) resolvePolicy(policy, base?.policy, 'redrive.policy')
}

function checkMeta(meta: object): void {
  let text: string | undefined
  try {
    text = JSON.stringify(meta)
  } catch {} // it holds a circle or a BigInt
  if (text?.[0] !== '{') throw new TypeError('redrive.meta: expected an object that JSON can hold')
  const { length } = utf8(text)
  if (length > META_BYTES) {
    throw new RedriveError(
      'META_TOO_LARGE',
      `redrive.meta: ${length} bytes of JSON exceed ${META_BYTES}; keep an id there`,
    )
  }
}

/** Throws for what fetch would send as `[object ...]` or joined by commas, and for what it would leave out without a word. */
export function checkInit(
  init: (RequestInit & { data?: unknown; json?: unknown }) | undefined,
  { fetch = globalThis.fetch }: Pick<RetryQueueOptions, 'fetch'>,
): void {
  // a queue that Axios alone sends by needs none
  if (!fetch) throw new TypeError('expected a global fetch, or options.fetch of the queue, to send by')
  if (!init) return
  // a text or a list, of which a spread makes an object of numbers; its value may be a body, and is not shown
  if (typeof init !== 'object' || '0' in init) {
    throw new TypeError("expected an object such as { method: 'POST', body } after the URL, got text or a list")
  }
  const { body, signal } = init
  // later the call is under way already when its signal is first used
  if (signal && !('addEventListener' in Object(signal))) {
    throw new TypeError(`signal: expected an AbortSignal, such as controller.signal, got ${show(signal)}`)
  }
  // that of a Request is a method
  if (init.json && typeof init.json !== 'function' && !body) {
    throw new TypeError('json: enqueue alone takes it; give body: JSON.stringify(value) and its content-type')
  }
  if (isWords(body) || Array.isArray(body) || typeof body === 'function' || (init.data && !body)) {
    const meant = "for JSON use JSON.stringify(body), for another library's Blob await body.arrayBuffer()"
    throw new TypeError(`body: expected text, bytes, a Blob or a form of the platform; ${meant}`)
  }
  checkBeside(init)
}

/** Whether fetch would send `[object ...]` for a body: it has no bytes that this platform knows of, as the forms and Blobs of others have none. */
function isWords(body: unknown): boolean {
  // no text is made of bytes for it
  if (typeof body !== 'object' || ArrayBuffer.isView(body)) return false
  if (!/^\[object (?!Array|Readable)/.test(`${body}`)) return false
  return new Response(body as BodyInit).headers.get('content-type') === 'text/plain;charset=UTF-8'
}

/** Options of a call that are nothing to fetch, to Axios or to those who give either more of their own. */
const OURS =
  /^(idempotencyKey|orderKey|policy|policyId|waitMs|idempotent|sensitive|allowMemory):|^mode: '(defer|await)'|^priority: -?\d/
/** Likewise of a policy. */
const OF_POLICY = /Ms$|^(max|jitter|retry)[A-Z]/

/** Throws for an option of `redrive` that stands beside it: it would be ignored without a word. */
export function checkBeside(init: object): void {
  for (const [name, value] of Object.entries(init)) {
    const shown = `${name}: ${show(value)}`
    if (OURS.test(shown)) throw new TypeError(`${name}: did you mean redrive: { ${shown} }?`)
    if (name in POLICY_RULES && OF_POLICY.test(name))
      throw new TypeError(`${name}: did you mean redrive: { policy: { ${shown} } }?`)
  }
}
