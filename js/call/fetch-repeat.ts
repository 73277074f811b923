/** Sends a request by fetch again: with fresh credentials, and held to the origin the caller named. */

import { discardBody } from './answers.ts'
import { FetchAnswer, FetchTransport, type Sendable, type SentInit } from './fetch-transport.ts'
import { BODY_HEADERS, becomesGet, MAX_REDIRECTS, mayLeave, REDIRECT } from './redirects.ts'
import type { Answer, AttemptInit, Transport } from './transport.ts'

/** Other transports know a replay by themselves. */
export function replay(transport: Transport, attempt: AttemptInit): Promise<Answer> {
  return transport instanceof FetchTransport ? replayFetch(transport.sendable, attempt) : transport.send(attempt)
}

/** Whether no repeat can mend this error: it is of the caller's own making. */
export function isFinal(transport: Transport, error: unknown): boolean {
  if (!(transport instanceof FetchTransport)) return transport.isFinal?.(error) ?? false
  try {
    assertSendable(transport)
    return false
  } catch {
    return true
  }
}

/** Throws what fetch would reject with. It tells a wrong argument from a lost connection by nothing but this. */
export function assertSendable(transport: Transport): void {
  if (!(transport instanceof FetchTransport)) return
  const { url, init } = transport.sendable
  // whether there is a body matters, what is in it does not
  new Request(url, { ...init, body: init.body == null ? null : '', signal: null })
}

/** What a deferred call is answered with: 202 Accepted. */
export function accepted(transport: Transport, taskId: string, traceId: string): unknown {
  if (!(transport instanceof FetchTransport)) return transport.accepted?.(taskId, traceId)
  const headers = { 'content-type': 'application/json', 'redrive-task-id': taskId }
  return new Response(JSON.stringify({ status: 'queued', taskId, traceId }), { status: 202, headers })
}

async function replayFetch({ fetch, url, init: own }: Sendable, { overlay, signal }: AttemptInit): Promise<Answer> {
  let { headers } = own
  if (overlay) {
    headers = new Headers(headers)
    overlay.forEach((value, name) => {
      headers.set(name, value)
    })
  }
  const init: SentInit = { ...own, headers, signal }
  const follows = (init.redirect ?? 'follow') === 'follow'
  if (!follows || mayLeave(own.method, own.headers, overlay)) return new FetchAnswer(await fetch(url, init))
  return sendWithinOrigin(fetch, url, init)
}

/** Follows redirects by hand while they stay within the origin (S15). */
async function sendWithinOrigin(fetch: typeof globalThis.fetch, first: string, own: SentInit): Promise<Answer> {
  const { origin } = new URL(first)
  let init: SentInit = { ...own, redirect: 'manual' }
  let url = first
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const response = await fetch(url, init)
    // a browser's opaque redirect does not say where it leads
    if (response.type === 'opaqueredirect') return new FetchAnswer(response, true)
    const location = REDIRECT.has(response.status) ? response.headers.get('location') : null
    if (location === null) return new FetchAnswer(response)
    const next = new URL(location, url)
    if (next.origin !== origin) return new FetchAnswer(response, true)
    discardBody(response)
    url = next.href
    init = afterRedirect(init, response.status)
  }
  throw new TypeError(`more than ${MAX_REDIRECTS} redirects`)
}

function afterRedirect(init: SentInit, status: number): SentInit {
  if (!becomesGet(status, init.method.toUpperCase())) return init
  const headers = new Headers(init.headers)
  for (const name of BODY_HEADERS) headers.delete(name)
  return { ...init, method: 'GET', headers, body: null }
}
