/** redrive/express: calls that were deferred, and requests whose handler has failed, are answered with a 202. For Express 5. */

import type { IncomingMessage } from 'node:http'
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express'
import { check, int } from '../options/check.ts'
import type { RetryQueue } from '../queue/queue.ts'
import { DeferredError } from './inbound/deferred.ts'
import { Inbound } from './inbound/inbound.ts'
import { capture, captureParsed, changeStatus, incomingOf, MAX_BODY_BYTES } from './inbound/node-request.ts'
import type { InboundOptions } from './inbound/options.ts'
import { accepted, CONTENT_HEADERS, type Reply, type ReplyOptions } from './inbound/reply.ts'

export { DeferredError, type FetchOrDefer, orDefer } from './inbound/deferred.ts'
export type { InboundOptions } from './inbound/options.ts'
export type { ReplyOptions, TaskUrl } from './inbound/reply.ts'
export type { InboundRequest } from './inbound/request.ts'

export interface CaptureOptions {
  /** The most bytes of a body that are copied: a request with more of them is never sent again. @default 1 MiB */
  readonly maxBodyBytes?: number
}

/** Keeps the bytes of each body for `inboundErrors`, as they came. Before every parser. */
export function captureBody(options: CaptureOptions = {}): RequestHandler {
  check('captureBody', options, { maxBodyBytes: int(1, 2 ** 32) })
  const { maxBodyBytes = MAX_BODY_BYTES } = options
  return (request, _, next) => {
    capture(request, maxBodyBytes)
    next()
  }
}

/** In place of `captureBody`: `express.json({ verify: keepBody })`. */
export function keepBody(request: IncomingMessage, _: unknown, bytes: Uint8Array): void {
  captureParsed(request, bytes)
}

/** Outbound: answers a `DeferredError` of a handler with its 202. After all routes. */
export function deferredErrors(options: ReplyOptions = {}): ErrorRequestHandler {
  return (error, _, response, next) => {
    if (!(error instanceof DeferredError) || response.headersSent) next(error)
    else send(response, accepted(error, options))
  }
}

/**
 * Inbound replay: keeps a request whose handler has failed for a reason that may pass, answers with a 202, and has `queue` send it again to
 * `options.origin`. It answers a `DeferredError`, too. After all routes and before the handlers of errors. Throws on options, and where the queue
 * is not durable.
 */
export function inboundErrors(queue: RetryQueue, options: InboundOptions<Request>): ErrorRequestHandler {
  const inbound = new Inbound(queue, options, 'inboundErrors')
  return async (error, request, response, next) => {
    const incoming = incomingOf(request, response, request.originalUrl, (request as { id?: unknown }).id)
    const { reply, toStatus } = await inbound.settle(error, incoming, request)
    if (toStatus) changeStatus(response, toStatus)
    if (reply && !response.headersSent) send(response, reply)
    else next(error)
  }
}

function send(response: Response, { status, headers, body }: Reply): void {
  for (const name of CONTENT_HEADERS) response.removeHeader(name)
  response.status(status).set(headers).send(body)
}
