/** TLS: the name stays the name, whatever address it leads to, and one tenant's sessions are its own. */

import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { TransportOptions } from '../../../js/service/transport.ts'
import { eventually } from '../eventually.ts'
import { caught, certificate, NAME, replay, sending, serveRaw } from './sending.ts'

const OWN = certificate(`DNS:${NAME},DNS:*.example.com,IP:127.0.0.1`)

interface Seen {
  readonly servername: string | false | null
  readonly host: string | undefined
  readonly isResumed: boolean
  readonly protocol: string | false | null
}

async function serveTls({ key, cert } = OWN) {
  const seen: Seen[] = []
  let connections = 0
  const server = createServer({ key, cert, ALPNProtocols: ['h2', 'http/1.1'] }, (request, response) => {
    const socket = request.socket as TLSSocket & { servername: string | false }
    const { servername, alpnProtocol: protocol } = socket
    seen.push({ servername, host: request.headers.host, isResumed: socket.isSessionReused(), protocol })
    if (request.url === '/close') response.setHeader('connection', 'close')
    response.end('answer')
  })
  server.on('connection', () => connections++)
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { seen, port, connections: () => connections }
}

const to = (port: number, options: TransportOptions = {}) =>
  sending(port, { allowHttp: false, ca: OWN.cert, ...options })

describe('a name that leads to an address', () => {
  test('is what SNI, the certificate and Host have', async () => {
    const { seen, port } = await serveTls()
    const { send } = to(port)
    expect((await send(null, `https://${NAME}:${port}/`, replay())).status).toBe(200)
    expect((await send(null, `https://other.example.com:${port}/`, replay())).status).toBe(200)
    expect(seen).toMatchObject([
      { servername: NAME, host: `${NAME}:${port}`, protocol: 'http/1.1' },
      { servername: 'other.example.com', host: `other.example.com:${port}`, protocol: 'http/1.1' },
    ])
  })

  test('and ends in a dot is the same name to TLS', async () => {
    const { seen, port } = await serveTls()
    expect((await to(port).send(null, `https://${NAME}.:${port}/`, replay())).status).toBe(200)
    expect(seen).toMatchObject([{ servername: NAME }])
  })

  test('keeps its SNI where headers name another host', async () => {
    const { seen, port } = await serveTls()
    await to(port).send(null, `https://${NAME}:${port}/`, replay({ headers: { host: 'evil.example.com' } }))
    expect(seen).toMatchObject([{ servername: NAME, host: `${NAME}:${port}` }])
  })
})

test('an address has no SNI, and its certificate has to have it', async () => {
  const { seen, port } = await serveTls()
  const targets = [`https://127.0.0.1:${port}`, `https://127.0.0.2:${port}`]
  const { send } = to(port, { targets })
  expect((await send(null, `https://127.0.0.1:${port}/`, replay())).status).toBe(200)
  expect(seen).toMatchObject([{ servername: false, host: `127.0.0.1:${port}` }])
})

describe('nothing is sent to a server', () => {
  const untrusted = () => certificate(`DNS:${NAME}`)
  test.each([
    ['another name', () => OWN, 'api.other.example', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['no authority that is trusted', untrusted, NAME, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ])('whose certificate is of %s', async (_, made, host, code) => {
    const { seen, port } = await serveTls(made())
    const init = replay({ method: 'POST', body: 'secret' })
    expect(await caught(to(port).send(null, `https://${host}:${port}/`, init))).toMatchObject({ code })
    expect(seen).toEqual([])
  })

  test('that speaks no TLS', async () => {
    const server = await serveRaw((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
    await expect(to(server.port).send(null, `https://${NAME}:${server.port}/`, replay())).rejects.toBeInstanceOf(Error)
    await eventually(() => server.open).toBe(0)
  })
})

describe('a TLS session', () => {
  test('is resumed for the next connection of its tenant, and for no other tenant', async () => {
    const { seen, port } = await serveTls()
    const { send } = to(port)
    const url = `https://${NAME}:${port}/close`
    await send('acme', url, replay())
    await send('acme', url, replay())
    await send('other', url, replay())
    await send(null, url, replay())
    await send('other', url, replay())
    expect(seen.map(({ isResumed }) => isResumed)).toEqual([false, true, false, false, true])
  })
})
