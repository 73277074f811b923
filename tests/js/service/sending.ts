/** Real servers on loopback, and transports that may reach them by a public name. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { outcomeOf } from '../../../js/call/attempt.ts'
import { isOwnError } from '../../../js/call/own-error.ts'
import { OUTCOME_NETWORK_ERROR } from '../../../js/core/codes.ts'
import type { RefusalRule } from '../../../js/service/guard.ts'
import type { Lookup } from '../../../js/service/names.ts'
import { makeTransport, type SendingTransport, type TransportOptions } from '../../../js/service/transport.ts'

export const NAME = 'api.example.com'

export interface Listener {
  readonly port: number
  /** By the name that a transport here finds it by. */
  readonly url: string
  readonly accepted: number
  readonly open: number
  /** Bytes that were read on all of them; those of HTTP servers are not counted. */
  readonly bytes: number
}

async function listening(server: Server, host: string, port: number, count: { bytes: number }): Promise<Listener> {
  const sockets = new Set<Socket>()
  let accepted = 0
  server.on('connection', (socket: Socket) => {
    accepted++
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port: own } = server.address() as AddressInfo
  return {
    port: own,
    url: `http://${NAME}:${own}`,
    get accepted() {
      return accepted
    },
    get open() {
      return sockets.size
    },
    get bytes() {
      return count.bytes
    },
  }
}

export function serve(answer: RequestListener, host = '127.0.0.1', port = 0): Promise<Listener> {
  return listening(createServer({ keepAliveTimeout: 60_000 }, answer), host, port, { bytes: 0 })
}

/** A server that says what it likes. `talk` is called with each connection, and again with all that was read when more comes. */
export function serveRaw(
  talk: (socket: Socket, read: string) => void,
  host = '127.0.0.1',
  port = 0,
): Promise<Listener> {
  const count = { bytes: 0 }
  const server = createTcpServer((socket) => {
    let read = ''
    socket.on('data', (chunk) => {
      count.bytes += chunk.length
      read += chunk.toString('latin1')
      talk(socket, read)
    })
  })
  return listening(server, host, port, count)
}

/** Answers each request that has come whole, headers and no body, with `text`. */
export const saying =
  (text: string) =>
  (socket: Socket, read: string): void => {
    if (read.endsWith('\r\n\r\n')) socket.write(text)
  }

export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** A resolver that says one thing after another, and the last for ever. */
export function resolver(...answers: (readonly string[])[]): Lookup & { readonly asked: () => number } {
  let at = 0
  const find: Lookup = async () => (answers[Math.min(at++, answers.length - 1)] ?? []).map((address) => ({ address }))
  return Object.assign(find, { asked: () => at })
}

export interface Sending extends SendingTransport {
  readonly rules: readonly RefusalRule[]
}

/** A transport for which the name leads to 127.0.0.1, which is opened, on any port; closed when the test ends. */
export function sending(port: number, options: TransportOptions = {}): Sending {
  const rules: RefusalRule[] = []
  const transport = makeTransport({
    allowHttp: true,
    allowPrivate: ['127.0.0.0/8'],
    targets: [`:${port}`],
    lookup: resolver(['127.0.0.1']),
    onRefused: (rule) => rules.push(rule),
    ...options,
  })
  onTestFinished(() => transport.close())
  return { ...transport, rules }
}

export const caught = (work: Promise<unknown>): Promise<unknown> => work.catch((thrown: unknown) => thrown)

/** The error that it has to fail with, which a queue takes for one of the network. */
export async function networkErrorOf(work: Promise<unknown>): Promise<unknown> {
  const error = await work.then(
    () => expect.unreachable('it has to fail'),
    (thrown: unknown) => thrown,
  )
  expect(outcomeOf(error, false, isOwnError(error))).toBe(OUTCOME_NETWORK_ERROR)
  return error
}

/** A self-signed certificate for the names, which is its own authority. */
export function certificate(names: string): { readonly key: string; readonly cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'redrive-tls-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const about = ['-subj', '/CN=test', '-addext', `subjectAltName=${names}`, '-keyout', key, '-out', cert]
  execFileSync('openssl', [...made, ...about], { stdio: 'pipe' })
  const pair = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  rmSync(folder, { recursive: true })
  return pair
}

/** The arguments of a replay: `callOf` in js/durable/record.ts. */
export const replay = (init: RequestInit = {}): RequestInit => ({
  method: 'GET',
  body: null,
  redirect: 'manual',
  ...init,
  headers: new Headers(init.headers),
})
