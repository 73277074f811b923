/** fetch, made retryable: as a function of its own, or in place of the global one. */

import type { RedriveResponse } from '../api/mark.ts'
import { isStream, partsOf, passesThrough, type RedriveInit } from '../call/read-fetch.ts'
import { marking } from '../options/queue-options.ts'
import type { TaskOptions } from '../options/task-options.ts'
import type { RequestLike } from '../platform/web.ts'
import { internalsOf } from '../queue/internals.ts'
import type { RetryQueue } from '../queue/queue.ts'

declare global {
  interface RequestInit {
    /** How redrive treats this call; `false`: not at all. */
    redrive?: TaskOptions | false
  }
}

/** fetch, with what a queue adds to its answers: a call that was given up has `redrive` on its last one. */
export type RedriveFetch = ((input: RequestLike, init?: RedriveInit) => Promise<RedriveResponse>) & typeof fetch

export interface FetchOptions extends TaskOptions {
  /** Which requests are the queue's; the others are plain fetch. Asked with the request as it will be sent. @default all */
  readonly match?: (request: Request) => boolean
}

/**
 * A `fetch` that retries through `queue`: use it wherever you call `fetch`. `defaults` hold for all of its calls; what a call has in
 * `init.redrive` replaces them, and `redrive: false` makes it a plain `fetch`.
 *
 * @example
 * const fetch = wrapFetch(queue)
 * const response = await fetch('https://api.example.com/orders', { method: 'POST', body: 'A-1' })
 */
export function wrapFetch(queue: RetryQueue, defaults: FetchOptions = {}): RedriveFetch {
  const complete = completer(queue, 'wrapFetch(queue)', defaults)
  // async: fetch rejects, and never throws
  const wrapped = async (input: RequestLike, init?: RedriveInit) => queue.fetch(input, complete(input, init))
  return wrapped as RedriveFetch
}

/**
 * Replaces globalThis.fetch until the returned function is called. Passes through what the queue itself sends (by Axios from 1.10 on), bodies
 * that are streams, no-cors, navigate, keepalive and non-http(s) requests.
 */
export function installFetch(queue: RetryQueue, defaults: FetchOptions = {}): () => void {
  const complete = completer(queue, 'installFetch(queue)', defaults)
  const { given, settings } = internalsOf(queue).host
  const original = globalThis.fetch
  const own = settings.fetch
  // a mock around this one may pass on a Request that nothing marks as the queue's; the original may be that of another `installFetch`
  if (!given.fetch) settings.fetch = marking(original)
  let active = true
  const installed: typeof fetch = async (input: RequestLike, init?: RedriveInit) => {
    // a Request's own body is no stream of its caller's: it is read, as by fetch
    const isOnce = !(init instanceof Request) && isStream(init?.body)
    if (!active || isOnce || passesThrough(input, init)) return original(input, init)
    return queue.fetch(input, complete(input, init))
  }
  globalThis.fetch = installed
  return () => {
    // a later wrapper stays in place, and reaches the original through this one
    active = false
    settings.fetch = own
    if (globalThis.fetch === installed) globalThis.fetch = original
  }
}

/** Makes the function that lays the defaults under a call. Wrong defaults throw here, not at the first call, where the checks are there. */
function completer(queue: RetryQueue, call: string, { match, ...defaults }: FetchOptions) {
  const { host } = internalsOf(queue, call)
  host.checks?.call(defaults)
  host.checks?.match(match)
  return (input: RequestLike, given: RedriveInit | null | undefined): RedriveInit => {
    const init = given ?? {}
    const redrive = init.redrive ?? {}
    if (redrive === false) return init
    // first: laid over the defaults, what is no object would be nothing
    host.checks?.call(redrive)
    // a clone: making a Request of a Request takes its body
    type Both = [RequestLike, RequestInit]
    const isOurs = !match || match(new Request(...([input, init].map(copyOf) as Both)))
    // a Request in place of the init stays one: its body is no stream of its caller's
    const own = init instanceof Request ? new Request(init) : partsOf(init)
    return Object.assign(own, { redrive: isOurs ? { ...defaults, ...redrive } : (false as const) })
  }
}

const copyOf = <T>(given: T): T => (given instanceof Request ? (given.clone() as T) : given)
