/** Reads the options of a dispatch: where it goes, its headers, and whether its body can be sent again. */

import type { Dispatcher } from 'undici'

type Options = Dispatcher.DispatchOptions
type Value = string | string[]

/** A body that is the same on every attempt. */
export type Bytes = string | Uint8Array | Blob | null

export interface Request {
  readonly method: string
  readonly url: URL
  /** Names and values as they were given. */
  readonly headers: readonly (readonly [name: string, value: Value])[]
  /** The headers again, as the platform has them. */
  readonly plain: Headers
  /** A promise: it is still to be read. */
  readonly body: Bytes | Promise<Bytes>
  readonly bytes: number
}

/** undefined: it is left to undici, which sends it once, or says what is wrong with it. `mostBytes`: of a body that has to be read first. */
export function readRequest(options: Options, mostBytes: number): Request | undefined {
  const { origin, path, method, upgrade, idempotent } = options
  if (upgrade || method === 'CONNECT' || idempotent === false || !path?.startsWith('/')) return undefined
  try {
    // as text: `new URL('//host', origin)` would leave the origin
    const url = new URL(`${new URL(origin ?? '').origin}${path}`)
    for (const [name, value] of Object.entries(options.query ?? {})) {
      for (const one of [value].flat()) url.searchParams.append(name, `${one}`)
    }
    const headers = pairsOf(options.headers)
    const plain = new Headers(
      headers.flatMap(([name, value]) => [value].flat().map((one) => [name, one] as [string, string])),
    )
    const body = readBody(options.body, lengthIn(headers), mostBytes)
    return body && /^https?:$/.test(url.protocol) ? { method, url, headers, plain, ...body } : undefined
  } catch {
    // undici reports what it cannot use in its own words
    return undefined
  }
}

function pairsOf(given: Options['headers']): (readonly [string, Value])[] {
  const pairs: (readonly [unknown, unknown])[] = []
  if (Array.isArray(given)) {
    if (given.length % 2 !== 0) throw new TypeError('a header without a value')
    for (let i = 0; i < given.length; i += 2) pairs.push([given[i], given[i + 1]])
  } else if (given && Symbol.iterator in given) pairs.push(...(given as Iterable<[unknown, unknown]>))
  else pairs.push(...Object.entries(given ?? {}))
  return pairs
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [`${name}`, Array.isArray(value) ? value.map((one) => `${one ?? ''}`) : `${value ?? ''}`])
}

function lengthIn(headers: Request['headers']): number | undefined {
  const value = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1]
  return value === undefined ? undefined : Number(value)
}

/** undefined: it can be sent only once. */
function readBody(
  body: unknown,
  length: number | undefined,
  mostBytes: number,
): Pick<Request, 'body' | 'bytes'> | undefined {
  if (body === null || body === undefined) return { body: null, bytes: 0 }
  if (typeof body === 'string') return { body, bytes: Buffer.byteLength(body) }
  if (body instanceof Blob) return { body, bytes: body.size }
  const view = body instanceof ArrayBuffer ? new Uint8Array(body) : body
  if (ArrayBuffer.isView(view)) {
    // a copy, where it may be sent again: its owner may fill the buffer with something else
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
    return { body: bytes.length > mostBytes ? bytes : bytes.slice(), bytes: bytes.length }
  }
  // fetch makes such a one of every body; where it knows the length it is no stream of the caller's
  const isRead = Symbol.asyncIterator in Object(body) && !('pipe' in Object(body))
  if (!isRead || length === undefined || !(length <= mostBytes)) return undefined
  return { body: readAll(body as AsyncIterable<Uint8Array | string>, length), bytes: length }
}

/** More than the length that was said is undici's business, which refuses it. */
async function readAll(body: AsyncIterable<Uint8Array | string>, length: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const part of body) {
    const chunk = typeof part === 'string' ? Buffer.from(part) : part
    chunks.push(chunk)
    bytes += chunk.byteLength
    if (bytes > length) break
  }
  return Buffer.concat(chunks)
}
