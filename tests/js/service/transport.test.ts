/** Requests as they are sent, answers as they are given, and sockets as they are kept. */

import { describe, expect, test } from 'vitest'
import { makeGuard } from '../../../js/service/guard.ts'
import { fakeClock } from '../../../js/testing.ts'
import { eventually } from '../eventually.ts'
import { watch } from '../setup.ts'
import { bodyOf, NAME, replay, resolver, saying, sending, serve, serveRaw } from './sending.ts'

const seen = async () => {
  const requests: { method: string; url: string; headers: Record<string, unknown>; raw: string[]; body: string }[] = []
  const server = await serve(async (request, response) => {
    const { method = '', url = '', headers, rawHeaders: raw } = request
    requests.push({ method, url, headers, raw, body: (await bodyOf(request)).toString() })
    response.end('answer')
  })
  return { requests, server, url: server.url }
}

describe('a request', () => {
  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('%s carries its body with its length', async (method) => {
    const { requests, server, url } = await seen()
    const body = new TextEncoder().encode('{"sku":1}')
    const init = replay({ method, body, headers: { 'content-type': 'application/json', 'idempotency-key': 'k-1' } })
    const response = await sending(server.port).send(null, `${url}/orders?a=1&b=%20#c`, init)
    expect(response.status).toBe(200)
    expect(requests).toMatchObject([{ method, url: '/orders?a=1&b=%20', body: '{"sku":1}' }])
    expect(requests[0]?.headers).toMatchObject({
      host: `${NAME}:${server.port}`,
      'content-length': '9',
      'content-type': 'application/json',
      'idempotency-key': 'k-1',
      accept: '*/*',
      'user-agent': 'redrive',
    })
    expect(requests[0]?.headers).not.toHaveProperty('transfer-encoding')
  })

  test('carries a part of a larger buffer, a text, or nothing', async () => {
    const { requests, server, url } = await seen()
    const { send } = sending(server.port)
    const part = new Uint8Array(Buffer.from('0123456789')).subarray(2, 5)
    for (const body of [part, 'text', '', null, new Uint8Array()])
      await send(null, url, replay({ method: 'POST', body }))
    expect(requests.map(({ body }) => body)).toEqual(['234', 'text', '', '', ''])
    expect(requests.map(({ headers }) => headers['content-length'])).toEqual(['3', '4', '0', '0', '0'])
  })

  test.each(['GET', 'HEAD', 'OPTIONS', 'QUERY'])('%s is sent without a body', async (method) => {
    const { requests, server, url } = await seen()
    await sending(server.port).send(null, url, replay({ method }))
    expect(requests).toMatchObject([{ method, body: '' }])
  })

  test('says neither how it is carried nor another host than that of its URL', async () => {
    const { requests, server, url } = await seen()
    const headers = {
      ...{ host: 'metadata.google.internal', 'content-length': '3', 'transfer-encoding': 'chunked', te: 'trailers' },
      ...{ connection: 'x-kept', 'keep-alive': 'timeout=600', upgrade: 'h2c', expect: '100-continue', trailer: 'x' },
      ...{ 'proxy-connection': 'close', 'proxy-authorization': 'Basic eA==', 'x-kept': 'yes' },
    }
    await sending(server.port).send(null, url, replay({ method: 'POST', body: 'whole', headers }))
    expect(requests[0]?.body).toBe('whole')
    const names = requests[0]?.raw.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase())
    expect(names?.sort()).toEqual(['accept', 'connection', 'content-length', 'host', 'user-agent', 'x-kept'])
    expect(requests[0]?.headers).toMatchObject({ host: `${NAME}:${server.port}`, connection: 'keep-alive' })
  })

  test('with a stream is refused before anything is sent', async () => {
    const { requests, server, url } = await seen()
    const sent = sending(server.port).send(null, url, replay({ method: 'POST', body: new ReadableStream() }))
    await expect(sent).rejects.toThrow('read it first')
    expect(requests).toEqual([])
    expect(server.accepted).toBe(0)
  })
})

describe('an answer', () => {
  test('has its status and headers, each of several values, and no body', async () => {
    const server = await serve((_, response) => {
      response.writeHead(503, { 'retry-after': '30', 'set-cookie': ['a=1', 'b=2'], 'x-latin': 'caf\u00e9' })
      response.end('secret of the inner network')
    })
    const response = await sending(server.port).send(null, server.url, replay())
    expect(response).toMatchObject({ status: 503, ok: false, body: null, type: 'default' })
    expect(response.headers.get('retry-after')).toBe('30')
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(response.headers.get('x-latin')).toBe('caf\u00e9')
    expect(await response.text()).toBe('')
  })

  test.each([200, 201, 204, 205, 206, 300, 304, 399, 400, 418, 500, 599, 600, 700, 999])(
    'of status %i is given as such',
    async (status) => {
      const server = await serveRaw(saying(`HTTP/1.1 ${status} Any\r\ncontent-length: 0\r\nx-a: b\r\n\r\n`))
      const response = await sending(server.port).send(null, server.url, replay())
      const copy = response.clone()
      for (const each of [response, copy, copy.clone()]) {
        expect(each.status).toBe(status)
        expect(each.ok).toBe(status >= 200 && status < 300)
        expect(each.headers.get('x-a')).toBe('b')
      }
    },
  )

  test.each([301, 302, 303, 307, 308])('%i is given to the queue, and not followed', async (status) => {
    const server = await serve((_, response) => {
      response.writeHead(status, { location: 'http://169.254.169.254/latest/meta-data' }).end()
    })
    const response = await sending(server.port).send(null, server.url, replay())
    expect(response.status).toBe(status)
    expect(response.headers.get('location')).toBe('http://169.254.169.254/latest/meta-data')
    const refused = sending(server.port).send(null, server.url, replay({ redirect: 'error' }))
    await expect(refused).rejects.toMatchObject({ name: 'TypeError', cause: { message: 'unexpected redirect' } })
    expect(server.accepted).toBe(2)
  })

  test('after interim ones is the last', async () => {
    const interim = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n'
    const server = await serveRaw(saying(`${interim}HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n`))
    const response = await sending(server.port).send(null, server.url, replay())
    expect(response.status).toBe(201)
    expect(response.headers.get('link')).toBeNull()
  })
})

describe('sockets', () => {
  test('are kept for the next request', async () => {
    const { server, url } = await seen()
    const { send } = sending(server.port)
    for (let i = 0; i < 5; i++) await send('acme', url, replay())
    expect(server.accepted).toBe(1)
  })

  test('carry one request at a time, and all are kept', async () => {
    const { server, url } = await seen()
    const { send } = sending(server.port)
    const many = () => Promise.all(Array.from({ length: 4 }, () => send('acme', url, replay())))
    await many()
    expect(server.accepted).toBe(4)
    await eventually(() => server.open).toBe(4)
    await many()
    expect(server.accepted).toBe(4)
  })

  test('are never another tenant’s, nor those of requests without one', async () => {
    const byPort = new Map<number, Set<string>>()
    const server = await serve((request, response) => {
      const port = request.socket.remotePort ?? 0
      byPort.set(port, (byPort.get(port) ?? new Set()).add(String(request.headers['x-tenant'])))
      response.end()
    })
    const { send } = sending(server.port)
    const tenants = ['acme', 'acme ', '', null, 'null', '=', '=acme']
    for (let round = 0; round < 3; round++) {
      for (const [at, tenant] of tenants.entries()) {
        await send(tenant, server.url, replay({ headers: { 'x-tenant': String(at) } }))
      }
    }
    expect([...byPort.values()].map(({ size }) => size)).toEqual(tenants.map(() => 1))
  })

  test('are never another name’s', async () => {
    const { server } = await seen()
    const { send } = sending(server.port)
    await send(null, `http://a.example.com:${server.port}`, replay())
    await send(null, `http://b.example.com:${server.port}`, replay())
    expect(server.accepted).toBe(2)
  })

  test('are not used for longer than a minute, so a changed record applies', async () => {
    const clock = fakeClock()
    const { server, url } = await seen()
    const lookup = resolver(['127.0.0.1'], ['10.0.0.1'])
    const { send } = sending(server.port, { clock, lookup })
    await send(null, url, replay())
    await clock.advance(59_999)
    await send(null, url, replay())
    expect(lookup.asked()).toBe(1)
    expect(server.accepted).toBe(1)
    await clock.advance(1)
    await expect(send(null, url, replay())).rejects.toMatchObject({ code: 'TARGET_REFUSED', rule: 'private' })
    expect(lookup.asked()).toBe(2)
    await eventually(() => server.open).toBe(0)
  })

  test('are as old as their connection, whatever the wall clock does', async () => {
    const clock = fakeClock()
    const { server, url } = await seen()
    const { send } = sending(server.port, { clock })
    await send(null, url, replay())
    clock.step(-86_400_000)
    await clock.advance(60_000)
    await send(null, url, replay())
    expect(server.accepted).toBe(2)
  })

  test('are not used any more once the guard is another', async () => {
    const { server, url } = await seen()
    let current = guardOf(server.port)
    const { send } = sending(server.port, { guard: () => current })
    await send(null, url, replay())
    current = guardOf(server.port)
    await send(null, url, replay())
    expect(server.accepted).toBe(2)
  })

  test('of tenants that send no more are let go of', async () => {
    const clock = fakeClock()
    const { server, url } = await seen()
    const { send } = sending(server.port, { clock })
    for (const tenant of ['a', 'b', 'c']) await send(tenant, url, replay())
    expect(server.open).toBe(3)
    await clock.advance(60_000)
    await send('d', url, replay())
    await eventually(() => server.open).toBe(1)
  })

  test('that a server has closed are made again, without a failed request', async () => {
    const server = await serve((_, response) => response.setHeader('connection', 'close').end())
    const { send } = sending(server.port)
    for (let i = 0; i < 3; i++) expect((await send(null, server.url, replay())).status).toBe(200)
    expect(server.accepted).toBe(3)
  })

  test('are all closed by close, with what is sent on them', async () => {
    const server = await serve(() => {})
    const transport = sending(server.port)
    const running = watch(transport.send(null, server.url, replay()))
    await eventually(() => server.open).toBe(1)
    await transport.close()
    await eventually(() => running.state).toBe('rejected')
    await eventually(() => server.open).toBe(0)
    const late = transport.send(null, server.url, replay())
    await expect(late).rejects.toMatchObject({ code: 'TRANSPORT_CLOSED' })
  })
})

/** Each time another, with the same rules. */
const guardOf = (port: number) =>
  makeGuard({ allowHttp: true, allowPrivate: ['127.0.0.0/8'], targets: [`:${port}`], lookup: resolver(['127.0.0.1']) })

describe('tenants', () => {
  test('may have guards of their own', async () => {
    const { server, url } = await seen()
    const guard = guardOf(server.port)
    const none = makeGuard({ targets: [] })
    const { send } = sending(server.port, { guard: (tenant) => (tenant === 'acme' ? guard : none) })
    expect((await send('acme', url, replay())).status).toBe(200)
    await expect(send('other', url, replay())).rejects.toMatchObject({ rule: 'scheme' })
    await expect(send(null, url, replay())).rejects.toMatchObject({ rule: 'scheme' })
  })
})

describe('an abort', () => {
  test('before the request sends nothing', async () => {
    const { server, url } = await seen()
    const signal = AbortSignal.abort(new Error('left'))
    await expect(sending(server.port).send(null, url, replay({ signal }))).rejects.toThrow('left')
    expect(server.accepted).toBe(0)
  })

  test('while the server is silent rejects with its reason and ends the connection', async () => {
    const server = await serve(() => {})
    const controller = new AbortController()
    const sent = watch(sending(server.port).send(null, server.url, replay({ signal: controller.signal })))
    await eventually(() => server.open).toBe(1)
    const reason = new DOMException('too late', 'TimeoutError')
    controller.abort(reason)
    await eventually(() => sent.error).toBe(reason)
    await eventually(() => server.open).toBe(0)
  })

  test('while a name is resolved connects to nothing', async () => {
    const server = await serve((_, response) => response.end())
    let answer: (found: { address: string }[]) => void = () => {}
    const lookup = () => new Promise<{ address: string }[]>((resolve) => (answer = resolve))
    const controller = new AbortController()
    const { send } = sending(server.port, { lookup })
    const sent = watch(send(null, server.url, replay({ signal: controller.signal })))
    controller.abort()
    await eventually(() => sent.state).toBe('rejected')
    expect(sent.error).toMatchObject({ name: 'AbortError' })
    answer([{ address: '127.0.0.1' }])
    // another request goes the whole way meanwhile
    const next = send(null, `http://other.example.com:${server.port}`, replay())
    answer([{ address: '127.0.0.1' }])
    expect((await next).status).toBe(200)
    expect(server.accepted).toBe(1)
  })

  test('after the headers ends the body and leaves the answer', async () => {
    const server = await serve((_, response) => response.writeHead(200).write('a'))
    const controller = new AbortController()
    const { send } = sending(server.port, { clock: fakeClock() })
    const response = await send(null, server.url, replay({ signal: controller.signal }))
    controller.abort()
    expect(response.status).toBe(200)
    await eventually(() => server.open).toBe(0)
  })
})
