/** redrive/fastify: calls that were deferred, and requests whose handler has failed, are answered with a 202. For Fastify 5. */

import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest, RegisterOptions } from 'fastify'
import { follow, int } from '../options/check.ts'
import type { RetryQueue } from '../queue/queue.ts'
import { DeferredError } from './inbound/deferred.ts'
import { Inbound } from './inbound/inbound.ts'
import { capture, changeStatus, incomingOf, MAX_BODY_BYTES } from './inbound/node-request.ts'
import type { InboundOptions } from './inbound/options.ts'
import { accepted, CONTENT_HEADERS, type Reply, type ReplyOptions } from './inbound/reply.ts'

export { DeferredError, type FetchOrDefer, orDefer } from './inbound/deferred.ts'
export type { InboundOptions } from './inbound/options.ts'
export type { ReplyOptions, TaskUrl } from './inbound/reply.ts'
export type { InboundRequest } from './inbound/request.ts'

export interface InboundPluginOptions extends InboundOptions<FastifyRequest> {
  readonly queue: RetryQueue
  /** The most bytes of a body that are copied: a request with more of them is never sent again. @default 1 MiB */
  readonly maxBodyBytes?: number
}

/** Outbound: answers a `DeferredError` of a handler with its 202. */
export const deferredErrors: FastifyPluginCallback<ReplyOptions> = inScope('deferredErrors', (fastify, options) => {
  answering(fastify, async (error) => (error instanceof DeferredError ? accepted(error, options) : undefined))
})

/**
 * Inbound replay: keeps a request whose handler has failed for a reason that may pass, answers with a 202, and has `queue` send it again to
 * `origin`. It answers a `DeferredError`, too. Throws on options, and where the queue is not durable.
 */
export const inboundErrors: FastifyPluginCallback<InboundPluginOptions> = inScope(
  'inboundErrors',
  (fastify, { queue, maxBodyBytes = MAX_BODY_BYTES, ...options }) => {
    follow('inboundErrors.maxBodyBytes', maxBodyBytes, int(1, 2 ** 32))
    const inbound = new Inbound(queue, options, 'inboundErrors')
    fastify.addHook('preParsing', (request, _, payload, done) => {
      capture(request.raw, maxBodyBytes)
      done(null, payload)
    })
    answering(fastify, async (error, request, { raw }) => {
      const incoming = incomingOf(request.raw, raw, request.originalUrl, request.id, maxBodyBytes)
      const { reply, toStatus } = await inbound.settle(error, incoming, request)
      if (toStatus) changeStatus(raw, toStatus)
      return reply
    })
  },
)

type Answer = (error: unknown, request: FastifyRequest, reply: FastifyReply) => Promise<Reply | undefined>

/** Asks `answer` first. An error that it leaves alone is thrown on, to the error handler that was there or is the parent scope's. */
function answering(fastify: FastifyInstance, answer: Answer): void {
  fastify.setErrorHandler(async (error, request, reply) => {
    const own = reply.raw.headersSent ? undefined : await answer(error, request, reply)
    if (!own) throw error
    for (const name of CONTENT_HEADERS) reply.removeHeader(name)
    return reply.code(own.status).headers(own.headers).send(own.body)
  })
}

/** A plugin of the scope that registers it: one of a scope of its own would have no routes. */
function inScope<O extends object>(
  name: string,
  begin: (fastify: FastifyInstance, options: O) => void,
): FastifyPluginCallback<O> {
  const plugin: FastifyPluginCallback<O> = (fastify, options, done) => {
    const { prefix: _, logLevel: __, logSerializers: ___, ...own } = options as O & RegisterOptions
    begin(fastify, own as unknown as O)
    done()
  }
  const about = { name: `redrive-${name}`, fastify: '5.x' }
  return Object.assign(plugin, {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: about.name,
    [Symbol.for('plugin-meta')]: about,
  })
}
