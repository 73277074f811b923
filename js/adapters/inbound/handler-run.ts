/**
 * The failed run of a handler, given to the queue as a call whose first attempt it was. So the task counts it among its attempts, waits
 * before the next as its policy says, and has its outcome in the history, while the breaker of the service's own origin hears of it.
 */

import type { Call } from '../../call/call.ts'
import { readFetch } from '../../call/read-fetch.ts'
import type { Acceptance } from '../../call/transport.ts'
import type { TaskOptions } from '../../options/task-options.ts'
import type { QueueContext } from '../../runner/context.ts'

/** The request as a task is to repeat it. */
export interface Replayed {
  readonly method: string
  /** Absolute, at the origin that the service has named. */
  readonly url: string
  /** Without those of a credential, whose names are `withheld`: a user's session is kept nowhere, this process's memory included. */
  readonly headers: Headers
  readonly withheld: readonly string[]
  readonly bytes: Uint8Array | null
}

/** How the handler has failed: with a status of its own, or with an error of the network that it met. */
export type Failure = { readonly status: number; readonly retryAfter: string | null } | { readonly error: HandlerError }

/** An error that a handler met, as a task's history tells it: by its code, since the words of a database may quote what it was sent. */
export class HandlerError extends Error {
  override readonly name = 'HandlerError'
  constructor(code: string) {
    super(`the handler failed: ${code}`)
  }
}

/** Stands for a value that is withheld: it has the form of a credential, so under any name only that name is stored. */
const WITHHELD = 'Bearer withheld'

/** Makes the call whose first attempt the handler's run was. It is enqueued, and in a store alone. */
export async function callOf(
  { method, url, headers: own, withheld, bytes }: Replayed,
  failure: Failure,
  given: TaskOptions,
  host: QueueContext,
): Promise<Call> {
  const headers = new Headers(own)
  for (const name of withheld) headers.set(name, WITHHELD)
  const fetch = failingFirst(failure, host.settings.fetch)
  const redrive: TaskOptions = { ...given, mode: 'defer', allowMemory: false }
  const init = { method, headers, body: bytes as BodyInit | null, redrive }
  const call = await readFetch(url, init, { ...host, given: { fetch }, settings: { ...host.settings, fetch } })
  // as one made of a stored task it needs from `credentials` what is withheld, in this process too
  return withheld.length > 0 ? { ...call, rebuilt: true } : call
}

/** The first is the handler's run, which is over. */
function failingFirst(failure: Failure, fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  let isFirst = true
  return async (input, init) => {
    if (!isFirst) return fetch(input, init)
    isFirst = false
    if ('error' in failure) throw failure.error
    const { status, retryAfter } = failure
    return new Response(null, { status, headers: retryAfter === null ? {} : { 'retry-after': retryAfter } })
  }
}

/** The task that an answer of the queue says is kept; undefined: it is the failure itself. */
export async function acceptanceIn(answer: unknown): Promise<Acceptance | undefined> {
  const { status, headers } = answer as Response
  const isKept = status === 202 && headers.has('redrive-task-id')
  return isKept ? ((await (answer as Response).json()) as Acceptance) : undefined
}
