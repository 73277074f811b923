// The snippets of docs/grpc.md, run as they are printed: with grpc-js and with Connect, against servers whose first answer is a failure.
import { join } from 'node:path'
import { Code } from '@connectrpc/connect'
import {
  type ChannelCredentials,
  credentials,
  loadPackageDefinition,
  Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  status,
} from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { expect, onTestFinished, test } from 'vitest'
import { connectServer, generated } from '../js/grpc/shop.ts'
import { started } from './children.ts'
import { type Consumer, consumer, link, versioned } from './consumer.ts'
import { blocksOf, docs, oneWith, toServer } from './snippets.ts'
import { tries } from './tries.ts'
import { judge, ownCompiler } from './typed.ts'

const snippets = blocksOf(docs('grpc.md'), 'js')
const snippet = (word: string): string => oneWith(snippets, word)

const PROTO = `syntax = "proto3";
package shop;
message Order { string sku = 1; }
service Orders { rpc Create (Order) returns (Order); }
`

/** A project with a file beside the .proto, and the packages that a user has installed. */
function project(name: string, code: string): Consumer {
  const files = { [name]: code, 'shop.proto': PROTO, 'gen/shop_pb.js': generated, 'package.json': '{"type":"module"}' }
  const made = consumer(files)
  onTestFinished(() => made[Symbol.dispose]())
  const packages = ['@bufbuild/protobuf', '@connectrpc/connect', '@connectrpc/connect-web']
  for (const each of ['@grpc/grpc-js', '@grpc/proto-loader', ...packages]) link(made, each)
  return made
}

interface Shop {
  readonly Orders: {
    new (address: string, channel: ChannelCredentials): Orders
    readonly service: ServiceDefinition
  }
}

interface Orders {
  Create(order: object, metadata: Metadata, done: (error: Error | null, answer: object) => void): void
  close(): void
}

const shopIn = ({ folder }: Consumer): Shop =>
  loadPackageDefinition(loadSync(join(folder, 'shop.proto'))).shop as unknown as Shop

test('there is no snippet that no test runs', () => {
  expect(snippets).toHaveLength(4)
})

tries(versioned('grpc-js', '@grpc/grpc-js'), 'redrive/grpc: a client', async () => {
  const client = project('client.js', '')
  const keys: unknown[] = []
  const server = new Server()
  onTestFinished(() => server.forceShutdown())
  server.addService(shopIn(client).Orders.service, {
    Create(call: { metadata: Metadata; request: object }, done: (error: object | null, answer?: object) => void) {
      keys.push(...call.metadata.get('idempotency-key'))
      if (keys.length === 1) done({ code: status.UNAVAILABLE })
      else done(null, call.request)
    },
  })
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, at) =>
      error ? reject(error) : resolve(at),
    )
  })
  const run = project('client.js', snippet('keyInterceptor()').replace('127.0.0.1:50051', `127.0.0.1:${port}`))
  expect(await run.run(process.execPath, 'client.js')).toBe('placed A-1\n')
  expect(keys).toEqual([expect.stringMatching(/^[\da-f-]{36}$/), keys[0]])
})

tries(versioned('grpc-js', '@grpc/grpc-js'), 'redrive/grpc: a server, which does the work of a key once', async () => {
  const run = project('server.js', snippet('keyOf(call)'))
  await using server = await started(run, 'listens on ', ['server.js'])
  const port = /listens on (\d+)/.exec(server.output())?.[1]
  const orders = new (shopIn(run).Orders)(`127.0.0.1:${port}`, credentials.createInsecure())
  const create = (key: string | null) => {
    const metadata = new Metadata()
    if (key !== null) metadata.set('idempotency-key', key)
    return new Promise((resolve, reject) => {
      orders.Create({ sku: 'A-1' }, metadata, (error, answer) => (error ? reject(error) : resolve(answer)))
    })
  }
  const answers = [await create('a'), await create('a'), await create('b'), await create(null)]
  orders.close()
  expect(answers).toEqual(Array(4).fill({ sku: 'A-1' }))
  expect(server.output().match(/placed A-1/g)).toHaveLength(3)
})

tries(versioned('Connect', '@connectrpc/connect'), 'redrive/fetch: a client', async () => {
  const { url, seen } = await connectServer([Code.Unavailable])
  const run = project('main.js', toServer(snippet('createConnectTransport({'), url))
  expect(await run.run(process.execPath, 'main.js')).toBe('placed A-1\n')
  expect(seen.map(({ key }) => key)).toEqual([expect.stringMatching(/^[\da-f-]{36}$/), seen[0]?.key])
})

tries(versioned('Connect', '@connectrpc/connect'), 'a call that is enqueued', async () => {
  const { url, seen } = await connectServer([Code.ResourceExhausted])
  const run = project('main.js', toServer(snippet("path: 'orders.db'"), url))
  expect(await run.run(process.execPath, 'main.js')).toBe('strict\nSUCCEEDED\n')
  expect(seen).toEqual(Array(2).fill({ key: expect.stringMatching(/^[\da-f-]{36}$/), sku: 'A-1' }))
  expect(seen[1]?.key).toBe(seen[0]?.key)
})

test('its types, as a user’s compiler reads them beside those of grpc-js', async () => {
  const program = `
import { Client, credentials, type Interceptor, type ServerUnaryCall } from '@grpc/grpc-js'
import { presets } from 'redrive'
import { keyInterceptor, keyOf, serviceConfig, UnsupportedPolicyError, type RetryPolicyA6, type ServiceConfig } from 'redrive/grpc'

const interceptor: Interceptor = keyInterceptor({ header: 'x-key', methods: ['shop.Orders'] })
const config: ServiceConfig = serviceConfig(presets.grpc, { methods: ['shop.Orders'], warn: false })
export const retries: RetryPolicyA6 | undefined = config.methodConfig[0]?.retryPolicy
export const client = new Client('a:1', credentials.createInsecure(), { interceptors: [interceptor], 'grpc.service_config': JSON.stringify(config) })
export const handle = (call: ServerUnaryCall<object, object>): string | null => keyOf(call)
export const field = (error: unknown): string => (error instanceof UnsupportedPolicyError ? error.field : '')
// @ts-expect-error a typo in a policy is an error
serviceConfig({ maxAttemps: 3 })
`
  const library = { lib: ['es2022'], types: ['node'], program, packages: ['@grpc/grpc-js'] }
  for (const resolution of ['nodenext', 'bundler'] as const) await judge(ownCompiler, library, resolution)
})
