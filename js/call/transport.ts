/**
 * One attempt, whatever sends it: fetch here, an Axios adapter in `adapters/axios.ts`.
 * A transport sends the same request again and again; an answer can be looked at, handed over once, or thrown away.
 */

/** What an attempt adds to the request it repeats. */
export interface AttemptInit {
  /** Laid over the caller's headers; from `credentials()`. */
  readonly overlay: Headers | null
  readonly signal: AbortSignal
  /** Not the caller's own first attempt: it may go to the recorded origin only. */
  readonly isReplay: boolean
}

export interface Transport {
  /** Rejects when there was no answer. */
  send(attempt: AttemptInit): Promise<Answer>
  // What only a task needs; for fetch it is in `fetch-replay.ts`, which no page loads for a first attempt.
  /** Whether no repeat can mend this error: it is of the caller's own making. */
  isFinal?(error: unknown): boolean
  /** Puts an idempotency key made late where it belongs. */
  putHeader?(name: string, value: string): void
  /** What it sends, for a key or fingerprint of it. */
  body?(): BodyContent | Promise<BodyContent>
  /** How fetch would send it, for a task that outlives its caller; `withheld`: headers it adds by itself. */
  asFetch?(): { readonly init: RequestInit; readonly withheld: readonly string[] }
  /** What a Response that was not sent for is to the caller; a Response where it is absent. */
  answered?(response: Response): unknown
  /** What a deferred call is answered with: 202 Accepted. */
  accepted?(taskId: string, traceId: string): unknown
}

export type BodyContent = string | Uint8Array | null

export interface Answer {
  /** 200 for an opaque response: it counts as delivered. */
  readonly status: number
  /** A redirect that a replay must not follow. */
  readonly redirectRefused: boolean
  /** Gives the answer to the caller: returns it, or throws what the caller expects to be thrown, with `mark` on it. */
  deliver(mark: Mark | null): unknown
  // What only a task needs; for fetch it is in `answers.ts`.
  header?(name: string): string | null
  /** Nobody will read it: lets go of the connection. */
  discard?(): void
}

/** Put on the result of a task that was given up: `response.redrive`, `error.redrive`. */
export interface Mark {
  readonly taskId: string
  readonly reason: string
}

/** Marks a result as the last word on a task. A value that cannot carry the mark goes without. */
export function mark<T>(value: T, redrive: Mark | null): T {
  if (redrive && typeof value === 'object' && value !== null && Object.isExtensible(value)) {
    Object.defineProperty(value, 'redrive', { value: redrive, configurable: true, enumerable: false })
  }
  return value
}
