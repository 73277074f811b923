/**
 * The bytes of a request to a server of Node's, as the client has sent them. A parser gives an object, of which no text is sure to be the
 * one that was signed or hashed; so the bytes are copied as they arrive, on their way to whatever reads them.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import { type BodyReading, type Incoming, idOf, type Lack, NO_BODY } from './request.ts'

export const MAX_BODY_BYTES: number = 2 ** 20

interface Capture {
  chunks: Uint8Array[]
  bytes: number
  isUnpacked: boolean
  lacks?: Lack
  /** Ends a wait for the rest. */
  stop?: () => void
}

const captures = new WeakMap<IncomingMessage, Capture>()

/** HTTP/2 has no `transfer-encoding`, and a body there need not say how long it is. */
const hasBody = ({ headers, stream }: IncomingMessage & Partial<Pick<Http2ServerRequest, 'stream'>>): boolean =>
  stream?.endAfterHeaders === false ||
  headers['transfer-encoding'] !== undefined ||
  Number(headers['content-length'] ?? 0) > 0

/** Copies what arrives from now on, `maxBodyBytes` at most. */
export function capture(request: IncomingMessage, maxBodyBytes: number): void {
  if (captures.has(request) || !hasBody(request)) return
  const captured: Capture = { chunks: [], bytes: 0, isUnpacked: false }
  captures.set(request, captured)
  if (request.readableDidRead) captured.lacks = 'not_captured'
  if (Number(request.headers['content-length']) > maxBodyBytes) captured.lacks = 'too_large'
  if (captured.lacks) return
  const add = (chunk: unknown): void => {
    if (captured.lacks) return
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Uint8Array)
    captured.bytes += bytes.byteLength
    captured.chunks.push(bytes)
    if (captured.bytes <= maxBodyBytes) return
    captured.lacks = 'too_large'
    captured.chunks = []
    captured.stop?.()
  }
  // waiting already, where middleware before this one took its time: taken out and put back
  const early: unknown = request.readableLength > 0 ? request.read() : null
  if (early !== null) {
    add(early)
    request.unshift(early)
  }
  const { push } = request
  request.push = (chunk, encoding) => {
    if (chunk !== null) add(chunk)
    return push.call(request, chunk, encoding)
  }
}

/** Takes the bytes that a parser has read, unpacked. */
export function captureParsed(request: IncomingMessage, bytes: Uint8Array): void {
  captures.set(request, { chunks: [bytes], bytes: bytes.byteLength, isUnpacked: true })
}

/** The body, once all of it has arrived. */
async function readingOf(request: IncomingMessage, maxBodyBytes: number): Promise<BodyReading> {
  // where nothing has read of it yet it is not too late
  capture(request, maxBodyBytes)
  const captured = captures.get(request)
  if (!captured) return NO_BODY
  if (!captured.isUnpacked && !captured.lacks) await arrived(request, captured)
  if (captured.lacks) return { lacks: captured.lacks }
  if (!captured.isUnpacked && (request.aborted || !isWhole(request, captured))) return { lacks: 'cut_off' }
  const { chunks, bytes, isUnpacked } = captured
  return { bytes: bytes > 0 ? Buffer.concat(chunks) : null, isUnpacked }
}

/** One that no socket brought may be complete before it is read, or never be it. */
const isWhole = ({ complete, readableEnded, headers }: IncomingMessage, { bytes }: Capture): boolean =>
  readableEnded || (complete && !(bytes < Number(headers['content-length'])))

/** Resolves when the rest has come, or is too large, or its client has left: the handler may have failed before it read all. */
function arrived(request: IncomingMessage, captured: Capture): Promise<void> {
  if (isWhole(request, captured) || request.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => resolve()
    captured.stop = done
    request.once('end', done).once('close', done).once('error', done).resume()
  })
}

/** The request as the rules look at it. `target`: as it came, whatever routers have made of it. */
export function incomingOf(
  request: IncomingMessage,
  response: ServerResponse,
  target: string,
  id: unknown,
  maxBodyBytes: number = MAX_BODY_BYTES,
): Incoming {
  const { method = 'GET' } = request
  // one that no socket brought may have the others alone
  const rawHeaders = request.rawHeaders[0] ? request.rawHeaders : (Object.entries(request.headers).flat() as string[])
  const headers = new Headers()
  for (let at = 0; at < rawHeaders.length; ) {
    const [name, value] = [rawHeaders[at++] as string, rawHeaders[at++] as string]
    // of HTTP/2, and no headers
    if (!name.startsWith(':')) headers.append(name, value)
  }
  return {
    method: method.toUpperCase(),
    target,
    headers,
    ...idOf(id),
    // over HTTP/2 only the request tells that its client has left
    isAnswered: () => response.headersSent || response.writableEnded || response.destroyed || request.aborted,
    body: () => readingOf(request, maxBodyBytes),
  }
}

/** Changes the status of whatever answer comes, without a word to the error handler that makes it. */
export function changeStatus(response: ServerResponse, toStatus: (status: number) => number): void {
  const writeHead = response.writeHead as (status: number, ...rest: unknown[]) => ServerResponse
  response.writeHead = (status: number, ...rest: unknown[]) => writeHead.call(response, toStatus(status), ...rest)
}
