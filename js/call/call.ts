/** One request to be made, as the queue knows it, whichever adapter has read it and whichever transport sends it. */

import type { ResolvedPolicy } from '../options/policy.ts'
import type { Settings } from '../options/queue-options.ts'
import type { TaskOptions } from '../options/task-options.ts'
import type { FetchTransport } from './fetch-transport.ts'
import { readKey } from './key.ts'
import type { Repeatable } from './transport.ts'

/** The part of a queue that reading a call needs. */
export interface CallContext {
  readonly settings: Settings
  /** The principal whose requests are made now. */
  readonly principal: string | null
  /** Draws the key of one intent: 128 random bits, since a key made from the request would merge two intended orders. */
  readonly makeKey: () => string
}

export interface Call {
  /** Upper case. */
  readonly method: string
  /** Absolute. */
  readonly url: string
  readonly origin: string
  /** The principal who made it; another may be signed in when it is repeated (S16). */
  readonly principal: string | null
  /** Lower-case names and values as sent, the key's header among them. */
  readonly headers: Headers
  readonly hasBody: boolean
  /** Bytes the queue holds for it. */
  readonly bytes: number
  /** '': to be made of the content, before the call is sent. */
  key: string | null
  /** The key is the queue's own, made for this call alone. */
  readonly made: boolean
  /** Digest of the whole request, where another call may have the same key. */
  fingerprint?: string | undefined
  /** Digest of the credentials that the call carries, likewise; '': a principal says whose it is, or it carries none. */
  sender?: string | undefined
  /** The queue put the key's header on a cross-origin request, which then needs a preflight. */
  readonly addedCrossOrigin: boolean
  /** Safe or idempotent method, or a key, or the caller vouches. */
  replayable: boolean
  readonly options: TaskOptions
  readonly policy: ResolvedPolicy
  /** Limit of each attempt, to its response headers; 0: the transport has its own. */
  readonly timeoutMs: number
  readonly signal: AbortSignal | null
  /** Sends it. Repeating it by fetch is left to a chunk that comes later; any other transport does it by itself. */
  readonly transport: FetchTransport | Repeatable
  /** Sent once, as plain fetch would: the body is too large to keep, or its origin may not be given the key's header. */
  readonly plain: 'too-large' | 'origin-missing' | null
  /** Made of a stored task: headers that were not stored are missing. */
  readonly rebuilt?: boolean
}

/** The parts of a call that an adapter reads of a request at once. */
export type CallRequest = Pick<
  Call,
  'method' | 'url' | 'origin' | 'headers' | 'options' | 'policy' | 'signal' | 'timeoutMs'
>

/** The parts of a call that are known once its body has been read. */
export type CallContent = Pick<Call, 'hasBody' | 'bytes' | 'transport'>

/**
 * Makes a call of a request that an adapter has read. Principal and key are those of this moment, and the key is in
 * `request.headers` on return; the function returned completes the call once its body has been read.
 */
export function makeCall(
  { settings, principal, makeKey }: CallContext,
  request: CallRequest,
): (content: CallContent) => Call {
  const keyed = readKey(request, settings.idempotency, makeKey)
  return (content) => ({
    ...request,
    ...content,
    ...keyed,
    principal,
    plain: content.bytes > settings.maxBodyBytes ? 'too-large' : keyed.plain,
  })
}
