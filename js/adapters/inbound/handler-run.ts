/**
 * The failed run of a handler, told to the queue as a call whose first attempt it was. So the task counts it among its attempts, waits
 * before the next as its policy says, and has its outcome in the history, while the breaker of the service's own origin hears of it.
 * Nothing is sent for it: only its repeats are requests.
 */

import type { RedriveMark } from '../../api/mark.ts'
import { type Call, makeCall } from '../../call/call.ts'
import { repeatableOf } from '../../call/fetch-repeat.ts'
import { FetchTransport } from '../../call/fetch-transport.ts'
import type {
  Acceptance,
  Answer,
  AttemptInit,
  BodyContent,
  FetchForm,
  RepeatAnswer,
  Repeatable,
} from '../../call/transport.ts'
import type { TaskOptions } from '../../options/task-options.ts'
import { taskPolicies } from '../../options/task-policies.ts'
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

/** The word of the queue that it keeps no task, and the error is its client's. */
export const NOT_KEPT: unique symbol = Symbol('not kept')

/** Makes the call whose first attempt the handler's run was. It is handed over, and to a store alone. */
export function callOf(request: Replayed, failure: Failure, given: TaskOptions, host: QueueContext): Call {
  const { method, url, headers, bytes } = request
  const options: TaskOptions = { ...given, mode: 'defer', allowMemory: false }
  const pair = taskPolicies(host, options)
  const complete = makeCall(host, { method, url, origin: new URL(url).origin, headers, options, ...pair, signal: null })
  const transport = new HandlerRun(request, failure, host.settings.fetch)
  const call = complete({ hasBody: bytes !== null, bytes: bytes?.byteLength ?? 0, transport })
  // its headers are those that are stored: another attempt needs the others from `credentials`, in this process too
  return { ...call, rebuilt: true }
}

class HandlerRun implements Repeatable {
  readonly #request: Replayed
  readonly #failure: Failure
  readonly #again: Repeatable

  constructor(request: Replayed, failure: Failure, fetch: typeof globalThis.fetch) {
    const { url, method, headers, bytes } = request
    this.#request = request
    this.#failure = failure
    const init = { method, headers, body: bytes as BodyInit | null }
    this.#again = repeatableOf({ transport: new FetchTransport({ fetch, url, init }) })
  }

  /** The first has been made: by the handler. */
  async send(attempt: AttemptInit): Promise<RepeatAnswer> {
    if (attempt.isReplay) return this.#again.send(this.#complete(attempt))
    if ('error' in this.#failure) throw this.#failure.error
    return new FailedAnswer(this.#failure.status, this.#failure.retryAfter)
  }

  isFinal(error: unknown): boolean {
    return !(error instanceof HandlerError) && this.#again.isFinal(error)
  }

  putHeader(name: string, value: string): void {
    this.#again.putHeader(name, value)
  }

  body(): BodyContent {
    return this.#request.bytes
  }

  asFetch(): FetchForm {
    return { init: {}, withheld: this.#request.withheld, isWhole: true }
  }

  accepted(acceptance: Acceptance): Acceptance {
    return acceptance
  }

  answered(): typeof NOT_KEPT {
    return NOT_KEPT
  }

  adopt(answer: Answer): RepeatAnswer {
    return answer as FailedAnswer
  }

  /** A dead letter that never came to its store has this process alone to send it. Without its credentials it would be another request. */
  #complete(attempt: AttemptInit): AttemptInit {
    const missing = this.#request.withheld.filter((name) => !attempt.overlay?.has(name))
    if (missing.length === 0) return attempt
    throw new RangeError(
      `${missing.join(', ')} is missing: credentials['${new URL(this.#request.url).origin}'] has to give them`,
    )
  }
}

class FailedAnswer implements RepeatAnswer {
  readonly status: number
  readonly redirectRefused = false
  readonly #retryAfter: string | null

  constructor(status: number, retryAfter: string | null) {
    this.status = status
    this.#retryAfter = retryAfter
  }

  header(name: string): string | null {
    return name.toLowerCase() === 'retry-after' ? this.#retryAfter : null
  }

  deliver(_: RedriveMark | null): typeof NOT_KEPT {
    return NOT_KEPT
  }

  clone(): null {
    return null
  }

  rest(): undefined {}

  discard(): void {}
}
