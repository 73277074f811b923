// The bytes of a body, whatever reads it and when: what is sent again is what the client has sent, or nothing is kept.
import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono, type HonoRequest } from 'hono'
import { expect, test } from 'vitest'
import { captureBody, inboundErrors, keepBody } from '../../../js/adapters/express.ts'
import { inboundErrors as forFastify } from '../../../js/adapters/fastify.ts'
import { inboundErrors as forHono } from '../../../js/adapters/hono.ts'
import { raw } from './raw.ts'
import { quiet } from './servers.ts'
import { type Bench, bench, refused } from './setup.ts'

/** No `JSON.stringify` writes it so. */
const BODY = '{ "sku": "A-1",\r\n  "price": 1.50, "sku": "A-2" }'
const json = { 'content-type': 'application/json' }

/** The bytes of the one task, as its store has them, and the content encoding that goes with them. */
async function stored({ queue, server }: Bench): Promise<readonly [string, string | undefined]> {
  const sent = new Promise<readonly [Buffer, string | undefined]>((resolve) =>
    server.listen(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      response.end()
      resolve([Buffer.concat(chunks), request.headers['content-encoding']])
    }),
  )
  expect((await queue.list()).tasks).toHaveLength(1)
  await queue.flush()
  const [bytes, encoding] = await sent
  return [bytes.toString('latin1'), encoding]
}

const put = (origin: string, body: BodyInit = BODY, headers: Record<string, string> = json) =>
  fetch(`${origin}/orders`, { method: 'PUT', headers, body })

/** An app that always fails, once `parts` have seen the request. */
function failingApp({ queue, origin, server }: Bench, ...parts: readonly express.RequestHandler[]): void {
  const app = express()
  for (const part of parts) app.use(part)
  app.use(() => {
    throw refused()
  })
  app.use(inboundErrors(queue, { origin }), quiet)
  server.listen(app)
}

const slow: express.RequestHandler = async (_, __, next) => {
  for (let turns = 0; turns < 20; turns++) await setImmediate()
  next()
}
const reads: express.RequestHandler = async (request, _, next) => {
  let text = ''
  for await (const chunk of request) text += chunk
  expect(text).toBe(BODY)
  next()
}
const readsHalf: express.RequestHandler = (request, _, next) => {
  request.once('data', () => next())
}
const asText: express.RequestHandler = (request, _, next) => {
  request.setEncoding('utf8')
  next()
}

const kept: readonly (readonly [string, readonly express.RequestHandler[]])[] = [
  ['captured before express.json', [captureBody(), express.json()]],
  ['captured before express.json({ strict }), behind middleware that waits', [captureBody(), slow, express.json()]],
  ['captured behind middleware that waits', [slow, captureBody(), express.json()]],
  ['captured before express.text', [captureBody(), express.text({ type: '*/*' })]],
  ['captured before express.raw', [captureBody(), express.raw({ type: '*/*' })]],
  ['captured before a handler that reads it', [captureBody(), reads]],
  ['captured before a handler that reads a part of it', [captureBody(), readsHalf]],
  ['captured before one that asks for text', [captureBody(), asText, reads]],
  ['captured twice', [captureBody(), captureBody(), express.json()]],
  ['captured, and read by nothing', [captureBody()]],
  ['not captured, and read by nothing', []],
  ['verified by express.json', [express.json({ verify: keepBody })]],
  ['captured and verified', [captureBody(), express.json({ verify: keepBody })]],
]

test.each(kept)('express: a body that is %s is kept as it came', async (_, parts) => {
  const here = await bench()
  failingApp(here, ...parts)
  expect((await put(here.origin)).status).toBe(202)
  expect(await stored(here)).toEqual([BODY, undefined])
})

const lost: readonly (readonly [string, readonly express.RequestHandler[]])[] = [
  ['parsed without a capture', [express.json()]],
  ['captured after its parser', [express.json(), captureBody()]],
]

test.each(lost)('express: a body that is %s is not written anew: the request is refused', async (_, parts) => {
  const here = await bench()
  failingApp(here, ...parts)
  expect((await put(here.origin)).status).toBe(500)
  expect((await here.queue.list()).tasks).toEqual([])
  expect(here.degraded).toMatchObject([{ code: 'not_replayable', message: expect.stringContaining('captureBody()') }])
  // without a body there is nothing to capture
  expect((await fetch(`${here.origin}/orders`)).status).toBe(202)
})

test('express: a packed body is kept packed, or as its parser has unpacked it', async () => {
  const packed = gzipSync(BODY)
  const headers = { ...json, 'content-encoding': 'gzip' }
  const captured = await bench()
  failingApp(captured, captureBody(), express.json())
  expect((await put(captured.origin, packed, headers)).status).toBe(202)
  expect(await stored(captured)).toEqual([packed.toString('latin1'), 'gzip'])
  const verified = await bench()
  failingApp(verified, express.json({ verify: keepBody }))
  expect((await put(verified.origin, packed, headers)).status).toBe(202)
  expect(await stored(verified)).toEqual([BODY, undefined])
})

test('express: bytes that are no text are kept, a form with files among them', async () => {
  const here = await bench()
  failingApp(here, captureBody())
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
  const form = new FormData()
  form.set('file', new Blob([bytes]), 'a.bin')
  expect((await put(here.origin, form, {})).status).toBe(202)
  const [task] = (await here.queue.list()).tasks
  expect(task?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/)
  expect((await stored(here))[0]).toContain(Buffer.from(bytes).toString('latin1'))
})

test('express: a handler that fails while its body is on its way is answered when all of it is there', async () => {
  const here = await bench()
  failingApp(here, captureBody())
  const { socket, answer } = await raw(
    here.origin,
    'PUT /orders HTTP/1.1\nhost: x\nconnection: close\ntransfer-encoding: chunked\n\n3\nabc\n',
  )
  socket.write('4\r\ndefg\r\n0\r\n\r\n')
  expect(await answer).toMatch(/^HTTP\/1\.1 202 /)
  expect((await stored(here))[0]).toBe('abcdefg')
})

test('express: an upload that breaks off after its handler has failed leaves nothing', async () => {
  const here = await bench()
  const settled = new Promise<unknown>((resolve) => {
    const app = express()
    app.use(captureBody(), () => {
      throw refused()
    })
    app.use(inboundErrors(here.queue, { origin: here.origin }))
    app.use(((error, _, __, ___) => resolve(error)) satisfies express.ErrorRequestHandler)
    here.server.listen(app)
  })
  const { socket, answer } = await raw(here.origin, 'PUT /orders HTTP/1.1\nhost: x\ncontent-length: 100\n\nhalf')
  socket.end()
  await answer
  expect(await settled).toMatchObject({ code: 'ECONNREFUSED' })
  expect((await here.queue.list()).tasks).toEqual([])
  expect(here.degraded).toEqual([])
})

test('express: a GET with a body is not kept: fetch sends none', async () => {
  const here = await bench()
  failingApp(here, captureBody())
  const { answer } = await raw(here.origin, 'GET /orders HTTP/1.1\nhost: x\nconnection: close\ncontent-length: 2\n\n{}')
  expect(await answer).toMatch(/^HTTP\/1\.1 500 /)
  expect((await here.queue.list()).tasks).toEqual([])
  expect(here.degraded).toMatchObject([{ code: 'not_replayable' }])
})

test('fastify: a body is kept as it came, whatever parses it, or where a hook has failed before', async () => {
  const cases = [json, { 'content-type': 'text/plain' }, { ...json, 'x-fails': 'early' }]
  for (const headers of cases) {
    const here = await bench()
    const app = fastify()
    await app.register(forFastify, { queue: here.queue, origin: here.origin, dropHeaders: ['x-fails'] })
    app.addHook('onRequest', async (request) => {
      if (request.headers['x-fails']) throw refused()
    })
    app.put('/orders', async () => {
      throw refused()
    })
    await app.ready()
    here.server.listen((request, response) => app.routing(request, response))
    expect((await put(here.origin, BODY, headers)).status).toBe(202)
    expect(await stored(here)).toEqual([BODY, undefined])
  }
})

test('fastify: a body that is of no known type, or breaks the schema, is its client’s mistake', async () => {
  const here = await bench()
  const app = fastify()
  await app.register(forFastify, { queue: here.queue, origin: here.origin })
  const schema = { body: { type: 'object', required: ['total'] } }
  app.put('/orders', { schema }, async () => ({}))
  await app.ready()
  here.server.listen((request, response) => app.routing(request, response))
  expect((await put(here.origin, BODY, json)).status).toBe(400)
  expect((await put(here.origin, BODY, { 'content-type': 'text/other' })).status).toBe(415)
  expect((await here.queue.list()).tasks).toEqual([])
})

test('hono: a body is kept as it came, read by its handler or not', async () => {
  const readers: Readonly<Record<string, (request: HonoRequest) => unknown>> = {
    json: (request) => request.json(),
    text: (request) => request.text(),
    arrayBuffer: (request) => request.arrayBuffer(),
    parseBody: (request) => request.parseBody(),
    nothing: () => {},
  }
  for (const [reader, read] of Object.entries(readers)) {
    const here = await bench()
    const app = new Hono()
    app.use(forHono(here.queue, { origin: here.origin }))
    app.put('/orders', async (context) => {
      await read(context.req)
      throw refused()
    })
    app.onError((_, context) => context.text('failed', 500))
    here.server.listen(getRequestListener(app.fetch))
    expect((await put(here.origin)).status, reader).toBe(202)
    expect(await stored(here)).toEqual([BODY, undefined])
  }
})

test('hono: a body that was read before the middleware is not written anew: the request is refused', async () => {
  const here = await bench()
  const app = new Hono()
  app.use(async (context, next) => {
    await context.req.raw.text()
    await next()
  })
  app.use(forHono(here.queue, { origin: here.origin }))
  app.put('/orders', () => {
    throw refused()
  })
  app.onError((_, context) => context.text('failed', 500))
  here.server.listen(getRequestListener(app.fetch))
  expect((await put(here.origin)).status).toBe(500)
  expect(here.degraded).toMatchObject([{ code: 'not_replayable' }])
})
