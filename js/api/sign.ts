/** Signatures, which are made anew for each attempt: they cover a time, so one that was stored would be too old. */

import type { HeadersLike } from '../platform/web.ts'

/** An attempt that is about to be sent, as it is sent. */
export interface SignRequest {
  /** Upper case. */
  readonly method: string
  /** Absolute, with its query. */
  readonly url: string
  /** A copy of the headers, those of `credentials` and the idempotency key included. */
  readonly headers: Headers
  /** The body's bytes; empty where there is none. */
  readonly body: Uint8Array
  /** Aborted when the attempt is cancelled, times out, or the queue closes. */
  readonly signal: AbortSignal
}

/** Gives the headers that are laid over those of the request, within 5 s; `{}` sends it unsigned. They are never stored, logged or shown. */
export type Sign = (request: SignRequest) => HeadersLike | Promise<HeadersLike>
