/** A client that writes what it likes: requests that no library sends. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

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
