/**
 * Chromium's DevTools protocol over the two pipes it was started with. A pipe has no port to be found and ends with either
 * side: a browser whose run has died ends too.
 */

import type { Readable, Writable } from 'node:stream'

interface Answer {
  readonly id?: number
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: { readonly message: string }
  readonly sessionId?: string
}

type Params = Readonly<Record<string, unknown>>
type Heard = (method: string, params: never) => void

export class Cdp {
  readonly #write: Writable
  readonly #open = new Map<number, { resolve(value: never): void; reject(error: Error): void }>()
  readonly #ears = new Map<string, Heard>()
  #last = 0
  #rest = ''
  #over = false

  constructor(write: Writable, read: Readable) {
    this.#write = write
    // a browser that was killed reads no more; what was asked of it is rejected below
    write.on('error', () => {})
    read.setEncoding('utf8').on('data', (chunk: string) => this.#take(chunk))
    read.on('close', () => this.#end())
  }

  send<T>(method: string, params: Params = {}, sessionId?: string): Promise<T> {
    if (this.#over) return Promise.reject(new Error(`${method}: the browser is gone`))
    const id = ++this.#last
    return new Promise((resolve, reject) => {
      this.#open.set(id, { resolve, reject })
      this.#write.write(`${JSON.stringify({ id, method, params, sessionId })}\0`)
    })
  }

  /** Hears the events of one session. */
  listen(sessionId: string, heard: Heard): void {
    this.#ears.set(sessionId, heard)
  }

  #take(chunk: string): void {
    const [first = '', ...others] = chunk.split('\0')
    const messages = others.length === 0 ? [] : [this.#rest + first, ...others.slice(0, -1)]
    this.#rest = others.length === 0 ? this.#rest + first : (others.at(-1) ?? '')
    for (const message of messages) this.#hear(JSON.parse(message))
  }

  #hear({ id, method, params, result, error, sessionId = '' }: Answer): void {
    if (id === undefined) {
      this.#ears.get(sessionId)?.(method ?? '', params as never)
      return
    }
    const asked = this.#open.get(id)
    this.#open.delete(id)
    if (error) asked?.reject(new Error(error.message))
    else asked?.resolve(result as never)
  }

  #end(): void {
    this.#over = true
    for (const { reject } of this.#open.values()) reject(new Error('the browser is gone'))
    this.#open.clear()
  }
}
