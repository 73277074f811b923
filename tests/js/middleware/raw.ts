/** A client that writes what it likes: requests that no library sends. */

import { once } from 'node:events'
import { type ClientHttp2Stream, connect as connectH2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Raw {
  readonly socket: Socket
  /** All that came, once the server has closed the connection. */
  readonly answer: Promise<string>
}

/** Opens a connection and writes `text`; lines end as in HTTP. */
export async function raw(origin: string, text: string): Promise<Raw> {
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  // a reset is an end, too
  socket.on('error', () => {})
  const answer = new Promise<string>((resolve) => socket.on('close', () => resolve(Buffer.concat(chunks).toString())))
  socket.write(text.replaceAll('\n', '\r\n'))
  return { socket, answer }
}

/** The status and the value of one header of an answer as text. */
export const statusIn = (answer: string): number => Number(answer.split(' ')[1])
export const headerIn = (answer: string, name: string): string | undefined =>
  new RegExp(`^${name}: (.*?)\r$`, 'im').exec(answer)?.[1]

export interface H2 {
  readonly stream: ClientHttp2Stream
  readonly status: Promise<number>
  /** The client goes away, as one whose process ends. */
  leave(): void
}

/** A PUT of HTTP/2 whose body is still to be written. */
export function h2(origin: string, type: string, path = '/orders'): H2 {
  const session = connectH2(origin)
  onTestFinished(() => session.destroy())
  const stream = session.request({ ':method': 'PUT', ':path': path, 'content-type': type })
  const status = new Promise<number>((resolve) => stream.on('response', (given) => resolve(Number(given[':status']))))
  stream.resume()
  return { stream, status, leave: () => session.destroy() }
}
