/**
 * Every error of the API, in one place: RFC 9457 problem details. A type's status and title never change, `detail` says what happened
 * and what to do, and no answer tells a value of a request that may be secret.
 */

import { RedriveError } from 'redrive'
import { type Draw, hostDraw, random128 } from 'redrive/internal'

/** `retryAfterS`: after so many seconds it may be tried again, unless an error says otherwise. */
interface ProblemKind {
  readonly status: number
  readonly title: string
  readonly retryAfterS?: number
}

export type ProblemType =
  | 'bad-request'
  | 'unauthorized'
  | 'forbidden'
  | 'not-found'
  | 'method-not-allowed'
  | 'not-acceptable'
  | 'already-ended'
  | 'not-waiting'
  | 'key-expired'
  | 'policy-exists'
  | 'policy-default'
  | 'policies-full'
  | 'pauses-full'
  | 'operation-running'
  | 'count-changed'
  | 'body-gone'
  | 'changed-meanwhile'
  | 'length-required'
  | 'body-too-large'
  | 'unsupported-media-type'
  | 'wrong-host'
  | 'invalid'
  | 'policy-unknown'
  | 'target-refused'
  | 'credential-refused'
  | 'key-mismatch'
  | 'idempotency-conflict'
  | 'url-secret'
  | 'header-refused'
  | 'body-ref-unknown'
  | 'rate-limited'
  | 'quota-exceeded'
  | 'internal'
  | 'no-body-store'
  | 'queue-full'
  | 'too-many-listeners'
  | 'too-many-connections'
  | 'store-unavailable'
  | 'draining'

export const PROBLEMS: Readonly<Record<ProblemType, ProblemKind>> = {
  'bad-request': { status: 400, title: 'The request cannot be read' },
  unauthorized: { status: 401, title: 'A token is needed' },
  forbidden: { status: 403, title: 'This is not allowed' },
  'not-found': { status: 404, title: 'There is no such thing' },
  'method-not-allowed': { status: 405, title: 'The path does not take this method' },
  'not-acceptable': { status: 406, title: 'The answer has another format' },
  'already-ended': { status: 409, title: 'The task has ended' },
  'not-waiting': { status: 409, title: 'The task does not wait' },
  'key-expired': { status: 409, title: 'The server may have forgotten the key' },
  'policy-exists': { status: 409, title: 'Another policy has this name' },
  'policy-default': { status: 409, title: 'The policy is the default one' },
  'policies-full': { status: 409, title: 'There are as many policies as there may be' },
  'pauses-full': { status: 409, title: 'There are as many pauses as there may be' },
  'operation-running': { status: 409, title: 'An operation of this kind is running' },
  'count-changed': { status: 409, title: 'The number of tasks has changed' },
  'body-gone': { status: 410, title: 'The body is not kept any more' },
  'length-required': { status: 411, title: 'The length of the body is needed' },
  'changed-meanwhile': { status: 412, title: 'It was changed meanwhile' },
  'body-too-large': { status: 413, title: 'The request is too large' },
  'unsupported-media-type': { status: 415, title: 'The body has another type' },
  'wrong-host': { status: 421, title: 'The server does not answer to this name' },
  invalid: { status: 422, title: 'The request is not valid' },
  'policy-unknown': { status: 422, title: 'There is no such policy' },
  'target-refused': { status: 422, title: 'Requests may not go there' },
  'credential-refused': { status: 422, title: 'The credential may not be used' },
  'key-mismatch': { status: 422, title: 'The request has two keys' },
  'idempotency-conflict': { status: 422, title: 'This key belongs to another request' },
  'url-secret': { status: 422, title: 'The URL holds a secret' },
  'header-refused': { status: 422, title: 'A header may not be stored' },
  'body-ref-unknown': { status: 422, title: 'There is no such body' },
  'rate-limited': { status: 429, title: 'Too many requests' },
  'quota-exceeded': { status: 429, title: 'The tenant has no room left', retryAfterS: 5 },
  internal: { status: 500, title: 'The service failed' },
  'no-body-store': { status: 501, title: 'The service keeps no bodies apart' },
  'queue-full': { status: 503, title: 'The store is full', retryAfterS: 5 },
  'too-many-listeners': { status: 503, title: 'Too many listen already', retryAfterS: 5 },
  'too-many-connections': { status: 503, title: 'Too many connections are open', retryAfterS: 1 },
  'store-unavailable': { status: 503, title: 'The store does not answer', retryAfterS: 1 },
  draining: { status: 503, title: 'The service is stopping', retryAfterS: 1 },
}

/** Faults that a problem lists at most: a body may have as many as it has fields. */
export const MOST_ERRORS = 20
/** Characters of a pointer: names in a body may be as long as the body. */
const MOST_POINTER = 200
/** Characters of what is said of one fault, and of them all. */
const MOST_FAULT = 500
const MOST_DETAIL = 1_000

/** One fault of a body. */
export interface FieldError {
  /** A JSON pointer (RFC 6901) into the body, as a fragment: `#/policy/maxAttempts`. One that ends with `…` was cut. */
  readonly pointer: string
  readonly detail: string
}

/** A text, or its beginning with `…` behind it. */
export const cut = (text: string, most: number = MOST_POINTER): string =>
  text.length > most ? `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…` : text

/** Members that a problem may have beside those of RFC 9457. */
export interface ProblemMembers {
  readonly errors?: readonly FieldError[]
  readonly taskId?: string
  readonly taskStatus?: string
  readonly operationId?: string
  readonly rule?: string
  readonly count?: number
}

const brief = ({ pointer, detail }: FieldError): FieldError => ({
  pointer: cut(pointer),
  detail: cut(detail, MOST_FAULT),
})

/** Thrown by whatever refuses a request; the API answers with it. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly type: ProblemType
  readonly members: ProblemMembers
  readonly headers: Readonly<Record<string, string>>

  constructor(
    type: ProblemType,
    detail: string,
    members: ProblemMembers = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(cut(detail, MOST_DETAIL))
    this.type = type
    const { errors } = members
    this.members = errors ? { ...members, errors: errors.slice(0, MOST_ERRORS).map(brief) } : members
    this.headers = headers
  }

  get status(): number {
    return PROBLEMS[this.type].status
  }
}

/** The id of a request, in its answer and in the log. */
export const newRequestId = (draw: Draw = hostDraw()): string => `req-${random128(draw).slice(0, 16)}`

export const PROBLEM_JSON = 'application/problem+json'

export const problemUri = (type: ProblemType): string => `urn:redrive:problem:${type}`

/** Names a member of an object in a JSON pointer, as a fragment of a URI would have it but for characters that stay legible. */
export const pointerTo = (path: readonly PropertyKey[]): string =>
  cut(`#${path.map((part) => `/${cut(String(part)).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')}`)

/** The body of the answer. `instance`: the id of the request. */
export function problemBody({ type, message, members }: Problem, instance: string): Record<string, unknown> {
  const { status, title } = PROBLEMS[type]
  return { type: problemUri(type), title, status, detail: message, instance, ...members }
}

/** The answer to a request that was refused. */
export function problemResponse(problem: Problem, instance: string): Response {
  const { retryAfterS } = PROBLEMS[problem.type]
  // a page of another site that asks blindly gets no answer, not even an opaque one
  const headers = new Headers({ 'content-type': PROBLEM_JSON, 'cross-origin-resource-policy': 'same-origin' })
  if (retryAfterS !== undefined) headers.set('retry-after', String(retryAfterS))
  for (const [name, value] of Object.entries(problem.headers)) headers.set(name, value)
  return new Response(JSON.stringify(problemBody(problem, instance)), { status: problem.status, headers })
}

/** A problem with one field of the body. */
export const invalid = (detail: string, ...path: readonly PropertyKey[]): Problem =>
  new Problem('invalid', detail, { errors: [{ pointer: pointerTo(path), detail }] })

/** The problem that an error of the store, or any other, is to the caller. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  const code = error instanceof RedriveError ? error.code : ''
  if (code === 'QUEUE_CLOSED') return new Problem('draining', 'the service is stopping')
  // the store refuses it before it does anything
  if (code === 'STORAGE_FULL') {
    return new Problem(
      'queue-full',
      'the store has no more room, on its disk or by its maxmemory; nothing was stored: make room there',
    )
  }
  if (/^STORAGE_|^CORE_TRAPPED$/.test(code)) {
    return new Problem(
      'store-unavailable',
      'the store did not answer; the request may have been done or not, and can be made again',
    )
  }
  return new Problem(
    'internal',
    'the service failed at this request; its log has the cause under the id of the request',
  )
}
