/** The data of an axios call, after its transforms, as something that is the same on every attempt. */

import { BodyNotReplayableError } from '../../api/errors.ts'
import { isStream } from '../../call/read-fetch.ts'

export interface FrozenData {
  readonly value: unknown
  readonly bytes: number
  /** Set where the bytes are worth nothing without it: a multipart boundary. */
  readonly contentType: string | null
}

/** The `form-data` package, which axios uses in Node for plain objects sent as multipart. */
interface NodeFormData {
  hasKnownLength(): boolean
  getLengthSync(): number
  getBuffer(): Uint8Array
  getHeaders(): Record<string, string>
}

export async function freezeData(data: unknown, what: string): Promise<FrozenData> {
  if (typeof data === 'string') return frozen(data, new TextEncoder().encode(data).byteLength)
  if (typeof data !== 'object' || data === null) return frozen(data, 0)
  if (data instanceof ArrayBuffer) return frozen(data.slice(0), data.byteLength)
  if (ArrayBuffer.isView(data)) return copied(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
  // still a Blob: each of axios' adapters has its own idea of the content type of one
  if (data instanceof Blob) return frozen(new Blob([await data.arrayBuffer()], { type: data.type }), data.size)
  if (data instanceof FormData) {
    const response = new Response(data)
    const bytes = await response.arrayBuffer()
    return frozen(bytes, bytes.byteLength, response.headers.get('content-type'))
  }
  if (isNodeFormData(data)) return copied(formBytes(data, what), data.getHeaders()['content-type'])
  if (isStream(data) || 'pipe' in data) throw new BodyNotReplayableError(what)
  // nothing that can be sent: axios will say so
  return frozen(data, 0)
}

function frozen(value: unknown, bytes: number, contentType: string | null = null): FrozenData {
  return { value, bytes, contentType }
}

/** As an ArrayBuffer, which all three of axios' adapters take. */
function copied(bytes: Uint8Array, contentType?: string): FrozenData {
  const value = new Uint8Array(bytes).buffer
  return frozen(value, value.byteLength, contentType)
}

function isNodeFormData(data: object): data is NodeFormData {
  return 'getBuffer' in data && 'getHeaders' in data && 'hasKnownLength' in data
}

/** All of the form or nothing: it may hold streams, some of which it claims to know the length of. */
function formBytes(form: NodeFormData, what: string): Uint8Array {
  try {
    if (form.hasKnownLength()) {
      const bytes = form.getBuffer()
      if (bytes.byteLength === form.getLengthSync()) return bytes
    }
  } catch {
    // getBuffer() meets the stream
  }
  throw new BodyNotReplayableError(what)
}
