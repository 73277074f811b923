/**
 * The words for one attempt and its answer, whichever library sends it. `Transport` and `Answer` are all that a caller's
 * own first attempt needs, and so all that every page loads. A task asks for more: `Repeatable` and `RepeatAnswer`, which
 * for fetch come with the core (`fetch-repeat.ts`), and which the transport of any other library has by itself.
 */

import type { RedriveMark } from '../api/mark.ts'
import type { Durability } from '../api/task.ts'
import type { Clock } from '../platform/clock.ts'
import type { WithBody } from './discard.ts'

/** An attempt's own additions to the request it repeats. */
export interface AttemptInit {
  /** Laid over the caller's headers; from `credentials`. */
  readonly overlay: Headers | null
  readonly signal: AbortSignal
  /** Not the caller's own first attempt: it may go to the recorded origin only. */
  readonly isReplay: boolean
  /** The queue's clock; a replay's. */
  readonly clock?: Clock
  /** The name of the key's header: a GET that a redirect has made of the request goes without it. */
  readonly keyHeader?: string | undefined
  /** Asked before each hop of a redirect that a replay follows: the cookies may have become another principal's. */
  readonly maySend?: (() => boolean) | undefined
}

/** Sends one request, as often as asked. */
export interface Transport {
  /** Rejects when there was no answer. */
  send(attempt: AttemptInit): Promise<Answer>
  /** The error of an attempt that took too long, as the library has it. @default `reason`, which fetch rejects with */
  timedOut?(reason: Error): Promise<unknown>
}

/** An answer, which is delivered once or thrown away. */
export interface Answer {
  /** 200 for an opaque response: it counts as delivered. */
  readonly status: number
  /** A redirect that a replay must not follow. */
  readonly redirectRefused: boolean
  header(name: string): string | null
  /** Gives the answer to the caller: returns it, or throws what the caller expects to be thrown, with `mark` on it. */
  deliver(mark: RedriveMark | null): unknown
  /**
   * Reads of it what a task would keep, and aborts its attempt where it does not end in time: the core is loading, and may have to come by
   * the connection that it holds (HTTP/1.1 has six for an origin). Gives a function that stops that.
   */
  readAhead?(clock: Clock, controller: AbortController): () => void
  /** Ends the connection of an answer that has no reader, at once, if its body has not been read to its end. */
  discard(): void
}

/** An ended attempt. A task's has a `RepeatAnswer`. */
export interface Finished<A extends Answer = Answer> {
  readonly outcome: number
  /** 0: there was no response. */
  readonly status: number
  readonly answer: A | null
  /** The transport's own rejection, where there is no answer. */
  readonly error: unknown
  /** On the steady clock. */
  readonly startedAt: number
  readonly durationMs: number
  /** The word of the user's hooks on it. */
  readonly said?: { readonly retry: boolean | undefined; readonly delayMs: number | undefined }
}

/** A request that a task can make again, had from `repeatableOf(call)`. */
export interface Repeatable extends Transport {
  /** Holds a replay to the recorded origin (S15). Rejects when there was no answer. */
  send(attempt: AttemptInit): Promise<RepeatAnswer>
  /**
   * A redirect has answered the request: the URL of the GET that it made of it. From then on that GET is all that is sent (RFC 9110, section
   * 15.4.4). Within the origin of the request.
   */
  seeOther?: string | undefined
  /** Whether no repeat can mend this error: it is of the caller's own making, or a redirect to another origin has answered the request before. */
  isFinal(error: unknown): boolean
  /** Puts an idempotency key that was made late where it belongs. */
  putHeader(name: string, value: string): void
  /** The request that is sent next, where that is not the one that was read first. */
  ready?(): Promise<{ readonly method: string; readonly url: string; readonly headers: Headers } | undefined>
  /** The body as it is sent, for a key or fingerprint of it and for a store. */
  body(): BodyContent | Promise<BodyContent>
  /** Describes the request as one by fetch, for a task that outlives its caller. */
  asFetch(): FetchForm
  /** Answers a deferred call: 202 Accepted, with `acceptance` in its body, task and durability in headers too. */
  accepted(acceptance: Acceptance): unknown
  /** Answers a call with a Response that was not sent for; with a `word`, or null for none, with that to a request under the same key, made `of` its answer. */
  answered(response: Response, word?: RedriveMark | null, of?: RepeatAnswer): unknown
  /** The answer of a first attempt, as an answer of this transport's replays. */
  adopt(answer: Answer): RepeatAnswer
}

/** The facts about its task that the caller of a deferred call gets. */
export interface Acceptance {
  readonly taskId: string
  readonly traceId: string
  /** Where the task is kept. */
  readonly durability: Durability
}

export type BodyContent = string | Uint8Array | null

export interface FetchForm {
  readonly init: RequestInit
  /** Names of headers that the transport adds by itself and that must not be stored. */
  readonly withheld: readonly string[]
  /** Nothing is lost by it. Otherwise the call's own transport sends the task for as long as this process lives. */
  readonly isWhole: boolean
}

/** An answer that a task can look into before it is delivered. */
export interface RepeatAnswer extends Answer, WithBody {
  /** Gives each line of its headers, names in any case. Values of one name may come as several lines, or joined by commas. */
  eachHeader(take: (name: string, value: string) => void): void
  /** Its request was not safe, and a redirect has made a GET of it, or may have: the platform tells little of those that it follows. */
  readonly becameGet?: boolean
  /** A copy for listeners and for callers who joined the task; null where the answer is no Response. */
  clone(): Response | null
  /** Where it is no Response: one made of it for a caller who joined, before it is delivered, or in place of that (`isLast`); null: it cannot be made. */
  share?(isLast: boolean): Response | null
}

/** Marks a result as the last word on a task. A value that cannot carry the mark goes without. */
export function mark<T>(value: T, redrive: RedriveMark | null): T {
  if (redrive && Object.isExtensible(value)) {
    Object.defineProperty(value, 'redrive', { value: redrive, configurable: true })
  }
  return value
}

/** Headers with others laid over them. */
export function laidOver(headers: Headers, overlay: Headers | null): Headers {
  const all = new Headers(headers)
  overlay?.forEach((value, name) => {
    all.set(name, value)
  })
  return all
}
