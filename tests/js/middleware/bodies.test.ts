// The bytes of a body, whatever reads it and when: what is sent again is what the client has sent, or nothing is kept.
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:http2'
import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono, type HonoRequest } from 'hono'
import { expect, onTestFinished, test, vi } from 'vitest'
import { captureBody, inboundErrors, keepBody } from '../../../js/adapters/express.ts'
import { inboundErrors as forFastify } from '../../../js/adapters/fastify.ts'
import { inboundErrors as forHono } from '../../../js/adapters/hono.ts'
import { listening } from '../../loopback.ts'
import { h2, raw } from './raw.ts'
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

const early: Readonly<
  Record<string, (bench: Bench, fails: () => never) => RequestListener | Promise<RequestListener>>
> = {
  express: ({ queue, origin }, fails) => {
    const app = express()
    app.use(captureBody({ maxBodyBytes: 10 }), fails)
    app.use(inboundErrors(queue, { origin }), quiet)
    return app
  },
  fastify: async ({ queue, origin }, fails) => {
    const app = fastify()
    await app.register(forFastify, { queue, origin, maxBodyBytes: 10 })
    app.addHook('onRequest', async () => fails())
    app.put('/orders', async () => {})
    await app.ready()
    return (request, response) => app.routing(request, response)
  },
  hono: ({ queue, origin }, fails) => {
    const app = new Hono()
    app.use(forHono(queue, { origin, maxBodyBytes: 10 }))
    app.put('/orders', fails)
    app.onError((_, context) => context.text('failed', 500))
    return getRequestListener(app.fetch)
  },
}

test.for(Object.entries(early))(
  '%s: an upload that turns out too large is answered before its end',
  async ([, app]) => {
    const here = await bench()
    const fails = vi.fn(() => {
      throw refused()
    })
    here.server.listen(await app(here, fails))
    const head = 'PUT /orders HTTP/1.1\nhost: x\nconnection: close\ntransfer-encoding: chunked\n\n'
    const { socket } = await raw(here.origin, head)
    const answered = once(socket, 'data')
    await expect.poll(() => fails.mock.calls.length, { timeout: 20_000 }).toBe(1)
    socket.write('8\r\n12345678\r\n')
    await setImmediate()
    socket.write('8\r\n12345678\r\n')
    expect(String(await answered)).toMatch(/^HTTP\/1\.1 500 /)
    expect(here.degraded).toMatchObject([{ code: 'body_too_large' }])
  },
)

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

test('hono: a body that middleware before has locked goes on to its handler, and is not kept', async () => {
  const here = await bench()
  const app = new Hono()
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  onTestFinished(() => void process.off('unhandledRejection', unhandled))
  app.use(async (context, next) => {
    context.req.raw.body?.getReader()
    await next()
  })
  app.use(forHono(here.queue, { origin: here.origin }))
  app.put('/fine', (context) => context.text('fine'))
  app.put('/orders', () => {
    throw refused()
  })
  app.onError((_, context) => context.text('failed', 500))
  here.server.listen(getRequestListener(app.fetch))
  expect((await fetch(`${here.origin}/fine`, { method: 'PUT', body: BODY })).status).toBe(200)
  expect((await put(here.origin)).status).toBe(500)
  expect(here.degraded).toMatchObject([
    { code: 'not_replayable', message: expect.stringContaining('its body was read') },
  ])
  expect(unhandled).not.toHaveBeenCalled()
})

/** An app on HTTP/2 that fails once `until` is over. Its repeats go to the server of `bench`. */
async function failingH2({ queue, origin }: Bench, framework: string, until?: () => unknown): Promise<string> {
  const fails = async () => {
    await until?.()
    throw refused()
  }
  if (framework === 'hono') {
    const app = new Hono()
    app.use(forHono(queue, { origin }))
    app.put('/orders', fails)
    app.onError((_, context) => context.text('failed', 500))
    return listening(createServer(getRequestListener(app.fetch)))
  }
  const app = fastify({ http2: true })
  onTestFinished(() => void app.close())
  await app.register(forFastify, { queue, origin })
  app.addContentTypeParser('text/unread', (_, __, done) => done(null))
  app.put('/orders', fails)
  return app.listen({ port: 0, host: '127.0.0.1' })
}

test.each([
  ['fastify', 'a body that its parser reads', 'application/json', BODY],
  ['fastify', 'a body that nothing reads', 'text/unread', BODY],
  ['fastify', 'an empty body', 'text/unread', ''],
  ['hono', 'a body that nothing reads', 'text/unread', BODY],
  ['hono', 'an empty body', 'text/unread', ''],
])('%s over HTTP/2: %s is kept as it came without content-length', async (framework, _, type, body) => {
  const here = await bench()
  const { stream, status } = h2(await failingH2(here, framework), type)
  stream.end(body)
  expect(await status).toBe(202)
  expect(await stored(here)).toEqual([body, undefined])
})

test.each([
  ['fastify', 'before'],
  ['fastify', 'after'],
  ['hono', 'before'],
  ['hono', 'after'],
])('%s over HTTP/2: an upload that breaks off %s its handler has failed leaves nothing', async (framework, when) => {
  const here = await bench()
  let fail = () => {}
  const gate =
    when === 'before'
      ? new Promise<void>((resolve) => {
          fail = resolve
        })
      : undefined
  const until = vi.fn(() => gate)
  const origin = await failingH2(here, framework, until)
  const half = h2(origin, 'text/unread')
  half.stream.write('half')
  await expect.poll(() => until.mock.calls.length, { timeout: 20_000 }).toBe(1)
  half.leave()
  // one that came later is answered: the server has noticed
  expect(await h2(origin, 'text/unread', '/elsewhere').status).toBe(404)
  fail()
  const whole = h2(origin, 'text/unread')
  whole.stream.end('whole')
  expect(await whole.status).toBe(202)
  expect((await stored(here))[0]).toBe('whole')
})
