/** The answers that the middleware gives in place of an error's. */

import { acceptedForm } from '../../call/accepted.ts'
import type { Acceptance } from '../../call/transport.ts'

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The address at which the client may ask what has become of its task. */
export type TaskUrl = (taskId: string) => string

export interface ReplyOptions {
  /** Gives the `Location` of the 202. @default none */
  readonly taskUrl?: TaskUrl
}

// headers that the handler has set before it failed stay, and may be those of an answer that caches keep
const UNCACHED = { 'cache-control': 'no-store' }

/** 202: the task is kept. */
export function accepted(acceptance: Acceptance, { taskUrl }: ReplyOptions): Reply {
  const { headers, body } = acceptedForm(acceptance)
  const location = taskUrl && { location: taskUrl(acceptance.taskId) }
  return { status: 202, headers: { ...headers, ...UNCACHED, ...location }, body }
}

/** 503: nothing is kept while the circuit is open. `leftMs`: until it lets an attempt through; of a probe under way no end is known. */
export function circuitOpen(leftMs: number | null): Reply {
  const seconds = Math.max(1, Math.ceil((leftMs ?? 0) / 1_000))
  const headers = { 'content-type': 'application/problem+json', 'retry-after': `${seconds}`, ...UNCACHED }
  const title = 'The service keeps no requests while its circuit is open'
  return { status: 503, headers, body: JSON.stringify({ status: 503, title, code: 'CIRCUIT_OPEN' }) }
}

/** Headers that tell of a content, which a handler may have set before it failed. */
export const CONTENT_HEADERS: readonly string[] = [
  ...['content-encoding', 'content-language', 'content-length', 'content-range', 'etag', 'last-modified'],
]
