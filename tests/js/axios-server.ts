/** A real HTTP server on loopback that answers from a script and remembers what it was sent. */

import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export interface Seen {
  readonly method: string
  readonly url: string
  /** Lower-case names; a header sent twice has its values joined. */
  readonly headers: Readonly<Record<string, string>>
  /** As sent: name, value, name, value. */
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  /** Epoch ms. */
  readonly at: number
}

type Answer = (request: Seen, response: ServerResponse, socket: Socket) => void

export class AxiosServer {
  readonly requests: Seen[] = []
  /** Requests whose answer is not all sent. */
  inFlight = 0
  /** Bytes of bodies that never end. */
  dribbled = 0
  readonly #script: Answer[] = []
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy())
  })

  static async start(): Promise<AxiosServer> {
    const server = new AxiosServer()
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get hits(): number {
    return this.requests.length
  }

  /** The next request gets this answer. Past the end of the script: 200, `{"ok":true}`. */
  reply(status: number, headers: OutgoingHttpHeaders = {}, body: string | Buffer = ''): this {
    this.#script.push((_, response) => response.writeHead(status, headers).end(body))
    return this
  }

  /** The connection is reset once the request is read. */
  reset(): this {
    this.#script.push((_, __, socket) => socket.resetAndDestroy())
    return this
  }

  /** 200 with half the body, then the connection ends. */
  breakOff(how: 'reset' | 'closed'): this {
    this.#script.push((_, response, socket) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
      const end = () => (how === 'reset' ? socket.resetAndDestroy() : socket.destroy())
      response.write('{"half":', () => setTimeout(end, 10))
    })
    return this
  }

  /** Headers at once, and then a body that never ends: a byte every 20 ms. */
  dribble(status: number): this {
    this.#script.push((_, response) => {
      response.writeHead(status, { 'content-type': 'text/plain' })
      const timer = setInterval(() => {
        this.dribbled++
        response.write('x')
      }, 20)
      response.on('close', () => clearInterval(timer))
    })
    return this
  }

  /** No answer until the returned function is called. */
  hang(): (status?: number, headers?: Record<string, string>) => void {
    let release: (answer: readonly [number, Record<string, string>]) => void = () => {}
    const released = new Promise<readonly [number, Record<string, string>]>((resolve) => {
      release = resolve
    })
    this.#script.push(async (_, response) => response.writeHead(...(await released)).end())
    return (status = 200, headers = {}) => release([status, headers])
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.inFlight++
    response.once('close', () => this.inFlight--)
    const at = Date.now()
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = '', url = '', rawHeaders, socket } = request
    const headers = Object.fromEntries(
      Object.entries(request.headersDistinct).map(([name, values]) => [name, (values ?? []).join(', ')]),
    )
    const seen = { method, url, headers, rawHeaders, body: Buffer.concat(chunks), at }
    this.requests.push(seen)
    const ok: Answer = (_, out) => out.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}')
    ;(this.#script.shift() ?? ok)(seen, response, socket)
  }
}
