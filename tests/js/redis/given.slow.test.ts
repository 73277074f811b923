// Clients as they are given: what is used as it is, and what is refused with a word on what to give.
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { Cluster as ValkeyCluster } from 'iovalkey'
import { createClient, createClientPool } from 'redis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { portOf } from '../../../js/stores/redis/client.ts'
import type { RedisPort } from '../../../js/stores/redis/port.ts'
import { eventually } from '../eventually.ts'
import { alone, CHANNEL, KEY, portTo, quiet, subscribe } from './ports-setup.ts'

describe('what is given', () => {
  const own = (): RedisPort => ({
    call: async () => 3,
    onReconnect: () => () => {},
    close: async () => {},
  })

  test('a port is used as it is', async () => {
    const port = portTo(own())
    expect(await port.call('GET', [], KEY)).toBe(3)
    expect(port.subscribe).toBeUndefined()
  })

  test('a subscriber that is given is used itself, and left open', async () => {
    const server = await alone()
    const client = quiet(new Redis(server.port))
    const subscriber = quiet(createClient({ url: server.url }))
    await subscriber.connect()
    onTestFinished(() => {
      client.disconnect()
      subscriber.destroy()
    })
    const port = portTo(client, subscriber)
    const heard: string[] = []
    await subscribe(port, (message) => heard.push(`${message}`))
    await port.call('SPUBLISH', [CHANNEL, 'heard'], CHANNEL)
    await eventually(() => heard).toEqual(['heard'])
    await port.close()
    expect(subscriber.isReady).toBe(true)
    expect(await client.spublish(CHANNEL, 'unheard')).toBe(0)
  })

  test('one subscriber serves two stores', async () => {
    const server = await alone()
    const client = quiet(new Redis(server.port))
    onTestFinished(() => client.disconnect())
    const subscriber = client.duplicate()
    onTestFinished(() => subscriber.disconnect())
    const [first, second] = [portTo(client, subscriber), portTo(client, subscriber)]
    const heard: string[] = []
    await subscribe(first, () => {})
    await subscribe(second, (message) => heard.push(`${message}`))
    await first.close()
    await second.call('SPUBLISH', [CHANNEL, 'heard'], CHANNEL)
    await eventually(() => heard).toEqual(['heard'])
  })

  test('with null there is no listener', () => {
    expect(portTo(new Redis({ lazyConnect: true }), null).subscribe).toBeUndefined()
  })

  test('a cluster of iovalkey cannot hear, and says so by having nothing to hear with', () => {
    const client = new ValkeyCluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true })
    expect(portTo(client).subscribe).toBeUndefined()
  })

  test.each<[string, () => unknown, RegExp]>([
    ['nothing', () => undefined, /got undefined$/],
    ['null', () => null, /got null$/],
    ['a URL', () => 'redis://user:secret@host', /got a string: give a client for that URL/],
    ['options', () => ({ host: 'localhost', port: 6379 }), /got an object: give a client/],
    ['a list of nodes', () => [{ host: 'localhost' }], /got an array: give a client/],
    ['a number', () => 6379, /got a number: give a client/],
    ['a class', () => Redis, /got a function: give a client/],
    ['a promise', () => Promise.resolve(), /got a promise: await it first$/],
    ['a pool', () => createClientPool(), /got a pool: give the client that it is made of$/],
    [
      'a client of redis 4',
      () => Object.create({ sendCommand() {}, duplicate() {}, connect() {}, v4: {} }),
      /got a client of redis before version 5: upgrade it$/,
    ],
    [
      'a client of redis 3',
      () => Object.create({ send_command() {}, internal_send_command() {}, duplicate() {} }),
      /got a client of redis before version 5: upgrade it$/,
    ],
    ['a map', () => new Map(), /got an object of class Map: give its client$/],
    [
      'a queue of BullMQ',
      () => {
        const connection = quiet(new Redis({ lazyConnect: true, maxRetriesPerRequest: null }))
        onTestFinished(() => connection.disconnect())
        return quiet(new Queue('q', { connection, skipWaitingForReady: true }))
      },
      /got an object of class Queue of BullMQ: give its client$/,
    ],
  ])('%s is refused by name', (_, make, message) => {
    const value = make()
    expect(() => portOf(value)).toThrow(TypeError)
    expect(() => portOf(value)).toThrow(/^redisStore\.client: expected a client or cluster of redis 5/)
    expect(() => portOf(value)).toThrow(message)
    expect(() => portOf(value)).not.toThrow(/secret/)
    if (value !== undefined && value !== null) {
      expect(() => portOf(own(), value)).toThrow(/^redisStore\.subscriber: expected/)
    }
  })

  test('a port that cannot subscribe is no subscriber', () => {
    expect(() => portOf(own(), own())).toThrow(/got a RedisPort without subscribe$/)
  })
})
