/** A server that answers as a script says and keeps what it was shown. */

import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { beforeEach } from 'vitest'
import { duringTests } from '../during.ts'
import { serving } from '../loopback.ts'

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

export type Origin = Awaited<ReturnType<typeof startOrigin>>

/** Answers each path with what `answers` has for it, in turn; the last again and again. */
export async function startOrigin(answers: Record<string, readonly Scripted[]> = {}) {
  const seen: Seen[] = []
  const served = await serving(async (request, response) => {
    const body = await buffer(request)
    const { pathname: path } = new URL(request.url ?? '/', 'http://origin')
    const header = (name: string): string | undefined => request.headers[name]?.toString()
    const before = seen.filter((each) => each.path === path).length
    seen.push({
      path,
      authorization: header('authorization'),
      traceparent: header('traceparent'),
      key: header('idempotency-key'),
      headers: request.headers,
      digest: digestOf(body),
    })
    const script = origin.answers[path] ?? []
    const [status, headers, afterMs = 0] = script[Math.min(before, script.length - 1)] ?? [200]
    if (afterMs > 0) await setTimeout(afterMs)
    response.writeHead(status, headers).end()
  })
  const origin = { ...served, seen, answers }
  return origin
}

/** One for all tests of a file; before each it has seen nothing, and answers 200. */
export function originDuringTests(): Origin {
  const origin = duringTests(() => startOrigin())
  beforeEach(() => {
    origin.seen.length = 0
    origin.answers = {}
  })
  return origin
}
