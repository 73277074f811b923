/** The checks as a page's production bundle gets them, with the core's chunk: with those of what was given before. */

import { CHECKS, type Checks, type EarlyCall, type ToldSince, type WithPolicies } from './checks.ts'

interface Sent {
  readonly fetch: typeof fetch
  readonly init: { readonly body?: unknown }
}

/** The text that an object becomes as a body, such as another library's Blob. */
const OBJECT = /^\[object \w+\]$/

/** Checks the arguments of a call that was made before. Its body is bytes by now. */
function early({ isChecked, options, transport }: EarlyCall, { settings }: WithPolicies): void {
  if (isChecked) return
  CHECKS.call(options, settings.policies)
  const { sendable } = transport as { readonly sendable?: Sent }
  if (!sendable) return
  const { fetch, init } = sendable
  const { body } = init
  const isObject = body instanceof Uint8Array && body.length < 64 && OBJECT.test(new TextDecoder().decode(body))
  CHECKS.init({ ...init, body: (isObject ? {} : body) as BodyInit }, { fetch })
}

export const EARLY_CHECKS: Checks = {
  ...CHECKS,
  early,

  // asked before a call is sent: the checks may have come while its body was read
  plain(call, host) {
    early(call, host)
    CHECKS.plain(call, host)
  },

  queue(given, since) {
    // these checks always come late
    const { settings, principal } = since as ToldSince
    const { concurrency, concurrencyPerOrigin, durable } = settings
    CHECKS.queue({ ...given, concurrency, ...(concurrencyPerOrigin !== undefined && { concurrencyPerOrigin }) })
    CHECKS.principal(principal, {}, durable)
  },
}
