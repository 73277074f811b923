/** A thousand real connections of one peer, and what is left for others. */

import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listen } from '../../../js/service/listeners.ts'
import { fakeClock } from '../../../js/testing.ts'
import { eventually } from '../eventually.ts'
import { certificate } from './sending.ts'

const MOST = 1_000
const ASK = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`

/** A listener on virtual time that answers at once, or never for `/held`; and clients by their address. */
async function setup() {
  const clock = fakeClock()
  let held = 0
  const answer = async (request: Request): Promise<Response> => {
    if (!request.url.endsWith('/held')) return new Response('fine')
    held++
    return new Promise((resolve) => request.signal.addEventListener('abort', () => resolve(new Response('late'))))
  }
  const listener = await listen(answer, { host: '127.0.0.1', port: 0, tls: undefined, clock })
  onTestFinished(() => listener.cut())
  const open = (from: string): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const socket = connect({ port: listener.port, host: '127.0.0.1', localAddress: from })
      onTestFinished(() => void socket.destroy())
      socket.once('connect', () => resolve(socket)).on('error', reject)
      // a closed one has nothing more to say
      socket.once('connect', () => socket.off('error', reject).on('error', () => {}))
    })
  /** The first line of what comes back, or that nothing did. */
  const ask = (socket: Socket, path: string): Promise<string> =>
    new Promise((resolve) => {
      socket.once('data', (bytes) => resolve(bytes.toString().split('\r\n')[0] ?? ''))
      socket.once('close', () => resolve('closed'))
      socket.write(ASK(path))
    })
  /** So many of one peer that do this. */
  const many = async (from: string, count: number, how: 'say nothing' | 'are kept alive' | 'are held') => {
    const sockets = await Promise.all(Array.from({ length: count }, () => open(from)))
    if (how === 'are kept alive') await Promise.all(sockets.map((socket) => ask(socket, '/x')))
    if (how === 'are held') {
      const before = held
      for (const socket of sockets) socket.write(ASK('/held'))
      await eventually(() => held).toBe(before + count)
    }
    return sockets
  }
  const alive = (sockets: readonly Socket[]) =>
    sockets.filter(({ closed, readyState }) => !closed && readyState === 'open').length
  return { clock, open, ask, many, alive }
}

const OK = 'HTTP/1.1 200 OK'
const FULL = 'HTTP/1.1 503 Service Unavailable'

describe.each(['say nothing', 'are kept alive'] as const)('beside 1,000 connections of a peer that %s', (how) => {
  test.each(['127.0.0.2', '127.0.0.1'])(
    '%s is answered, probe or not, and each time one of those is closed',
    async (from) => {
      const { open, ask, many, alive } = await setup()
      const flood = await many('127.0.0.1', MOST, how)
      for (const path of ['/healthz', '/retry-tasks', '/metrics']) expect(await ask(await open(from), path)).toBe(OK)
      await eventually(() => alive(flood)).toBe(MOST - 3)
    },
  )

  test('the connections of another are kept, however often that peer comes again', async () => {
    const { open, ask, many, alive } = await setup()
    const own = await Promise.all([1, 2, 3].map(() => open('127.0.0.2')))
    for (const socket of own) expect(await ask(socket, '/x')).toBe(OK)
    await many('127.0.0.1', MOST + 50, how)
    expect(alive(own)).toBe(3)
    for (const socket of own) expect(await ask(socket, '/x')).toBe(OK)
  })
})

describe('beside 1,000 connections of a peer that all wait for an answer', () => {
  test('another is answered once they have waited for ten seconds, and probes before that', async () => {
    const { clock, open, ask, many, alive } = await setup()
    const flood = await many('127.0.0.1', MOST, 'are held')
    for (const from of ['127.0.0.1', '127.0.0.2']) {
      for (const path of ['/healthz', '/readyz', '/metrics']) expect(await ask(await open(from), path)).toBe(OK)
      expect(await ask(await open(from), '/retry-tasks')).toBe(FULL)
    }
    expect(alive(flood)).toBe(MOST)
    await clock.advance(10_000)
    expect(await ask(await open('127.0.0.2'), '/retry-tasks')).toBe(OK)
    await eventually(() => alive(flood)).toBe(MOST - 1)
    // its own are no reason to cut off one that waits
    expect(await ask(await open('127.0.0.1'), '/healthz')).toBe(OK)
    expect(await ask(await open('127.0.0.1'), '/retry-tasks')).toBe(FULL)
    expect(alive(flood)).toBe(MOST - 1)
  })

  test('those that are kept for probes are closed after two seconds, or when others come', async () => {
    const { clock, open, ask, many, alive } = await setup()
    await many('127.0.0.1', MOST, 'are held')
    const silent = await many('127.0.0.1', 100, 'say nothing')
    await eventually(() => alive(silent)).toBe(32)
    expect(await ask(await open('127.0.0.2'), '/readyz')).toBe(OK)
    await clock.advance(2_000)
    await eventually(() => alive(silent)).toBe(0)
  })
})

test('where each of many peers has one, that which has been idle for longest goes first', async () => {
  const { clock, open, ask, many, alive } = await setup()
  const [old] = await many('127.0.1.1', 1, 'are kept alive')
  await clock.advance(1)
  const rest: Socket[] = []
  for (let i = 0; i < MOST - 1; i++) rest.push(await open(`127.0.${2 + (i >> 7)}.${1 + (i & 127)}`))
  expect(await ask(await open('127.0.0.2'), '/x')).toBe(OK)
  await eventually(() => alive([old as Socket])).toBe(0)
  expect(alive(rest)).toBe(MOST - 1)
})

test('with TLS a connection that never shakes hands is closed for one that does, and which is kept', async () => {
  const { key, cert } = certificate('IP:127.0.0.1')
  const listener = await listen(async () => new Response('fine'), { host: '127.0.0.1', port: 0, tls: { key, cert } })
  onTestFinished(() => listener.cut())
  const silent = await Promise.all(
    Array.from({ length: MOST }, () => {
      const socket = connect({ port: listener.port, host: '127.0.0.1' })
      onTestFinished(() => void socket.destroy())
      return new Promise<Socket>((resolve) => socket.on('error', () => {}).once('connect', () => resolve(socket)))
    }),
  )
  const below = connect({ port: listener.port, host: '127.0.0.1', localAddress: '127.0.0.2' })
  const own = connectTls({ socket: below, host: '127.0.0.1', ca: cert })
  onTestFinished(() => void own.destroy())
  for (let i = 0; i < 2; i++) {
    own.write(ASK('/x'))
    expect(await new Promise((resolve) => own.once('data', (bytes) => resolve(`${bytes}`.split('\r\n')[0])))).toBe(OK)
  }
  await eventually(() => silent.filter(({ closed }) => closed).length).toBe(1)
})
