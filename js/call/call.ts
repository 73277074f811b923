/** One request to be made, as the queue knows it, whichever adapter has read it and whichever transport sends it. */

import { ATTEMPT_MS, bodyMs, type FirstPolicy } from '../options/first-policy.ts'
import { labelsOf } from '../options/labels.ts'
import type { OwnSending } from '../options/own-sending.ts'
import type { PolicyPair } from '../options/policy.ts'
import type { RetryQueueOptions } from '../options/queue-options.ts'
import type { TaskOptions } from '../options/task-options.ts'
import type { OptionsContext } from '../options/task-policies.ts'
import type { Within } from '../platform/async-context.ts'
import { FOREVER } from '../platform/clock.ts'
import type { FetchTransport } from './fetch-transport.ts'
import { readKey } from './key.ts'
import type { Finished, Repeatable } from './transport.ts'

/** How long a caller waits who has not said so, beside the time that the body needs. */
const WAIT_MS = 30_000
/** How long the caller of a deferred call waits who has not said so; keeping the call may always take that long. */
export const DEFER_MS = 2_000

/** How long a caller waits for the answer of a call with so many bytes, or for a body of at most so many to be read. */
export const patience = (waitMs: number | undefined, bytes: number): number => waitMs ?? WAIT_MS + bodyMs(bytes)

/** The options of all calls that were given none. */
export const NO_OPTIONS: TaskOptions = Object.freeze({})

/** The part of a queue that reading a call needs. */
export interface CallContext extends OptionsContext {
  /** The options of the queue as their user gave them. */
  readonly given: RetryQueueOptions
  /** The principal whose requests are made now. */
  readonly principal: string | null
  /** Learns whose requests are made now, where others say so: in a service worker, its pages. */
  whose?(): LearntPrincipal
  /** Draws the key of one intent: 128 random bits, since a key made from the request would merge two intended orders. */
  readonly makeKey: () => string
  /** The steady clock. */
  readonly now: () => number
}

export interface Call {
  /** Upper case. */
  readonly method: string
  /** Absolute. */
  readonly url: string
  readonly origin: string
  /** The principal who made it; another may be signed in when it is repeated (S16). */
  principal: string | null
  /** That principal, where it is yet to be learnt. */
  readonly whose?: LearntPrincipal | undefined
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
  /** The one in force: that of `handedOver` once the call is in the background. */
  policy: FirstPolicy
  /** The fields that were given: the policy of the background is made of them. */
  readonly given: PolicyPair['given']
  /** Limit of each attempt, to its response headers; 0: none, or the transport has its own. */
  readonly timeoutMs: number
  /** How long its caller waits for the outcome, from the call on; FOREVER: it is deferred. */
  readonly waitMs: number
  /** When its caller leaves, whatever the call waits for: so long from the call on. FOREVER: it does not. */
  readonly leaveMs: number
  /** Its caller has left, so nothing more of it is sent or kept. */
  isLeft?: boolean
  readonly signal: AbortSignal | null
  /** The Requests that its signal comes from: in Node it hears of no abort any more once they are collected. */
  readonly held?: unknown
  /** Sends it. Repeating it by fetch is left to a chunk that comes later; any other transport does it by itself. */
  readonly transport: FetchTransport | Repeatable
  /** Sent once, as plain fetch would: the body is too large to keep, or its origin may not be given the key's header. */
  readonly plain: 'body_too_large' | 'key_origin_missing' | null
  /** The caller's own attempt, which goes on although its caller has been answered: the first of the task. */
  underWay?: UnderWay | undefined
  /** The number of its caller's own attempt among those of the queue. */
  nth?: number
  /** Gives up the place among the attempts that count, where it has one. `sent`: the attempt was made. */
  leave?: (sent: boolean) => void
  /** The asynchronous context that it was made in, where there is one. */
  within?: Within | undefined
  /** Its options passed the checks; false: those had not come yet. */
  readonly isChecked: boolean
  /** Made of a stored task: headers that were not stored are missing. */
  readonly rebuilt?: boolean
  /** In a service: how it is sent. */
  readonly own?: OwnSending | undefined
}

/** The principal of a call, soon: for its first attempt. `known`: for its task, however long that takes. */
export type LearntPrincipal = Promise<string | null> & { readonly known: Promise<string | null> }

/** An attempt that has not ended. */
export interface UnderWay {
  readonly sending: Promise<Finished>
  readonly controller: AbortController
}

/** The parts of a call that an adapter reads of a request at once. */
export type CallRequest = Pick<
  Call,
  'method' | 'url' | 'origin' | 'headers' | 'options' | 'policy' | 'given' | 'signal' | 'held'
> & { /** Absent: the policy's. */ readonly timeoutMs?: number }

/** The parts of a call that are known once its body has been read. */
export type CallContent = Pick<Call, 'hasBody' | 'bytes' | 'transport'>

/** Whether an attempt has all of its limit, and nothing was said about that. An adapter may have said it. */
export const isDefaultLimit = ({ policy, timeoutMs, bytes }: Call, limitMs: number): boolean =>
  policy.attemptTimeoutMs === undefined && limitMs === timeoutMs && limitMs === ATTEMPT_MS + bodyMs(bytes)

/**
 * Makes a call of a request that an adapter has read. Principal and key are those of this moment, and the key is in
 * `request.headers` on return; the function returned completes the call once its body has been read.
 */
export function makeCall(
  { settings, checks, principal, makeKey, now, whose }: CallContext,
  request: CallRequest,
): (content: CallContent) => Call {
  const keyed = readKey(request, settings.idempotency, makeKey)
  const { policy, options: given } = request
  const options = given === NO_OPTIONS ? given : { ...given, ...labelsOf(given) }
  const { mode, waitMs } = options
  const isDeferred = mode === 'defer'
  const askedAt = now()
  const learnt = whose?.()
  return (content) => {
    const neededMs = bodyMs(content.bytes)
    const ownMs = patience(waitMs && Math.max(0, waitMs + askedAt - now()), content.bytes)
    return {
      timeoutMs: policy.attemptTimeoutMs ?? ATTEMPT_MS + neededMs,
      ...request,
      options,
      ...content,
      ...keyed,
      isChecked: !!checks,
      principal,
      whose: learnt,
      waitMs: isDeferred ? FOREVER : ownMs,
      leaveMs: !isDeferred ? ownMs : waitMs === undefined ? FOREVER : Math.max(DEFER_MS, ownMs),
      plain: content.bytes > settings.maxBodyBytes ? 'body_too_large' : keyed.plain,
    }
  }
}
