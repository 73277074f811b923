/** A request that came in and whose handler has failed, as the rules look at it, whichever framework has taken it. */

export interface InboundRequest {
  /** Upper case. */
  readonly method: string
  /** Path and query, as the client has sent them. */
  readonly target: string
  /** Those that the client has sent. */
  readonly headers: Headers
  /** The framework's id of the request. Absent: it gives none. */
  readonly id?: string
}

export interface Body {
  /** null: there is none. */
  readonly bytes: Uint8Array | null
  /** A parser has unpacked it: its `content-encoding` is no more. */
  readonly isUnpacked: boolean
}

export const NO_BODY: Body = { bytes: null, isUnpacked: false }

/** Why a body is not at hand. 'cut_off': its client has left before it was whole. */
export type Lack = 'not_captured' | 'too_large' | 'cut_off'

export type BodyReading = Body | { readonly lacks: Lack }

/** A request with all that a framework tells of it: more than a user's `match` sees. */
export interface Incoming extends InboundRequest {
  /** Asked again whenever something was waited for: a part of the answer was sent, or the client has left. */
  isAnswered(): boolean
  /** Never rejects. */
  body(): Promise<BodyReading>
}

/** An id as a framework may have put it there: by a plugin, or by hand. */
export const idOf = (given: unknown): { readonly id?: string } =>
  typeof given === 'string' && given !== '' ? { id: given } : {}
