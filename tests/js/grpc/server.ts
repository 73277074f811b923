/** A gRPC server of grpc-js on loopback whose methods fail as they are told, and a client of it. Messages are JSON: there is no .proto. */

import { promisify } from 'node:util'
import {
  type Client,
  type ClientOptions,
  type ClientUnaryCall,
  type ClientWritableStream,
  credentials,
  type Interceptor,
  Metadata,
  makeGenericClientConstructor,
  Server,
  ServerCredentials,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js'
import { onTestFinished } from 'vitest'
import { keyOf } from '../../../js/adapters/grpc.ts'

export interface Message {
  readonly text: string
}

/** An attempt as its server sees it. */
export interface Seen {
  readonly path: string
  readonly key: string | null
  /** `grpc-previous-rpc-attempts`. */
  readonly previous: string | undefined
  readonly text: string
}

type Done = (error: Error | null, answer?: Message) => void

export interface Shop extends Client {
  Create(message: Message, metadata: Metadata, done: Done): ClientUnaryCall
  Show(message: Message, metadata: Metadata, done: Done): ClientUnaryCall
  Upload(metadata: Metadata, done: Done): ClientWritableStream<Message>
  Watch(message: Message, metadata: Metadata): NodeJS.ReadableStream
}

const of = (name: string, requestStream = false, responseStream = false) => {
  const write = (message: Message) => Buffer.from(JSON.stringify(message))
  const read = (bytes: Buffer) => JSON.parse(bytes.toString()) as Message
  return {
    path: `/test.Shop/${name}`,
    requestStream,
    responseStream,
    requestSerialize: write,
    requestDeserialize: read,
    responseSerialize: write,
    responseDeserialize: read,
  }
}

const definition: ServiceDefinition = {
  Create: of('Create'),
  Show: of('Show'),
  Upload: of('Upload', true),
  Watch: of('Watch', false, true),
}

const ShopClient = makeGenericClientConstructor(definition, 'Shop')

/** `failures`: the codes that the first attempts end with, whichever method they are of. `header`: the name of the key. */
export async function grpcServer(
  failures: readonly status[] = [],
  header?: string,
): Promise<{ address: string; seen: Seen[] }> {
  const left = [...failures]
  const seen: Seen[] = []
  const heard = (call: { readonly metadata: Metadata; getPath(): string }, text: string) => {
    const previous = call.metadata.get('grpc-previous-rpc-attempts')[0]?.toString()
    seen.push({ path: call.getPath(), key: keyOf(call, header), previous, text })
    const code = left.shift()
    return code === undefined ? null : { code, details: 'as it was told' }
  }
  const unary = (call: ServerUnaryCall<Message, Message>, done: sendUnaryData<Message>) =>
    done(heard(call, call.request.text), { text: 'done' })
  const server = new Server()
  server.addService(definition, {
    Create: unary,
    Show: unary,
    async Upload(call: ServerReadableStream<Message, Message>, done: sendUnaryData<Message>) {
      const parts: string[] = []
      for await (const { text } of call) parts.push(text)
      done(heard(call, parts.join('+')), { text: 'done' })
    },
    Watch(call: ServerWritableStream<Message, Message>) {
      heard(call, call.request.text)
      call.write({ text: 'done' })
      call.end()
    },
  })
  const port = await promisify(server.bindAsync.bind(server))('127.0.0.1:0', ServerCredentials.createInsecure())
  onTestFinished(() => server.forceShutdown())
  return { address: `127.0.0.1:${port}`, seen }
}

/** Another client of the same server is `clientOf` once more. */
export function clientOf(address: string, interceptors: Interceptor[], config: object = {}): Shop {
  const options: ClientOptions = {
    interceptors,
    'grpc.service_config': JSON.stringify(config),
    // the client of one test is not that of another
    'grpc.use_local_subchannel_pool': 1,
  }
  const client = new ShopClient(address, credentials.createInsecure(), options) as unknown as Shop
  onTestFinished(() => client.close())
  return client
}

/** Makes a unary call. */
export function call(shop: Shop, name: 'Create' | 'Show', metadata: Metadata = new Metadata()): Promise<Message> {
  return new Promise((resolve, reject) => {
    shop[name]({ text: name }, metadata, (error, answer) => (error ? reject(error) : resolve(answer as Message)))
  })
}

/** Makes a client-streaming call. */
export function upload(shop: Shop, parts: readonly string[], metadata: Metadata = new Metadata()): Promise<Message> {
  return new Promise((resolve, reject) => {
    const stream = shop.Upload(metadata, (error, answer) => (error ? reject(error) : resolve(answer as Message)))
    for (const text of parts) stream.write({ text })
    stream.end()
  })
}

export const { UNAVAILABLE, RESOURCE_EXHAUSTED, INTERNAL } = status
