/**
 * Refuses calls that cannot be queued unsent, with what to do about it. In the core's chunk: `fetch` never asks.
 */

import { RedriveError } from '../api/errors.ts'
import { follow } from '../options/check.ts'
import { INIT_RULES, PRIORITY } from '../options/request-init.ts'
import { assertNotAborted } from '../platform/abort.ts'
import type { Call } from './call.ts'
import { assertSendable, repeatableOf } from './fetch-repeat.ts'
import { FetchTransport } from './fetch-transport.ts'
import { cancelBody } from './read-body.ts'
import { bare, type EnqueueInit } from './read-fetch.ts'

/** Throws unless the call can be queued. `trait`: the one for which the queue never touches such a call, of `passesThrough`. */
export function assertEnqueueable(call: Call, trait: string, maxBodyBytes: number): void {
  if (trait === 'scheme') throw new TypeError(`enqueue: expected an http(s) URL, got '${bare(call.url)}'`)
  if (trait) throw new TypeError(`enqueue: takes no request with ${trait === 'off' ? 'redrive: false' : trait}`)
  assertInit(call)
  assertJson(call)
  const { method, url, origin, plain, transport } = call
  if (plain === 'body_too_large') {
    if (transport instanceof FetchTransport) cancelBody(transport.sendable.whole?.body)
    const message = `the body has more bytes than maxBodyBytes ${maxBodyBytes}: raise it, or send it with fetch and no orderKey`
    throw new RedriveError('BODY_TOO_LARGE', message)
  }
  if (plain === 'key_origin_missing') {
    const message = `${method} ${origin} needs a key: list the origin in idempotency.origins, or vouch with \`redrive: { idempotent: true }\``
    throw new RedriveError('KEY_ORIGIN_MISSING', message)
  }
  assertSendable(url, repeatableOf(call).asFetch().init)
  assertNotAborted(call.signal)
}

/** Options of Axios's config alone, and words of a task in the wrong place. Plain fetch ignores them, and they would be lost. */
const LOST: ReadonlyMap<string, string> = new Map([
  ['data', 'body, as text: JSON.stringify(…)'],
  ['params', 'them in the URL, by URLSearchParams'],
  ['baseURL', 'a whole URL'],
  ['meta', 'redrive: { meta }'],
  ['tags', 'redrive: { tags }'],
  ['principal', 'it to the queue: options.principal, or setPrincipal()'],
])

/** Throws where `json` is none, or does not stand alone: see `withJson`. */
function assertJson({ transport }: Call): void {
  const { json } = (transport instanceof FetchTransport ? transport.sendable.init : {}) as EnqueueInit
  if (json !== undefined) throw new TypeError('json: expected what JSON can hold, and no `body` beside it')
}

/** Throws where the init of a call by fetch has a word that its platform may not know, or one of another library. */
export function assertInit({ transport }: Call): void {
  if (!(transport instanceof FetchTransport)) return
  for (const [name, value] of Object.entries(transport.sendable.init)) {
    const instead = LOST.get(name)
    if (instead !== undefined && value !== undefined) {
      throw new TypeError(`${name}: no option of fetch; expected (url, { method, body }), so give ${instead}`)
    }
    const rule = name === 'priority' ? PRIORITY : INIT_RULES.get(name)
    if (rule && value != null) follow(`init.${name}`, `${value}`, rule)
  }
}
