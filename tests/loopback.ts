/** Servers on loopback that are gone when the test is over. */

import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { onTestFinished } from 'vitest'

/** Resolves with the origin of a server that answers so. */
export async function onLoopback(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  onTestFinished(() => server.closeAllConnections())
  return listening(server)
}

/** Resolves with the origin of a server once it listens; it is closed when the test is over. */
export async function listening(server: Server): Promise<string> {
  onTestFinished(() => void server.close())
  return originOf(server)
}

export interface Serving extends AsyncDisposable {
  readonly url: string
  close(): Promise<void>
}

/** A server that answers so, for `duringTests`. */
export async function serving(answer: RequestListener): Promise<Serving> {
  const server = createServer(answer)
  const close = async () => {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
  }
  return { url: await originOf(server), close, [Symbol.asyncDispose]: close }
}

async function originOf(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
