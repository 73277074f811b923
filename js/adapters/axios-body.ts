/** The data of an axios call, after its transforms, as something that is the same on every attempt. */

import { BodyNotReplayableError } from '../errors.ts'
import { isStream } from '../request.ts'

export interface FrozenData {
  readonly value: unknown
  readonly bytes: number
  /** Set where the bytes imply it: a multipart boundary, a Blob's type. */
  readonly contentType: string | null
}

/** The `form-data` package, which axios uses in Node for plain objects sent as multipart. */
interface NodeFormData {
  hasKnownLength(): boolean
  getBuffer(): Uint8Array
  getHeaders(): Record<string, string>
}

export async function freezeData(data: unknown, what: string): Promise<FrozenData> {
  if (data === undefined || data === null) return { value: data, bytes: 0, contentType: null }
  if (typeof data === 'string')
    return { value: data, bytes: new TextEncoder().encode(data).byteLength, contentType: null }
  if (data instanceof ArrayBuffer) return ownBytes(data.slice(0), null)
  if (ArrayBuffer.isView(data)) {
    const copy = new Uint8Array(data.byteLength)
    copy.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
    return ownBytes(copy.buffer, null)
  }
  if (data instanceof FormData || data instanceof Blob || data instanceof URLSearchParams) {
    const response = new Response(data)
    return ownBytes(await response.arrayBuffer(), response.headers.get('content-type'))
  }
  if (isNodeFormData(data) && data.hasKnownLength()) {
    const copy = new Uint8Array(data.getBuffer())
    return ownBytes(copy.buffer, data.getHeaders()['content-type'] ?? null)
  }
  if (isStream(data) || (typeof data === 'object' && 'pipe' in data)) throw new BodyNotReplayableError(what)
  return { value: data, bytes: 0, contentType: null }
}

// an ArrayBuffer is what all three of axios' adapters take
function ownBytes(value: ArrayBuffer, contentType: string | null): FrozenData {
  return { value, bytes: value.byteLength, contentType }
}

function isNodeFormData(data: object): data is NodeFormData {
  return 'getBuffer' in data && 'getHeaders' in data && 'hasKnownLength' in data
}
