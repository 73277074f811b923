/**
 * Refuses calls that cannot be queued unsent, with what to do about it. In the core's chunk: `fetch` never asks.
 */

import { RedriveError } from '../api/errors.ts'
import { assertNotAborted } from '../platform/abort.ts'
import type { Call } from './call.ts'
import { assertSendable, repeatableOf } from './fetch-repeat.ts'

/** Throws unless the call can be queued. `passesThrough`: it is of a kind that the queue never touches. */
export function assertEnqueueable(call: Call, passesThrough: boolean, maxBodyBytes: number): void {
  if (passesThrough) {
    throw new TypeError('enqueue: expected http(s), not no-cors, navigate, keepalive or `redrive: false`')
  }
  const { method, url, origin, bytes, plain } = call
  if (plain === 'too-large') {
    const message = `the body has ${bytes} bytes, more than maxBodyBytes ${maxBodyBytes}: raise it, or send it with fetch and no orderKey`
    throw new RedriveError('BODY_TOO_LARGE', message)
  }
  if (plain === 'origin-missing') {
    const message = `${method} ${origin} needs a key: list the origin in idempotency.origins, or vouch with \`idempotent: true\``
    throw new RedriveError('KEY_ORIGIN_MISSING', message)
  }
  assertSendable(url, repeatableOf(call).asFetch().init)
  assertNotAborted(call.signal)
}
