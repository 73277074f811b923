/** Says why a call is sent once only, once for each cause and with the option that changes it: nothing else shows that no retry will come. */

import type { DegradedCode } from '../api/events.ts'

export interface Reporting {
  readonly settings: { readonly maxBodyBytes: number; readonly allowMemory?: boolean }
  degraded(code: DegradedCode, message: string, once: string): void
}

export interface SentOnce {
  readonly plain: 'body_too_large' | 'key_origin_missing' | null
  readonly method: string
  readonly origin: string
}

/** Reports a call that is plain fetch, before it is sent. */
export function remarkPlain({ plain, method, origin }: SentOnce, { settings, degraded }: Reporting): void {
  if (!plain) return
  const why =
    plain === 'body_too_large'
      ? `its body has more bytes than maxBodyBytes ${settings.maxBodyBytes}`
      : 'its origin is not in idempotency.origins; add it if it accepts the key'
  degraded(plain, `${method} ${origin} is sent once and is not tried again: ${why}`, origin)
}

/** Reports a request that the queue never touches though its caller may think so. `trait`: see `passesThrough`. */
export function remarkPassing(trait: string, { degraded }: Reporting): void {
  if (trait !== 'no-cors' && trait !== 'keepalive') return
  degraded('not_replayable', `${trait} requests are plain fetch and not tried again; redrive: false says so`, trait)
}
