/**
 * Checksums of what is sent. Bytes that have changed on a disk are still well-formed text, and a body of the right length: only a sum
 * tells that they are not what was stored. They are against accidents: who writes a store on purpose can write the sum too.
 *
 * FNV-1a, 32 bits: a change of one character is always seen, any other but for one in four billion.
 */

import type { NewTask } from '../../api/records.ts'
import type { TaskStatus } from '../../api/task.ts'
import { recordOf } from './parts.ts'

const START = 0x811c9dc5
const PRIME = 0x01000193

export function sumOfBytes(bytes: Uint8Array): number {
  let sum = START
  for (let i = 0; i < bytes.length; i++) sum = Math.imul(sum ^ (bytes[i] as number), PRIME)
  return sum >>> 0
}

function sumOfTexts(texts: readonly (string | number | null)[]): number {
  let sum = START
  for (const text of texts) {
    const part = String(text)
    for (let i = 0; i < part.length; i++) sum = Math.imul(sum ^ part.charCodeAt(i), PRIME)
    // where one ends is a part of it
    sum = Math.imul(sum ^ 0x10000, PRIME)
  }
  return sum >>> 0
}

/** The sums of a row. One that is missing is damage. */
export interface Sums {
  /** The body's; `null`: there is none. */
  bodySum: number | null
  /** That of the rest of the request, with `bodySum`; `null`: it will not be sent again. */
  requestSum: number | null
}

interface Summed extends Pick<NewTask, 'taskId' | 'method' | 'targetUrl' | 'idempotencyKey' | 'fingerprint'> {
  readonly orderKey?: string | null
  readonly bodySum: number | null
}

/** The headers, and what `recordOf` makes of the rest, as JSON. */
type Texts = readonly [headers: string, record: string]

export function sumOfRequest(task: Summed, texts: Texts): number {
  const { taskId, method, targetUrl, idempotencyKey, fingerprint, orderKey = null, bodySum } = task
  return sumOfTexts([taskId, method, targetUrl, idempotencyKey, fingerprint, orderKey, bodySum, ...texts])
}

export function sumsOf({ body, ...task }: NewTask): Sums {
  const bodySum = body ? sumOfBytes(body) : null
  return { bodySum, requestSum: sumOfRequest({ ...task, bodySum }, [JSON.stringify(task.headers), recordOf(task)]) }
}

/** Whether a request is what was stored; a task that will not be sent again has nothing left to compare. */
export function isWhole(row: Summed & Sums & { readonly status: TaskStatus }, texts: () => Texts): boolean {
  const { requestSum, status } = row
  return status === 'SUCCEEDED' || status === 'CANCELLED' || requestSum === sumOfRequest(row, texts())
}

/** Whether a body is what was stored. */
export const isWholeBody = (bytes: Uint8Array, bodySum: unknown): boolean => sumOfBytes(bytes) === bodySum
