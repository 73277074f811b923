/** Where a retry gets what may not be stored. A credential is good for one origin, and is given by origin. */

import type { HeadersLike } from '../platform/web.ts'

/**
 * The facts that a credential may depend on. One question is asked at a time for each principal and origin, in all tabs of a browser, and its answer
 * is that of all attempts that wait for it; so what differs by method, URL or body is for `sign`.
 */
export interface CredentialsRequest {
  /** The origin that the attempts go to: that of the entry which is asked. */
  readonly origin: string
  /** The user on whose behalf the requests are made, who is also the current one. */
  readonly principal: string | null
  /** Names of the headers that the call carried and that are not stored: a call that has none here carried no credential. */
  readonly withheldHeaders: readonly string[]
  /**
   * An attempt was answered with 401: fetch a new token. Attempts that had begun before the new one came, and then meet 401, get it
   * without a further question.
   */
  readonly unauthorized: boolean
  /** Aborted when each attempt that waits has been cancelled or has ended, after 5 s, or when the queue closes. */
  readonly signal: AbortSignal
}

/** Gives the headers that are laid over those of the request, within 5 s; `{}` sends it without. They are never stored, logged or shown. */
export type GiveCredentials = (request: CredentialsRequest) => HeadersLike | Promise<HeadersLike>

/**
 * One entry for each origin that may have a credential: `'https://api.example.com'`, or `self`, the origin of the page or
 * service worker. A task to an origin without an entry gets none.
 */
export type Credentials = { readonly [origin: string]: GiveCredentials }
