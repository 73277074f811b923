/** A target that notes what it is sent, and is gone when the test is over. */

import type { IncomingHttpHeaders } from 'node:http'
import { onLoopback } from '../../loopback.ts'

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
