// Requests that no socket brought: those of `app.inject()`, and those that adapters for functions in a cloud make of an event.
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import express from 'express'
import fastify from 'fastify'
import { expect, test } from 'vitest'
import { captureBody, inboundErrors } from '../../../js/adapters/express.ts'
import { inboundErrors as forFastify } from '../../../js/adapters/fastify.ts'
import { quiet } from './servers.ts'
import { type Bench, bench, refused } from './setup.ts'

const BODY = '{ "sku": "A-1" }'
const json = { 'content-type': 'application/json' }

interface Repeat {
  readonly type: string | undefined
  readonly body: string
}

/** The repeat of the one task, as its server sees it. */
async function repeated({ queue, server }: Bench): Promise<Repeat> {
  const sent = new Promise<Repeat>((resolve) =>
    server.listen(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      response.end()
      resolve({ type: request.headers['content-type'], body })
    }),
  )
  expect((await queue.list()).tasks).toHaveLength(1)
  await queue.flush()
  return sent
}

test.each(['onRequest', 'preHandler'] as const)(
  'fastify: a request of inject that fails in %s is answered, and kept as it came',
  async (hook) => {
    const here = await bench()
    const app = fastify()
    await app.register(forFastify, { queue: here.queue, origin: here.origin })
    app.addHook(hook, async () => {
      throw refused()
    })
    app.put('/orders', async () => {})
    const { statusCode } = await app.inject({ method: 'PUT', url: '/orders', headers: json, payload: BODY })
    expect(statusCode).toBe(202)
    expect(await repeated(here)).toEqual({ type: 'application/json', body: BODY })
  },
)

/** As serverless-http makes it: complete before any of it is read, and without `rawHeaders`. */
function ofEvent(): IncomingMessage {
  const request = new IncomingMessage(new Socket())
  const headers = { ...json, 'content-length': String(BODY.length) }
  Object.assign(request, { method: 'PUT', url: '/orders', complete: true, headers })
  request._read = () => {
    request.push(BODY)
    request.push(null)
  }
  return request
}

test.each([
  ['a parser has read', [express.json()]],
  ['nothing has read', []],
] as const)('express: a request made of an event, whose body %s, is kept as it came', async (_, parsers) => {
  const here = await bench()
  const app = express()
  for (const part of [captureBody(), ...parsers]) app.use(part)
  app.use(() => {
    throw refused()
  })
  app.use(inboundErrors(here.queue, { origin: here.origin }), quiet)
  const request = ofEvent()
  const response = new ServerResponse(request)
  const answered = new Promise((resolve) => {
    response.end = (() => resolve(response.statusCode)) as never
  })
  app(request as express.Request, response as express.Response)
  expect(await answered).toBe(202)
  expect(await repeated(here)).toEqual({ type: 'application/json', body: BODY })
})
