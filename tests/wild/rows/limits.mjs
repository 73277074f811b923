// Limiters in Node and Python: two requests in four seconds, and what they answer to the next.
import { WINDOW_S } from '../cases.mjs'

const cases = ['limited']
const flask = ['flask==3.1.3', 'waitress==3.0.2']

const expressApp = (limit) => `
import express from 'express'
import { host, port } from './work.mjs'
${limit}
const app = express()
app.get('/orders/', limit, (_, response) => void response.json({ ok: true }))
app.listen(port, host)
`

const fastifyApp = (options) => `
import limit from '@fastify/rate-limit'
import Fastify from 'fastify'
import { host, port } from './work.mjs'

const app = Fastify()
await app.register(limit, { max: 2, timeWindow: ${WINDOW_S * 1000}, ${options} })
app.get('/orders/', async () => ({ ok: true }))
await app.listen({ port, host })
`
const fastify = ['@fastify/rate-limit@11.2.0', 'fastify@5.12.8']

const drafts = ['draft-6', 'draft-7', 'draft-8'].map((draft) => ({
  name: `express-rate-limit, ${draft}`,
  from: 'npm',
  packages: ['express-rate-limit@8.7.4', 'express@5.3.0'],
  cases,
  app: expressApp(`
import { rateLimit } from 'express-rate-limit'
const limit = rateLimit({ windowMs: ${WINDOW_S * 1000}, limit: 2, standardHeaders: '${draft}', legacyHeaders: false })
`),
}))

export default [
  ...drafts,
  {
    name: 'rate-limiter-flexible',
    from: 'npm',
    packages: ['rate-limiter-flexible@11.4.0', 'express@5.3.0'],
    cases,
    // the headers are those of its README
    app: expressApp(`
import { RateLimiterMemory } from 'rate-limiter-flexible'
const limiter = new RateLimiterMemory({ points: 2, duration: ${WINDOW_S} })
const limit = async (request, response, next) => {
  const refused = await limiter.consume(request.ip).then(() => undefined, (refusal) => refusal)
  if (refused === undefined) return next()
  response.set({
    'Retry-After': refused.msBeforeNext / 1000,
    'X-RateLimit-Limit': 2,
    'X-RateLimit-Remaining': refused.remainingPoints,
    'X-RateLimit-Reset': Math.ceil((Date.now() + refused.msBeforeNext) / 1000),
  })
  response.status(429).send('Too Many Requests')
}
`),
  },
  {
    name: '@nestjs/throttler, named',
    from: 'npm',
    packages: [
      '@nestjs/throttler@6.7.1',
      '@nestjs/common@12.5.1',
      '@nestjs/core@12.5.1',
      '@nestjs/platform-express@12.5.1',
      'reflect-metadata@0.2.2',
      'rxjs@7.8.2',
    ],
    cases,
    app: `
import 'reflect-metadata'
import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler'
import { host, port } from './work.mjs'

class Orders {
  list() {
    return { ok: true }
  }
}
Get('/')(Orders.prototype, 'list', Object.getOwnPropertyDescriptor(Orders.prototype, 'list'))
Controller('orders')(Orders)

class App {}
const limits = ThrottlerModule.forRoot([
  { name: 'short', ttl: ${WINDOW_S * 1000}, limit: 2 },
  { name: 'long', ttl: 60_000, limit: 1_000 },
])
Module({ imports: [limits], controllers: [Orders], providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }] })(App)
const app = await NestFactory.create(App, { logger: false })
await app.listen(port, host)
`,
  },
  {
    name: 'koa-ratelimit',
    from: 'npm',
    packages: ['koa-ratelimit@6.0.0', 'koa@3.2.1'],
    cases,
    app: `
import Koa from 'koa'
import limit from 'koa-ratelimit'
import { host, port } from './work.mjs'

const app = new Koa()
app.use(limit({ driver: 'memory', db: new Map(), duration: ${WINDOW_S * 1000}, max: 2, id: ({ ip }) => ip }))
app.use((context) => {
  context.body = { ok: true }
})
app.listen(port, host)
`,
  },
  { name: '@fastify/rate-limit', from: 'npm', packages: fastify, cases, app: fastifyApp('') },
  { name: '@fastify/rate-limit, ban', from: 'npm', packages: fastify, cases, refusals: 2, app: fastifyApp('ban: 1') },
  {
    name: 'slowapi',
    from: 'pypi',
    packages: ['slowapi==0.1.10', 'fastapi==0.163.2', 'uvicorn==0.54.0'],
    cases,
    app: `
from fastapi import FastAPI, Request
from slowapi import Limiter, _rate_limit_exceeded_handler
from slowapi.errors import RateLimitExceeded
from slowapi.util import get_remote_address

limiter = Limiter(key_func=get_remote_address)
app = FastAPI()
app.state.limiter = limiter
app.add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)


@app.get("/orders/")
@limiter.limit("2 per ${WINDOW_S} second")
async def orders(request: Request):
    return {"ok": True}
`,
  },
  ...['False', 'True'].map((headers) => ({
    name: headers === 'True' ? 'Flask-Limiter, with headers' : 'Flask-Limiter',
    from: 'pypi',
    packages: ['flask-limiter==4.1.1', ...flask],
    serve: 'waitress',
    cases,
    app: `
from flask import Flask
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address

app = Flask(__name__)
limiter = Limiter(get_remote_address, app=app, storage_uri="memory://", headers_enabled=${headers})


@app.get("/orders/")
@limiter.limit("2 per ${WINDOW_S} second")
def orders():
    return {"ok": True}
`,
  })),
]
