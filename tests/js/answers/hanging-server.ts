/** A real server on loopback whose answers are hostile: bodies that never end, that trickle, or that grow when they are unpacked. */

import { createServer, type RequestListener } from 'node:http'
import { onTestFinished } from 'vitest'
import { listening } from '../../loopback.ts'

/** The time that the end of an answer takes to be noticed. */
const NOTICED_MS = 50

export interface HangingServer {
  readonly url: string
  readonly answers: number
  /** The most answers that were unfinished at once; a platform may keep idle connections besides. */
  readonly mostAnswers: number
  readonly opened: number
  readonly hits: number
}

/** Answers as `listener` does; gone when the test is over. */
export async function serve(listener: RequestListener): Promise<HangingServer> {
  let unfinished = 0
  let most = 0
  let opened = 0
  let hits = 0
  const server = createServer((request, response) => {
    hits++
    unfinished++
    response.on('close', () => unfinished--)
    // the end of the answer before is noticed a little later than the beginning of this one
    setTimeout(() => {
      most = Math.max(most, unfinished)
    }, NOTICED_MS)
    request.resume()
    listener(request, response)
  })
  server.on('connection', () => {
    opened++
  })
  onTestFinished(() => server.closeAllConnections())
  const url = await listening(server)
  return {
    url,
    get answers() {
      return unfinished
    },
    get mostAnswers() {
      return most
    },
    get opened() {
      return opened
    },
    get hits() {
      return hits
    },
  }
}

/** Headers of `status`, the first bytes of a body, and then nothing more. */
export const hangs =
  (status: number): RequestListener =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'text/plain' })
    response.write('and then')
  }

/** Headers at once, and a byte of the body every now and then. */
export const trickles =
  (status: number): RequestListener =>
  (_, response) => {
    response.writeHead(status)
    const timer = setInterval(() => response.write('.'), 20)
    response.on('close', () => clearInterval(timer))
  }
