/** Everything by a proxy: names and addresses are its matter, the rest of the guard stays. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { errorText } from '../../../js/platform/error-text.ts'
import { makeTransport } from '../../../js/service/transport.ts'
import { listening, serving } from '../../loopback.ts'
import { networkErrorOf, replay, resolver, sending, serveRaw } from './sending.ts'

/** A proxy that forwards by itself, and opens no tunnel. */
async function proxy(forward: (request: IncomingMessage, response: ServerResponse) => void, tunnel = 502) {
  const tunnels: string[] = []
  const server = createServer(forward)
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  server.on('connect', (request, socket) => {
    tunnels.push(request.url ?? '')
    socket.end(`HTTP/1.1 ${tunnel} Any\r\ncontent-length: 0\r\n\r\n`)
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  const url = (await listening(server)).replace('//', '//user:secret@')
  return { tunnels, url }
}

const LOOKUP_UNUSED = () => expect.unreachable('resolved')
const options = { lookup: LOOKUP_UNUSED, dial: () => expect.unreachable('dialled'), allowPrivate: [] }

describe('by a proxy', () => {
  test('http: requests are forwarded, with the name of their target and the proxy’s credentials', async () => {
    const seen: unknown[] = []
    const { url } = await proxy((request, response) => {
      seen.push({ url: request.url, host: request.headers.host, auth: request.headers['proxy-authorization'] })
      response.writeHead(201, { 'x-a': 'b' }).end('answer')
    })
    const { send } = sending(80, { ...options, egressProxy: url })
    const headers = { 'proxy-authorization': 'Basic own', host: 'evil.example' }
    const response = await send('acme', 'http://api.example.com:80/a?b', replay({ method: 'POST', body: 'x', headers }))
    expect(response.status).toBe(201)
    expect(response.headers.get('x-a')).toBe('b')
    const auth = `Basic ${Buffer.from('user:secret').toString('base64')}`
    expect(seen).toEqual([{ url: 'http://api.example.com/a?b', host: 'api.example.com', auth }])
  })

  test('https: requests ask for a tunnel, and a refused one is an error of the network', async () => {
    const { url, tunnels } = await proxy((_, response) => response.end())
    const { send } = sending(443, { ...options, egressProxy: url })
    const error = await networkErrorOf(send(null, 'https://api.example.com/', replay()))
    expect(tunnels).toEqual(['api.example.com:443'])
    expect(error).toMatchObject({ code: 'PROXY_REFUSED' })
    expect((error as Error).message).not.toContain('secret')
  })

  test('and 407 is an error of the network, too: a proxy’s password is no mistake of the task', async () => {
    const { url } = await proxy((_, response) => response.writeHead(407).end())
    const { send } = sending(80, { ...options, egressProxy: url })
    await networkErrorOf(send(null, 'http://api.example.com/', replay()))
  })

  test('and one that is away is an error of the network, which does not say where it was looked for', async () => {
    const { url, close } = await serving(() => {})
    await close()
    for (const target of ['http://api.example.com/', 'https://api.example.com/']) {
      const { send } = sending(target.startsWith('https') ? 443 : 80, { ...options, egressProxy: url })
      const error = await networkErrorOf(send(null, target, replay()))
      expect(errorText(error)).toBe('the egress proxy cannot be reached: ECONNREFUSED')
    }
  })

  test.each([
    ['http://127.0.0.1/', 'loopback'],
    ['http://localhost/', 'name'],
    ['http://a@example.com/', 'userinfo'],
    ['http://example.com:22/', 'targets'],
  ])('%s is refused all the same (%s)', async (target, rule) => {
    const { url, tunnels } = await proxy(() => expect.unreachable('asked'))
    const { send } = sending(80, { ...options, egressProxy: url })
    await expect(send(null, target, replay())).rejects.toMatchObject({ rule })
    expect(tunnels).toEqual([])
  })

  test('a body without an end is cut off', async () => {
    const { url } = await proxy((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('a'.repeat(4_096))) {}
      }
      response.on('drain', more)
      more()
    })
    const { send, close } = sending(80, { ...options, egressProxy: url })
    expect((await send(null, 'http://api.example.com/', replay())).status).toBe(200)
    expect((await send(null, 'http://api.example.com/', replay())).status).toBe(200)
    await close()
  })

  test('an abort rejects with its reason', async () => {
    const { url } = await proxy(() => {})
    const { send } = sending(80, { ...options, egressProxy: url })
    const signal = AbortSignal.timeout(50)
    const sent = send(null, 'http://api.example.com/', replay({ signal }))
    await expect(sent).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})

test.each(['proxy.example.com:3128', 'socks5://proxy.example.com', '', 'http://', 'https://user:secret@'])(
  '%j is refused as a proxy, without its password',
  (egressProxy) => {
    expect(() => makeTransport({ egressProxy })).toThrow(TypeError)
    expect(() => makeTransport({ egressProxy })).not.toThrow('secret')
    expect(() => makeTransport({ egressProxy })).toThrow('write one such as http://proxy.example.com:3128')
  },
)

test('a tunnel carries TLS to the target, as a name', async () => {
  const hello = await serveRaw(() => {})
  const { url } = await proxy((_, response) => response.end())
  const tunnel = createServer()
  tunnel.on('connect', (_, socket) => {
    const through = connect(hello.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(through).pipe(socket)
    })
    for (const each of [socket, through]) each.on('error', () => {})
  })
  expect(url).toContain('127.0.0.1')
  const { send } = sending(443, { ...options, lookup: resolver([]), egressProxy: await listening(tunnel) })
  const controller = new AbortController()
  const sent = send(null, 'https://api.example.com/', replay({ signal: controller.signal }))
  await expect.poll(() => hello.bytes).toBeGreaterThan(0)
  controller.abort()
  await expect(sent).rejects.toMatchObject({ name: 'AbortError' })
})
