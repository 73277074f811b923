/**
 * The form of one row of the route table. Validation, the OpenAPI document, the page of endpoints, scopes and the labels of metrics all come from
 * such rows, so a row that is wrong is wrong everywhere at once, and a test sees it.
 */

import type { z } from '@hono/zod-openapi'
import type { ApiLimits, ApiSettings, Scope } from './context.ts'
import type { Exchange, Reply } from './exchange.ts'
import type { ReadJson } from './json.ts'
import type { Problem, ProblemType } from './problem.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** One kind of success. */
export interface Answer {
  readonly description: string
  /** Absent: there is no body. */
  readonly schema?: z.ZodType
  /** Has to pass `schema`. */
  readonly example?: unknown
  /** @default 'application/json' */
  readonly contentType?: string
  /** Headers of their own, with the meaning of each. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A request header that a route reads. */
export interface HeaderIn {
  readonly name: string
  readonly description: string
  readonly example: string
  /** A regular expression that its value has to pass. */
  readonly pattern?: string
}

/** A body of parts, each read by itself: lines, or what is in the list that is all of a JSON object. */
interface LinesIn {
  /** More are refused, unread. */
  readonly most: number
  /** The name of the list. */
  readonly member: string
  /** Makes of the parts what `body` checks. One that cannot be read is a `Problem`. */
  bodyOf(parts: readonly (ReadJson | Problem)[]): unknown
}

export interface RouteSpec<Query, Body> {
  readonly method: Method
  /** In the form of OpenAPI: `/retry-tasks/{taskId}`. */
  readonly path: string
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  /** null: no token is needed. */
  readonly scope: Scope | null
  /** Whether, by the settings, no token is needed after all. */
  readonly isOpen?: (settings: ApiSettings) => boolean
  /** A POST that changes nothing: it is answered while the service stops. */
  readonly isRead?: true
  readonly headersIn?: readonly HeaderIn[]
  readonly query?: z.ZodType<Query>
  readonly body?: z.ZodType<Body>
  /** No body is the same as `{}`. */
  readonly isBodyOptional?: true
  /** The body is bytes of any type, which are left to the handler, unread. In words: what they are. */
  readonly bytes?: string
  /** The body may also be lines, each a JSON text. As JSON too it is read in parts. */
  readonly lines?: LinesIn
  /** Largest body. @default `limits.maxBodyBytes` */
  readonly mostBytes?: (limits: ApiLimits) => number
  /** Levels of JSON around what `limits.maxDepth` is about. @default 0 */
  readonly depthAround?: number
  /** By name. Each has to pass `body`. */
  readonly examples?: Readonly<Record<string, unknown>>
  /** By status. */
  readonly answers: Readonly<Record<number, Answer>>
  /** Beside those that any route may give. */
  readonly problems: readonly ProblemType[]
  handle(exchange: Exchange<Query, Body>): Promise<Reply>
}

/** A row of the table. */
export type Route = RouteSpec<unknown, unknown>

/** A row whose handler is given what its schemas let through. */
export const route = <Query = unknown, Body = unknown>(spec: RouteSpec<Query, Body>): Route => spec as unknown as Route

/** The problems of a row, with those that any route like it may give. */
export function problemsOf({ method, scope, body, bytes, isRead, problems }: Route): readonly ProblemType[] {
  const ofAll: ProblemType[] = [
    'bad-request',
    'forbidden',
    'not-acceptable',
    'wrong-host',
    'store-unavailable',
    'too-many-connections',
    'internal',
  ]
  const ofScoped: ProblemType[] = scope === null ? [] : ['unauthorized', 'rate-limited']
  const ofWrites: ProblemType[] = method === 'GET' || isRead ? [] : ['draining', 'queue-full']
  const ofBodies: ProblemType[] = body ? ['body-too-large', 'unsupported-media-type', 'invalid'] : []
  const ofBytes: ProblemType[] = bytes === undefined ? [] : ['length-required', 'body-too-large']
  return [...new Set([...ofAll, ...ofScoped, ...ofWrites, ...ofBodies, ...ofBytes, ...problems])]
}
