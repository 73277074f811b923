// The answers themselves: nothing is sent twice, and what other middleware has put there stays.
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { cors } from 'hono/cors'
import { stream } from 'hono/streaming'
import { expect, onTestFinished, test } from 'vitest'
import { inboundErrors } from '../../../js/adapters/express.ts'
import { inboundErrors as forFastify } from '../../../js/adapters/fastify.ts'
import { inboundErrors as forHono } from '../../../js/adapters/hono.ts'
import { raw } from './raw.ts'
import { quiet, serve } from './servers.ts'
import { folder, queueIn, refused } from './setup.ts'

const GET = 'GET /orders HTTP/1.1\nhost: x\nconnection: close\n\n'

async function bench() {
  const server = await serve()
  onTestFinished(() => server[Symbol.asyncDispose]())
  const kept = queueIn(folder(), { policy: { initialDelayMs: 60_000, maxDelayMs: 60_000 } })
  return { ...kept, server, origin: server.origin }
}

test('express: a failure after a part of the answer ends the connection, and nothing is kept', async () => {
  const { queue, server, origin } = await bench()
  const app = express()
  app.get('/orders', (_, response) => {
    response.write('half')
    throw refused()
  })
  app.use(inboundErrors(queue, { origin }), quiet)
  app.set('env', 'test')
  server.listen(app)
  const { answer } = await raw(origin, GET)
  expect(await answer).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*half/)
  expect((await queue.list()).tasks).toEqual([])
})

test('fastify: a failure after a part of the answer is its own, and nothing is kept', async () => {
  const { queue, server, origin } = await bench()
  const app = fastify()
  await app.register(forFastify, { queue, origin })
  app.get('/orders', async (_, reply) => {
    reply.raw.write('half')
    throw refused()
  })
  await app.ready()
  server.listen((request, response) => app.routing(request, response))
  const { answer, socket } = await raw(origin, GET)
  await expect.poll(() => socket.bytesRead, { timeout: 20_000 }).toBeGreaterThan(0)
  socket.destroy()
  await answer
  expect((await queue.list()).tasks).toEqual([])
})

test('hono: a stream that breaks has been answered, and nothing is kept', async () => {
  const { queue, server, origin } = await bench()
  const app = new Hono()
  app.use(forHono(queue, { origin }))
  app.get('/orders', (context) =>
    stream(
      context,
      async (out) => {
        await out.write('half')
        throw refused()
      },
      async () => {},
    ),
  )
  server.listen(getRequestListener(app.fetch))
  const { answer } = await raw(origin, GET)
  expect(await answer).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*half/)
  expect((await queue.list()).tasks).toEqual([])
})

test('express: headers of other middleware stay in the 202, those of the content that never came do not', async () => {
  const { queue, server, origin } = await bench()
  const app = express()
  app.use((_, response, next) => {
    response.set('access-control-allow-origin', '*')
    next()
  })
  app.get('/orders', (_, response) => {
    response.type('text/csv').set({ 'content-encoding': 'br', etag: '"v1"', 'cache-control': 'max-age=60' })
    throw refused()
  })
  app.use(inboundErrors(queue, { origin }))
  server.listen(app)
  const { status, headers } = await fetch(`${origin}/orders`)
  expect(status).toBe(202)
  expect(headers.get('access-control-allow-origin')).toBe('*')
  expect(headers.get('content-encoding')).toBeNull()
  expect(headers.get('etag')).not.toBe('"v1"')
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('content-type')).toMatch(/^application\/json/)
})

test('fastify: likewise', async () => {
  const { queue, server, origin } = await bench()
  const app = fastify()
  app.addHook('onRequest', async (_, reply) => {
    reply.header('access-control-allow-origin', '*')
  })
  await app.register(forFastify, { queue, origin })
  app.get('/orders', async (_, reply) => {
    reply.type('text/csv').headers({ 'content-encoding': 'br', etag: '"v1"', 'cache-control': 'max-age=60' })
    throw refused()
  })
  await app.ready()
  server.listen((request, response) => app.routing(request, response))
  const { status, headers } = await fetch(`${origin}/orders`)
  expect(status).toBe(202)
  expect(headers.get('access-control-allow-origin')).toBe('*')
  for (const each of ['content-encoding', 'etag']) expect(headers.get(each)).toBeNull()
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('content-type')).toMatch(/^application\/json/)
})

test('hono: likewise, whichever side of it they are on', async () => {
  for (const order of ['outside', 'inside'] as const) {
    const { queue, server, origin } = await bench()
    const app = new Hono()
    const parts = [cors(), forHono(queue, { origin })]
    for (const part of order === 'outside' ? parts : parts.toReversed()) app.use(part)
    app.get('/orders', () => {
      throw refused()
    })
    app.onError((_, context) => context.text('failed', 500, { 'cache-control': 'max-age=60', etag: '"v1"' }))
    server.listen(getRequestListener(app.fetch))
    const { status, headers } = await fetch(`${origin}/orders`)
    expect(status).toBe(202)
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('etag')).toBeNull()
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-type')).toBe('application/json')
  }
})

test('fastify: routes outside of the scope that registers it are not its own, and errors go on to the parent’s handler once', async () => {
  const { queue, server, origin } = await bench()
  const app = fastify()
  const heard: string[] = []
  app.setErrorHandler((error: Error, request, reply) => {
    heard.push(request.url)
    return reply.code(500).send({ message: error.message })
  })
  app.register(async (scope) => {
    await scope.register(forFastify, { queue, origin })
    scope.get('/inside', async () => {
      throw refused()
    })
    scope.get('/bug', async () => {
      throw new Error('a bug')
    })
  })
  app.get('/outside', async () => {
    throw refused()
  })
  await app.ready()
  server.listen((request, response) => app.routing(request, response))
  const statuses = []
  for (const path of ['/inside', '/bug', '/outside']) statuses.push((await fetch(origin + path)).status)
  expect(statuses).toEqual([202, 500, 500])
  expect(heard).toEqual(['/bug', '/outside'])
})

test('a taskUrl that throws leaves out the location, and the client hears all the same', async () => {
  const { queue, server, origin, degraded } = await bench()
  const app = express()
  app.get('/orders', () => {
    throw refused()
  })
  const taskUrl = () => {
    throw new Error('no route of that name')
  }
  app.use(inboundErrors(queue, { origin, taskUrl }))
  server.listen(app)
  const { status, headers } = await fetch(`${origin}/orders`)
  expect([status, headers.get('location')]).toEqual([202, null])
  expect(degraded).toMatchObject([{ code: 'hook_threw', message: expect.stringContaining('taskUrl threw') }])
})

test('a match that throws keeps nothing, and is told', async () => {
  const { queue, server, origin, degraded } = await bench()
  const app = express()
  app.get('/orders', () => {
    throw refused()
  })
  const match = () => {
    throw new TypeError('cannot read')
  }
  app.use(inboundErrors(queue, { origin, match }), quiet)
  server.listen(app)
  expect((await fetch(`${origin}/orders`)).status).toBe(500)
  expect(degraded).toMatchObject([{ code: 'hook_threw', message: expect.stringContaining('match threw') }])
})
