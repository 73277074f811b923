/** One request on its way through the API, and the answer that a handler gives. */

import type { Places } from '../places.ts'
import type { ApiContext, ApiSettings } from './context.ts'
import type { Policies } from './policies.ts'
import type { Caller } from './tokens.ts'

/** The parts that all handlers share. */
export interface Services {
  readonly context: ApiContext
  readonly policies: Policies
  /** The instant by which the store judges what is due, in epoch ms. */
  storeNow(): Promise<number>
  /** A UUIDv7 of now. */
  newId(): string
  /** 128 random bits, as 32 hex digits. */
  newKey(): string
  /** The OpenAPI document as JSON. */
  openapiBytes(): Uint8Array<ArrayBuffer>
  /** For requests that wait for the end of a task, by token. */
  readonly waits: Places<string>
}

/** A request that has passed every check that its route asks for. */
export interface Exchange<Query = unknown, Body = unknown> extends Services {
  readonly settings: ApiSettings
  readonly requestId: string
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  /** The canonical JSON text (RFC 8785) of the body; '' where there was none. */
  readonly text: string
  readonly headers: Headers
  /** The body of a route that takes bytes, unread; null: there was none. */
  readonly stream: ReadableStream<Uint8Array> | null
  /** Aborted when the caller has left. No handler stops a write for it. */
  readonly signal: AbortSignal
  /** Counts so many more requests against the rate of the token: those that come after this one pay for them. */
  charge(more: number): void
  /** Whether the token would be let in now: for an answer that goes on for long. */
  stillMay(): boolean
}

export interface Reply {
  readonly status: number
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as it is, with the content type among `headers`. */
  readonly body?: BodyInit
  readonly headers?: Readonly<Record<string, string>>
}

export const ok = (json: unknown, headers?: Reply['headers']): Reply => ({
  status: 200,
  json,
  ...(headers && { headers }),
})

export const NO_CONTENT: Reply = { status: 204 }
