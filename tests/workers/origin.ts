/** A server that answers as a script says and keeps what it was shown. */

import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach } from 'vitest'

export interface Seen {
  readonly path: string
  readonly authorization: string | undefined
  readonly traceparent: string | undefined
  readonly key: string | undefined
  readonly headers: IncomingMessage['headers']
  /** SHA-256 of the body. */
  readonly digest: string
}

/** `afterMs`: it is so late. */
type Scripted = readonly [status: number, headers?: Record<string, string>, afterMs?: number]

export const digestOf = (body: string | Uint8Array): string => createHash('sha256').update(body).digest('hex')

/** Answers each path with what `answers` has for it, in turn; the last again and again. */
export class Origin implements AsyncDisposable {
  readonly seen: Seen[] = []
  answers: Record<string, readonly Scripted[]> = {}
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response))

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { pathname } = new URL(request.url ?? '/', 'http://origin')
    const header = (name: string): string | undefined => request.headers[name]?.toString()
    const before = this.seen.filter(({ path }) => path === pathname).length
    this.seen.push({
      path: pathname,
      authorization: header('authorization'),
      traceparent: header('traceparent'),
      key: header('idempotency-key'),
      headers: request.headers,
      digest: digestOf(Buffer.concat(chunks)),
    })
    const script = this.answers[pathname] ?? []
    const [status, headers, afterMs = 0] = script[Math.min(before, script.length - 1)] ?? [200]
    if (afterMs > 0) await new Promise((resolve) => setTimeout(resolve, afterMs))
    response.writeHead(status, headers).end()
  }
}

/** One for all tests of a file; before each it has seen nothing, and answers 200. */
export function originDuringTests(): Origin {
  const origin = new Origin()
  beforeAll(() => origin.listen())
  beforeEach(() => {
    origin.seen.length = 0
    origin.answers = {}
  })
  afterAll(() => origin.close())
  return origin
}
