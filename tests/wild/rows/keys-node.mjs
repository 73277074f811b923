// Idempotency keys in Node.
const cases = ['in progress', 'in progress, 504', 'replaying', 'failed once']

export default [
  {
    name: '@node-idempotency/nestjs',
    from: 'npm',
    packages: [
      '@node-idempotency/nestjs@1.0.4',
      '@nestjs/common@10.4.9',
      '@nestjs/core@10.4.9',
      '@nestjs/platform-express@10.4.9',
      'reflect-metadata@0.2.2',
      'rxjs@7.8.2',
    ],
    cases,
    app: `
import 'reflect-metadata'
import { Body, Controller, HttpException, Module, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Idempotent, NodeIdempotencyModule } from '@node-idempotency/nestjs'
import { host, port, work } from './work.mjs'

class Orders {
  async create(order) {
    const { status, body } = await work(order)
    if (status !== 201) throw new HttpException(body, status)
    return body
  }
}
const create = Object.getOwnPropertyDescriptor(Orders.prototype, 'create')
for (const decorate of [Post('/'), Idempotent()]) decorate(Orders.prototype, 'create', create)
Body()(Orders.prototype, 'create', 0)
Controller('orders')(Orders)

class App {}
const keys = NodeIdempotencyModule.forRootAsync({ storage: { adapter: 'memory' } })
Module({ imports: [keys], controllers: [Orders] })(App)
const app = await NestFactory.create(App, { logger: false })
await app.listen(port, host)
`,
  },
  {
    name: 'express-idempotency',
    from: 'npm',
    packages: ['express-idempotency@1.0.6', 'express@4.21.2'],
    cases,
    app: `
import express from 'express'
import keys from 'express-idempotency'
import { host, port, work } from './work.mjs'

const app = express()
app.use(express.json(), keys.idempotency())
app.post('/orders/', async (request, response) => {
  const service = keys.getSharedIdempotencyService()
  if (service.isHit(request)) return
  const { status, body } = await work(request.body)
  if (status !== 201) service.reportError(request)
  response.status(status).json(body)
})
app.listen(port, host)
`,
  },
]
