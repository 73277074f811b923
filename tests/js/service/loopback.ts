/** Servers on loopback that are gone when the test is over, and a target that notes what it is sent. */

import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** Resolves with the origin of a server that answers so. */
export async function onLoopback(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The headers of a request, and the rest of it. */
export interface Seen extends IncomingHttpHeaders {
  readonly path: string
  readonly body: string
}

/** `answer` gives the status for what the target hears. */
export async function target(answer: (seen: Seen) => number = () => 200) {
  const seen: Seen[] = []
  const origin = await onLoopback((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const heard = { ...request.headers, path: request.url ?? '', body: Buffer.concat(parts).toString() }
      seen.push(heard)
      response.writeHead(answer(heard)).end()
    })
  })
  return { origin, url: `${origin}/orders`, port: new URL(origin).port, seen }
}
