// The answers themselves: nothing is sent twice, and what other middleware has put there stays.
import type { RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { cors } from 'hono/cors'
import { stream } from 'hono/streaming'
import { expect, test } from 'vitest'
import { inboundErrors } from '../../../js/adapters/express.ts'
import { inboundErrors as forFastify } from '../../../js/adapters/fastify.ts'
import { inboundErrors as forHono } from '../../../js/adapters/hono.ts'
import { raw } from './raw.ts'
import { quiet } from './servers.ts'
import { type Bench, bench, refused } from './setup.ts'

const GET = 'GET /orders HTTP/1.1\nhost: x\nconnection: close\n\n'

/** What the content that never came would have had. */
const OWN = { 'content-encoding': 'br', etag: '"v1"', 'cache-control': 'max-age=60' }

type App = (bench: Bench, isHalf: boolean) => RequestListener | Promise<RequestListener>

const inHono =
  (isOutside: boolean): App =>
  ({ queue, origin }, isHalf) => {
    const app = new Hono()
    const parts = [cors(), forHono(queue, { origin })]
    for (const part of isOutside ? parts : parts.toReversed()) app.use(part)
    app.get('/orders', (context) => {
      if (!isHalf) throw refused()
      const write = async (out: { write(text: string): Promise<unknown> }) => {
        await out.write('half')
        throw refused()
      }
      return stream(context, write, async () => {})
    })
    app.onError((_, context) => context.text('failed', 500, { ...OWN, 'content-type': 'text/csv' }))
    return getRequestListener(app.fetch)
  }

/** Apps behind middleware of CORS, whose handler fails: after half of its answer, or once it has set headers. */
const apps: Readonly<Record<string, App>> = {
  express: ({ queue, origin }, isHalf) => {
    const app = express()
    app.set('env', 'test')
    app.use((_, response, next) => {
      response.set('access-control-allow-origin', '*')
      next()
    })
    app.get('/orders', (_, response) => {
      if (isHalf) response.write('half')
      else response.type('text/csv').set(OWN)
      throw refused()
    })
    app.use(inboundErrors(queue, { origin }), quiet)
    return app
  },
  fastify: async ({ queue, origin }, isHalf) => {
    const app = fastify()
    if (!isHalf) app.addHook('onRequest', async (_, reply) => void reply.header('access-control-allow-origin', '*'))
    await app.register(forFastify, { queue, origin })
    app.get('/orders', async (_, reply) => {
      if (isHalf) reply.raw.write('half')
      else reply.type('text/csv').headers(OWN)
      throw refused()
    })
    await app.ready()
    return (request, response) => app.routing(request, response)
  },
  'hono, inside of CORS': inHono(true),
  'hono, outside of CORS': inHono(false),
}

test.for(Object.entries(apps))('%s: of a failure after a part of the answer nothing is kept', async ([name, app]) => {
  const here = await bench()
  here.server.listen(await app(here, true))
  const { answer, socket } = await raw(here.origin, GET)
  if (name === 'fastify') {
    // it leaves the connection to its handler
    await expect.poll(() => socket.bytesRead, { timeout: 20_000 }).toBeGreaterThan(0)
    socket.destroy()
    await answer
  } else expect(await answer).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*half/)
  expect((await here.queue.list()).tasks).toEqual([])
})

test.for(Object.entries(apps))(
  '%s: headers of other middleware stay in the 202, those of the content do not',
  async ([name, app]) => {
    const here = await bench()
    here.server.listen(await app(here, false))
    const { status, headers } = await fetch(`${here.origin}/orders`)
    expect(status).toBe(202)
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('content-encoding')).toBeNull()
    // Express makes one of the answer that it sends
    if (name === 'express') expect(headers.get('etag')).not.toBe('"v1"')
    else expect(headers.get('etag')).toBeNull()
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-type')).toMatch(/^application\/json(; charset=utf-8)?$/)
  },
)

test('hono: a request behind two of it is kept once', async () => {
  const { queue, server, origin } = await bench()
  const app = new Hono()
  app.use(forHono(queue, { origin }))
  app.use('/orders', forHono(queue, { origin }))
  app.get('/orders', () => {
    throw refused()
  })
  app.onError((_, context) => context.text('failed', 500))
  server.listen(getRequestListener(app.fetch))
  const { status, headers } = await fetch(`${origin}/orders`)
  expect(status).toBe(202)
  const { tasks } = await queue.list()
  expect(tasks.map(({ taskId }) => taskId)).toEqual([headers.get('redrive-task-id')])
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

test('a match that is async keeps nothing: its promise is true, whatever it comes to', async () => {
  const { queue, server, origin } = await bench()
  const app = express()
  app.get('/orders', () => {
    throw refused()
  })
  app.use(inboundErrors(queue, { origin, match: (async () => false) as never }), quiet)
  server.listen(app)
  expect((await fetch(`${origin}/orders`)).status).toBe(500)
})
