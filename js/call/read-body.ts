/**
 * Reads the body of a call, which is kept until the call has ended, and so no more of it than a queue may keep: a stream may be as
 * long as a disk. The caller may leave while it is read. Bodies of answers have their limits here too.
 */

import { assertNotAborted, orAbort } from '../platform/abort.ts'

/** Bytes that are kept, unpacked, of the body of an answer whose caller may still get it. */
export const KEPT_BYTES: number = 64 * 1024
/** Longest time that what is left of an answer is read. */
export const REST_MS = 250
/** A chunk counts as so many bytes: a stream of empty ones would never come to an end. */
export const CHUNK_BYTES = 16

/** All bytes of a body; null: there are more than `most`, and the rest was left unread. Rejects where `signal` is aborted. */
export async function readBody(
  holder: Request | Response,
  most: number,
  signal: AbortSignal | null,
): Promise<Uint8Array<ArrayBuffer> | null> {
  // Firefox, and Chrome before 105, show no stream of a Request
  if (!holder.body) return new Uint8Array(await orAbort(signal, holder.arrayBuffer()))
  const reader = holder.body.getReader()
  // a body that a Response was made of has no stream of the caller's, and Node's `fetch` fails out of reach when a form is cancelled
  const end = (reason?: unknown) => holder instanceof Request && cancelBody(reader, reason)
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    assertNotAborted(signal)
    for (;;) {
      const { done, value } = await orAbort(signal, reader.read())
      if (done) break
      if (!ArrayBuffer.isView(value)) throw new TypeError('expected a stream of bytes')
      chunks.push(value)
      length += value.byteLength
      if (length > most) {
        end()
        return null
      }
    }
  } catch (error) {
    end(error)
    throw error
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return bytes
}

/** A stream, or whatever a `fetch` of the user's own gives for a body: node-fetch gives a stream of Node. */
export interface AnyBody {
  cancel?(reason?: unknown): Promise<unknown>
  destroy?(): void
}

/** Cancels a stream. One that has broken off refuses, which is of no concern any more. */
export function cancelBody(stream: AnyBody | null | undefined, reason?: unknown): void {
  if (stream?.cancel) stream.cancel(reason).catch(() => {})
  else stream?.destroy?.()
}
