/**
 * The servers of the canary: targets and a receiver of callbacks, whose answers are full of what they were sent and of secrets of their own. Real
 * sockets, since what a client library makes of a bad answer is its own.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createSocketServer, type Server } from 'node:net'
import type { Canaries, Shape } from '../../canaries.ts'

/** The parts of an answer that hold a secret, as fields. */
export const ANSWERS = [
  'an answer: its body',
  'an answer: a header',
  'an answer: its reason phrase',
  'an answer: RateLimit',
  'an answer: Retry-After',
  'an answer: a redirect within its origin',
  'an answer: a redirect to another origin',
  'an answer: no HTTP',
] as const

export interface CanaryServers {
  /** Answers by the first part of a path: `/ok`, `/flaky` (503, then 200), `/refused` (400), `/hop`, `/away`, `/reset`. */
  readonly target: string
  /** Another origin of the same kind: no credential is for it. */
  readonly other: string
  /** Answers with what is no HTTP. */
  readonly broken: string
  /** Takes callbacks: with 500 at first, and with 204 when it is asked again. */
  readonly hooks: string
  /** What each was sent, as it came. */
  readonly received: Readonly<Record<'target' | 'other' | 'hooks', string[]>>
  close(): Promise<void>
}

export async function startServers(canaries: Canaries): Promise<CanaryServers> {
  const received = { target: [] as string[], other: [] as string[], hooks: [] as string[] }
  const seen = new Set<string>()
  const own = (slot: (typeof ANSWERS)[number], shape?: Shape) => canaries.make(slot, shape)
  const serve = (into: string[], answer: (visit: Visit) => void) =>
    createServer((request, response) => {
      void read(request).then((text) => {
        into.push(text)
        const [path = ''] = (request.url ?? '').split('?')
        const isAgain = seen.has(`${request.headers.host}${path}`)
        seen.add(`${request.headers.host}${path}`)
        answer({ request, response, text, kind: path.split('/')[1] ?? '', isAgain })
      })
    })
  const say = ({ request, response, text }: Visit, status: number, headers: Record<string, string> = {}): void => {
    response.statusMessage = own('an answer: its reason phrase', 'hex')
    const { authorization = '', 'x-acme-key': key = '' } = request.headers
    response.writeHead(status, {
      'set-cookie': `sid=${own('an answer: a header', 'hex')}`,
      'x-echo': `${authorization} ${key}`,
      ratelimit: `"${own('an answer: RateLimit', 'words')}"`,
      ...headers,
    })
    response.end(`${own('an answer: its body')} ${text}`)
  }
  const target = (visit: Visit): void => {
    const { kind, isAgain, request } = visit
    if (kind === 'refused') say(visit, 400)
    else if (kind === 'flaky' && !isAgain) say(visit, 503, { 'retry-after': own('an answer: Retry-After', 'words') })
    else if (kind === 'reset' && !isAgain) request.socket.resetAndDestroy()
    else if (kind === 'hop')
      say(visit, 302, { location: `/ok?token=${own('an answer: a redirect within its origin', 'hex')}` })
    else if (kind === 'away')
      say(visit, 302, { location: `${otherUrl}/ok?token=${own('an answer: a redirect to another origin', 'hex')}` })
    else say(visit, 200)
  }
  const hook = (visit: Visit): void => {
    say(visit, visit.isAgain ? 200 : 500)
  }
  const noHttp = createSocketServer((socket) => {
    socket.on('error', () => {}) // its client may leave at once
    socket.once('data', () => {
      socket.end(
        `HTTP/1.1 200 OK\r\nx-${own('an answer: no HTTP', 'hex')} \u0000 ${own('an answer: no HTTP', 'hex')}\r\n\r\n`,
      )
    })
  })
  const servers: readonly Server[] = [
    serve(received.target, target),
    serve(received.other, target),
    noHttp,
    serve(received.hooks, hook),
  ]
  await Promise.all(servers.map((server) => new Promise<void>((done) => server.listen(0, '127.0.0.1', done))))
  const [targetUrl = '', otherUrl = '', broken = '', hooks = ''] = servers.map(
    (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  )
  return {
    ...{ target: targetUrl, other: otherUrl, broken, hooks, received },
    async close() {
      await Promise.all(
        servers.map((server) => {
          if ('closeAllConnections' in server) (server as { closeAllConnections(): void }).closeAllConnections()
          return new Promise((done) => server.close(done))
        }),
      )
    },
  }
}

interface Visit {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly text: string
  readonly kind: string
  /** This path was asked before. */
  readonly isAgain: boolean
}

async function read(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return [`${request.method} ${request.url}`, ...request.rawHeaders, Buffer.concat(parts).toString()].join('\n')
}
