/** One service, in each of the frameworks, behind a real socket: its routes do what a test says, with the body as the framework parses it. */

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { requestId } from 'hono/request-id'
import * as forExpress from '../../../js/adapters/express.ts'
import * as forFastify from '../../../js/adapters/fastify.ts'
import * as forHono from '../../../js/adapters/hono.ts'
import type { InboundOptions } from '../../../js/adapters/inbound/options.ts'
import type { RetryQueue } from '../../../js/index.ts'

/** A request as a handler has it. */
export interface Seen {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Headers
  /** Parsed by the framework; undefined: none. */
  readonly body: unknown
}

/** Gives the answer's JSON, or throws. */
export type Handler = (request: Seen) => unknown

export interface Mounted {
  readonly queue?: RetryQueue
  /** Absent: outbound alone. */
  readonly inbound?: InboundOptions & { readonly maxBodyBytes?: number }
  readonly handler: Handler
}

export interface Skin {
  readonly name: string
  mount(service: Mounted): Promise<RequestListener> | RequestListener
}

const headersOf = ({ rawHeaders }: IncomingMessage): Headers => {
  const headers = new Headers()
  for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
  return headers
}

/** Express with its parser after `captureBody`. */
export function expressApp({ queue, inbound, handler }: Mounted): express.Express {
  const app = express()
  const { maxBodyBytes, ...options } = inbound ?? { origin: '' }
  if (inbound) app.use(forExpress.captureBody(maxBodyBytes === undefined ? {} : { maxBodyBytes }))
  app.use(express.json())
  app.use(async (request, response) => {
    const { method, originalUrl: target, body } = request
    response.json((await handler({ method, target, headers: headersOf(request), body })) ?? {})
  })
  app.use(queue && inbound ? forExpress.inboundErrors(queue, options) : forExpress.deferredErrors())
  app.use(quiet)
  return app
}

/** Express' own handler of errors, without a line on the console. */
export const quiet: express.ErrorRequestHandler = (error, _, response, next) => {
  if (response.headersSent) next(error)
  else response.status(error.status ?? 500).json({ failed: true })
}

const inExpress: Skin = { name: 'express', mount: expressApp }

const inFastify: Skin = {
  name: 'fastify',
  async mount({ queue, inbound, handler }) {
    const app = fastify()
    app.setErrorHandler((_, __, reply) => reply.code(500).send({ failed: true }))
    app.register(async (scope) => {
      if (queue && inbound) await scope.register(forFastify.inboundErrors, { queue, ...inbound })
      else await scope.register(forFastify.deferredErrors)
      scope.all('/*', async ({ method, originalUrl: target, raw, body }) => {
        return (await handler({ method, target, headers: headersOf(raw), body })) ?? {}
      })
    })
    await app.ready()
    return (request, response) => app.routing(request, response)
  },
}

const inHono: Skin = {
  name: 'hono',
  mount({ queue, inbound, handler }) {
    const app = new Hono()
    app.use(requestId())
    app.use(queue && inbound ? forHono.inboundErrors(queue, inbound) : forHono.deferredErrors())
    app.all('*', async (context) => {
      const { method, url, headers } = context.req.raw
      const { pathname, search } = new URL(url)
      const text = await context.req.text()
      const body = text === '' ? undefined : JSON.parse(text)
      return context.json((await handler({ method, target: pathname + search, headers, body })) ?? {})
    })
    app.onError((_, context) => context.json({ failed: true }, 500))
    return getRequestListener(app.fetch)
  },
}

export const skins: readonly Skin[] = [inExpress, inFastify, inHono]

export interface Served extends AsyncDisposable {
  readonly origin: string
  /** Sets what answers from now on. */
  listen(listener: RequestListener): void
}

/** A server whose address is known before what answers there. */
export async function serve(): Promise<Served> {
  let listener: RequestListener = (_: IncomingMessage, response: ServerResponse) => response.writeHead(404).end()
  // a thousand clients may come at once, and none finds a connection closed that was idle while the machine was busy
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => listener(request, response))
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 2_048 }, resolve))
  // Hono's adapter puts others in their place
  const { Request, Response } = Object.getOwnPropertyDescriptors(globalThis)
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    listen(given) {
      listener = given
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
      Object.defineProperties(globalThis, { Request, Response })
    },
  }
}
