/** Where a retry gets what may not be stored. A credential is good for one origin, and is given by origin. */

import type { HeadersLike } from '../platform/web.ts'

/** An attempt that is about to be sent, as far as a credential for it depends on that. */
export interface CredentialsRequest {
  /** The origin that the attempt goes to: that of the entry which is asked. */
  readonly origin: string
  /** The URL as it is shown: secrets in its query are `REDACTED`. */
  readonly url: string
  /** Upper case. */
  readonly method: string
  readonly taskId: string
  /** The user on whose behalf the request is made, who is also the current one. */
  readonly principal: string | null
  /** Names of the headers that the call carried and that are not stored: a call that has none here carried no credential. */
  readonly withheldHeaders: readonly string[]
  /** The first is 1. */
  readonly attemptNumber: number
  /** The previous attempt was answered with 401: fetch a new token. */
  readonly unauthorized: boolean
  /** Aborted when the attempt is cancelled, times out, or the queue closes. */
  readonly signal: AbortSignal
}

/** Gives the headers that are laid over those of the request, within 5 s; `{}` sends it without. They are never stored, logged or shown. */
export type GiveCredentials = (request: CredentialsRequest) => HeadersLike | Promise<HeadersLike>

/**
 * One entry for each origin that may have a credential: `'https://api.example.com'`, or `self`, the origin of the page or
 * service worker. A task to an origin without an entry gets none.
 */
export type Credentials = { readonly [origin: string]: GiveCredentials }
