/** redrive/hono: calls that were deferred, and requests whose handler has failed, are answered with a 202. For Hono 4, wherever it runs. */

import type { Context, MiddlewareHandler } from 'hono'
import { readBody } from '../call/read-body.ts'
import { follow, int } from '../options/check.ts'
import type { RetryQueue } from '../queue/queue.ts'
import { DeferredError } from './inbound/deferred.ts'
import { Inbound } from './inbound/inbound.ts'
import type { InboundOptions } from './inbound/options.ts'
import { accepted, CONTENT_HEADERS, type Reply, type ReplyOptions } from './inbound/reply.ts'
import { type BodyReading, type Incoming, idOf, NO_BODY } from './inbound/request.ts'

export { DeferredError, type FetchOrDefer, orDefer } from './inbound/deferred.ts'
export type { InboundOptions } from './inbound/options.ts'
export type { ReplyOptions, TaskUrl } from './inbound/reply.ts'
export type { InboundRequest } from './inbound/request.ts'

export interface HonoInboundOptions extends InboundOptions<Context> {
  /** The most bytes of a body that are copied: a request with more of them is never sent again. @default 1 MiB */
  readonly maxBodyBytes?: number
}

/** Outbound: answers a `DeferredError` of a handler with its 202. Before all routes. */
export function deferredErrors(options: ReplyOptions = {}): MiddlewareHandler {
  return async (context, next) => {
    await next()
    if (context.error instanceof DeferredError) answer(context, accepted(context.error, options))
  }
}

/**
 * Inbound replay: keeps a request whose handler has failed for a reason that may pass, answers with a 202, and has `queue` send it again to
 * `options.origin`. It answers a `DeferredError`, too. Before all routes, and before what reads the body. Throws on options, and where the queue
 * is not durable.
 */
export function inboundErrors(queue: RetryQueue, options: HonoInboundOptions): MiddlewareHandler {
  const { maxBodyBytes = 2 ** 20, ...rest } = options ?? {}
  follow('inboundErrors.maxBodyBytes', maxBodyBytes, int(1, 2 ** 32))
  const inbound = new Inbound(queue, rest, 'inboundErrors')
  return async (context, next) => {
    const { raw } = context.req
    const isCopied = inbound.mayKeep(raw.method, raw.headers)
    const body = isCopied ? bodyOf(raw, maxBodyBytes) : Promise.resolve(NO_BODY)
    const { pathname, search } = new URL(raw.url)
    const incoming: Incoming = {
      method: raw.method,
      target: pathname + search,
      headers: new Headers(raw.headers),
      ...idOf(context.get('requestId')),
      isAnswered: () => raw.signal.aborted,
      body: () => body,
    }
    await next()
    if (!context.error) return
    const { reply, toStatus } = await inbound.settle(context.error, incoming, context)
    if (reply) answer(context, reply)
    else if (toStatus) context.res = withStatus(context.res, toStatus(context.res.status))
  }
}

const withStatus = (response: Response, status: number): Response =>
  status === response.status ? response : new Response(response.body, { status, headers: response.headers })

/** Headers that the middleware around has set are in the answer of the error's handler, and stay. */
function answer(context: Context, { status, headers, body }: Reply): void {
  // the same middleware around this one would keep the request once more
  context.error = undefined
  context.res = new Response(body, { status })
  for (const name of CONTENT_HEADERS) context.res.headers.delete(name)
  for (const [name, value] of Object.entries(headers)) context.res.headers.set(name, value)
}

/** Reads a copy, which is here before a handler has failed: a stream that was read cannot be copied any more. */
async function bodyOf(request: Request, most: number): Promise<BodyReading> {
  if (request.method === 'GET' || request.method === 'HEAD' || request.body === null) return NO_BODY
  if (request.bodyUsed || request.body.locked) return { lacks: 'not_captured' }
  if (Number(request.headers.get('content-length')) > most) return { lacks: 'too_large' }
  const bytes = await readBody(request.clone(), most, null).catch(() => undefined)
  if (bytes === undefined) return { lacks: 'cut_off' }
  return bytes ? { bytes: bytes.byteLength > 0 ? bytes : null, isUnpacked: false } : { lacks: 'too_large' }
}
