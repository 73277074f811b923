/** A server on loopback that answers as it is told, and a dispatcher of undici whose requests go through a queue. */

import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { Agent, type Dispatcher } from 'undici'
import { onTestFinished } from 'vitest'
import { type RetryInterceptorOptions, retryInterceptor } from '../../../js/adapters/undici.ts'
import { RetryQueue, type RetryQueueOptions } from '../../../js/index.ts'
import { onLoopback } from '../../loopback.ts'
import { NO_GATES } from '../setup.ts'

/** Waits of a millisecond. */
export const QUICK = { initialDelayMs: 1, maxDelayMs: 1, jitterType: 'NONE' } as const

/** Waits in which what is left of a failure is read, on a busy machine too. */
export const UNHURRIED = { initialDelayMs: 100, maxDelayMs: 100 } as const

export interface Seen {
  readonly method: string
  readonly path: string
  readonly key: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** Of its client: requests of one connection have the same. */
  readonly port: number | undefined
}

type Answering = (response: ServerResponse, request: IncomingMessage) => void
/** A status, 'lost' for a connection that ends without an answer, or what is done. */
export type Reply = number | 'lost' | 'silence' | Answering

export interface TestServer {
  readonly origin: string
  readonly seen: Seen[]
}

export const replyWith =
  (status: number, headers: OutgoingHttpHeaders, body = ''): Answering =>
  (response) =>
    response.writeHead(status, headers).end(body)

/** Gives one reply after another, and then 200 with the number of the request. */
export async function serve(...replies: readonly Reply[]): Promise<TestServer> {
  const seen: Seen[] = []
  const origin = await onLoopback(async (request, response) => {
    const { method = '', url = '', headers } = request
    const key = headers['idempotency-key'] as string | undefined
    const body = (await buffer(request)).toString('latin1')
    const { remotePort: port } = request.socket
    const reply = replies[seen.push({ method, path: url, key, headers, body, port }) - 1] ?? 200
    if (reply === 'lost') request.socket.destroy()
    else if (typeof reply === 'function') reply(response, request)
    else if (reply !== 'silence') response.writeHead(reply).end(`answer ${seen.length}`)
  })
  return { origin, seen }
}

export function queueWith({ policy, ...options }: RetryQueueOptions = {}): RetryQueue {
  const queue = new RetryQueue({ ...NO_GATES, ...options, policy: { ...QUICK, ...policy } })
  onTestFinished(() => queue.close({ drainMs: 0 }))
  return queue
}

/** A dispatcher through `queue`; `further`: interceptors around it. */
export function agentOf(
  queue: RetryQueue,
  options: RetryInterceptorOptions = {},
  ...further: readonly Dispatcher.DispatcherComposeInterceptor[]
): Dispatcher {
  const agent = new Agent({ keepAliveTimeout: 1_000 })
  onTestFinished(() => agent.destroy())
  return agent.compose(retryInterceptor(queue, options), ...further)
}

/** A server that replies so, and a dispatcher through a queue. */
export async function between(
  replies: readonly Reply[],
  options: RetryQueueOptions = {},
  own: RetryInterceptorOptions = {},
): Promise<{ readonly server: TestServer; readonly queue: RetryQueue; readonly dispatcher: Dispatcher }> {
  const server = await serve(...replies)
  const queue = queueWith(options)
  return { server, queue, dispatcher: agentOf(queue, own) }
}
