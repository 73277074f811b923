/** A service of the Connect protocol on loopback, whose calls fail as they are told. Its descriptor is made here: there is no .proto. */

import { create, createFileRegistry, type Message, toBinary } from '@bufbuild/protobuf'
import type { GenMessage, GenService } from '@bufbuild/protobuf/codegenv2'
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { type Code, ConnectError } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { onLoopback } from '../../loopback.ts'

const [LABEL_OPTIONAL, TYPE_STRING] = [1, 9]
const messages = ['Order', 'Placed'].map((name) => ({
  name,
  field: [{ name: 'sku', number: 1, label: LABEL_OPTIONAL, type: TYPE_STRING, jsonName: 'sku' }],
}))
const method = [{ name: 'Create', inputType: '.shop.v1.Order', outputType: '.shop.v1.Placed' }]
const file = create(FileDescriptorProtoSchema, {
  name: 'shop.proto',
  package: 'shop.v1',
  syntax: 'proto3',
  messageType: messages,
  service: [{ name: 'Orders', method }],
})
const files = create(FileDescriptorSetSchema, { file: [file] })
const found = createFileRegistry(files).getService('shop.v1.Orders')
if (!found) throw new Error('the descriptor has no service')

type Text<Name extends string> = GenMessage<Message<`shop.v1.${Name}`> & { sku: string }>

export const Orders = found as unknown as GenService<{
  create: { methodKind: 'unary'; input: Text<'Order'>; output: Text<'Placed'> }
}>

/** A module that exports the same `Orders`, as the generator's would. */
export const generated = `
import { createFileRegistry, fromBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'

const bytes = Buffer.from('${Buffer.from(toBinary(FileDescriptorSetSchema, files)).toString('base64')}', 'base64')
export const Orders = createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes)).getService('shop.v1.Orders')
`

/** An attempt as its server sees it. */
export interface Served {
  readonly key: string | null
  readonly sku: string
}

/** `failures`: the codes that the first attempts end with. */
export async function connectServer(failures: readonly Code[] = []): Promise<{ url: string; seen: Served[] }> {
  const left = [...failures]
  const seen: Served[] = []
  const handler = connectNodeAdapter({
    routes(router) {
      router.service(Orders, {
        create({ sku }, { requestHeader }) {
          seen.push({ key: requestHeader.get('idempotency-key'), sku })
          const code = left.shift()
          if (code !== undefined) throw new ConnectError('as it was told', code)
          return { sku }
        },
      })
    },
  })
  return { url: await onLoopback(handler), seen }
}
