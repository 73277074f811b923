/** Servers that answer too much, too slowly, or not at all: the answer is cut off, and memory and sockets are given back. */

import { getEventListeners } from 'node:events'
import { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import { describe, expect, test } from 'vitest'
import { outcomeOf } from '../../../js/call/attempt.ts'
import { isOwnError } from '../../../js/call/own-error.ts'
import { OUTCOME_TIMED_OUT } from '../../../js/core/codes.ts'
import { errorText } from '../../../js/platform/error-text.ts'
import { exchange } from '../../../js/service/exchange.ts'
import type { TransportOptions } from '../../../js/service/transport.ts'
import { fakeClock } from '../../../js/testing.ts'
import { eventually } from '../eventually.ts'
import { watch } from '../setup.ts'
import { caught, NAME, networkErrorOf, replay, resolver, saying, sending, serveRaw } from './sending.ts'

/** The outcome that a queue gives to an attempt that failed so. */
const outcome = (error: unknown) => outcomeOf(error, false, isOwnError(error))

const to = async (talk: (socket: Socket, read: string) => void, options: TransportOptions = {}) => {
  const server = await serveRaw(talk)
  const { send } = sending(server.port, options)
  return { server, send: (init: RequestInit = {}) => send(null, `${server.url}/x`, replay(init)) }
}

/** Writes for as long as the socket takes it, as fast as it takes it. */
const endlessly = (head: string, part: string) => (socket: Socket) => {
  socket.write(head)
  const more = (): void => {
    while (!socket.destroyed && socket.write(part)) {}
  }
  socket.on('drain', more)
  more()
}

describe('headers', () => {
  const padded = (bytes: number) => `HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: ${'a'.repeat(bytes)}\r\n\r\n`

  test('of less than 16 KiB are read', async () => {
    const { send } = await to(saying(padded(16_000)))
    expect((await send()).headers.get('x')).toHaveLength(16_000)
  })

  const overflow = { code: 'UND_ERR_HEADERS_OVERFLOW' }
  test.each<[what: string, talk: Parameters<typeof to>[0], like?: object]>([
    ['one that is longer', saying(padded(17_000)), overflow],
    ['one without an end', endlessly('HTTP/1.1 200 OK\r\nx: ', 'a'.repeat(4_096)), overflow],
    ['many', endlessly('HTTP/1.1 200 OK\r\n', 'x: y\r\n'.repeat(500)), overflow],
    ['a name without an end', endlessly('HTTP/1.1 200 OK\r\n', 'a'.repeat(4_096)), overflow],
    ['many, of an interim answer', endlessly('HTTP/1.1 103 Hints\r\n', 'x: y\r\n'.repeat(500)), overflow],
    ['interim answers without an end', endlessly('', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(10))],
    ['a status line without an end', endlessly('HTTP/1.1 200 ', 'a'.repeat(4_096))],
    ['no HTTP', endlessly('', 'SSH-2.0-OpenSSH_9.2\r\n')],
    ['a status of 099', saying('HTTP/1.1 099 X\r\ncontent-length: 0\r\n\r\n')],
    ['a status of four digits', saying('HTTP/1.1 2000 X\r\ncontent-length: 0\r\n\r\n')],
    ['another protocol', saying('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n')],
    ['100 that was not asked for', saying('HTTP/1.1 100 Continue\r\n\r\n')],
    ['two lengths', saying('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\na')],
    ['NUL in a value', saying('HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 0\r\n\r\n')],
    ['nothing', (socket: Socket) => socket.end()],
    ['a reset', (socket: Socket) => socket.resetAndDestroy()],
  ])('%s: the attempt fails as one of the network, and the connection ends', async (_, talk, like = {}) => {
    const { server, send } = await to(talk)
    const error = await networkErrorOf(send({ signal: AbortSignal.timeout(20_000) }))
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject(like)
    expect(error).not.toMatchObject({ name: 'TimeoutError' })
    await eventually(() => server.open).toBe(0)
  })

  test('with names that objects have are read as any other', async () => {
    const { send } = await to(
      saying('HTTP/1.1 200 OK\r\n__proto__: a\r\nconstructor: b\r\n__proto__: c\r\ncontent-length: 0\r\n\r\n'),
    )
    const { headers } = await send()
    expect([headers.get('__proto__'), headers.get('constructor')]).toEqual(['a, c', 'b'])
  })
})

describe('a body', () => {
  // idle sockets of such a server are kept for longer than the test lasts
  const whole = (bytes: number) =>
    `HTTP/1.1 200 OK\r\nkeep-alive: timeout=58\r\ncontent-length: ${bytes}\r\n\r\n${'a'.repeat(bytes)}`

  test('of 64 KiB is read to its end, and its connection is used again', async () => {
    const { server, send } = await to(saying(whole(64 * 1024)))
    expect((await send()).status).toBe(200)
    await eventually(() => server.open).toBe(1)
    // the second request waits for nothing: either the first body has ended, or it has another connection
    expect((await send()).status).toBe(200)
  })

  test.each([
    ['one byte more', saying(whole(64 * 1024 + 1))],
    ['without an end', endlessly('HTTP/1.1 200 OK\r\n\r\n', 'a'.repeat(4_096))],
    [
      'in chunks, without an end',
      endlessly('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', `1000\r\n${'a'.repeat(4_096)}\r\n`),
    ],
    [
      'one chunk, whose size has no end',
      endlessly('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;', 'a'.repeat(4_096)),
    ],
  ])('of %s: the answer counts, and the connection ends', async (_, talk) => {
    const { server, send } = await to(talk, { clock: fakeClock() })
    expect((await send()).status).toBe(200)
    await eventually(() => server.open).toBe(0)
  })

  test('may be long in sum, over many requests on one connection', async () => {
    const { server, send } = await to(saying(whole(60 * 1024)))
    for (let i = 0; i < 20; i++) {
      expect((await send()).status).toBe(200)
      // the body has come to its end once its socket is free
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(server.accepted).toBeLessThan(10)
  })

  test.each([
    ['stops', (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\na')],
    ['does not begin', (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n')],
  ])('that %s is given a second: the answer counts, and the connection ends', async (_, talk) => {
    const clock = fakeClock()
    const { server, send } = await to(talk, { clock })
    expect((await send()).status).toBe(200)
    await clock.advance(999)
    expect(server.open).toBe(1)
    await clock.advance(1)
    await eventually(() => server.open).toBe(0)
  })

  test('that breaks off changes nothing about the answer, and the next request has a connection of its own', async () => {
    const { server, send } = await to((socket, read) => {
      if (read.endsWith('\r\n\r\n')) socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\na')
    })
    expect((await send()).status).toBe(200)
    await eventually(() => server.open).toBe(0)
    expect((await send()).status).toBe(200)
    expect(server.accepted).toBe(2)
  })

  test('that is followed by an answer that no request has asked for ends its connection', async () => {
    const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx-turn: '
    let turn = 0
    const { server, send } = await to((socket, read) => {
      if (!read.endsWith('\r\n\r\n')) return
      turn++
      socket.write(`${answer}${turn}\r\n\r\n${answer}stray\r\n\r\n`)
    })
    expect((await send()).headers.get('x-turn')).toBe('1')
    await eventually(() => server.open).toBe(0)
    expect((await send()).headers.get('x-turn')).toBe('2')
  })
})

describe('a connection', () => {
  test('is waited for three seconds, and then counts as too late', async () => {
    const clock = fakeClock()
    const dialled: Socket[] = []
    const dial = () => {
      dialled.push(new Socket()) // never connected
      return dialled[0] as Socket
    }
    const { send } = sending(80, { clock, dial })
    const sent = watch(send(null, `http://${NAME}:80/`, replay()))
    await eventually(() => dialled.length).toBe(1)
    await clock.advance(2_999)
    expect(sent.state).toBe('pending')
    await clock.advance(1)
    await eventually(() => sent.state).toBe('rejected')
    expect(sent.error).toMatchObject({ name: 'TimeoutError' })
    expect(outcome(sent.error)).toBe(OUTCOME_TIMED_OUT)
    expect(dialled[0]?.destroyed).toBe(true)
  })

  test('over TLS that stops in the handshake has no more time than that', async () => {
    const clock = fakeClock()
    const server = await serveRaw(() => {})
    const { send } = sending(server.port, { clock, connectTimeoutMs: 500 })
    const sent = watch(send(null, `https://${NAME}:${server.port}/`, replay()))
    await eventually(() => server.bytes).toBeGreaterThan(0)
    await clock.advance(500)
    await eventually(() => sent.state).toBe('rejected')
    expect(outcome(sent.error)).toBe(OUTCOME_TIMED_OUT)
    await eventually(() => server.open).toBe(0)
    expect(clock.timers).toBe(0)
  })

  test.each([
    ['one address', ['127.0.0.2']],
    ['each of its addresses', ['127.0.0.2', '127.0.0.3']],
  ])('that is refused by the host at %s is an error of the network, which names no address', async (_, addresses) => {
    const { port } = await serveRaw(() => {}, '127.0.0.1')
    const { send } = sending(port, { lookup: resolver(addresses) })
    const error = await networkErrorOf(send(null, `http://${NAME}:${port}/`, replay()))
    expect(error).toMatchObject({ code: 'ECONNREFUSED' })
    expect(errorText(error)).toBe(`connect ECONNREFUSED ${NAME}:${port}`)
  })

  test('goes to the next address where the first does not take it', async () => {
    const { port } = await serveRaw(saying('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'), '127.0.0.1')
    const { send } = sending(port, { lookup: resolver(['127.0.0.2', '127.0.0.1']) })
    expect((await send(null, `http://${NAME}:${port}/`, replay())).status).toBe(200)
  })

  test('to a name whose resolver does not answer was not made', async () => {
    const clock = fakeClock()
    const { send } = sending(80, { clock, lookup: () => new Promise(() => {}) })
    const sent = watch(send(null, `http://${NAME}:80/`, replay()))
    await clock.advance(2_000)
    await eventually(() => sent.state).toBe('rejected')
    expect(sent.error).toMatchObject({ code: 'NAME_UNRESOLVED', unmade: {} })
  })

  const fails = () => Promise.reject(Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' }))
  test.each([
    ['a name without addresses', resolver([])],
    ['a resolver that fails', fails],
  ])('of %s is an error of the network', async (_, lookup) => {
    await networkErrorOf(sending(80, { lookup }).send(null, `http://${NAME}:80/`, replay()))
  })

  test('that is silent for long leaves no timer and no listener behind once it is over', async () => {
    const clock = fakeClock()
    const { server, send } = await to(saying('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'), { clock })
    const controller = new AbortController()
    for (let i = 0; i < 20; i++) await send({ signal: controller.signal })
    expect(clock.timers).toBe(0)
    // an abort that comes later finds no request: the connection stays
    controller.abort()
    expect((await send()).status).toBe(200)
    expect(server.accepted).toBe(1)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })
})

test('interim answers are counted', async () => {
  const interim = (count: number) => 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(count)
  const last = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'
  expect((await (await to(saying(`${interim(16)}${last}`))).send()).status).toBe(200)
  await expect((await to(saying(`${interim(17)}${last}`))).send()).rejects.toThrow('more than 16 interim answers')
})

test('a request that is aborted before its connection is there writes nothing on it', async () => {
  const handlers: Dispatcher.DispatchHandler[] = []
  const dispatch = (_: unknown, handler: Dispatcher.DispatchHandler) => handlers.push(handler) > 0
  const cuts: Error[] = []
  const cut = (error: Error) => cuts.push(error)
  const line = { dispatcher: { dispatch } as unknown as Dispatcher, free: () => {}, cut }
  const caller = new AbortController()
  const sent = watch(exchange(() => line, new URL('https://a.example'), { signal: caller.signal }, fakeClock()))
  caller.abort()
  await eventually(() => sent.state).toBe('rejected')
  expect(cuts).toHaveLength(1)
  let aborted = 0
  const controller = { abort: () => aborted++ } as unknown as Dispatcher.DispatchController
  handlers[0]?.onRequestStart?.(controller, null)
  expect(aborted).toBe(1)
})

test('an argument that is wrong is a mistake, and no retry mends it', async () => {
  const { send } = await to(() => {})
  for (const init of [{ method: 'A B' }, { body: new ReadableStream(), method: 'POST' }]) {
    expect(isOwnError(await caught(send(init)))).toBe(true)
  }
})
