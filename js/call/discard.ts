/**
 * How the body of an answer is dropped that no caller reads, or that its caller may get only later.
 *
 * A connection can be used again only once the body on it has been read, so a little is read of what is left. How much that
 * is, and how long it may take, is bounded here: `content-length` is the length before the body is unpacked, and a server may send
 * headers and then nothing more. What is not read by then is cancelled, which ends the connection.
 */

import { RedriveError } from '../api/errors.ts'
import type { Clock } from '../platform/clock.ts'
import { CHUNK_BYTES, KEPT_BYTES, REST_MS } from './read-body.ts'

/** Bytes that are read, unpacked, of a body that no caller gets. */
export const UNREAD_BYTES: number = 16 * 1024

/** A body that is read part by part: the reader of a stream, or what is like one. */
export interface Reader {
  read(): Promise<{ readonly done?: boolean | undefined; readonly value?: Uint8Array | undefined }>
  cancel(): Promise<unknown>
}

export interface RestTerms {
  readonly clock: Clock
  /** Aborted when nothing is waited for any more: the queue closes, or the attempt is over. */
  readonly signal: AbortSignal
}

/** An answer whose body may not have been read. */
export interface WithBody {
  /**
   * Reads a little of what is left of the body, so that its connection can be used again. The attempt takes its place in the queue
   * until that is done. `isKept`: what was read can still be delivered; otherwise what is not read is cancelled. undefined: there is
   * nothing to read. Never rejects; asked again, it gives the same promise.
   */
  rest(isKept: boolean, terms: RestTerms): Promise<void> | undefined
  /** Ends the connection of an answer that has no reader, at once, if its body has not been read to its end. */
  discard(): void
}

/** A body that is being read to its end. */
export interface Rest {
  /** Whether that was all of it; if not, it has been cancelled. Never rejects. */
  readonly isWhole: Promise<boolean>
  /** Reads no further, and cancels it. */
  stop(): void
}

/** Reads on, `most` bytes and `REST_MS` at most. A stream that does not answer, or does not let itself be cancelled, holds nothing up. */
export function readRest(reader: Reader, most: number, { clock, signal }: RestTerms): Rest {
  let end = (_: boolean): void => {}
  const stop = () => end(false)
  const isWhole = new Promise<boolean>((resolve) => {
    const disarm = clock.after(REST_MS, stop)
    signal.addEventListener('abort', stop)
    end = (isWhole) => {
      end = () => {}
      disarm()
      signal.removeEventListener('abort', stop)
      if (!isWhole) void cancel(reader)
      resolve(isWhole)
    }
  })
  const read = async (): Promise<void> => {
    for (let left = most; left >= 0; ) {
      const { done, value } = await reader.read()
      if (done) return end(true)
      left -= Math.max(value?.byteLength || 0, CHUNK_BYTES)
    }
    stop()
  }
  if (signal.aborted) stop()
  // broken off: nothing more is to come, and the connection is gone
  else read().catch(() => end(true))
  return { isWhole, stop }
}

/** Cancels a stream. Neither its refusal nor its silence is of any concern: the answer was given up already. */
export async function cancel(stream: Pick<Reader, 'cancel'>): Promise<void> {
  try {
    await stream.cancel()
  } catch {
    // locked, or broken off
  }
}

/**
 * Takes the answer of a task that goes on, or of a call that waits for one, off its connection: what is here of it by then is kept for
 * its caller. At the close of a queue it is left as it is, since its caller gets it now.
 */
export function putAside(answer: WithBody, terms: RestTerms): void {
  answer.rest(true, terms)?.then(() => {
    if (!terms.signal.aborted) answer.discard()
  })
}

/** The error of a body that was dropped. */
export function bodyLetGo(): RedriveError {
  const why = `while its call waited for another attempt, longer than ${REST_MS} ms or more than ${KEPT_BYTES} bytes of it were to come`
  return new RedriveError('BODY_DROPPED', `the body of this answer was dropped: ${why}; status and headers are whole`)
}
