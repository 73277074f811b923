/**
 * Asks a process of the service one thing over HTTP, and tells apart what became of it: a whole answer, none since nothing was sent, or
 * none although it was. A connection is kept for the next request, as clients of a service keep it.
 */

import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http'

export type Told =
  | { readonly kind: 'answered'; readonly status: number; readonly json: unknown }
  /** No connection was made, so nothing was sent. */
  | { readonly kind: 'refused'; readonly message: string }
  /** The request was sent, and the connection ended before a whole answer had come; `isKept`: before anything had, on one that had carried others. */
  | { readonly kind: 'cut'; readonly message: string; readonly isKept: boolean }
  /** Its client waited no longer. */
  | { readonly kind: 'late' }

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

/** A process that is stopped answers nothing: its clients go on to another one. */
const PATIENCE_MS = 2_500

/** An agent for one process: its connections end with it. */
export const agentFor = (): Agent => new Agent({ keepAlive: true, maxSockets: 32 })

/**
 * Never rejects. First reads what came on kept connections while this process was busy: one that the service has closed, as it may where
 * nothing is under way, is used no more.
 */
export async function ask(url: string, asked: Asked, agent: Agent, patienceMs: number = PATIENCE_MS): Promise<Told> {
  await new Promise((done) => setImmediate(done))
  return new Promise((resolve) => {
    const { method, path, headers, body } = asked
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    let isConnected = false
    let isLate = false
    const options: RequestOptions = { method, agent, headers: { ...headersOf(bytes), ...headers } }
    const sent = request(new URL(path, url), options, (response) => {
      read(response).then(
        (text) => done({ kind: 'answered', status: response.statusCode ?? 0, json: parsed(text) }),
        (error) => done(isLate ? { kind: 'late' } : { kind: 'cut', message: wordsOf(error), isKept: false }),
      )
    })
    const timer = setTimeout(() => {
      isLate = true
      sent.destroy(new Error('its client waited no longer'))
    }, patienceMs)
    const done = (told: Told) => {
      clearTimeout(timer)
      resolve(told)
    }
    sent.on('socket', (socket) => {
      if (!socket.connecting) isConnected = true
      else socket.once('connect', () => (isConnected = true))
    })
    sent.on('error', (error) => {
      if (isLate) done({ kind: 'late' })
      else if (!isConnected) done({ kind: 'refused', message: wordsOf(error) })
      else done({ kind: 'cut', message: wordsOf(error), isKept: sent.reusedSocket })
    })
    sent.end(bytes)
  })
}

const headersOf = (bytes: Buffer | undefined): Record<string, string> =>
  bytes ? { 'content-type': 'application/json', 'content-length': `${bytes.length}` } : {}

async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

/** An answer that says it is JSON and is none would be the service's fault: it is shown as the text that it is. */
function parsed(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const wordsOf = (error: Error & { readonly code?: string }): string =>
  error.code === undefined ? error.message : `${error.code} ${error.message}`
