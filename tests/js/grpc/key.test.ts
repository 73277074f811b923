/** One key for each call of grpc-js, on every attempt that grpc-js makes of it: with real servers and clients. */

import { once } from 'node:events'
import { constants, createServer } from 'node:http2'
import { Metadata } from '@grpc/grpc-js'
import { expect, onTestFinished, test } from 'vitest'
import { keyInterceptor, keyOf, serviceConfig } from '../../../js/adapters/grpc.ts'
import { presets } from '../../../js/index.ts'
import { listening } from '../../loopback.ts'
import { call, clientOf, grpcServer, INTERNAL, RESOURCE_EXHAUSTED, UNAVAILABLE, upload } from './server.ts'

const KEY = /^[\da-f-]{36}$/
/** A6's example, with waits of a millisecond. */
const QUICK = serviceConfig({ ...presets.grpc, initialDelayMs: 1, maxDelayMs: 1 })

test('S5 a server that fails three times sees one key, and how many attempts there were before', async () => {
  const { address, seen } = await grpcServer([UNAVAILABLE, RESOURCE_EXHAUSTED, UNAVAILABLE])
  const shop = clientOf(address, [keyInterceptor()], QUICK)
  expect(await call(shop, 'Create')).toEqual({ text: 'done' })
  expect(seen.map(({ previous }) => previous)).toEqual([undefined, '1', '2', '3'])
  expect(seen[0]?.key).toMatch(KEY)
  expect(new Set(seen.map(({ key }) => key)).size).toBe(1)
})

test('S5 a client-streaming call has one key, too, and sends its messages again', async () => {
  const { address, seen } = await grpcServer([UNAVAILABLE])
  const shop = clientOf(address, [keyInterceptor()], QUICK)
  expect(await upload(shop, ['a', 'b', 'c'])).toEqual({ text: 'done' })
  expect(seen.map(({ text, previous }) => [text, previous])).toEqual([
    ['a+b+c', undefined],
    ['a+b+c', '1'],
  ])
  expect(seen[0]?.key).toMatch(KEY)
  expect(seen[1]?.key).toBe(seen[0]?.key)
})

test('S5 a transparent retry, of which the server’s code has seen nothing, carries the same key', async () => {
  const keys: unknown[] = []
  const server = createServer()
  const isOpen = new Set<{ destroy(): void }>()
  server.on('session', (session) => isOpen.add(session))
  server.on('stream', (stream, headers) => {
    keys.push(headers['idempotency-key'])
    // a stream that is refused ends with an error on this side, too
    stream.on('error', () => {})
    if (keys.length === 1) return stream.close(constants.NGHTTP2_REFUSED_STREAM)
    const message = Buffer.from(JSON.stringify({ text: 'done' }))
    const frame = Buffer.alloc(5)
    frame.writeUInt32BE(message.length, 1)
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(Buffer.concat([frame, message]))
  })
  onTestFinished(() => {
    for (const session of isOpen) session.destroy()
  })
  const { host } = new URL(await listening(server))
  const shop = clientOf(host, [keyInterceptor()])
  expect(await call(shop, 'Create')).toEqual({ text: 'done' })
  expect(keys).toEqual([expect.stringMatching(KEY), keys[0]])
})

test('a key that is there stays', async () => {
  const { address, seen } = await grpcServer([UNAVAILABLE])
  const shop = clientOf(address, [keyInterceptor()], QUICK)
  const metadata = new Metadata()
  metadata.set('Idempotency-Key', 'order-2041')
  await call(shop, 'Create', metadata)
  expect(seen.map(({ key }) => key)).toEqual(['order-2041', 'order-2041'])
})

test('two calls have two keys, also with one object of metadata, which stays as it was', async () => {
  const { address, seen } = await grpcServer()
  const shop = clientOf(address, [keyInterceptor()])
  const metadata = new Metadata({ waitForReady: true })
  metadata.set('tenant', 'acme')
  await call(shop, 'Create', metadata)
  await call(shop, 'Create', metadata)
  expect(new Set(seen.map(({ key }) => key)).size).toBe(2)
  expect(metadata.getMap()).toEqual({ tenant: 'acme' })
})

test('a server-streaming call has no key', async () => {
  const { address, seen } = await grpcServer()
  const shop = clientOf(address, [keyInterceptor()])
  await once(shop.Watch({ text: 'Watch' }, new Metadata()), 'data')
  expect(seen.map(({ key }) => key)).toEqual([null])
})

test.for<readonly [methods: readonly string[], keyed: readonly boolean[]]>([
  [['test.Shop/Create'], [true, false]],
  [['/test.Shop/Create'], [true, false]],
  [['test.Shop'], [true, true]],
  [
    ['test.Shop/Show', 'test.Other/Create'],
    [false, true],
  ],
  [
    ['test.Sho', 'Shop'],
    [false, false],
  ],
  [[], [false, false]],
])('methods: %j', async ([methods, keyed]) => {
  const { address, seen } = await grpcServer()
  const shop = clientOf(address, [keyInterceptor({ methods })])
  await call(shop, 'Create')
  await call(shop, 'Show')
  expect(seen.map(({ key }) => key !== null)).toEqual(keyed)
})

test('another header', async () => {
  const { address, seen } = await grpcServer([], 'x-request-key')
  const shop = clientOf(address, [keyInterceptor({ header: 'x-request-key' })])
  await call(shop, 'Create')
  expect(seen.map(({ key }) => key)).toEqual([expect.stringMatching(KEY)])
})

test('an end that no retry follows is the caller’s, after one attempt', async () => {
  const { address, seen } = await grpcServer([INTERNAL])
  const shop = clientOf(address, [keyInterceptor()], QUICK)
  await expect(call(shop, 'Create')).rejects.toMatchObject({ code: INTERNAL, details: 'as it was told' })
  expect(seen).toHaveLength(1)
})

test('several values are one key, and an empty one is none', () => {
  const metadata = new Metadata()
  expect(keyOf({ metadata })).toBeNull()
  metadata.set('idempotency-key', '')
  expect(keyOf({ metadata })).toBeNull()
  metadata.set('idempotency-key', 'a')
  metadata.add('idempotency-key', 'b')
  expect(keyOf({ metadata })).toBe('a, b')
})

test.each<[options: object, message: string]>([
  [{ header: 'Idempotency-Key' }, "keyInterceptor.header: expected a name of text metadata such as 'idempotency-key'"],
  [{ header: 'key-bin' }, "got 'key-bin'"],
  [{ header: 'grpc-key' }, "got 'grpc-key'"],
  [{ header: '' }, "got ''"],
  [{ methods: 'test.Shop' }, "keyInterceptor.methods: expected an array, got 'test.Shop'"],
  [{ methods: ['Create an order'] }, "keyInterceptor.methods[0]: expected a method such as 'shop.Orders/Create'"],
  [{ headers: 'a' }, "keyInterceptor.headers: no such option; did you mean 'header'?"],
])('a wrong option is refused: %o', (options, message) => {
  expect(() => keyInterceptor(options)).toThrow(message)
})
