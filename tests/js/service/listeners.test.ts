/** The end of a listener, on real sockets: what a client has sent by then is answered. */

import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listen } from '../../../js/service/listeners.ts'
import { fakeClock } from '../../../js/testing.ts'

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

/** A listener that closes, and a client's connection to it that has carried one request. */
async function leftIdle(): Promise<{ readonly socket: Socket; readonly close: () => Promise<void> }> {
  const listener = await listen(async () => new Response(BODY), { host: '127.0.0.1', port: 0, tls: undefined })
  onTestFinished(() => listener.cut())
  const socket = connect(listener.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
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
    const listener = await listen(read, { host: '127.0.0.1', port: 0, tls: undefined, uploads: true, clock })
    onTestFinished(() => listener.cut())
    const socket = connect(listener.port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
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
