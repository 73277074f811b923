/** fetch, made retryable: as a function of its own, or in place of the global one. */

import { isStream, passesThrough, type RedriveInit } from '../call/read-fetch.ts'
import { checkTask, type TaskOptions } from '../options/task-options.ts'
import type { RetryQueue } from '../queue/queue.ts'

declare global {
  interface RequestInit {
    /** How redrive treats this call; `false`: not at all. */
    redrive?: TaskOptions | false
  }
}

export interface FetchOptions extends TaskOptions {
  /** Which requests are the queue's; the others are plain fetch. Asked with the request as it will be sent. @default all */
  readonly match?: (request: Request) => boolean
}

/** A fetch that retries through `queue`. `init.redrive` of a call is laid over `defaults`. */
export function wrapFetch(queue: RetryQueue, defaults: FetchOptions = {}): typeof fetch {
  const complete = completer(defaults)
  // async: fetch rejects, and never throws
  return async (input: RequestInfo | URL, init?: RedriveInit) => queue.fetch(input, complete(input, init))
}

/**
 * Replaces globalThis.fetch until the returned function is called. Passes through what the queue itself sends, bodies
 * that are streams, no-cors, navigate, keepalive and non-http(s) requests.
 */
export function installFetch(queue: RetryQueue, defaults: FetchOptions = {}): () => void {
  const complete = completer(defaults)
  const original = globalThis.fetch
  let active = true
  const installed: typeof fetch = async (input: RequestInfo | URL, init?: RedriveInit) => {
    if (!active || isStream(init?.body) || passesThrough(input, init)) return original(input, init)
    return queue.fetch(input, complete(input, init))
  }
  globalThis.fetch = installed
  return () => {
    // a later wrapper stays in place, and reaches the original through this one
    active = false
    if (globalThis.fetch === installed) globalThis.fetch = original
  }
}

/** Makes the function that lays the defaults under a call. Wrong defaults throw here, not at the first call. */
function completer({ match, ...defaults }: FetchOptions) {
  checkTask(defaults)
  return (input: RequestInfo | URL, init: RedriveInit | undefined): RedriveInit | undefined => {
    if (init?.redrive === false) return init
    if (match) {
      // a clone: making a Request of a Request takes its body
      const request = new Request(input instanceof Request ? input.clone() : input, init)
      if (!match(request)) return { ...init, redrive: false }
    }
    return { ...init, redrive: { ...defaults, ...init?.redrive } }
  }
}
