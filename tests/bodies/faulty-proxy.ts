/** A proxy in front of a bucket that answers as a bad day does. What it lets through it lets through as it is, Host and signature included. */

import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { onLoopback } from '../loopback.ts'

/** One request, with the answer that the bucket has given to it. */
export interface Passing {
  readonly method: string
  readonly path: string
  readonly status: number
  /** The session that it was signed for. */
  readonly session: string | undefined
}

export type Fault =
  | 'none'
  /** 503, as a bucket that asks to slow down. */
  | 'busy'
  /** The bucket itself is not there. */
  | 'no bucket'
  /** The answer breaks off in the middle of its body. */
  | 'truncated'
  /** The answer stops in the middle of its body, and never goes on. */
  | 'stalled'
  /** No answer comes. */
  | 'silent'
  /** The connection ends before an answer. */
  | 'cut'
  /** One byte of the body is another. */
  | 'flipped'

export interface FaultyProxy {
  readonly url: string
  /** What it does with the requests that come from now on. */
  fault: Fault
  /** Hears of an answer of the bucket before the asker does; a promise holds it back. */
  onAnswer: ((passing: Passing) => void | Promise<void>) | undefined
  readonly passed: readonly Passing[]
}

export async function faultyProxy(target: string): Promise<FaultyProxy> {
  const passed: Passing[] = []
  const state: { fault: Fault; onAnswer: FaultyProxy['onAnswer'] } = { fault: 'none', onAnswer: undefined }
  const origin = await onLoopback((asked, answer) => {
    const { fault } = state
    if (fault === 'busy' || fault === 'no bucket') refuse(asked, answer, fault)
    else if (fault === 'cut') asked.socket.destroy()
    else if (fault !== 'silent') pass(asked, answer, fault)
  })
  const pass = (asked: IncomingMessage, answer: ServerResponse, fault: Fault): void => {
    const { method = '', url = '', headers } = asked
    const { hostname, port } = new URL(target)
    const onward = request({ host: hostname, port, method, path: url, headers, agent: false }, async (reply) => {
      const status = reply.statusCode ?? 0
      const { 'x-amz-security-token': session } = headers
      const passing = { method, path: url, status, session: session as string | undefined }
      passed.push(passing)
      await state.onAnswer?.(passing)
      answer.writeHead(status, reply.headers)
      const isBody = method === 'GET' && status === 200
      if (isBody && fault !== 'none') spoil(reply, answer, fault)
      else reply.pipe(answer)
    })
    onward.on('error', () => answer.destroy())
    asked.pipe(onward)
  }
  return Object.assign(state, { url: origin, passed })
}

const CODES = { busy: [503, 'SlowDown'], 'no bucket': [404, 'NoSuchBucket'] } as const

function refuse(asked: IncomingMessage, answer: ServerResponse, fault: keyof typeof CODES): void {
  const [status, code] = CODES[fault]
  asked.resume()
  answer.writeHead(status, { 'content-type': 'application/xml', connection: 'close' })
  answer.end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`)
}

/** Gives half of a body, and then what the fault is; or all of it, with a byte that is another. */
function spoil(reply: IncomingMessage, answer: ServerResponse, fault: Fault): void {
  const half = Math.floor(Number(reply.headers['content-length']) / 2)
  let sent = 0
  reply.on('data', (part: Buffer) => {
    const isHere = sent <= half && sent + part.length > half
    if (fault === 'flipped') {
      if (isHere) part.writeUInt8(part.readUInt8(half - sent) ^ 1, half - sent)
      answer.write(part)
    } else if (isHere) {
      answer.write(part.subarray(0, half - sent), () => fault === 'truncated' && answer.destroy())
      reply.pause()
    } else answer.write(part)
    sent += part.length
  })
  reply.on('end', () => answer.end())
}
