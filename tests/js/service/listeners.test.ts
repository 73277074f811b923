/** The end of a listener, on real sockets: what a client has sent by then is answered. */

import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listen } from '../../../js/service/listeners.ts'
import { fakeClock } from '../../../js/testing.ts'
import { eventually } from '../eventually.ts'

/** Longer than connections are kept without a request once a listener closes. */
const PAST_IDLE_MS = 700

const BODY = 'fine'
const REQUEST = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n'
const ANSWER = /^HTTP\/1.1 200 OK/

/** What came of a request: its answer, or how its connection ended. */
function toldOn(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
      if (text.endsWith(BODY)) resolve(text)
    })
    socket.once('error', (error) => resolve(error.message))
    socket.once('close', () => resolve(`the connection ended after '${text}'`))
  })
}

/** As a long turn of the event loop: the clock goes on, and nothing else. */
function holdLoop(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

/** A listener, and clients' connections to it with all that came on each. */
async function listening(answer: Parameters<typeof listen>[0], more: object = {}) {
  const listener = await listen(answer, { host: '127.0.0.1', port: 0, tls: undefined, ...more })
  onTestFinished(() => listener.cut())
  const open = () => {
    const socket = connect(listener.port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    let came = ''
    socket.on('data', (chunk) => {
      came += chunk
    })
    socket.on('error', () => {})
    return { socket, came: () => came }
  }
  return { listener, open }
}

/** A listener that closes, and a connection that has carried one request. */
async function leftIdle() {
  const { listener, open } = await listening(async () => new Response(BODY))
  const { socket } = open()
  socket.write(REQUEST)
  expect(await toldOn(socket)).toMatch(ANSWER)
  return { socket, close: () => listener.close() }
}

test('a request that came while the loop was busy is answered, though its connection had been idle for too long', async () => {
  const { socket, close } = await leftIdle()
  const closed = close()
  socket.write(REQUEST)
  holdLoop(PAST_IDLE_MS)
  expect(await toldOn(socket)).toMatch(ANSWER)
  socket.destroy()
  await closed
})

test('a connection that carries nothing is closed, and with it the listener', async () => {
  const { socket, close } = await leftIdle()
  const told = toldOn(socket)
  await close()
  expect(await told).toBe("the connection ended after ''")
})

describe('requests that are pipelined', () => {
  /** A listener whose answers wait to be told, and the paths that it has begun to answer. */
  async function heldBack() {
    const begun: string[] = []
    const held: (() => void)[] = []
    const answer = (request: Request): Promise<Response> => {
      const { pathname } = new URL(request.url)
      begun.push(pathname)
      if (pathname === '/healthz') return Promise.resolve(new Response(BODY))
      return new Promise((resolve) => held.push(() => resolve(new Response(pathname))))
    }
    const { listener, open } = await listening(answer)
    const next = async (count: number) => {
      await eventually(() => begun.length).toBe(count)
      held.shift()?.()
    }
    return { listener, begun, open, next }
  }
  const pipelined = (count: number) =>
    Array.from({ length: count }, (_, i) => `GET /${i} HTTP/1.1\r\nhost: localhost\r\n\r\n`).join('')
  const paths = (count: number) => Array.from({ length: count }, (_, i) => `/${i}`)

  test('are answered in order, one at a time, the one after them too', async () => {
    const { begun, open, next } = await heldBack()
    const { socket, came } = open()
    const other = open()
    socket.write(pipelined(10))
    for (let i = 0; i < 10; i++) {
      await eventually(() => begun.length).toBe(i + 1)
      // meanwhile another is answered
      if (i === 4) {
        other.socket.write(REQUEST)
        expect(await toldOn(other.socket)).toMatch(ANSWER)
        expect(begun.splice(5)).toEqual(['/healthz'])
      }
      await next(i + 1)
    }
    await eventually(() => came().match(/(?<!HTTP)\/\d/g)).toEqual(paths(10))
    expect(begun).toEqual(paths(10))
    const told = toldOn(socket)
    socket.write(REQUEST)
    expect(await told).toMatch(ANSWER)
  })

  test('and are more than 16 behind one that runs end their connection, and are not begun', async () => {
    const { begun, open, next } = await heldBack()
    const { socket } = open()
    const told = toldOn(socket)
    const other = open()
    socket.write(pipelined(17))
    await eventually(() => begun.length).toBe(1)
    other.socket.write(REQUEST)
    expect(await toldOn(other.socket)).toMatch(ANSWER)
    socket.write(REQUEST)
    expect(await told).toMatch(/^the connection ended after ''|ECONNRESET/)
    await next(2)
    other.socket.write(REQUEST)
    expect(await toldOn(other.socket)).toMatch(ANSWER)
    expect(begun).toEqual(['/0', '/healthz', '/healthz'])
  })

  test('and are a thousand in one write begin one', async () => {
    const { begun, open } = await heldBack()
    const { socket } = open()
    const told = toldOn(socket)
    socket.write(pipelined(1_000))
    expect(await told).toMatch(/^the connection ended after ''|ECONNRESET/)
    expect(begun).toEqual(['/0'])
  })

  test('and have bodies, one of them by leave, are read whole and in order', async () => {
    const texts: string[] = []
    const answer = async (request: Request): Promise<Response> => {
      texts.push(await request.text())
      return new Response(`${texts.length}`)
    }
    const { socket, came } = (await listening(answer)).open()
    const post = (length: number, more = '') =>
      `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${length}\r\n${more}\r\n${'x'.repeat(length)}`
    socket.write(post(3) + post(300_000) + post(5, 'expect: 100-continue\r\n') + post(7))
    await eventually(() => texts.map(({ length }) => length)).toEqual([3, 300_000, 5, 7])
    await eventually(() => came().match(/HTTP\/1.1 \d+/g)).toEqual(
      [200, 200, 100, 200, 200].map((n) => `HTTP/1.1 ${n}`),
    )
  })

  test('and come behind one whose answer ends the connection are not begun', async () => {
    let begun = 0
    const answer = async (): Promise<Response> => {
      begun++
      return new Response(BODY, { headers: { connection: 'close' } })
    }
    const { listener, open } = await listening(answer)
    const { socket } = open()
    const ended = new Promise((resolve) => socket.resume().once('close', resolve))
    socket.write(pipelined(3))
    await ended
    await listener.close()
    expect(begun).toBe(1)
  })

  test('and come as a listener closes are answered, and then it is closed', async () => {
    const { listener, begun, open, next } = await heldBack()
    const { socket, came } = open()
    socket.write(pipelined(3))
    await eventually(() => begun.length).toBe(1)
    const closed = listener.close()
    for (let i = 0; i < 3; i++) await next(i + 1)
    await eventually(() => came().match(/(?<!HTTP)\/\d/g)).toEqual(paths(3))
    socket.destroy()
    await closed
  })
})

describe('where there are uploads, a request that has not come whole', () => {
  const REQUEST_MS = 60_000

  /** A listener on virtual time, a client's connection to it, and the body that has come so far. */
  async function begun(path: string) {
    const clock = fakeClock()
    let came = ''
    let hear = (): void => {}
    const read = async (request: Request): Promise<Response> => {
      for await (const part of request.body ?? []) {
        came += Buffer.from(part as Uint8Array).toString()
        hear()
      }
      return new Response(BODY)
    }
    const { socket } = (await listening(read, { uploads: true, clock })).open()
    const told = toldOn(socket)
    /** Sends some of the body; resolves once it has been read. */
    const send = (text: string): Promise<void> =>
      new Promise((resolve) => {
        const all = came + text
        hear = () => came === all && resolve()
        socket.write(text)
      })
    socket.write(`POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n\r\n`)
    await send('a')
    return { clock, told, send, socket }
  }

  test('is cut off after a minute', async () => {
    const { clock, told } = await begun('/retry-tasks')
    await clock.advance(REQUEST_MS)
    expect(await told).toBe("the connection ended after ''")
  })

  test('and is an upload has as long as it needs, while something comes', async () => {
    const { clock, told, send, socket } = await begun('/bodies')
    for (const text of ['b', 'c']) {
      await send(text)
      await clock.advance(REQUEST_MS)
    }
    socket.write('d')
    expect(await told).toMatch(ANSWER)
  })

  test('and is an upload is cut off when nothing more has come for a minute', async () => {
    const { clock, told } = await begun('/bodies?x')
    await clock.advance(2 * REQUEST_MS)
    expect(await told).toBe("the connection ended after ''")
  })
})

test('a probe by HTTP/1.0, which needs no Host, is answered', async () => {
  const { socket } = (await listening(async ({ url }) => new Response(url))).open()
  const told = toldOn(socket)
  socket.write('GET /healthz HTTP/1.0\r\n\r\n')
  expect(await told).toMatch(/HTTP\/1\.1 200 [\s\S]*\/healthz'$/)
})
