/**
 * Keeps what is made for one principal from going out with another's cookies, while they change hands and after (S16). It works
 * without the core: a login has to take place where that cannot load (S18).
 */

import { RedriveError } from '../api/errors.ts'
import type { Call } from '../call/call.ts'
import { orAbort } from '../platform/abort.ts'
import { instantOf, within } from '../platform/clock.ts'
import type { QueueContext } from '../runner/context.ts'

/** The default of `waitMs`. */
const WAIT_MS = 30_000

/** Throws where a login is under way: another principal may be named, but the cookies become that login's. */
export function assertNoSwitch({ switching }: QueueContext): void {
  if (!switching) return
  throw new RedriveError('PRINCIPAL_CHANGING', 'await the setPrincipal({ during }) that is under way first')
}

/**
 * Sends nothing before `during` has resolved; `host.principal` is the new one already. Where it rejects, the principal is that of
 * `before` again. `follow` tells the rest of the queue, and other tabs, that the principal is another than the one it names.
 */
export async function holdDuring(
  during: () => unknown,
  before: Pick<QueueContext, 'principal' | 'declaredAt'>,
  host: QueueContext,
  follow: (from: string | null) => Promise<void>,
): Promise<void> {
  const { principal } = host
  // other tabs of the store have to hear of it first; a store that cannot be told reports it when the login is over
  const login = follow(before.principal)
    .catch(() => {})
    .then(during)
  host.switching = login
    .then(
      () => {
        // the cookies are those of the login that ended last
        host.declaredAt = instantOf(host.settings.clock)
      },
      () => Object.assign(host, before),
    )
    .then(() => {
      host.switching = undefined
    })
  await host.switching
  try {
    await login
  } catch (error) {
    await follow(principal).catch(() => {})
    throw error
  }
}

/** Resolves when the login under way has ended; the next one may have begun. A call that one waits for by itself ends, and says how to make it. */
export function whenSwitched(
  { options }: Call,
  { settings }: QueueContext,
  signal: AbortSignal | null,
  switching: Promise<unknown>,
): Promise<unknown> {
  const what = 'setPrincipal({ during }), in which a call needs redrive: false,'
  return orAbort(signal, within(settings.clock, options.waitMs ?? WAIT_MS, what, switching))
}

/** The last look before a call leaves: its body may have been read for longer than its principal was there. */
export function assertOwn({ method, origin, principal }: Call, host: QueueContext): void {
  if (principal === host.principal) return
  const message = `${method} ${origin}: not sent, since it was made for another principal; make it anew`
  throw new RedriveError('PRINCIPAL_CHANGED', message)
}
