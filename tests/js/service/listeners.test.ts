/** The end of a listener, on real sockets: what a client has sent by then is answered. */

import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../../../js/service/listeners.ts'

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
