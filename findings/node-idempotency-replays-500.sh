#!/usr/bin/env bash
# @node-idempotency/nestjs 1.0.4: a success without a body is replayed as a 500.
# Guess: the second request with a key gets the 204 of the first. Seen: `500 Internal Server Error`, marked `Idempotent-Replayed: true`. What a
# handler gave is taken for an error where it is `undefined`. The handler ran once, and its client never learns that it succeeded.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund @node-idempotency/nestjs@1.0.4 @nestjs/common@10.4.9 @nestjs/core@10.4.9 \
  @nestjs/platform-express@10.4.9 reflect-metadata@0.2.2 rxjs@7.8.2
cat > run.mjs <<'JS'
import 'reflect-metadata'
import { Controller, HttpCode, Module, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Idempotent, NodeIdempotencyModule } from '@node-idempotency/nestjs'

let runs = 0
class Orders {
  cancel() {
    runs++
  }
}
const cancel = Object.getOwnPropertyDescriptor(Orders.prototype, 'cancel')
for (const decorate of [Post('cancel'), HttpCode(204), Idempotent()]) decorate(Orders.prototype, 'cancel', cancel)
Controller('orders')(Orders)
class App {}
const keys = NodeIdempotencyModule.forRootAsync({ storage: { adapter: 'memory' } })
Module({ imports: [keys], controllers: [Orders] })(App)
const app = await NestFactory.create(App, { logger: false })
await app.listen(0, '127.0.0.1')
const url = `http://127.0.0.1:${app.getHttpServer().address().port}/orders/cancel`
const ask = () => fetch(url, { method: 'POST', headers: { 'idempotency-key': 'one' } })
const [first, second] = [await ask(), await ask()]
await app.close()
const marked = second.headers.get('idempotent-replayed')
console.log(`first ${first.status}, then ${second.status} with Idempotent-Replayed: ${marked}; the handler ran ${runs} time(s)`)
process.exitCode = first.status === 204 && second.status === 500 && marked === 'true' && runs === 1 ? 0 : 1
JS
node run.mjs
