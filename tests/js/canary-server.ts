/** A real server whose paths say what they answer, and which puts secrets of its own into its answers. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Canaries } from './canaries.ts'

export class CanaryServer {
  /** Everything it was sent, request lines and headers, decoded where a scheme says so. */
  readonly received: string[] = []
  /** Whether `/down` is up again. */
  up = false
  readonly #canaries: Canaries
  readonly #files: Readonly<Record<string, () => string>>
  readonly #seen = new Set<string>()
  readonly #server = createServer((request, response) => this.#serve(request, response))

  /** `files`: what a page is made of, by path. */
  constructor(canaries: Canaries, files: Readonly<Record<string, () => string>> = {}) {
    this.#canaries = canaries
    this.#files = files
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '0.0.0.0', resolve))
    return this
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    request.resume()
    const url = request.url ?? ''
    const file = this.#files[url]
    if (file) {
      response.setHeader('content-type', url.endsWith('.js') ? 'text/javascript' : 'text/html').end(file())
      return
    }
    // a page asks across the addresses of this server
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('access-control-expose-headers', 'retry-after')
    response.setHeader('access-control-allow-headers', request.headers['access-control-request-headers'] ?? '*')
    if (request.method === 'OPTIONS') {
      response.writeHead(204).end()
      return
    }
    this.received.push(url, ...request.rawHeaders)
    const path = url.split('?', 1)[0] as string
    const again = this.#seen.has(path)
    this.#seen.add(path)
    const say = (status: number, headers: Record<string, string> = {}): void => {
      const cookie = this.#canaries.make(`set-cookie of ${status}`, 'hex')
      response.writeHead(status, { 'set-cookie': `sid=${cookie}`, ...headers })
      response.end(this.#canaries.make(`body of ${status}`))
    }
    const kind = path.split('/')[1]
    if (kind === 'hang') return
    if (kind === 'reset' && !again) request.socket.destroy()
    else if (kind === 'flaky') say(again ? 200 : 503)
    else if (kind === 'down') say(this.up ? 200 : 503)
    else if (kind === 'later') say(503, { 'retry-after': '3600' })
    else if (kind === 'refused') say(401)
    else if (kind === 'away') {
      const token = this.#canaries.make('Location to another origin', 'hex')
      say(302, { location: `http://localhost:${this.port}/ok?access_token=${token}` })
    } else if (kind === 'hop') {
      say(302, { location: `/ok?token=${this.#canaries.makeSent('Location within the origin', 'hex')}` })
    } else say(200)
  }
}
