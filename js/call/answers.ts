/** What a task asks of an answer beyond its status, whichever transport brought it. */

import { FetchAnswer } from './fetch-transport.ts'
import type { Answer } from './transport.ts'

export function headerOf(answer: Answer, name: string): string | null {
  return answer instanceof FetchAnswer ? answer.response.headers.get(name) : (answer.header?.(name) ?? null)
}

/** For listeners and for those who asked for the same; null where the answer is no Response. */
export function cloneOf(answer: Answer): Response | null {
  return answer instanceof FetchAnswer ? answer.response.clone() : null
}

/** Nobody will read it: lets go of the connection. */
export function discard(answer: Answer | null | undefined): void {
  if (answer instanceof FetchAnswer) discardBody(answer.response)
  else answer?.discard?.()
}

const SMALL_BODY_BYTES = 64 * 1024

/** Frees the connection: a short body is read to its end so that the connection can be used again, a long one cancelled. */
export function discardBody(response: Response): void {
  if (!response.body || response.bodyUsed) return
  const length = Number(response.headers.get('content-length') ?? Number.NaN)
  const done = length <= SMALL_BODY_BYTES ? response.arrayBuffer() : response.body.cancel()
  // the answer was given up already: an error in what is left of it concerns nobody
  done.catch(() => {})
}
